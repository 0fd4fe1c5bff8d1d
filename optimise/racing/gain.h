// Statistics of paired runs of two dispatches: how many times as fast one is, the confidence
// interval of that ratio, and how likely it is that a dispatch only seems slower.
//
// Run i of one dispatch and run i of the other had the same draws and are a pair. Compared is the
// geometric mean of the runs' times, or a percentile of the times:
// - the interval of a mean is Student's, on the logarithms of the ratios;
// - a percentile is Harrell and Davis's estimate of it (Biometrika 69, 1982), a weighted mean of
//   all values in ascending order, which is steadier than a single value; its interval is that of
//   the percentile bootstrap, in which a pair is drawn as one (Wilcox and Erceg-Hurn, "Comparing
//   two dependent groups via quantiles", J. Applied Statistics 39, 2012).
// Times are given as logarithms throughout. Pure and deterministic; one thread.
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
// With fewer runs an interval is worthless; a percentile must have five runs on either side.
[[nodiscard]] int least_runs(const Measure& measure);
[[nodiscard]] std::string name_of(const Measure& measure);  // geometric mean, 95th percentile
// The end of a phrase, as ` by the 95th percentile`; empty for the mean, which is usual.
[[nodiscard]] std::string by_measure(const Measure& measure);

// Computes the measure of a fixed number of values.
class Estimator {
 public:
  Estimator(const Measure& measure, std::size_t values);

  [[nodiscard]] double of(std::vector<double> values) const;
  // The same for `counts[i]` copies of each `ascending[i]`; the counts must sum to `values`.
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
// The interval of a single run is from 0 to infinity.
[[nodiscard]] Gain gain_over(std::span<const double> baseline, std::span<const double> logs,
                             const Measure& measure);
// The gain by the mean, from the logarithms of the ratios.
[[nodiscard]] Gain gain_of(std::span<const double> ratios);

// The probability that runs which are not slower than `others` seem slower by as much as `logs` do,
// or more. It follows from Student's t for a mean; for a percentile, from the normal distribution
// with the bootstrap's error. Needs at least two runs.
[[nodiscard]] double doubt_that_slower(std::span<const double> logs, std::span<const double> others,
                                       const Measure& measure);

}  // namespace ripeline::optimise
