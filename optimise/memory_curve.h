// The best time of a model for each memory of a rank, beside the times of the library's schedules.
//
// An order that fits a memory also fits a larger one, so a larger memory never has a longer best
// time. A lower bound for a memory also holds for smaller memories. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "optimise/forms.h"
#include "optimise/model_options.h"
#include "optimise/problem.h"
#include "simulate/amount.h"
#include "spec/diagnostics.h"

namespace ripeline::optimise {

// Whether the text is a range such as `4..8` or `20GB..24GB`.
[[nodiscard]] bool is_memory_range(const std::string& memory);
// The memories in the model's range, written in the unit of the range's first number. They differ
// by what a microbatch holds in all layers of a rank, or by 1 if that is not given. Fails if the
// text is not a range or has too many memories.
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
  // The fraction of a makespan or span that is not the busiest rank's work.
  [[nodiscard]] double bubble_rate(Time time) const {
    return static_cast<double>(time - work) / static_cast<double>(time);
  }
};
// If the result for a smaller memory is better, copies it to `point`, where its order also fits.
void carry_up(const CurvePoint& less, CurvePoint& point);
// Raises each found point's bound to the largest bound of larger memories. Memories must ascend.
void carry_bounds_down(std::vector<CurvePoint>& points);

// A library schedule: its times, and the most microbatches that any rank holds in all its layers.
struct KnownSchedule {
  std::string name;
  double memory = 0;
  double makespan = 0;
  double span = 0;
  [[nodiscard]] double time(Objective objective) const {
    return objective == Objective::makespan ? makespan : span;
  }
};

// The points for all memories, the library's schedules, and the settings that apply to all of them.
struct MemoryCurve {
  std::vector<CurvePoint> points;
  std::size_t memories = 0;  // above points.size() if the search was stopped
  // The library's committed orders with the same costs, ranks and microbatches, except schedules
  // that split a whole backward or have two copies of the model. They assume equal stages; empty
  // for models with given activations or a profile.
  std::vector<KnownSchedule> library;
  std::string model;               // such as `costs 24,23,12,1`
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
  int solver_threads = 0;            // 0 means no solver
  std::function<bool()> go_on = {};  // as in FormSearch; may be empty
  // Gets each improvement for the memory that is searched, and the problem whose unit its times
  // have; may be empty.
  std::function<void(const FormSearch::Improvement&, const Problem&)> improved = {};
  std::function<void(const CurvePoint&)> tell = {};  // gets each point; may be empty
};
// Computes the curve of a model whose memory is a range. All forms are searched for each memory,
// and the best order is certified. The search for a memory is a part of long work, such as
// `memory 4` (spec/long_work.h). An error is about the options or is a defect of Ripeline.
[[nodiscard]] spec::Result<MemoryCurve> memory_curve(const ModelOptions& model,
                                                     const CurveOptions& options);

}  // namespace ripeline::optimise
