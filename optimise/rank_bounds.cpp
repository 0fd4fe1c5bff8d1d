#include "optimise/rank_bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace ripeline::optimise {
namespace {

using Time = RankBounds::Time;
using spec::Rational;

// A cost in nanoseconds, rounded down. So a sum of such costs is at most a program's rounded sum.
Time nanoseconds(Rational cost, Time unit) {
  const double about = cost.value() * static_cast<double>(unit);
  if (about >= static_cast<double>(RankBounds::kMost)) return RankBounds::kMost;
  const std::int64_t common = std::gcd(unit, cost.denominator);
  const std::int64_t times = unit / common;
  const std::int64_t parts = cost.denominator / common;
  if (cost.numerator > RankBounds::kMost / times) return static_cast<Time>(about * (1 - 1e-12));
  return cost.numerator * times / parts;
}

// Subtracts what floating-point errors may have added, and rounds up, since times are whole.
Time whole_time(double time) { return static_cast<Time>(std::ceil(time * (1 - 1e-12))); }

Time nanoseconds_of(const RankBounds::Times& times) {
  return std::llround(times.latency * static_cast<double>(times.unit));
}

// The greatest common divisor of the times of the layers' ops.
Time grain_of(const PlacedModel& model, Time unit) {
  Time grain = 0;
  for (const PlacedModel::Costs& layer : model.layers) {
    for (const Rational& cost : {layer.forward, layer.input, layer.weight}) {
      if (unit % cost.denominator != 0) return 1;
      grain = std::gcd(grain, nanoseconds(cost, unit));
    }
  }
  return grain;
}

std::vector<Time> sums_of(const PlacedModel& model, Time unit,
                          std::span<const Rational PlacedModel::Costs::*const> costs) {
  std::vector<Time> sums = {0};
  for (const PlacedModel::Costs& layer : model.layers) {
    Time sum = sums.back();
    for (const auto cost : costs) {
      sum = std::min(RankBounds::kMost, sum + nanoseconds(layer.*cost, unit));
    }
    sums.push_back(sum);
  }
  return sums;
}

constexpr const Rational PlacedModel::Costs::*kForwardCosts[] = {&PlacedModel::Costs::forward};
constexpr const Rational PlacedModel::Costs::*kInputCosts[] = {&PlacedModel::Costs::input};
constexpr const Rational PlacedModel::Costs::*kWeightCosts[] = {&PlacedModel::Costs::weight};
constexpr const Rational PlacedModel::Costs::*kAll[] = {
    &PlacedModel::Costs::forward, &PlacedModel::Costs::input, &PlacedModel::Costs::weight};

}  // namespace

RankBounds::RankBounds(const PlacedModel& model, const Times& times, Objective objective)
    : layers_(static_cast<int>(model.layers.size())),
      ranks_(model.ranks),
      microbatches_(model.microbatches),
      by_makespan_(objective == Objective::makespan),
      latency_(nanoseconds_of(times)),
      forward_(sums_of(model, times.unit, kForwardCosts)),
      input_(sums_of(model, times.unit, kInputCosts)),
      weight_(sums_of(model, times.unit, kWeightCosts)),
      work_(sums_of(model, times.unit, kAll)) {
  const PlacedModel::Bytes bytes = model.bytes.value_or(PlacedModel::Bytes{});
  activation_ = static_cast<double>(bytes.activation);
  after_input_ = static_cast<double>(bytes.after_input);
  room_ = layers_ * model.memory.value() / ranks_ * (1 + 1e-12);
  if (times.only_latency)
    grain_ = std::max<Time>(1, std::gcd(latency_, grain_of(model, times.unit)));
  ways_ = {0};
  for (int s = 1; s < model.stages(); ++s) {
    ways_.push_back(ways_.back() + (rank_of(model, s) == rank_of(model, s - 1) ? 0 : 1));
  }
}

Time RankBounds::all_work(const PlacedModel& model, const Times& times) {
  const double ways = model.stages() * times.latency * static_cast<double>(times.unit);
  if (ways >= static_cast<double>(kMost)) return kMost;
  const Time one = sums_of(model, times.unit, kAll).back() + model.stages() * nanoseconds_of(times);
  return one > kMost / model.microbatches ? kMost : one * model.microbatches;
}

Time RankBounds::way_to(int stage) const {
  return ways_[static_cast<std::size_t>(stage)] * latency_;
}

RankBounds::Load RankBounds::load(std::span<const Stage> stages) const {
  Load sum;
  for (const Stage& stage : stages) {
    sum.forward += of(forward_, stage);
    sum.input += of(input_, stage);
    sum.weight += of(weight_, stage);
    sum.held += activation_ * (stage.end - stage.begin);
  }
  return sum;
}

Time RankBounds::of(std::span<const Stage> stages) const {
  const Load sum = load(stages);
  if (sum.held > room_) return kNoRoom;
  const Time m = microbatches_;
  const Time work = m * (sum.forward + sum.input + sum.weight);
  const Stage& first = stages.front();
  const Stage& last = stages.back();
  const Time head = by_makespan_ ? at(forward_, first.begin) + way_to(first.number) : 0;
  // The time at which the rank's first gradient can arrive; for the span, since its first start.
  const Time first_input = at(forward_, layers_) + at(input_, layers_) - at(input_, last.end) +
                           2 * way_to(static_cast<int>(ways_.size()) - 1) - way_to(last.number) -
                           (by_makespan_ ? 0 : at(forward_, first.begin) + way_to(first.number));
  const Time idle = first_input - std::min(forwards_that_fit(stages), first_input - head);
  Time most = std::max(idle + work, room(stages) + head);
  if (by_makespan_) {
    const bool is_full = static_cast<double>(m) * sum.held > room_;
    most = std::max({most, tail(stages, sum, is_full ? idle : head), drain(stages, sum, idle)});
  }
  return whole(most);
}

// The longest total time of forwards for which the rank has room before its first gradient.
Time RankBounds::forwards_that_fit(std::span<const Stage> stages) const {
  std::array<std::pair<double, double>, PlacedModel::kMostChunks>
      all;  // the time per amount, and the amount
  const std::span some(all.begin(), stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const double amount = activation_ * (stages[i].end - stages[i].begin);
    some[i] = {static_cast<double>(of(forward_, stages[i])) / amount, amount};
  }
  std::sort(some.rbegin(), some.rend());
  double left = room_;
  double sum = 0;
  for (const auto& [density, amount] : some) {
    const double taken = std::min(left, amount * static_cast<double>(microbatches_));
    sum += density * taken;
    left -= taken;
  }
  return static_cast<Time>(std::ceil(sum * (1 + 1e-12)));
}

// The least total time of I and W tasks that together release at least `released`.
Time RankBounds::least_releasing(std::span<const Stage> stages, double released) const {
  if (released <= 0) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (const Stage& stage : stages) {
    const double count = stage.end - stage.begin;
    const auto input = static_cast<double>(of(input_, stage));
    const auto weight = static_cast<double>(of(weight_, stage));
    least = std::min(least, (input + weight) / (count * activation_));
    if (after_input_ < activation_) {
      least = std::min(least, input / (count * (activation_ - after_input_)));
    }
  }
  return whole_time(released * least);
}

// The least total time of W tasks that together release at least `released`.
Time RankBounds::least_weights(std::span<const Stage> stages, double released) const {
  if (released <= 0) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (const Stage& stage : stages) {
    const double amount = after_input_ * (stage.end - stage.begin);
    least = std::min(least, static_cast<double>(of(weight_, stage)) / amount);
  }
  return whole_time(released * least);
}

// The bound head+tail: the path of the rank's last forward to the last stage, and back to rank 0.
Time RankBounds::tail(std::span<const Stage> stages, const Load& load, Time idle) const {
  const Time m = microbatches_;
  const double released = static_cast<double>(m) * load.held - room_;
  const Time before = idle + m * load.forward + least_releasing(stages, released);
  Time least = kNoRoom;
  for (const Stage& stage : stages) {
    const Time all_ways = way_to(static_cast<int>(ways_.size()) - 1);
    const Time path = at(forward_, layers_) - at(forward_, stage.end) + at(input_, layers_) +
                      2 * all_ways - way_to(stage.number);
    least = std::min(least, before + path);
  }
  const Stage& first = stages.front();
  return least + at(weight_, first.number == 0 ? first.end : 1);
}

// The bound head+drain: the path of the rank's last gradient back to rank 0.
Time RankBounds::drain(std::span<const Stage> stages, const Load& load, Time idle) const {
  const Time m = microbatches_;
  const double released = static_cast<double>(m) * load.held * after_input_ / activation_ - room_;
  const Stage& first = stages.front();
  return idle + m * (load.forward + load.input) + least_weights(stages, released) +
         at(input_, first.begin) + way_to(first.number) +
         at(weight_, first.number == 0 ? first.end : 1);
}

// The bound room: the sum of the rank's amounts, each times its duration, divided by the memory.
Time RankBounds::room(std::span<const Stage> stages) const {
  double filled = 0;
  const Time all_ways = way_to(static_cast<int>(ways_.size()) - 1);
  for (const Stage& stage : stages) {
    const Time trip = at(forward_, layers_) - at(forward_, stage.begin) + at(input_, layers_) -
                      at(input_, stage.begin) + 2 * (all_ways - way_to(stage.number));
    filled += (stage.end - stage.begin) * (activation_ * static_cast<double>(trip) +
                                           after_input_ * static_cast<double>(of(weight_, stage)));
  }
  return whole_time(static_cast<double>(microbatches_) * filled / room_);
}

// The largest of three bounds: the average work of a rank, rounded up to whole layers; the average
// of work plus head; and the time of one microbatch. For the span only the first one holds.
Time RankBounds::of_every_cut() const {
  Time common = 0;
  Time costliest = 0;
  for (int layer = 0; layer < layers_; ++layer) {
    const Time cost = at(work_, layer + 1) - at(work_, layer);
    common = std::gcd(common, cost);
    costliest = std::max(costliest, cost);
  }
  const Time grain = std::max<Time>(1, common) * ranks_;
  const Time even = (at(work_, layers_) + grain - 1) / grain * std::max<Time>(1, common);
  Time most = microbatches_ * std::max(even, costliest);
  if (!by_makespan_) return whole(most);
  Time heads = 0;
  for (int rank = 0; rank < ranks_; ++rank) heads += at(forward_, rank) + way_to(rank);
  most = std::max(most, (microbatches_ * at(work_, layers_) + heads) / ranks_);
  return whole(std::max(most, at(forward_, layers_) + at(input_, layers_) + at(weight_, 1) +
                                  2 * way_to(static_cast<int>(ways_.size()) - 1)));
}

}  // namespace ripeline::optimise
