// The optional solver: better orders of a model by OR-tools' CP-SAT, and bounds on all orders.
//
// It runs in a process of its own, ripeline-solver, which opens OR-tools at run time. If this
// program or OR-tools is missing, ends by a signal, hangs or gives a false answer, the answer is
// `unavailable` and says why; nothing throws, and the caller gets no signal. An order that is
// returned is legal by the model. Several short calls, each with the last order as its hint, show
// progress. solve() blocks; several threads may call it at a time.
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
  Objective objective = Objective::wall;
  // A task whose start is minimised instead, with all tasks free; the answer then has only a bound.
  int entry = -1;
  // A legal order to begin with, which must outlive the call. A bad hint can be slower than none.
  const Rows* hint = nullptr;
  // Per task, with a hint: only free tasks change places, with free tasks that stand beside them in
  // a row. Empty: all tasks are free.
  std::vector<bool> is_free = {};
  // The divisor of all times. It is fast to keep tasks as short as 1, or a few tens. Times
  // rounded to the nearest give the best orders; rounded down they give a bound, and orders of
  // little use.
  Time scale = 1;
  bool rounds_down = false;
  double seconds = 10;  // the most time; less is used if it is enough
  int workers = 1;      // threads
  // One worker enumerates orders, without linear relaxations. That proves an optimum two to ten
  // times as fast as any number of other workers.
  bool proves = false;
  std::uint64_t seed = 1;
  Time bound = 0;                    // a bound known beforehand: no order is below it
  std::function<bool()> go_on = {};  // asked every 50 ms; false: answer with the best so far
};

struct SolveAnswer {
  enum class Status {
    optimal,      // by the divided times, and among the orders that the request allows
    feasible,     // not proved to be the best
    infeasible,   // there is no order
    unknown,      // nothing found in this time
    unavailable,  // no solver
  };
  Status status = Status::unavailable;
  // A legal order, still to be timed. By span it may take longer than in the solver, where ranks
  // may begin later than they can.
  std::optional<Rows> rows = {};
  // No order with each lane's tasks in turn is below this bound. Set only if all tasks are free,
  // times are not rounded up, and the model leaves nothing out.
  std::optional<Time> bound = {};
  std::string why = {};  // if unavailable: what is missing or went wrong, for people
  double seconds = 0;    // the time it took
};

[[nodiscard]] SolveAnswer solve(const SolveRequest& request);

// The tasks that run at least in part between the two times, for `is_free`.
[[nodiscard]] std::vector<bool> tasks_within(const Model& model, const std::vector<Time>& starts,
                                             Time from, Time to);

}  // namespace ripeline::optimise
