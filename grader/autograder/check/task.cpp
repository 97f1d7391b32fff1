#include "autograder/check/task.hpp"

#include "autograder/partition/partition_task.hpp"
#include "autograder/scan/scan_task.hpp"

namespace scanlab::grade {

template <typename T>
std::unique_ptr<Task<T>> make_task(const Plan& plan, const CheckPlan& check) {
  switch (check.operation) {
    case Operation::inclusive:
      return make_scan_task<T>(plan, Kind::inclusive);
    case Operation::exclusive:
      return make_scan_task<T>(plan, Kind::exclusive);
    case Operation::compact:
      return make_partition_task<T>(Others::dropped);
    case Operation::split:
      return make_partition_task<T>(Others::behind);
  }
  throw KitFault("no task for this operation");
}

template std::unique_ptr<Task<float>> make_task(const Plan&, const CheckPlan&);
template std::unique_ptr<Task<Affine>> make_task(const Plan&, const CheckPlan&);

}  // namespace scanlab::grade
