// Orders of any model that a rule makes: a machine runs what is ready, by a preference of lanes.
//
// A machine that is idle takes, of the tasks that are ready and find room, the one that is wanted
// the earliest. Two things hold it back. A limit of its pools that is lower than their capacity: so
// a rank does not run ahead. And room that is kept for a base order: a task may start only if what
// the base lists before it, and has not started, still finds room afterwards, one after the other.
// What the base has next is held back by neither: a machine always has something that it may run.
// Tasks that nothing on another machine waits for are left for when nothing else comes within
// `look_ahead`.
//
// Only models that leave nothing out are run exactly. Pure, deterministic, thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "optimise/model.h"
#include "optimise/search/random.h"

namespace ripeline::optimise {

struct ReadyRule {
  std::vector<double> wanted;  // per lane: when its first task is; any unit
  double period = 0;           // the next ones so much later each
  std::vector<double> share;   // per lane: of its pools' capacities; 0 to 1
  Time look_ahead = 0;
};
// Nothing: it deadlocks. `base`: a legal order.
[[nodiscard]] std::optional<Rows> run(const Model& model, const Rows& base, const ReadyRule& rule);

// Rules drawn at random, one after the other. The first is none that is drawn: what has the longest
// path before it goes first, as a backward. Of half of the others lanes are preferred whatever
// their microbatch, of the others tasks are wanted in a rhythm, along their longest paths.
class RandomRules {
 public:
  // `program` is that of the model: lanes of one op, or of one op and chunk, are wanted alike.
  RandomRules(const spec::Program& program, const Model& model, std::uint64_t seed);
  [[nodiscard]] ReadyRule next();

 private:
  const spec::Program& program_;
  const Model& model_;
  Random random_;
  [[nodiscard]] double pick(std::initializer_list<double> values);

  bool has_begun_ = false;
  Time mean_ = 1;   // a task's time
  Time cycle_ = 1;  // the busiest machine's time per microbatch
};

}  // namespace ripeline::optimise
