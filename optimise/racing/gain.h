// Statistics of paired runs of two dispatches: how many times as fast one is, the confidence
// interval of that ratio, and how likely it is that a dispatch only seems slower.
//
// Run i of one dispatch and run i of the other had the same draws; they are a pair. Two measures of
// the times can be compared:
// - The geometric mean. Its interval is Student's, on the logarithms of the ratios.
// - A percentile. It is Harrell and Davis's estimate (Biometrika 69, 1982), a weighted mean of all
//   values in ascending order, which varies less than a single value. Its interval is that of the
//   percentile bootstrap, which draws a pair as one (Wilcox and Erceg-Hurn, "Comparing two
//   dependent groups via quantiles", J. Applied Statistics 39, 2012).
// Times are given as logarithms throughout. Pure and deterministic; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ripeline::optimise {

struct Measure {
  std::optional<int> percentile;  // from 1 to 99; nullopt means the geometric mean

  friend bool operator==(const Measure&, const Measure&) = default;
};
// The least useful number of runs; a percentile needs at least five runs on either side of it.
[[nodiscard]] int least_runs(const Measure& measure);
[[nodiscard]] std::string name_of(const Measure& measure);  // geometric mean, 95th percentile
// The end of a phrase, such as ` by the 95th percentile`; empty for the mean, which is the default.
[[nodiscard]] std::string by_measure(const Measure& measure);

// Estimates the measure from a fixed number of values.
class Estimator {
 public:
  Estimator(const Measure& measure, std::size_t values);

  [[nodiscard]] double of(std::vector<double> values) const;
  // The same, where value `ascending[i]` occurs `counts[i]` times; the counts must sum to `values`.
  [[nodiscard]] double of(std::span<const double> ascending, std::span<const int> counts) const;

 private:
  std::vector<double> up_to_;  // the weight of the first i values; empty for a mean
};

struct Gain {
  double ratio = 1;  // how many times as fast, by the measure
  double low = 1;    // with 95 % confidence, the true ratio is from `low` to `high`
  double high = 1;
  int runs = 0;
};
// The gain of `logs` over `baseline`. With a single run its interval is from 0 to infinity.
[[nodiscard]] Gain gain_over(std::span<const double> baseline, std::span<const double> logs,
                             const Measure& measure);
// The gain by the geometric mean; `ratios` are logarithms.
[[nodiscard]] Gain gain_of(std::span<const double> ratios);

// The probability that runs which are not slower than `others` seem at least as much slower as
// `logs` do. For a mean it follows from Student's t, and for a percentile from the normal
// distribution with the bootstrap's error. Needs at least two runs.
[[nodiscard]] double doubt_that_slower(std::span<const double> logs, std::span<const double> others,
                                       const Measure& measure);

}  // namespace ripeline::optimise
