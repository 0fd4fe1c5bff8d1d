#include "optimise/racing/gain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>

#include "optimise/search/random.h"

namespace ripeline::optimise {
namespace {

constexpr int kResamples = 2000;
constexpr std::uint64_t kSeed = 1;  // fixed, so that the same runs give the same interval

// The 97.5 % quantile of Student's t, with `freedom` degrees of freedom.
double student(int freedom) {
  return boost::math::quantile(boost::math::students_t(freedom), .975);
}

// The probability of a value above `t`, for Student's t with `freedom` degrees of freedom.
double student_above(double t, double freedom) {
  return boost::math::cdf(boost::math::complement(boost::math::students_t(freedom), t));
}

struct MeanAndError {
  double mean = 0;
  double error = 0;  // the standard error of the mean
};
// Needs at least two values.
MeanAndError mean_and_error(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double x : values) squares += (x - mean) * (x - mean);
  return {mean, std::sqrt(squares / (n - 1) / n)};
}

std::vector<double> differences(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.size());
  std::transform(a.begin(), a.end(), b.begin(), all.begin(), std::minus<>());
  return all;
}

// The runs of one dispatch and their logarithms, sorted by logarithm.
class Ascending {
 public:
  explicit Ascending(std::span<const double> logs) : runs_(logs.size()), logs_(logs.size()) {
    std::iota(runs_.begin(), runs_.end(), std::size_t{0});
    std::stable_sort(runs_.begin(), runs_.end(),
                     [&](std::size_t a, std::size_t b) { return logs[a] < logs[b]; });
    for (std::size_t i = 0; i < runs_.size(); ++i) logs_[i] = logs[runs_[i]];
  }

  // The estimate for a resample in which run i occurs `times[i]` times.
  [[nodiscard]] double value(const Estimator& estimator, const std::vector<int>& times) {
    counts_.resize(runs_.size());
    for (std::size_t i = 0; i < runs_.size(); ++i) counts_[i] = times[runs_[i]];
    return estimator.of(logs_, counts_);
  }

 private:
  std::vector<std::size_t> runs_;
  std::vector<double> logs_;
  std::vector<int> counts_;
};

// The measure of `a` minus that of `b`, for the actual runs and (sorted) for the resamples.
struct Resampled {
  double difference = 0;
  std::vector<double> ascending = {};
};
Resampled resampled(std::span<const double> a, std::span<const double> b, const Measure& measure) {
  const Estimator estimator(measure, a.size());
  Ascending one(a);
  Ascending other(b);
  std::vector<int> times(a.size(), 1);
  Resampled result{one.value(estimator, times) - other.value(estimator, times)};
  Random random(kSeed);
  for (int i = 0; i < kResamples; ++i) {
    std::fill(times.begin(), times.end(), 0);
    for (std::size_t k = 0; k < times.size(); ++k) ++times[random.draw(times.size())];
    result.ascending.push_back(one.value(estimator, times) - other.value(estimator, times));
  }
  std::sort(result.ascending.begin(), result.ascending.end());
  return result;
}

Gain sure_of_nothing(double log, std::size_t runs) {
  return {std::exp(log), 0, std::numeric_limits<double>::infinity(), static_cast<int>(runs)};
}

}  // namespace

int least_runs(const Measure& measure) {
  if (!measure.percentile) return 2;
  constexpr int kOnEitherSide = 5;
  const int side = std::min(*measure.percentile, 100 - *measure.percentile);
  return (100 * kOnEitherSide + side - 1) / side;
}

std::string name_of(const Measure& measure) {
  if (!measure.percentile) return "geometric mean";
  const int n = *measure.percentile;
  const bool teen = n / 10 == 1;
  const char* const ending = teen          ? "th"
                             : n % 10 == 1 ? "st"
                             : n % 10 == 2 ? "nd"
                             : n % 10 == 3 ? "rd"
                                           : "th";
  return fmt::format("{}{} percentile", n, ending);
}

std::string by_measure(const Measure& measure) {
  return measure.percentile ? " by the " + name_of(measure) : "";
}

Estimator::Estimator(const Measure& measure, std::size_t values) {
  if (!measure.percentile) return;
  const double share = *measure.percentile / 100.0;
  const auto n = static_cast<double>(values);
  for (std::size_t i = 0; i <= values; ++i) {
    up_to_.push_back(
        boost::math::ibeta((n + 1) * share, (n + 1) * (1 - share), static_cast<double>(i) / n));
  }
}

double Estimator::of(std::vector<double> values) const {
  if (up_to_.empty()) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * (up_to_[i + 1] - up_to_[i]);
  return sum;
}

double Estimator::of(std::span<const double> ascending, std::span<const int> counts) const {
  double sum = 0;
  std::size_t before = 0;
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    const std::size_t after = before + static_cast<std::size_t>(counts[i]);
    const double weight =
        up_to_.empty() ? static_cast<double>(counts[i]) : up_to_[after] - up_to_[before];
    sum += ascending[i] * weight;
    before = after;
  }
  return up_to_.empty() ? sum / static_cast<double>(before) : sum;
}

Gain gain_of(std::span<const double> ratios) {
  if (ratios.size() < 2) return sure_of_nothing(ratios.front(), ratios.size());
  const auto [mean, error] = mean_and_error(ratios);
  const int runs = static_cast<int>(ratios.size());
  const double about = student(runs - 1) * error;
  return {std::exp(mean), std::exp(mean - about), std::exp(mean + about), runs};
}

Gain gain_over(std::span<const double> baseline, std::span<const double> logs,
               const Measure& measure) {
  if (!measure.percentile) return gain_of(differences(baseline, logs));
  const Resampled drawn = resampled(baseline, logs, measure);
  if (logs.size() < 2) return sure_of_nothing(drawn.difference, logs.size());
  constexpr std::size_t kOutside = kResamples / 40;  // the resamples outside, on either side
  return {std::exp(drawn.difference), std::exp(drawn.ascending[kOutside - 1]),
          std::exp(drawn.ascending[kResamples - kOutside]), static_cast<int>(logs.size())};
}

double doubt_that_slower(std::span<const double> logs, std::span<const double> others,
                         const Measure& measure) {
  double slower = 0;
  double error = 0;
  if (measure.percentile) {
    const Resampled drawn = resampled(logs, others, measure);
    slower = drawn.difference;
    error = mean_and_error(drawn.ascending).error * std::sqrt(double{kResamples});
  } else {
    const MeanAndError of = mean_and_error(differences(logs, others));
    slower = of.mean;
    error = of.error;
  }
  if (slower <= 0) return 1;
  if (error == 0) return 0;
  return measure.percentile ? std::erfc(slower / error / std::sqrt(2.0)) / 2
                            : student_above(slower / error, static_cast<double>(logs.size()) - 1);
}

}  // namespace ripeline::optimise
