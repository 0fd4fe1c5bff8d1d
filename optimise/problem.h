// Problem: a program with its times and an objective. It times and checks orders of the tasks.
//
// The times of an order equal the simulator's. They come from the model if it leaves nothing out,
// and otherwise from a simulated run. Even so, an order must be certified before a user gets it
// (optimise/certified.h). Immutable once made; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "optimise/bounds/bounds.h"
#include "optimise/bounds/task_graph.h"
#include "optimise/model.h"
#include "optimise/uniform.h"
#include "optimise/uniform_program.h"
#include "simulate/timing.h"
#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::optimise {

// A legal order, with the times and peaks that result if each task starts as soon as it can.
struct TimedOrder {
  Rows rows;
  Time makespan = 0;
  Time span = 0;
  std::vector<std::int64_t> peaks;  // per pool of the program, with or without a capacity
};

class Problem {
 public:
  // The default limit of is_safe(), enough for small steps. A search skips orders that need more.
  static constexpr std::uint64_t kFewStates = 200'000;

  // Fails if times are drawn, if the program does not allow this count of microbatches, if the
  // program has a feature that is not supported, or if Timing::make() fails.
  [[nodiscard]] static spec::Result<std::unique_ptr<Problem>> make(
      spec::Program program, int microbatches, const simulate::TimingOptions& times,
      Objective objective);
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  [[nodiscard]] const spec::Program& program() const { return program_; }
  [[nodiscard]] int microbatches() const { return microbatches_; }
  [[nodiscard]] const simulate::TimingOptions& times() const { return times_; }
  [[nodiscard]] const simulate::Timing& timing() const { return timing_; }
  [[nodiscard]] Objective objective() const { return objective_; }
  [[nodiscard]] const Model& model() const { return model_; }
  // The even model that the program equals; nullptr if there is none.
  [[nodiscard]] const UniformProgram* uniform() const {
    return nearest_uniform_ && nearest_uniform_->is_exact ? &*nearest_uniform_ : nullptr;
  }
  // The nearest even model; its orders are also orders of this problem.
  [[nodiscard]] const std::optional<UniformProgram>& nearest_uniform() const {
    return nearest_uniform_;
  }
  // A lower bound for all orders, whatever the dispatch is.
  [[nodiscard]] const Bound& bound() const { return bound_; }
  // False if some pool has less capacity than must be acquired before anything can be released.
  [[nodiscard]] bool fits() const;

  [[nodiscard]] Time value_of(const TimedOrder& order) const {  // the objective's value
    return objective_ == Objective::makespan ? order.makespan : order.span;
  }
  // Converts a time to the unit of the costs.
  [[nodiscard]] double in_units(Time time) const {
    return static_cast<double>(time) / static_cast<double>(timing_.unit().nanoseconds);
  }

  // The total time of the tasks of the busiest `compute` engine of any rank.
  [[nodiscard]] Time work() const;

  // The problem with room for `microbatches` more in each capacity, or for fewer if negative. A
  // microbatch counts with the amount that it needs if it runs alone. If microbatches differ, the
  // largest need is added or the smallest removed. nullptr if nothing changes or nothing fits.
  [[nodiscard]] std::unique_ptr<Problem> with_room(int microbatches) const;
  // The problem with fewer microbatches; its bound() is not set. nullptr if there is none.
  [[nodiscard]] std::unique_ptr<Problem> of_length(int microbatches) const;

  // The order with its times and peaks; nullopt if it is not legal. If the model leaves something
  // out, an order that ends under these times may still deadlock under other times; see is_safe().
  [[nodiscard]] std::optional<TimedOrder> timed(const Rows& rows) const;
  // Whether the order is proved for every timing. A proof by states gives up after `states` states.
  [[nodiscard]] bool is_safe(const Rows& rows, std::uint64_t states = kFewStates) const;
  // The simulated run of the program's own dispatch, with each engine's tasks in the order in which
  // they started. A program committed to that order may have other times or deadlock; see timed().
  // nullopt if the run does not end.
  [[nodiscard]] std::optional<TimedOrder> of_own_dispatch() const;
  // Whether the program's own dispatch is proved for every timing.
  [[nodiscard]] bool is_own_dispatch_safe() const;

 private:
  Problem(spec::Program program, int microbatches, simulate::TimingOptions times,
          Objective objective);
  [[nodiscard]] std::optional<spec::Diagnostic> read();
  [[nodiscard]] TimedOrder measured(const Rows& rows, const std::vector<Time>& starts) const;

  spec::Program program_;
  int microbatches_;
  simulate::TimingOptions times_;
  Objective objective_;
  simulate::Timing timing_;
  TaskGraph graph_;
  Model model_;
  std::optional<UniformProgram> nearest_uniform_;
  Bound bound_;
};

}  // namespace ripeline::optimise
