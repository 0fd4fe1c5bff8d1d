// What a hint chooses among the lanes that have a task that may start.
//
// A hint sees lanes only: of the chosen lane the lowest microbatch starts. Only an order from a
// file binds microbatches, and a priority may tell them apart. A place of a hint lists the lanes of
// an op, or with `@` the one at a chunk. The rules:
//  * prefer A, B: the first place that has a lane.
//  * rounds A, A, B: places are tried from the one after the last taken; when the rest of the round
//    has nothing, a new round begins at the first. A place that has nothing is passed, and its turn
//    is over. What starts takes the first place that lists it, from the one to try first on; what
//    no place lists leaves the round where it is, but a `fill` ends it.
//  * following an order: the lane whose next occurrence in the order is earliest; lanes without one
//    come after. Of an order from a file: the task that stands earliest in it. With `fill` ops: the
//    earliest lane of the others, if it has a task that may start; else a `fill`; else as before.
//  * priority A = …, B = …: of the tasks of the places the one with the greatest value, which
//    spec/priority.h says. Of equal ones that of the first place, then by the ties, then the lowest
//    microbatch.
//  * A lane that the hint does not list comes after those it lists, its ops in order of
//    declaration, and before `fill`; those of `fill` come last, in order. A lane that a place lists
//    is no `fill`.
//  * Ties among lanes of one op: forwards the lower chunk, all others the higher.
// Values; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "spec/program.h"

namespace ripeline::spec {

class Priorities;

class HintPolicy {
 public:
  // The program must outlive it.
  HintPolicy(const Program& program, int rank, int microbatches);

  struct State {
    int round = 0;             // rounds: the place to try first
    std::vector<int> started;  // order: per own lane, tasks started
    bool operator==(const State&) const = default;
  };

  [[nodiscard]] State initial() const;
  // The task to take before anything else, or none (-1): of an order from a file.
  [[nodiscard]] Task bound(const std::function<bool(const Task&)>& may_start) const;
  // The task to take before anything else, or none (-1): of a priority. `next(lane, from)` is the
  // lowest task of the lane, from that number on, that may start, or -1; `held(pool)` what the pool
  // holds.
  [[nodiscard]] Task greatest(const std::function<int(int lane, int from)>& next,
                              const std::function<std::int64_t(int pool)>& held) const;
  // The value of a task that a place lists; of a priority.
  [[nodiscard]] std::int64_t priority(const Task& task,
                                      const std::function<std::int64_t(int pool)>& held) const;
  // The lane to take, or -1. `may_start(lane)` says whether the lane has a task that may start.
  [[nodiscard]] int choose(const State& state, const std::function<bool(int)>& may_start) const;
  // Following an order, not of a file: the lane that a hint with patience waits for, or -1. It is
  // the earliest of those that are no `fill`; if that has no room, a `fill` that may start; if none
  // may, the earliest that has room. `has_room` says no also of lanes of other engines.
  [[nodiscard]] int next(const State& state, const std::function<bool(int)>& has_room,
                         const std::function<bool(int)>& may_start) const;
  void started(State& state, int lane) const;

  // The rank's lanes of `op` in the order of the ties.
  [[nodiscard]] static std::vector<int> tie_order(const Program& program, int rank, int op);

 private:
  // Following an order: the lane, no `fill`, whose next occurrence is earliest of those for which
  // `may` holds, or -1.
  [[nodiscard]] int earliest(const State& state, const std::function<bool(int)>& may) const;

  const Program* program_;
  int rank_;
  std::vector<std::vector<int>> listed_;     // per place of the hint: lanes in tie order
  std::vector<int> fill_;                    // lanes in order of preference
  std::vector<int> rest_;                    // unlisted, then fill: lanes in order of preference
  std::vector<std::vector<int>> positions_;  // order: per own lane, where its occurrences stand
  std::vector<Task> bound_;                  // order from a file: its tasks
  std::shared_ptr<const Priorities> priorities_;  // of a priority
};

}  // namespace ripeline::spec
