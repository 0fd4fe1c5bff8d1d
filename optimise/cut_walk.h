// CutWalk: cuts of layers, built rank by rank.
//
// Within a chunk, a rank's stage follows the stage of the previous rank. So the layers assigned so
// far in each chunk are consecutive, and the next rank extends them at one end. The best cut of the
// remaining layers depends only on the next rank and on these ends, so it is computed once for each
// such state. On a loop, the layers at which chunks begin are chosen first. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "optimise/cuts.h"
#include "optimise/placed_model.h"
#include "optimise/rank_bounds.h"

namespace ripeline::optimise {

class CutWalk {
 public:
  using Time = RankBounds::Time;

  // Leaves out cuts that have a rank whose bound is above `limit`. The walk gives up after it has
  // looked at `steps` stages.
  CutWalk(const PlacedModel& model, const RankBounds& bounds, Time limit, std::int64_t steps);

  // Adds at most `most` cuts to Cuts::best, in the order of that list. Sets `rest` to kNoOther if
  // no other cut is within the limit. Returns false if the walk gave up before it could add cuts.
  bool run(std::size_t most, Cuts& cuts);

 private:
  using Ends =
      std::array<std::int16_t, PlacedModel::kMostChunks>;  // per chunk: the end at which it grows
  // The combined bounds of a rank and of all later ranks.
  struct Value {
    Time worst = 0;  // a lower bound of the largest of their bounds
    double sum = 0;  // a lower bound of the sum of their bounds
  };
  // The next rank, and for each chunk the end of the layers that earlier ranks have taken.
  struct State {
    std::size_t plan = 0;
    int rank = 0;
    Ends ends = {};
  };
  // The layers at which chunks begin. Per rank, the known values of that rank and all later ranks.
  struct Plan {
    Ends stops = {};
    std::vector<std::map<Ends, Value>> known;
  };
  // A cut that is chosen for the first ranks only.
  struct Partial {
    Value value;     // over all ranks
    double sum = 0;  // over the chosen ranks
    Time worst = 0;  // the largest bound of the chosen ranks
    State next;
    std::size_t from = 0;  // the index of the partial cut without its last rank
  };

  void plan(int chunk, Ends begins);
  [[nodiscard]] bool is_v() const { return model_.placement == pytorch::Placement::v; }
  [[nodiscard]] bool is_last(const State& state) const { return state.rank + 1 == model_.ranks; }
  [[nodiscard]] int stop_of(std::size_t plan, int chunk) const;
  [[nodiscard]] Time work_left(const State& state) const;
  Value value_of(const State& state);
  // Calls visit(Ends, Time) for each choice of a rank's layers, with that rank's bound.
  template <class Visit>
  void each_step(const State& state, const Visit& visit);
  template <class Visit>
  void choose(const State& state, int chunk, Time work, Ends& next, const Visit& visit);
  [[nodiscard]] std::pair<int, int> range(const State& state, int chunk, const Ends& next) const;
  [[nodiscard]] RankBounds::Stage stage(const State& state, int chunk, int end) const;
  [[nodiscard]] std::vector<int> first_layers(const std::vector<Partial>& all,
                                              std::size_t last) const;

  const PlacedModel& model_;
  const RankBounds& bounds_;
  Time limit_;
  std::int64_t steps_;
  int layers_;
  std::vector<Plan> plans_;
};

}  // namespace ripeline::optimise
