// The optional solver: better orders of a model by OR-tools' CP-SAT, and what none can beat.
//
// It runs in a process of its own, ripeline-solver, which opens OR-tools at run time. Where that or
// OR-tools is missing, ends by a signal, hangs or answers what is not true, the answer is
// `unavailable` and says why; nothing throws, and the caller gets no signal. An order that is
// returned is legal by the model. Several short calls, each with the last order as its hint, show
// progress. solve() blocks; it may be called by several threads at a time.
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
  // A task: its start is made small instead, with all tasks free, and the answer has a bound alone.
  int entry = -1;
  // A legal order to begin with, which must outlive the call. A bad one can be slower than none.
  const Rows* hint = nullptr;
  // Per task, with a hint: only these change places, with those that stand beside them in a row.
  // Empty: all.
  std::vector<bool> is_free = {};
  // Times are divided by it: as long as the least of them, or a few tens of it, is fast. Rounded to
  // the nearest they give the best orders; rounded down they give a bound, and orders of little
  // use.
  Time scale = 1;
  bool rounds_down = false;
  double seconds = 10;  // less is taken where it is enough
  int workers = 1;      // threads
  // One worker goes through orders, without linear relaxations. It proves an optimum two to ten
  // times as fast as any number of others.
  bool proves = false;
  std::uint64_t seed = 1;
  Time bound = 0;                    // known beforehand: no order is below it
  std::function<bool()> go_on = {};  // asked every 50 ms; false: answer with the best so far
};

struct SolveAnswer {
  enum class Status {
    optimal,      // by the divided times, and among the orders that the request allows
    feasible,     // not proved to be the best
    infeasible,   // there is no order
    unknown,      // nothing in this time
    unavailable,  // no solver
  };
  Status status = Status::unavailable;
  // Legal, but to be timed. By span it may take longer than the solver saw: there ranks may begin
  // later than they can.
  std::optional<Rows> rows = {};
  // No order in which each lane's tasks have their turns is below it. Only if all tasks are free,
  // times are not rounded up, and the model leaves nothing out.
  std::optional<Time> bound = {};
  std::string why = {};  // unavailable: what is missing or went wrong, for people
  double seconds = 0;    // the time it took
};

[[nodiscard]] SolveAnswer solve(const SolveRequest& request);

// The tasks that run in part or whole between two times, for `is_free`.
[[nodiscard]] std::vector<bool> tasks_within(const Model& model, const std::vector<Time>& starts,
                                             Time from, Time to);

}  // namespace ripeline::optimise
