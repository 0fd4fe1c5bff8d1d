// Problem: a program, its times and what is to be made small; and what an order of its tasks takes.
//
// An order is timed as the simulator times a run: through the model where it leaves nothing out,
// else by a simulated run. Whoever returns an order to a user has it certified all the same
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

// A legal order, and what it takes when each task starts as soon as it can.
struct Found {
  Rows rows;
  Time wall = 0;
  Time span = 0;
  std::vector<std::int64_t> peaks;  // per pool of the program, whether it has a capacity or not
};

class Problem {
 public:
  // Enough for small steps; a search asks often, and what is not proved with them it passes over.
  static constexpr std::uint64_t kFewStates = 200'000;

  // Errors: times that are drawn, a count that the program is not for, what no reader supports, and
  // what Timing::make() refuses.
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
  // If it is an even model: then more is known of it. nullptr otherwise.
  [[nodiscard]] const UniformProgram* uniform() const {
    return nearest_uniform_ && nearest_uniform_->is_exact ? &*nearest_uniform_ : nullptr;
  }
  // The nearest even model; its orders are orders of this.
  [[nodiscard]] const std::optional<UniformProgram>& nearest_uniform() const {
    return nearest_uniform_;
  }
  // No order is below it, by any dispatch.
  [[nodiscard]] const Bound& bound() const { return bound_; }
  // False: some pool cannot hold what must be in it before any of it is released.
  [[nodiscard]] bool fits() const;

  // The work of the `compute` engine that has the most to do, over all ranks.
  [[nodiscard]] Time work() const;

  // The same where each pool with a capacity has room for so many microbatches more, or less: of
  // what one holds that runs alone. Where microbatches differ, of what the largest holds, or less
  // of what the smallest does. nullptr: nothing would change, or nothing fits.
  [[nodiscard]] std::unique_ptr<Problem> with_room(int microbatches) const;
  // The same with fewer microbatches, without a bound; nullptr: there is no such problem.
  [[nodiscard]] std::unique_ptr<Problem> of_length(int microbatches) const;

  // The order with its times and peaks. Nothing: it is not legal. Where the model leaves something
  // out, an order may end with these times and deadlock with others: see is_safe().
  [[nodiscard]] std::optional<Found> timed(const Rows& rows) const;
  // Proved for every timing, with so many states at most where engines compete for a pool.
  [[nodiscard]] bool is_safe(const Rows& rows, std::uint64_t states = kFewStates) const;
  // The simulated run of the program's own dispatch, with each engine's tasks in the order in which
  // they started. To commit to that order may take other times, or none: timed() says. Nothing: the
  // run does not end.
  [[nodiscard]] std::optional<Found> of_own_dispatch() const;
  // Whether that dispatch is proved for every timing.
  [[nodiscard]] bool is_own_dispatch_safe() const;

 private:
  Problem(spec::Program program, int microbatches, simulate::TimingOptions times,
          Objective objective);
  [[nodiscard]] std::optional<spec::Diagnostic> read();
  [[nodiscard]] Found measured(const Rows& rows, const std::vector<Time>& starts) const;

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
