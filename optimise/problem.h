// Problem: a program with its times and an objective. It times and checks orders of the tasks.
//
// The times of an order are the simulator's. They come from the model if it leaves nothing out, and
// else from a simulated run. An order for a user must be certified all the same
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

// A legal order, and its times and peaks when each task starts as soon as it can.
struct TimedOrder {
  Rows rows;
  Time makespan = 0;
  Time span = 0;
  std::vector<std::int64_t> peaks;  // per pool of the program, with or without a capacity
};

class Problem {
 public:
  // States for is_safe(), enough for small steps. A search passes over orders that need more.
  static constexpr std::uint64_t kFewStates = 200'000;

  // Fails if times are drawn, if the program is not for this count of microbatches, if the program
  // has something that is not supported, and if Timing::make() fails.
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
  // A lower bound for the orders of any dispatch.
  [[nodiscard]] const Bound& bound() const { return bound_; }
  // False if some pool cannot hold what must be in it before anything is released.
  [[nodiscard]] bool fits() const;

  [[nodiscard]] Time value_of(const TimedOrder& order) const {  // the objective's
    return objective_ == Objective::makespan ? order.makespan : order.span;
  }
  // A time in the unit of the costs.
  [[nodiscard]] double in_units(Time time) const {
    return static_cast<double>(time) / static_cast<double>(timing_.unit().nanoseconds);
  }

  // The work of the `compute` engine that has the most to do, over all ranks.
  [[nodiscard]] Time work() const;

  // The problem in which each capacity has room for `microbatches` more, or for fewer if negative.
  // A microbatch needs the room that it takes alone; if microbatches differ, the most of any or, if
  // room is taken away, the least. nullptr if nothing would change, or if nothing would fit.
  [[nodiscard]] std::unique_ptr<Problem> with_room(int microbatches) const;
  // The problem with fewer microbatches, without a bound; nullptr if there is no such problem.
  [[nodiscard]] std::unique_ptr<Problem> of_length(int microbatches) const;

  // The order with its times and peaks; nullopt if it is not legal. If the model leaves something
  // out, an order that ends with these times may deadlock with others; see is_safe().
  [[nodiscard]] std::optional<TimedOrder> timed(const Rows& rows) const;
  // Whether the order is proved for every timing. If engines share a pool, visits at most `states`.
  [[nodiscard]] bool is_safe(const Rows& rows, std::uint64_t states = kFewStates) const;
  // The simulated run of the program's own dispatch, with each engine's tasks in the order in which
  // they started. A program committed to that order may have other times or deadlock; see timed().
  // nullopt if the run does not end.
  [[nodiscard]] std::optional<TimedOrder> of_own_dispatch() const;
  // Whether that dispatch is proved for every timing.
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
