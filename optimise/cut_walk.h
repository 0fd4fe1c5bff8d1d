// CutWalk: cuts of layers, built rank by rank.
//
// Each stage of a rank follows that of the rank before it: chunk by chunk, the layers that the
// ranks so far have taken are a run, which grows at one end. So what is left to cut depends on the
// rank and on these ends alone, and the best that can become of it is found once. On a loop it is
// chosen beforehand where each chunk begins. One thread.
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

  // Cuts with a rank whose bound is above `limit` are left out. With more than `steps` stages of
  // ranks that it would look at it gives up.
  CutWalk(const PlacedModel& model, const RankBounds& bounds, Time limit, std::int64_t steps);

  // At most `most` of the cuts, as Cuts::best is sorted. `rest` has kNoOther if these are all
  // within the limit. False: it has given up.
  bool run(std::size_t most, Cuts& cuts);

 private:
  using Ends =
      std::array<std::int16_t, PlacedModel::kMostChunks>;  // per chunk: where the next stage lies
  // The bounds of a rank and of those after it.
  struct Value {
    Time worst = 0;  // the largest of their bounds, at least
    double sum = 0;  // the sum of their bounds, at least
  };
  struct Place {
    std::size_t plan = 0;
    int rank = 0;
    Ends ends = {};
  };
  // Where chunks begin, and the known values of the ranks that are left, by rank.
  struct Plan {
    Ends stops = {};
    std::vector<std::map<Ends, Value>> known;
  };
  // A cut whose first ranks are chosen.
  struct Partial {
    Value value;     // over all ranks
    double sum = 0;  // over the chosen ranks
    Time worst = 0;  // likewise
    Place next;
    std::size_t from = 0;  // the partial cut without its last rank, by its number
  };

  void plan(int chunk, Ends begins);
  [[nodiscard]] bool is_v() const { return model_.placement == PlacedModel::Placement::v; }
  [[nodiscard]] bool is_last(const Place& place) const { return place.rank + 1 == model_.ranks; }
  [[nodiscard]] int stop_of(std::size_t plan, int chunk) const;
  [[nodiscard]] Time work_left(const Place& place) const;
  Value value_of(const Place& place);
  // Each choice of layers for a rank, with its bound: visit(Ends, Time).
  template <class Visit>
  void each_step(const Place& place, const Visit& visit);
  template <class Visit>
  void choose(const Place& place, int chunk, Time work, Ends& next, const Visit& visit);
  [[nodiscard]] std::pair<int, int> range(const Place& place, int chunk, const Ends& next) const;
  [[nodiscard]] RankBounds::Stage stage(const Place& place, int chunk, int end) const;
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
