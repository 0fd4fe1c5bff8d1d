// Statistics of paired runs of two dispatches: how many times as fast one is, the interval in which
// that lies, and how likely it is that one only seems slower.
//
// Both ran under the same draws, and run i of one belongs to run i of the other. What is compared
// is the geometric mean of what runs take, or a percentile of it:
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
  std::optional<int> percentile;  // from 1 to 99; nothing: the geometric mean

  friend bool operator==(const Measure&, const Measure&) = default;
};
// With fewer an interval says nothing: of a percentile there are five on either side of it.
[[nodiscard]] int least_runs(const Measure& measure);
[[nodiscard]] std::string name_of(const Measure& measure);  // geometric mean, 95th percentile
// For a sentence: ` by the 95th percentile`; empty: of the mean, the usual one.
[[nodiscard]] std::string by_measure(const Measure& measure);

// The measure of so many values.
class Estimator {
 public:
  Estimator(const Measure& measure, std::size_t values);

  [[nodiscard]] double of(std::vector<double> values) const;
  // The same where `ascending[i]` is there `counts[i]` times; the counts add up to `values`.
  [[nodiscard]] double of(std::span<const double> ascending, std::span<const int> counts) const;

 private:
  std::vector<double> up_to_;  // the weight of the first i values; empty: of a mean
};

struct Gain {
  double ratio = 1;  // how many times as fast, by the measure
  double low = 1;    // where it lies with 95 % confidence
  double high = 1;
  int runs = 0;
};
// A single run says nothing of where it lies: from 0 to infinity.
[[nodiscard]] Gain gain_over(std::span<const double> baseline, std::span<const double> logs,
                             const Measure& measure);
// The mean, of the logarithms of the ratios.
[[nodiscard]] Gain gain_of(std::span<const double> ratios);

// How likely it is that these runs seem slower than `others` by as much or more, though they are
// not: by Student's t of a mean, and of a percentile by the normal distribution with the
// bootstrap's error. At least two runs.
[[nodiscard]] double doubt_that_slower(std::span<const double> logs, std::span<const double> others,
                                       const Measure& measure);

}  // namespace ripeline::optimise
