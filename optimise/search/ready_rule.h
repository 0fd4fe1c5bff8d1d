// Orders of any model, made by a rule: a machine runs ready tasks, by a preference among lanes.
//
// An idle machine starts, of the tasks that are ready and have room, the one that is wanted first.
// Two rules delay tasks. First, a limit on its pools may be lower than their capacity, so that a
// rank does not run ahead. Second, room is kept for a base order: a task may start only if after it
// all tasks that the base lists before it, and that have not started, still find room one after the
// other. Neither rule delays the next task of the base, so some task can always start. A task for
// which no other machine waits runs if no other is ready within `look_ahead`, or if one lacks room.
//
// If the model leaves a constraint out, the rule's run may not match a real run.
// Pure, deterministic, thread-safe.
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
// Runs the rule; nullopt if the run deadlocks. `base` must be a legal order.
[[nodiscard]] std::optional<Rows> run(const Model& model, const Rows& base, const ReadyRule& rule);

// Rules drawn at random, one after the other. Only the first is fixed: it prefers tasks with a long
// path before them, such as backwards. Half of the others have an order of preference among lanes;
// the rest want each lane's tasks at regular intervals, offset by the longest paths before them.
class RandomRules {
 public:
  // `program` must be the model's. Lanes of one op, or of one op and chunk, share a preference.
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
