// The optional solver: better orders of a model by OR-tools' CP-SAT, and bounds on all orders.
//
// The solver runs in its own process, ripeline-solver, which opens OR-tools at run time. If the
// program or OR-tools is missing, crashes, hangs or gives a false answer, the status is
// `unavailable` and `why` has the reason; nothing throws, and the caller receives no signal. Each
// returned order is legal in the model. To show progress, call solve() several times with few
// seconds, each time with the last order as the hint. It blocks; several threads may call it.
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
  // A task whose start is minimised instead; all tasks must be free, and the answer has no order.
  int entry = -1;
  // A legal order to start from. It must outlive the call. A bad hint can be slower than none.
  const Rows* hint = nullptr;
  // Per task; needs a hint. Only free tasks change places, and only with free tasks adjacent in
  // their row. If empty, all tasks are free.
  std::vector<bool> is_free = {};
  // The divisor of all times. The solver is fast if a task then takes 1, or up to a few tens.
  // Rounding to the nearest gives the best orders. Rounding down gives a bound, but orders that are
  // hardly useful.
  Time scale = 1;
  bool rounds_down = false;
  double seconds = 10;  // the longest time; the solver may end earlier
  int workers = 1;      // threads
  // Uses one worker that enumerates orders, without linear relaxations. It proves an optimum two to
  // ten times as fast as any number of other workers.
  bool proves = false;
  std::uint64_t seed = 1;
  Time bound = 0;                    // a bound known beforehand: no order is below it
  std::function<bool()> go_on = {};  // called every 50 ms; false ends the search with its best
  bool is_abandoned = false;         // if `go_on` returns false, nobody waits for the search's best
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
  // A legal order, without times. By span it may take longer than in the solver, where ranks may
  // delay their first start.
  std::optional<Rows> rows = {};
  // No order that runs each lane's tasks in turn is below this bound. Set only if all tasks are
  // free, no time was rounded up, and the model leaves no constraint out.
  std::optional<Time> bound = {};
  std::string why = {};  // if unavailable: what is missing or went wrong, for people
  double seconds = 0;    // the time that solve() took
};

[[nodiscard]] SolveAnswer solve(const SolveRequest& request);

// The tasks that run, at least partly, between the two times; usable as SolveRequest::is_free.
[[nodiscard]] std::vector<bool> tasks_within(const Model& model, const std::vector<Time>& starts,
                                             Time from, Time to);

}  // namespace ripeline::optimise
