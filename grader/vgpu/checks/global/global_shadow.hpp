// Shadow of global memory: which threads have accessed what in this launch.
//
// Most accesses are rows of consecutive elements, many warps at once, of memory that no other block touches. So a row
// is remembered as a whole, in each chunk of memory in which it lies, and is compared with the few others there: apart,
// or ordered, or the same thread's. Only where the rows do not show that, or there are too many, or addresses follow no
// pattern, the chunk's words are looked at one by one, from then on.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "vgpu/checks/global/accessed_spans.hpp"
#include "vgpu/checks/global/block_view.hpp"
#include "vgpu/checks/global/global_access.hpp"
#include "vgpu/checks/open_reads.hpp"
#include "vgpu/checks/words.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

class GlobalShadow {
 public:
  explicit GlobalShadow(ConflictSink<GlobalConflict>& sink) : sink_(sink), open_(sink) {}

  /// Everything is forgotten.
  /// `has_rows`: accesses are kept as rows where they can be, else word by word.
  void begin_launch(bool has_rows = true);
  /// An access to global memory, about to happen.
  void access(const AccessRun& run, GlobalHow how, BlockView& block);
  /// The same for one that has been compared with all others already: what comes later meets it.
  void keep_complete(const Access& access, GlobalHow how, BlockView& block);
  /// No thread of the block goes on; of none does.
  void end_block(std::uint64_t block) {
    if (!open_.is_empty()) open_.end(block);
  }
  void end_launch() { open_.end(); }
  /// The number of the latest access of this launch.
  const std::uint64_t& order() const { return order_; }
  /// Does the line read, by strong loads, what other threads may write at the same time, even if each flag had its
  /// fences? Then it expects old values: it polls, or looks at what is only a hint.
  bool expects_old_values(std::uint32_t line) const { return line < expecting_.size() && expecting_[line]; }
  /// Have threads of several blocks executed strong loads by that line?
  bool is_by_several_blocks(std::uint32_t line) const { return line < readers_.size() && readers_[line] == several; }
  /// Has the thread read the byte and written it? Of a byte that is part of a conflict.
  bool has_changed(std::uint64_t address, const GlobalConflict::Side& by);
  /// All that this launch has touched so far.
  void collect(AccessedSpans& spans) const;
  /// A thread that has accessed the byte so, among those that are kept.
  std::optional<GlobalConflict::Side> thread_at(Address address, const AccessSite& site) const;

 private:
  static constexpr std::uint32_t none = ~0u;
  static constexpr unsigned most_warps = 32;  ///< of a block
  static constexpr std::uint64_t chunk_bytes = 1024, words = chunk_bytes / word_bytes;

  /// Lane l of the k-th warp from `past.warp` on touches first + k * step + l * stride.
  struct alignas(64) Row {
    PastAccess past;
    std::uint32_t count = 1;
    std::int32_t stride = 0;
    std::uint64_t first = 0;
    std::int64_t step = 0;
    std::uint64_t low = 0, high = 0;  ///< all bytes lie in [low, high)
    BlockView::Message message;       ///< of a write

    std::uint64_t at(unsigned k, unsigned lane) const {
      return first + static_cast<std::uint64_t>(step * k + std::int64_t{stride} * lane);
    }
    bool is_single() const { return count == 1 && (past.lanes & (past.lanes - 1)) == 0; }
    /// Rows that read the same place alike have the same, also when they have become longer.
    std::uint16_t key() const;
  };

  /// One access to a word.
  struct Node {
    PastAccess past;
    std::uint8_t bytes = 0;  ///< of the word, a bit each
    bool is_by_one = false;  ///< by one lane only: as one sets a flag
    bool is_count = false;   ///< an atomicAdd or the like
    std::uint32_t next = none;
    Mask guessed = 0;  ///< of a plain read, lanes whose value was a guess that a compare-and-swap has checked,
    Mask looked = 0;   ///< and those after which another atomic came
    BlockView::Message message;
  };
  struct Cell {
    std::uint32_t first = none;       ///< node, the latest first
    std::uint32_t last_write = none;  ///< among them
    bool is_flag = false;             ///< a thread has seen a strong write here, by a strong access or by polling
  };
  using Cells = std::array<Cell, words>;

  /// Rows of a chunk, and their keys, which are compared all at once: they differ nearly always where the rows do.
  template <unsigned most>
  struct Kept {
    alignas(most == warp_size ? 64 : 4) std::uint16_t keys[most];
    std::uint32_t rows[most];
  };
  /// One line of the cache, for most chunks see a few rows only. Where there are more, `many` has them all.
  struct alignas(64) Chunk {
    static constexpr unsigned few_rows = 7, most_rows = 28;
    std::uint32_t launch = 0;
    std::uint32_t cells = none, many = none;
    std::uint8_t count = 0;
    bool is_written = false;  ///< by some row
    Kept<few_rows> few;
  };
  static constexpr std::uint64_t chunks_a_part = 1024;
  using Part = std::array<Chunk, chunks_a_part>;

  Chunk& chunk_at(std::uint64_t address);
  Cell& cell_at(std::uint64_t address);

  static constexpr unsigned most_rows_of_warp = 4;
  bool make_rows(const Access& a, std::array<Row, most_rows_of_warp>& rows, unsigned& count) const;
  static bool are_few_rows(const Access& a);
  void enter_rows(Row& row, const AccessRun& run, BlockView& block);
  static void set_range(Row& row);
  static bool do_overlap(std::array<Row, most_rows_of_warp>& rows, unsigned count);
  void enter(Row& row, const AccessRun& run, BlockView& block);
  const std::uint32_t* rows_of(const Chunk& chunk) const {
    return chunk.many == none ? chunk.few.rows : many_[chunk.many].rows;
  }
  Mask rows_with(std::uint16_t key, const Chunk& chunk) const;
  void keep_row(Chunk& chunk, std::uint32_t number, std::uint16_t key);
  bool place(const Row& row, std::uint32_t number, Chunk& chunk, BlockView& block);
  bool are_apart(const Row& earlier, const Row& later, const BlockView& block) const;
  std::uint32_t extend_last(const Row& row, const BlockView& block);
  void open(Chunk& chunk, std::uint64_t begin);

  void one_by_one(const Access& a, Mask lanes, const PastAccess& past, BlockView& block);
  PastAccess noted(const Access& a, GlobalHow how, const BlockView& block);
  void compare_lanes(const Access& a, const PastAccess& past);
  void compare(const Access& a, const WordPiece& piece, const PastAccess& past, const BlockView& block);
  void compare_strong(const Cell& cell, const Node& node, const Access& a, const WordPiece& piece,
                      const PastAccess& past, const BlockView& block);
  enum class Needs : std::uint8_t { writer_fence, both_fences };
  bool has_seen_later(const Cell& cell, const Node& node, const WordPiece& piece, unsigned thread,
                      const PastAccess& past, const BlockView& block, Needs needs) const;
  /// What two accesses that race have in common, and which of the earlier one's lanes do.
  struct Meeting {
    GlobalConflict conflict;
    Mask earlier = 0;
  };
  std::optional<Meeting> compare_with(const Cell& cell, const Node& node, const Access& a, const WordPiece& piece,
                                      unsigned lane, const PastAccess& past, const BlockView& block) const;
  Mask guesses(const Access& a, const WordPiece& piece, const PastAccess& past) const;
  bool is_harmless(const Cell& cell, const Node& node, unsigned thread, const Access& a, const WordPiece& piece,
                   unsigned lane, const PastAccess& past) const;
  bool comes_after_in_word(const Cell& cell, const Node& node, const WordPiece& piece, unsigned thread,
                           const PastAccess& past, const BlockView& block) const;
  bool has_touched(const Cell& cell, std::uint64_t word, std::uint8_t bytes, How::Kind kind, std::uint32_t line,
                   std::uint32_t block, unsigned thread) const;
  void see_last_write(const Access& a, const WordPiece& piece, const PastAccess& past, BlockView& block);
  void keep(const WordPiece& piece, const PastAccess& past, const BlockView::Message& message, bool is_by_one,
            bool is_count);

  /// Threads of a block that have written a word by a line, of those that cells do not keep.
  struct WritersOf {
    std::array<Mask, most_warps> lanes = {};
    std::uint8_t bytes = 0;
  };
  using WritersPlace = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;  ///< word, line, block

  ConflictSink<GlobalConflict>& sink_;
  OpenReads<GlobalConflict> open_;
  bool has_rows_ = true;
  std::uint32_t launch_ = 0;
  std::uint64_t order_ = 0;
  std::vector<std::unique_ptr<Part>> parts_;  ///< of global memory
  std::vector<Row> rows_;
  std::vector<Kept<warp_size>> many_;          ///< of chunks
  std::vector<std::unique_ptr<Cells>> cells_;  ///< the first `cells_used_` are in use
  std::vector<std::uint64_t> cells_at_;        ///< the address where each begins
  std::uint32_t cells_used_ = 0;
  std::vector<Node> nodes_;
  std::map<WritersPlace, WritersOf> writers_;
  std::vector<bool> expecting_;  ///< by line
  static constexpr std::uint64_t several = ~std::uint64_t{0};
  std::vector<std::uint64_t> readers_;  ///< by line: the block whose threads have executed strong loads by it, + 1
  std::vector<WordPiece> pieces_;
};

}  // namespace scanlab::vgpu
