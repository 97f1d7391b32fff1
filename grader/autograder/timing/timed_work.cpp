#include "autograder/timing/timed_work.hpp"

#include "autograder/timing/timed_data.hpp"
#include "autograder/timing/timed_split.hpp"

namespace scanlab::grade {

namespace {

class ScanWork : public TimedWork {
 public:
  ScanWork(Scan scan, unsigned threads) : scan_(scan), threads_(threads) {}

  void renew(std::uint64_t seed, std::span<float> x) override {
    data_ = TimedData(seed);
    data_.make(x, threads_);
  }
  Comparison compare(std::span<const float> y) const override { return data_.compare(y, scan_, threads_); }
  float expected(std::size_t i) const override { return data_.expected(scan_, i); }

 private:
  Scan scan_;
  unsigned threads_;
  TimedData data_{0};
};

}  // namespace

std::unique_ptr<TimedWork> make_timed_work(const Plan& plan, const CheckPlan& check, unsigned threads) {
  if (check.entry == Operation::split) return std::make_unique<TimedSplit>(threads);
  const Kind kind = check.entry == Operation::inclusive ? Kind::inclusive : Kind::exclusive;
  return std::make_unique<ScanWork>(Scan{kind, plan.section}, threads);
}

}  // namespace scanlab::grade
