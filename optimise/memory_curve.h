// The best time of a model for each memory of a rank, with the times of the library's schedules.
//
// An order that fits a memory also fits a larger one, so best times never grow with the memory. A
// bound for a memory also holds for smaller ones. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "optimise/model_options.h"
#include "optimise/problem.h"
#include "simulate/amount.h"
#include "spec/diagnostics.h"

namespace ripeline::optimise {

// `4..8`, `20GB..24GB`
[[nodiscard]] bool is_memory_range(const std::string& memory);
// The memories in the range of the model, written in the unit of the range's first number. The step
// is what a microbatch holds in all of a rank's layers, or 1 if that is not given. Fails if the
// text is not such a range, or if it has too many memories.
[[nodiscard]] spec::Result<std::vector<std::string>> memories_of(const ModelOptions& model);

struct CurvePoint {
  std::string memory;  // as text
  bool fits = false;
  bool found = false;
  Time value = 0;  // the makespan or span, by the objective
  Time makespan = 0;
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
  // The share of a makespan or span that is beyond the busiest rank's work.
  [[nodiscard]] double bubble_rate(Time time) const {
    return static_cast<double>(time - work) / static_cast<double>(time);
  }
};
// Gives `point` the result for a smaller memory if that is better, since the order fits here too.
void carry_up(const CurvePoint& less, CurvePoint& point);
// Gives each point the bound of a larger memory if that is higher. The memories must ascend.
void carry_bounds_down(std::vector<CurvePoint>& points);

// A library schedule's times, and the most microbatches that a rank holds in all of its layers.
struct KnownSchedule {
  std::string name;
  double memory = 0;
  double makespan = 0;
  double span = 0;
  [[nodiscard]] double time(Objective objective) const {
    return objective == Objective::makespan ? makespan : span;
  }
};

// The points of all memories and the library's schedules, with the setting that they share.
struct MemoryCurve {
  std::vector<CurvePoint> points;
  std::size_t memories = 0;  // above the number of points if the search was stopped
  // The library's committed orders with the same costs, ranks and microbatches, except schedules
  // that would split a whole backward or have two copies of the model. They count the activations
  // of equal stages; for other models there are none.
  std::vector<KnownSchedule> library;
  std::string model;               // `costs 24,23,12,1`
  std::vector<std::string> notes;  // as in ModelForms
  Objective objective = Objective::makespan;
  int ranks = 1;
  int microbatches = 1;
  std::string unit;         // the unit of times
  std::string memory_unit;  // empty if it is the activation of a microbatch
  std::uint64_t seed = 1;
};
struct CurveOptions {
  double seconds = 10;  // for each memory
  std::uint64_t seed = 1;
  int solver_threads = 0;                            // 0 means no solver
  std::function<bool()> go_on = {};                  // as in FormSearch; may be empty
  std::function<void(const CurvePoint&)> tell = {};  // gets each point; may be empty
};
// The curve of a model whose memory is a range. Each memory is searched on each form, and the best
// order is certified. An error is about the options, or is a defect.
[[nodiscard]] spec::Result<MemoryCurve> memory_curve(const ModelOptions& model,
                                                     const CurveOptions& options);

}  // namespace ripeline::optimise
