#include "autograder/operation.hpp"

#include <algorithm>
#include <array>

namespace scanlab::grade {

namespace {

struct Row {
  Operation operation;
  const char *noun, *entry, *parameters;
  runner::Entry runner_entry;
};

constexpr const char* scan_parameters = "const Element* d_x, Element* d_y, int n";
constexpr const char* partition_parameters = "const Element* d_x, Element* d_y, int* d_kept, int n";

constexpr std::array rows = {
    Row{Operation::inclusive, "inclusive scan", "inclusive_scan", scan_parameters, runner::Entry::inclusive_scan},
    Row{Operation::exclusive, "exclusive scan", "exclusive_scan", scan_parameters, runner::Entry::exclusive_scan},
    Row{Operation::compact, "compaction", "compact", partition_parameters, runner::Entry::compact},
    Row{Operation::split, "split", "split", partition_parameters, runner::Entry::split},
};

const Row& row_of(Operation operation) {
  return *std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.operation == operation; });
}

}  // namespace

const std::vector<Operation>& all_operations() {
  static const std::vector<Operation> all = {Operation::inclusive, Operation::exclusive, Operation::compact,
                                             Operation::split};
  return all;
}

const char* noun_of(Operation operation) {
  return row_of(operation).noun;
}

const char* entry_name(Operation entry) {
  return row_of(entry).entry;
}

const char* parameters_of(Operation entry) {
  return row_of(entry).parameters;
}

bool has_count(Operation entry) {
  return parameters_of(entry) == partition_parameters;
}

runner::Entry runner_entry(Operation entry) {
  return row_of(entry).runner_entry;
}

}  // namespace scanlab::grade
