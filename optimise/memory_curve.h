// The best time of a model for each memory of a rank, beside what the library's schedules take.
//
// An order that fits less fits more, so no time is above that of a smaller memory; and a bound for
// more memory is one for less. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "optimise/forms.h"
#include "optimise/problem.h"
#include "simulate/amount.h"
#include "simulate/rank_costs.h"
#include "spec/diagnostics.h"
#include "spec/elaborate.h"

namespace ripeline::optimise {

// From the first to the last one, which is no smaller and of the same dimension, in steps of what a
// microbatch holds in all of a rank's layers; without that, of 1.
struct MemoryRange {
  simulate::Amount first;
  simulate::Amount last;
  std::optional<simulate::Amount> activation;
};
// As they are written, in the unit of the first. Nothing: there are more than `most`.
[[nodiscard]] std::optional<std::vector<std::string>> memories_of(const MemoryRange& range,
                                                                  std::size_t most);

struct CurvePoint {
  std::string memory;  // as it is written
  bool fits = false;
  bool found = false;
  Time value = 0;  // the objective's
  Time wall = 0;
  Time span = 0;
  Time work = 0;
  Time bound = 0;
  std::string bound_by;
  std::string placement;
  std::int64_t unit = 1;  // nanoseconds
  [[nodiscard]] double memory_in_unit() const;
  [[nodiscard]] double in_units(Time time) const {
    return static_cast<double>(time) / static_cast<double>(unit);
  }
  [[nodiscard]] double gap() const {
    return static_cast<double>(value - bound) / static_cast<double>(value);
  }
  // The share of a wall or span that is beyond the work.
  [[nodiscard]] double bubble_rate(Time time) const {
    return static_cast<double>(time - work) / static_cast<double>(time);
  }
};
// Searches the forms, which are of this memory, and certifies what is found. Errors: a defect.
[[nodiscard]] spec::Result<CurvePoint> curve_point(const std::string& memory,
                                                   const std::vector<Form>& forms,
                                                   const spec::ReadFile& read_file,
                                                   FormSearch::Options options);
// A result for a smaller memory holds here: an order that fits there fits here.
void carry_up(const CurvePoint& less, CurvePoint& point);
// A bound for more memory is one for less, too. The points stand in the order of their memories.
void carry_bounds_down(std::vector<CurvePoint>& points);

// A library schedule's times, and the microbatches that it holds in all of a rank's layers.
struct KnownSchedule {
  std::string name;
  double memory = 0;
  double wall = 0;
  double span = 0;
  [[nodiscard]] double time(Objective objective) const {
    return objective == Objective::wall ? wall : span;
  }
};
// The library's committed orders with these costs, for as many ranks and microbatches as the
// problem has. Those that would split a whole backward are left out, and those with two copies of
// the model.
[[nodiscard]] std::vector<KnownSchedule> library_schedules(const Problem& problem,
                                                           const simulate::RankCosts& costs,
                                                           bool whole_backward);

// All of them, with what they are of.
struct MemoryCurve {
  std::vector<CurvePoint> points;
  std::vector<KnownSchedule> library;
  Objective objective = Objective::wall;
  int ranks = 1;
  int microbatches = 1;
  std::string unit;         // the times'
  std::string memory_unit;  // empty: that of what a microbatch holds, which has no name
  std::uint64_t seed = 1;
};

}  // namespace ripeline::optimise
