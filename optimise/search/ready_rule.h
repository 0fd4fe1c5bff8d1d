// Orders of any model, made by a rule: a machine runs ready tasks, by a preference among lanes.
//
// An idle machine takes, of the tasks that are ready and find room, the one that is wanted
// earliest. Two rules delay tasks. A limit on its pools may be lower than their capacity, so that a
// rank does not run ahead. And room is kept for a base order: a task may start only if all tasks
// that the base lists before it, and that have not started, still find room afterwards, one after
// the other. Neither rule delays the next task of the base, so a machine always has a task that it
// may run. A task for which no other machine waits runs only when nothing else arrives within
// `look_ahead`.
//
// Only models that leave no constraint out are run exactly. Pure, deterministic, thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "optimise/model.h"
#include "optimise/search/random.h"

namespace ripeline::optimise {

struct ReadyRule {
  std::vector<double> wanted;  // per lane: the time at which its first task is wanted; in any unit
  double period = 0;           // each next task of a lane is wanted this much later
  std::vector<double> share;   // per lane: its limit, as a share of its pools' capacities; 0 to 1
  Time look_ahead = 0;
};
// Runs the rule; nullopt if it deadlocks. `base` must be a legal order.
[[nodiscard]] std::optional<Rows> run(const Model& model, const Rows& base, const ReadyRule& rule);

// Rules drawn at random, one after the other. Only the first is not drawn: it prefers the task with
// the longest path before it, such as a backward. Half of the others prefer some lanes, whatever
// the microbatch; the rest want tasks at regular intervals, along their longest paths.
class RandomRules {
 public:
  // `program` is the model's: lanes of the same op, or of the same op and chunk, are wanted alike.
  RandomRules(const spec::Program& program, const Model& model, std::uint64_t seed);
  [[nodiscard]] ReadyRule next();

 private:
  const spec::Program& program_;
  const Model& model_;
  Random random_;
  [[nodiscard]] double pick(std::initializer_list<double> values);

  bool has_begun_ = false;
  Time mean_ = 1;   // the mean time of a task
  Time cycle_ = 1;  // the busiest machine's time per microbatch
};

}  // namespace ripeline::optimise
