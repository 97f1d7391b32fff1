#include "autograder/check/cures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "autograder/cause.hpp"
#include "autograder/device/provenance.hpp"

namespace scanlab::grade {

namespace {

using Change = Amendment::Change;
using vgpu::Finding;

constexpr std::size_t most_tried = 24, most_moved = 8;
constexpr unsigned most_drawn = 8;
/// Barriers that a program may lack beside one.
constexpr unsigned most_missing = 3;

bool is_unwritten(const std::string& id) {
  return id.starts_with("uninitialised.");
}

/// Right, and without a mistake, but that memory is read which was never written.
bool is_cured(const TrialResult& tried) {
  return tried.is_right && std::ranges::all_of(tried.findings, [](const Finding& finding) {
           return finding.weight != Finding::Weight::mistake || is_unwritten(finding.id);
         });
}

/// A wrong output of this kind says what is wrong with the program, and not only where.
bool is_specific(const std::string& id) {
  constexpr std::string_view vague[] = {"wrong.other", "wrong.unwritten", "wrong.uninitialised", "wrong.size",
                                        "wrong.order"};
  return std::ranges::find(vague, id) == std::end(vague);
}

/// The lines of the accesses that a finding is about, in their order, and the file that all of them are in.
struct Lines {
  std::vector<unsigned> all;
  std::string file;
};

Lines lines_of(const Finding& finding) {
  Lines lines;
  for (const Finding::Part& part : finding.parts) {
    if (part.where.line == 0 || (!lines.all.empty() && part.where.file != lines.file)) return {};
    lines.file = part.where.file;
    lines.all.push_back(part.where.line);
  }
  return lines;
}

/// Marks at which something may be missing that has to be between two accesses, the nearest to one of them first, and
/// ends of blocks of code last: those between the two; in a loop, where the later one may stand first, those before it
/// and behind the earlier one. Where all threads of a block have to come, those in the fewest branches are first.
std::vector<Mark> marks_between(std::vector<Mark> marks, unsigned earlier, unsigned later, bool is_for_all) {
  const auto key = [&](const Mark& mark) {
    const bool precedes = mark.at <= later, follows = mark.at > earlier;
    const bool is_between = earlier < later ? precedes && follows : precedes || follows;
    const unsigned to_later = precedes ? later - mark.at : ~0u, to_earlier = follows ? mark.at - earlier - 1 : ~0u;
    const bool is_end = mark.code.starts_with('}');
    return std::tuple(!is_between, is_for_all ? mark.branches : 0, is_end, std::min(to_later, to_earlier), to_later);
  };
  std::ranges::sort(marks, {}, key);
  return marks;
}

/// In how many branches a line of the program with marks stands; none where no statement begins there.
unsigned branches_of(const std::vector<Mark>& marks, unsigned line) {
  const auto mark = std::ranges::find(marks, line, &Mark::at);
  return mark == marks.end() ? 0 : mark->branches;
}

/// Does a thread access an element that is its own, beyond the end of the input or of the output?
bool is_own_element(const Finding& finding, const Plan& plan) {
  const bool is_given = finding.variable.starts_with("d_x,") || finding.variable.starts_with("d_y,");
  if (!is_given || !finding.element || !finding.has_block || finding.parts.empty()) return false;
  const std::size_t section = plan.elements_of_a_section(), places = plan.block_size == 0 ? section : plan.block_size;
  return *finding.element / section == finding.block[0] &&
         *finding.element % section % places == finding.parts.front().thread[0];
}

/// Lines of a program with marks are so many below the learner's.
unsigned offset_of(const std::vector<Mark>& marks) {
  return marks.empty() ? 0 : marks.front().at - marks.front().line;
}

/// What stands at a mark.
std::string_view code_at(const std::vector<Mark>& marks, unsigned line) {
  const auto mark = std::ranges::find(marks, line, &Mark::line);
  return mark == marks.end() ? std::string_view() : mark->code;
}

/// A barrier that threads leave out may stand in a branch: it is moved to one mark after the other.
std::vector<Cure> moves_of(const Finding& race, const Finding& left_out, const Plan& plan) {
  std::vector<Cure> cures;
  const Lines lines = lines_of(race), barrier = lines_of(left_out);
  if (lines.all.size() < 2 || barrier.all.empty()) return cures;
  const unsigned at = barrier.all.front();
  for (const Mark& mark : marks_between(plan.marks, lines.all.front(), lines.all.back(), true)) {
    if (mark.at == at || mark.code.starts_with('}')) continue;
    cures.push_back({{.change = Change::barrier, .line = mark.line, .without = at},
                     fmt::format("take the __syncthreads() of line {} out of the branch that not all threads take: put "
                                 "it before line {}, {}",
                                 at - offset_of(plan.marks), mark.line, mark.code)});
    if (cures.size() >= most_moved) break;
  }
  return cures;
}

}  // namespace

std::vector<Cure> cures_of(const Finding& finding, const Plan& plan) {
  std::vector<Cure> cures;
  const bool is_race = finding.id == "race.shared" || finding.id == "race.global";
  if (!is_race && finding.id != "fence.missing") return cures;
  const Lines lines = lines_of(finding);
  if (lines.all.size() < 2) return cures;
  const unsigned earlier = lines.all.front(), later = lines.all.back();
  const bool is_in_a_block = finding.id == "race.shared" || finding.has_block;
  if (plan.marks.empty()) {
    if (is_race && earlier == later)
      cures.push_back({{Change::atomic, later, lines.file}, fmt::format("make line {} one atomicAdd", later)});
    // What one line reads and writes may change in between, however strong both are.
    if (!is_in_a_block && earlier != later)
      for (const unsigned line : std::set<unsigned>(lines.all.begin(), lines.all.end()))
        cures.push_back({{Change::strong, line, lines.file},
                         fmt::format("make what line {} reads or writes volatile, or atomic", line)});
    return cures;
  }
  struct Words {
    Change change;
    const char* statement;
  };
  constexpr Words barrier{Change::barrier, "__syncthreads();"};
  constexpr Words first = {Change::warp_barrier, "__syncwarp();"}, fence = {Change::fence, "__threadfence();"};
  const unsigned branches = std::min(branches_of(plan.marks, earlier), branches_of(plan.marks, later));
  for (const Mark& mark : marks_between(plan.marks, earlier, later, is_in_a_block)) {
    const auto add = [&](const Words& words) {
      cures.push_back({{words.change, mark.line},
                       fmt::format("put {} before line {}, {}", words.statement, mark.line, mark.code),
                       words.change == Change::barrier && mark.branches > branches});
    };
    if (finding.kind == "warp-synchronous") add(first);
    if (!is_in_a_block) add(fence);
    add(barrier);
    if (cures.size() >= most_tried) break;
  }
  return cures;
}

void Cures::explain(TrialResult& tried, const Case& which) {
  if (plan_.marks.empty()) {
    by_barriers(tried, which);
    by_zeros(tried, which);
    by_room(tried, which);
  } else if (by_moves(tried, which)) {
    return;
  }
  by_amendments(tried, which);
}

/// Threads that are done count as arrived. So where a barrier stands in a branch, those that do not take it may be done
/// while others wait there, and what is seen is the race that the barrier should have prevented.
bool Cures::by_moves(TrialResult& tried, const Case& which) {
  const auto left_out = std::ranges::find(tried.findings, "barrier.exited", &Finding::id);
  if (left_out == tried.findings.end() || tried.findings.front().id != "race.shared") return false;
  const std::vector<Cure> moves = moves_of(tried.findings.front(), *left_out, plan_);
  const auto is_enough = [&](const Cure& cure) {
    return outcome_of({.amendment = cure.amendment}, tried, which).effect == Effect::all_right;
  };
  std::string cure;
  if (const auto alone = std::ranges::find_if(moves, is_enough); alone != moves.end()) {
    cure = fmt::format("{} (tried: the results are right then)", alone->text);
  } else {
    for (const Cure& move : moves) {
      const std::optional<Amendment> several = with_more_barriers(move.amendment, which);
      if (!several) continue;
      const bool is_right = is_cured(run_with({.amendment = *several}, which)) &&
                            is_cured(run_with({.amendment = *several}, with_many_elements(which)));
      cure = move.text;
      for (const unsigned line : several->barriers)
        cure += fmt::format(", and one more before line {}, {}", line, code_at(plan_.marks, line));
      cure += is_right ? " (tried: the results are right then)"
                       : " (tried: no race is left then, but the result is wrong all the same)";
      break;
    }
  }
  if (cure.empty()) return false;
  Finding barrier = std::move(*left_out);
  tried.findings.erase(left_out);
  barrier.id = "barrier.divergent";
  barrier.weight = Finding::Weight::mistake;
  barrier.headline = fmt::format("BARRIER: not all threads come to this __syncthreads(), kernel {}", barrier.kernel);
  for (Finding::Part& part : barrier.parts)
    part.where = {plan_.source, part.where.line - offset_of(plan_.marks), 0, {}};
  barrier.details = {
      "threads that go past the branch are not waited for: they run ahead to the end of the kernel, and "
      "count as arrived from there on"};
  barrier.advice = fmt::format("the race that is seen there is what follows: {}", tried.findings.front().headline);
  barrier.cure = std::move(cure);
  tried.failure->cause = cause_of(barrier);
  tried.findings.insert(tried.findings.begin(), std::move(barrier));
  return true;
}

/// Whole warps may meet at a barrier from different lines, as warps of different roles do. Where there is a race as
/// well, some of them have missed a barrier.
void Cures::by_barriers(TrialResult& tried, const Case& which) {
  if (tried.failure->cause.id != "race.shared") return;
  TrialResult seen = run_with({.same_barriers = true}, which);
  if (seen.failure && seen.failure->cause.id == "barrier.divergent") tried = std::move(seen);
}

/// Whatever follows from a value that was never written is no cause: where the same call is right with zeros in such
/// memory, and nothing else is found, that is the mistake, and setting it to zero the cure.
void Cures::by_zeros(TrialResult& tried, const Case& which) {
  if (is_unwritten(tried.failure->cause.id)) return;
  TrialResult cured = run_with({.zeros = true}, which);
  if (!is_cured(cured) || !cured.failure || !is_cured(run_with({.zeros = true}, with_many_elements(which)))) return;
  std::vector<std::string>& details = cured.failure->cause.details;
  const auto luck = std::ranges::find(details, right_by_luck);
  const std::string without =
      fmt::format("tried: with zeros there all is right; as it is, {}", finding_of(tried.failure->cause).headline);
  luck == details.end() ? details.push_back(without) : void(*luck = without);
  tried = std::move(cured);
}

/// A guard is the cure of an access beyond an array's end if nothing is wrong but that it is made, or if threads go
/// beyond the end with elements of their own.
void Cures::by_room(TrialResult& tried, const Case& which) {
  Finding& finding = tried.findings.front();
  if (finding.id != "bounds.global" || !finding.advice.starts_with("guard the access")) return;
  TrialResult roomy = run_with({.room = true}, with_many_elements(which));
  const bool helps = is_cured(roomy);
  // What lies in that room was never set, as little as what cudaMalloc gives.
  const bool helps_with_zeros = !helps && is_cured(run_with({.zeros = true, .room = true}, with_many_elements(which)));
  finding.details.push_back(helps              ? "tried: with room there the result is right"
                            : helps_with_zeros ? "tried: with room there, and zeros in it, the result is right"
                                               : "tried: with room there the result is wrong all the same");
  if (!helps && !helps_with_zeros && is_own_element(finding, plan_)) {
    finding.details.back() += ", so there is another mistake besides";
  } else if (!helps && !helps_with_zeros) {
    finding.advice =
        "look at how the index is calculated, and which array was meant; where both are right, a guard is missing, and "
        "something else is wrong";
    if (roomy.is_wrong_output && is_specific(roomy.failure->cause.id))
      finding.details.push_back(fmt::format("what is wrong then: {}", roomy.failure->cause.rationale));
  }
  std::vector<std::string> more = std::move(tried.failure->cause.details);
  const Cause cause = cause_of(finding);
  tried.failure->cause.rationale = cause.rationale;
  tried.failure->cause.details = cause.details;
  for (std::string& detail : more)
    if (std::ranges::find(cause.details, detail) == cause.details.end())
      tried.failure->cause.details.push_back(std::move(detail));
}

void Cures::by_amendments(TrialResult& tried, const Case& which) {
  if (tried.findings.empty()) return;
  Finding& mistake = tried.findings.front();
  // Two threads at one place: what orders them hides it, and the result is as wrong as before.
  if (mistake.id == "race.global" && mistake.kind == "write-after-write") return;
  static constexpr const char* shows[] = {"", "it is gone then, others like it are left",
                                          "it is gone then, something else is left", "it is gone then",
                                          "the results are right then"};
  Effect best = Effect::none;
  for (const Cure& cure : cures_of(mistake, plan_)) {
    const Device::Trying how{.amendment = cure.amendment};
    const auto [effect, wrong_at] = outcome_of(how, tried, which);
    // What makes accesses strong removes any race, whether or not the values are those that were meant; a barrier in
    // a branch seems to help where the threads that do not take it are done.
    const bool hides =
        cure.is_in_a_branch || cure.amendment.change == Change::atomic || cure.amendment.change == Change::strong;
    if (effect <= best || (hides && effect != Effect::all_right)) continue;
    // With others left and a wrong result, what is gone may have been what follows from another mistake.
    if (effect == Effect::gone && wrong_at) {
      const std::optional<Amendment> several = with_more_barriers(cure.amendment, which);
      if (!several || !run_with({.amendment = *several}, which).is_right) continue;
    }
    best = effect;
    const std::string result =
        wrong_at && effect == Effect::all_gone ? fmt::format(", but with n = {} the result is wrong", *wrong_at) : "";
    mistake.cure = fmt::format("{} (tried: {}{})", cure.text, shows[static_cast<std::size_t>(effect)], result);
    if (effect == Effect::all_right) return;
  }
}

/// A schedule is right by luck where values depend on which block comes first: where blocks race, one that is drawn is
/// drawn again and again, with few and with many blocks.
std::optional<TrialResult> Cures::other_schedule(const Device::Trying& how, const Case& which, const Finding& mistake) {
  using Order = vgpu::Schedule::Order;
  const bool is_between_blocks = mistake.id == "race.global" && !mistake.has_block;
  const Case many = with_many_elements(which);
  for (const Order order : check_.schedules) {
    const bool is_drawn = is_between_blocks && (order == Order::random || order == Order::weak);
    for (unsigned draw = 0; draw < (is_drawn ? most_drawn : 1); ++draw) {
      Case other = draw % 2 == 0 ? many : which;
      if (draw == 0 && order == which.order) continue;
      other.order = order;
      other.repeat += draw;
      if (TrialResult tried = run_with(how, other); !is_cured(tried)) return tried;
    }
  }
  return std::nullopt;
}

std::optional<Amendment> Cures::with_more_barriers(Amendment amendment, const Case& which) {
  const auto is_mistake = [](const Finding& finding) {
    return finding.weight == Finding::Weight::mistake && !finding.id.starts_with("wrong.");
  };
  for (unsigned more = 0;; ++more) {
    const TrialResult left = run_with({.amendment = amendment}, which);
    if (left.is_right || std::ranges::none_of(left.findings, is_mistake)) return amendment;
    if (more == most_missing || left.findings.front().id != "race.shared") return std::nullopt;
    const std::vector<Cure> cures = cures_of(left.findings.front(), plan_);
    const auto next = std::ranges::find_if(cures, [&](const Cure& cure) {
      if (cure.amendment.change != Change::barrier) return false;
      Amendment tried = amendment;
      tried.barriers.push_back(cure.amendment.line);
      const TrialResult amended = run_with({.amendment = tried}, which);
      return std::ranges::none_of(amended.findings, [&](const Finding& finding) {
        return is_mistake(finding) && (reads_the_same(finding, left.findings.front()) || finding.id != "race.shared");
      });
    });
    if (next == cures.end()) return std::nullopt;
    amendment.barriers.push_back(next->amendment.line);
  }
}

std::vector<Finding> Cures::needless_barriers() {
  std::vector<Finding> found;
  for (const unsigned line : plan_.barriers) {
    const Device::Trying without{.amendment = Amendment{Change::without_barrier, line}};
    Case which = with_many_elements({});
    const bool is_needless = std::ranges::all_of(check_.schedules, [&](const auto order) {
      which.order = which.data_order = order;
      return is_cured(run_with(without, which));
    });
    if (!is_needless || !has_amended_) continue;
    Finding& finding = found.emplace_back();
    finding.id = "barrier.needless";
    finding.weight = Finding::Weight::advice;
    finding.headline = "BARRIER (advice): no access needs this __syncthreads()";
    finding.parts.push_back({.does = "wait", .where = {plan_.source, line, 0, {}}, .actors = "all threads"});
    finding.details.push_back(fmt::format(
        "tried: without it no two accesses race, and all is right, with n = {} under each schedule", which.n));
    finding.advice = "each barrier makes the block wait for its slowest warp: leave it out";
  }
  return found;
}

Cures::Outcome Cures::outcome_of(const Device::Trying& how, const TrialResult& tried, const Case& which) {
  const Finding& mistake = tried.findings.front();
  Outcome outcome{Effect::all_right};
  const std::array tries = {which, with_many_elements(which)};
  for (const Case& one : tries) {
    const TrialResult amended = run_with(how, one);
    if (amended.failure && !amended.is_wrong_output && amended.findings.empty()) return {};
    if (!amended.is_right && !outcome.wrong_at) outcome.wrong_at = one.n;
    if (!is_cured(amended)) outcome.effect = std::min(outcome.effect, Effect::all_gone);
    for (const Finding& finding : amended.findings) {
      if (finding.weight != Finding::Weight::mistake || finding.id.starts_with("wrong.")) continue;
      const auto has_its_id = [&](const Finding& known) { return known.id == finding.id; };
      if (reads_the_same(finding, mistake)) return {};
      if (std::ranges::none_of(tried.findings, has_its_id)) {
        if (&one == &tries.front() || std::ranges::none_of(run_with({}, one).findings, has_its_id)) return {};
        outcome.effect = std::min(outcome.effect, Effect::another);
        continue;
      }
      if (finding.id == mistake.id && finding.variable == mistake.variable) outcome.effect = Effect::gone;
    }
  }
  if (outcome.effect != Effect::all_right) return outcome;
  if (const std::optional<TrialResult> other = other_schedule(how, which, mistake)) {
    // With races left it was luck; a mistake of another kind, in a program with a race in a block, is another one.
    const bool is_another =
        mistake.id == "race.shared" &&
        std::ranges::none_of(other->findings, [](const Finding& finding) { return finding.id.starts_with("race."); });
    if (!is_another) return {};
    outcome.effect = Effect::another;
  }
  return outcome;
}

TrialResult Cures::run_with(const Device::Trying& how, const Case& which) {
  struct Back {
    Device& device;
    ~Back() { device.try_with({}); }
  };
  submission_.restart();
  device_.try_with(how);
  TrialResult tried;
  {
    const Back back{device_};
    tried = make_trial(plan_, check_, device_, which.n)->run(submission_, which, Counting::off, no_hash);
    has_amended_ = device_.has_amended();
  }
  submission_.restart();
  return tried;
}

/// Few elements may be right by luck: the largest size of the check at which it is quickly known.
Case Cures::with_many_elements(Case which) const {
  for (const std::size_t n : check_.sizes)
    if (n <= Provenance::most_remembered) which.n = std::max(which.n, n);
  return which;
}

}  // namespace scanlab::grade
