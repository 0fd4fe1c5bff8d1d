#include "optimise/cut_walk.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

namespace ripeline::optimise {

CutWalk::CutWalk(const PlacedModel& model, const RankBounds& bounds, Time limit, std::int64_t steps)
    : model_(model),
      bounds_(bounds),
      limit_(limit),
      steps_(steps),
      layers_(static_cast<int>(model.layers.size())) {
  Ends begins = {};
  if (is_v()) begins[1] = static_cast<std::int16_t>(layers_);
  plan(1, begins);
}

// Adds a plan for every choice of the layers at which `chunk` and later chunks of a loop begin.
void CutWalk::plan(int chunk, Ends begins) {
  if (is_v() || chunk == model_.chunks) {
    steps_ -= model_.ranks;
    if (steps_ < 0) return;
    Plan& plan = plans_.emplace_back();
    plan.stops = begins;
    plan.known.resize(static_cast<std::size_t>(model_.ranks));
    return;
  }
  const auto before = static_cast<std::size_t>(chunk - 1);
  const int most = layers_ - model_.ranks * (model_.chunks - chunk);
  for (int begin = begins[before] + model_.ranks; begin <= most && steps_ >= 0; ++begin) {
    begins[before + 1] = static_cast<std::int16_t>(begin);
    plan(chunk + 1, begins);
  }
}

// The layer at which a chunk of a loop or a chain ends.
int CutWalk::stop_of(std::size_t plan, int chunk) const {
  const bool is_last = chunk + 1 == model_.chunks;
  return is_last ? layers_ : plans_[plan].stops[static_cast<std::size_t>(chunk) + 1];
}

RankBounds::Stage CutWalk::stage(const State& state, int chunk, int end) const {
  const int begin = state.ends[static_cast<std::size_t>(chunk)];
  if (is_v() && chunk == 1) return {2 * model_.ranks - 1 - state.rank, end, begin};
  return {chunk * model_.ranks + state.rank, begin, end};
}

// The nearest and the farthest layer at which the rank's stage of `chunk` may end.
std::pair<int, int> CutWalk::range(const State& state, int chunk, const Ends& next) const {
  const auto c = static_cast<std::size_t>(chunk);
  const int begin = state.ends[c];
  const int after = model_.ranks - 1 - state.rank;  // the number of later ranks
  if (is_v()) {
    if (chunk == 0) return {begin + 1, state.ends[1] - 1 - 2 * after};
    return {is_last(state) ? next[0] : begin - 1, next[0] + 2 * after};
  }
  const int stop = stop_of(state.plan, chunk);
  return {is_last(state) ? stop : begin + 1, stop - after};
}

CutWalk::Time CutWalk::work_left(const State& state) const {
  Time left = 0;
  for (int c = 0; c < (is_v() ? 1 : model_.chunks); ++c) {
    const auto i = static_cast<std::size_t>(c);
    const int stop = is_v() ? state.ends[1] : stop_of(state.plan, c);
    left += bounds_.work_before(stop) - bounds_.work_before(state.ends[i]);
  }
  return left;
}

template <class Visit>
void CutWalk::choose(const State& state, int chunk, Time work, Ends& next, const Visit& visit) {
  if (chunk == model_.chunks) {
    std::array<RankBounds::Stage, PlacedModel::kMostChunks> stages;
    for (int c = 0; c < chunk; ++c) {
      const auto i = static_cast<std::size_t>(c);
      stages[i] = stage(state, c, next[i]);
    }
    const Time bound = bounds_.of(std::span(stages).first(static_cast<std::size_t>(chunk)));
    if (bound <= limit_ && bound != RankBounds::kNoRoom) visit(next, bound);
    return;
  }
  const auto [nearest, farthest] = range(state, chunk, next);
  const int way = is_v() && chunk == 1 ? -1 : 1;
  for (int end = nearest; way * end <= way * farthest; end += way) {
    const RankBounds::Stage made = stage(state, chunk, end);
    const Time all = work + bounds_.work_before(made.end) - bounds_.work_before(made.begin);
    if (all > limit_ || --steps_ < 0) return;
    next[static_cast<std::size_t>(chunk)] = static_cast<std::int16_t>(end);
    choose(state, chunk + 1, all, next, visit);
  }
}

template <class Visit>
void CutWalk::each_step(const State& state, const Visit& visit) {
  Ends next = {};
  choose(state, 0, 0, next, visit);
}

CutWalk::Value CutWalk::value_of(const State& state) {
  constexpr Value kNone{RankBounds::kNoRoom, 0};
  if (state.rank == model_.ranks) return {};
  auto& known = plans_[state.plan].known[static_cast<std::size_t>(state.rank)];
  if (const auto found = known.find(state.ends); found != known.end()) return found->second;
  Value best = kNone;
  if (static_cast<double>(work_left(state)) <=
      static_cast<double>(limit_) * static_cast<double>(model_.ranks - state.rank)) {
    each_step(state, [&](const Ends& next, Time bound) {
      const Value rest = value_of({state.plan, state.rank + 1, next});
      if (rest.worst == RankBounds::kNoRoom) return;
      const Value all{std::max(bound, rest.worst), static_cast<double>(bound) + rest.sum};
      if (std::tie(all.worst, all.sum) < std::tie(best.worst, best.sum)) best = all;
    });
  }
  known.emplace(state.ends, best);
  return best;
}

std::vector<int> CutWalk::first_layers(const std::vector<Partial>& all, std::size_t last) const {
  std::vector<int> first(static_cast<std::size_t>(model_.stages()));
  for (std::size_t i = last; all[i].next.rank > 0; i = all[i].from) {
    const State& state = all[all[i].from].next;
    for (int c = 0; c < model_.chunks; ++c) {
      const RankBounds::Stage made = stage(state, c, all[i].next.ends[static_cast<std::size_t>(c)]);
      first[static_cast<std::size_t>(made.number)] = made.begin;
    }
  }
  return first;
}

// A best-first search: the partial cut with the least bound is extended first.
bool CutWalk::run(std::size_t most, Cuts& cuts) {
  std::vector<Partial> all;
  const auto is_worse = [&](std::size_t a, std::size_t b) {
    const Partial& x = all[a];
    const Partial& y = all[b];
    return std::tuple(x.value.worst, x.value.sum, -x.next.rank, a) >
           std::tuple(y.value.worst, y.value.sum, -y.next.rank, b);
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(is_worse)> open(is_worse);
  const auto add = [&](Partial partial) {
    const Value rest = value_of(partial.next);
    if (rest.worst == RankBounds::kNoRoom) return;
    partial.value = {std::max(partial.worst, rest.worst), partial.sum + rest.sum};
    all.push_back(partial);
    open.push(all.size() - 1);
  };
  for (std::size_t plan = 0; plan < plans_.size() && steps_ >= 0; ++plan) {
    add({.value = {}, .sum = 0, .worst = 0, .next = {plan, 0, plans_[plan].stops}, .from = 0});
  }
  if (steps_ < 0) return false;
  while (!open.empty()) {
    const std::size_t at = open.top();
    open.pop();
    const Partial from = all[at];
    cuts.rest = from.value.worst;
    if (cuts.best.size() == most) return true;
    if (from.next.rank == model_.ranks) {
      cuts.best.push_back(first_layers(all, at));
      continue;
    }
    each_step(from.next, [&](const Ends& next, Time bound) {
      add({.value = {},
           .sum = from.sum + static_cast<double>(bound),
           .worst = std::max(from.worst, bound),
           .next = {from.next.plan, from.next.rank + 1, next},
           .from = at});
    });
    if (steps_ < 0) return true;
  }
  cuts.rest = Cuts::kNoOther;
  return true;
}

}  // namespace ripeline::optimise
