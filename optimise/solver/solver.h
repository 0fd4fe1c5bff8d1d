// The optional solver: better orders of a model by OR-tools' CP-SAT, and bounds on all orders.
//
// It runs in a process of its own, ripeline-solver, which opens OR-tools at run time. If this
// program or OR-tools is missing, ends by a signal, hangs or gives a false answer, the answer is
// `unavailable` and says why; nothing throws, and the caller gets no signal. A returned order is
// legal by the model. A caller can show progress by several short calls, each with the last order
// as its hint. solve() blocks; several threads may call it at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "optimise/model.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {

struct SolveRequest {
  const Model& model;
  Objective objective = Objective::makespan;
  // A task whose start is minimised instead, with all tasks free; the answer then has only a bound.
  int entry = -1;
  // A legal order to start from, which must outlive the call. A bad hint can be slower than none.
  const Rows* hint = nullptr;
  // Per task; needs a hint. Only free tasks change places, with free tasks that are adjacent in a
  // row. Empty: all tasks are free.
  std::vector<bool> is_free = {};
  // The divisor of all times. The solver is fast if tasks then take 1, or a few tens. Times that
  // are rounded to the nearest give the best orders; times that are rounded down give a bound, and
  // orders of little use.
  Time scale = 1;
  bool rounds_down = false;
  double seconds = 10;  // the longest time; the solver may end earlier
  int workers = 1;      // threads
  // One worker enumerates orders, without linear relaxations. That proves an optimum two to ten
  // times as fast as any number of other workers.
  bool proves = false;
  std::uint64_t seed = 1;
  Time bound = 0;                    // a bound known beforehand: no order is below it
  std::function<bool()> go_on = {};  // called every 50 ms; false ends the search with its best
};

struct SolveAnswer {
  enum class Status {
    optimal,      // for the divided times, among the orders that the request allows
    feasible,     // not proved to be the best
    infeasible,   // there is no order
    unknown,      // nothing found in this time
    unavailable,  // no solver
  };
  Status status = Status::unavailable;
  // A legal order, without times. By span it may take longer than in the solver, which may let
  // ranks begin later than the earliest time.
  std::optional<Rows> rows = {};
  // No order that has each lane's tasks in turn is below this bound. Set only if all tasks are
  // free, times are not rounded up, and the model leaves no constraint out.
  std::optional<Time> bound = {};
  std::string why = {};  // if unavailable: what is missing or went wrong, for people
  double seconds = 0;    // the time it took
};

[[nodiscard]] SolveAnswer solve(const SolveRequest& request);

// The tasks that run at least partly between the two times, in the form of `is_free`.
[[nodiscard]] std::vector<bool> tasks_within(const Model& model, const std::vector<Time>& starts,
                                             Time from, Time to);

}  // namespace ripeline::optimise
