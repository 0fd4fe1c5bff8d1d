// The external interface is run(), one_f_one_b(), each_list_rule() and try_list_rules(). A run
// visits the decisions of all ranks in the order of their times.
#include "optimise/search/list_rule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <utility>

#include "core/vocabulary/index.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {
namespace {

class Chain {
 public:
  Chain(const Uniform& uniform, const ListRule& rule, Objective objective, std::int64_t most)
      : uniform_(uniform),
        rule_(rule),
        objective_(objective),
        most_(most),
        wakes_(index(uniform.ranks), kNever),
        ranks_(index(uniform.ranks)) {
    for (auto& arrivals : arrivals_) {
      arrivals.assign(index(uniform.ranks * uniform.microbatches), kNever);
    }
    std::fill_n(arrivals_[kForward].begin(), uniform.microbatches, 0);
    for (Rank& rank : ranks_) rank.row.reserve(index(3 * uniform.microbatches));
    wakes_.front() = 0;
  }

  std::optional<RuleRun> run() {
    for (auto next = earliest(); *next != kNever; next = earliest()) {
      const auto r = static_cast<int>(next - wakes_.begin());
      if (!decide(r, *next)) return std::nullopt;
    }
    RuleRun run;
    for (Rank& rank : ranks_) {
      run.makespan = std::max(run.makespan, rank.end);
      run.span = std::max(run.span, rank.end - rank.begin);
      run.rows.push_back(std::move(rank.row));
    }
    return run;
  }

 private:
  struct Rank {
    std::array<int, 3> done{};  // F, I, W
    bool waits = true;          // whether it waits for an arrival
    Lane last = kInput;         // the last of F and I to run
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t waited = 0;  // in total, between its tasks
    ShortRow row;
  };

  [[nodiscard]] std::vector<std::int64_t>::iterator earliest() {
    return std::min_element(wakes_.begin(), wakes_.end());
  }

  [[nodiscard]] std::int64_t& arrival(Lane lane, int r, int m) {
    return arrivals_[lane][index(r * uniform_.microbatches + m)];
  }

  // Decides what rank r does at `now`; returns false if the objective would be above `most_`.
  bool decide(int r, std::int64_t now) {
    const Rank& rank = ranks_[index(r)];
    const auto [forwards, inputs, weights] = rank.done;
    const bool counts =
        forwards < uniform_.microbatches && forwards - inputs < rule_.warm_up[index(r)];
    const std::int64_t forward = counts ? arrival(kForward, r, forwards) : kNever;
    const std::int64_t input = inputs < forwards ? arrival(kInput, r, inputs) : kNever;
    const bool room = has_room(rank);
    const bool pending = weights < inputs;
    const bool late = inputs - weights > rule_.lag[index(r)] &&
                      (rule_.lag_at_end || forwards < uniform_.microbatches);
    if (pending && (late || (forward <= now && !room && input > now))) {
      return start(r, kWeight, now);
    }
    const bool forward_ready = forward <= now && room;
    if (input <= now && forward_ready) return start(r, first_of_two(rank), now);
    if (input <= now) return start(r, kInput, now);
    if (forward_ready) return start(r, kForward, now);
    const std::int64_t next = std::min(input, room ? forward : kNever);
    if (pending && !waits_for(rank, now, next)) return start(r, kWeight, now);
    ranks_[index(r)].waits = true;
    wakes_[index(r)] = next;
    return true;
  }

  // Whether the rank waits for the arrival at `next` instead of running a weight gradient.
  [[nodiscard]] bool waits_for(const Rank& rank, std::int64_t now, std::int64_t next) const {
    if (next == kNever || next - now >= rule_.look_ahead) return false;
    const std::int64_t waited = rank.waited + next - rank.end;
    return !rule_.evenly || std::any_of(ranks_.begin(), ranks_.end(),
                                        [&](const Rank& other) { return other.waited >= waited; });
  }

  // Whether the memory has room for one more forward. Uses 64 bits, since amounts may be bytes.
  [[nodiscard]] bool has_room(const Rank& rank) const {
    const auto [forwards, inputs, weights] = rank.done;
    const std::int64_t activation = uniform_.activation;
    const std::int64_t after_input = uniform_.after_input;
    return (forwards + 1) * activation - inputs * (activation - after_input) -
               weights * after_input <=
           uniform_.memory;
  }

  [[nodiscard]] Lane first_of_two(const Rank& rank) const {
    if (rule_.tie == Tie::alternate) return rank.last == kForward ? kInput : kForward;
    return rule_.tie == Tie::input ? kInput : kForward;
  }

  bool start(int r, Lane lane, std::int64_t now) {
    Rank& rank = ranks_[index(r)];
    if (rank.row.empty()) {
      rank.begin = now;
    } else {
      rank.waited += now - rank.end;
    }
    if (now - (objective_ == Objective::span ? rank.begin : 0) + work_left(rank) > most_) {
      return false;
    }
    const std::int64_t end = now + cost(lane);
    const int m = rank.done[lane]++;
    rank.row.push_back(lane);
    rank.end = end;
    rank.waits = false;
    wakes_[index(r)] = end;
    if (lane != kWeight) rank.last = lane;
    if (lane == kForward) {
      if (r + 1 < uniform_.ranks) {
        arrives(kForward, r + 1, m, end + uniform_.latency);
      } else {
        arrival(kInput, r, m) = end;  // the loss follows at once
      }
    } else if (lane == kInput && r > 0) {
      arrives(kInput, r - 1, m, end + uniform_.latency);
    }
    return true;
  }

  void arrives(Lane lane, int r, int m, std::int64_t when) {
    arrival(lane, r, m) = when;
    if (ranks_[index(r)].waits) wakes_[index(r)] = std::min(wakes_[index(r)], when);
  }

  [[nodiscard]] std::int64_t cost(Lane lane) const {
    return lane == kForward ? uniform_.forward
                            : (lane == kInput ? uniform_.input : uniform_.weight);
  }
  [[nodiscard]] std::int64_t work_left(const Rank& rank) const {
    const auto left = [&](Lane lane) { return uniform_.microbatches - rank.done[lane]; };
    return left(kForward) * uniform_.forward + left(kInput) * uniform_.input +
           left(kWeight) * uniform_.weight;
  }

  const Uniform& uniform_;
  const ListRule& rule_;
  Objective objective_;
  std::int64_t most_;
  std::array<std::vector<std::int64_t>, 2> arrivals_;  // for F and I, by rank and microbatch
  std::vector<std::int64_t> wakes_;                    // when each rank decides next
  std::vector<Rank> ranks_;
};

enum class Lag { none, beside_warm_up, memory, rank };
constexpr std::array kLags = {Lag::rank, Lag::memory, Lag::beside_warm_up, Lag::none};

int lag_of(Lag lag, const Uniform& uniform, int r, int warm_up) {
  switch (lag) {
    case Lag::none:
      return 0;
    case Lag::beside_warm_up:
      return uniform.memory - warm_up;
    case Lag::memory:
      return uniform.memory;
    case Lag::rank:
      return std::min(r, uniform.memory - 1);
  }
  return 0;
}

// The warm-ups to try: the difference between the warm-ups of neighbouring ranks, and the warm-up
// of the last rank.
constexpr std::array kSlopes = {1.0, .85, .75, 1.25, .6, 1.5, .5, 1.75, 2.0, 3.0};
constexpr std::array kLastWarmUps = {1, 2, 3};

std::vector<int> warm_ups(const Uniform& uniform, double slope, int last) {
  std::vector<int> warm_up;
  for (int r = 0; r < uniform.ranks; ++r) {
    const auto forwards = static_cast<int>(std::ceil(slope * (uniform.ranks - 1 - r) + last));
    warm_up.push_back(std::min(uniform.memory / uniform.activation, std::max(1, forwards)));
  }
  return warm_up;
}

// Returns warm-ups: first, those that are best with 1F1B's memory or more. Then, for much memory,
// those that fill the time until the first input gradient can arrive, and a few more forwards.
std::vector<std::vector<int>> families(const Uniform& uniform) {
  std::vector<std::vector<int>> all;
  const auto add = [&](double slope, int less) {
    for (const int last : kLastWarmUps) all.push_back(warm_ups(uniform, slope, last - less));
  };
  for (const double slope : kSlopes) {
    add(slope, 0);
    if (slope != kSlopes.front()) continue;
    const std::int64_t trip = uniform.forward + uniform.input + 2 * uniform.latency;
    add(static_cast<double>(trip) / static_cast<double>(uniform.forward), 1);
  }
  return all;
}

// Pairs to try: a look-ahead, and whether ranks wait evenly.
std::vector<std::pair<std::int64_t, bool>> waits_of(const Uniform& uniform) {
  const std::int64_t w = uniform.weight;
  std::vector<std::pair<std::int64_t, bool>> all = {{w, false}, {w, true}};
  for (const std::int64_t ahead :
       {std::int64_t{0}, w / 2, uniform.latency, w / 4, 3 * w / 4, w + uniform.forward / 2}) {
    const std::pair wait(ahead, false);
    if (std::find(all.begin(), all.end(), wait) == all.end()) all.push_back(wait);
  }
  return all;
}

// Visits the rule with all waits, ties and `lag_at_end`; returns false once `visit` returns false.
bool each_timing(const Uniform& uniform, ListRule& rule,
                 const std::function<bool(const ListRule&)>& visit) {
  for (const auto& [look_ahead, evenly] : waits_of(uniform)) {
    for (const Tie tie : {Tie::input, Tie::alternate, Tie::forward}) {
      for (const bool lag_at_end : {true, false}) {
        rule.look_ahead = look_ahead;
        rule.evenly = evenly;
        rule.tie = tie;
        rule.lag_at_end = lag_at_end;
        if (!visit(rule)) return false;
      }
    }
  }
  return true;
}

}  // namespace

std::optional<RuleRun> run(const Uniform& uniform, const ListRule& rule, Objective objective,
                           std::int64_t most) {
  return Chain(uniform, rule, objective, most).run();
}

ListRule one_f_one_b(const Uniform& uniform) {
  return {.warm_up = warm_ups(uniform, 1.0, 1), .lag = std::vector<int>(index(uniform.ranks), 0)};
}

void each_list_rule(const Uniform& uniform, const std::function<bool(const ListRule&)>& visit) {
  std::set<std::pair<std::vector<int>, std::vector<int>>> tried;
  for (const std::vector<int>& warm_up : families(uniform)) {
    for (const Lag lag : kLags) {
      ListRule rule{.warm_up = warm_up, .lag = {}};
      for (int r = 0; r < uniform.ranks; ++r) {
        const int most = lag_of(lag, uniform, r, warm_up[index(r)]);
        rule.lag.push_back(std::min(most, uniform.microbatches));
      }
      if (!tried.emplace(rule.warm_up, rule.lag).second) continue;
      if (!each_timing(uniform, rule, visit)) return;
    }
  }
}

void try_list_rules(const Uniform& uniform, UniformIncumbent& incumbent) {
  each_list_rule(uniform, [&](const ListRule& rule) {
    if (!incumbent.goes_on()) return false;
    const std::int64_t most = incumbent.best() ? incumbent.best()->first : kNever;
    const auto made = run(uniform, rule, incumbent.objective(), most);
    if (!made || !incumbent.is_better(incumbent.value_of(made->makespan, made->span))) return true;
    if (const auto order = timed(uniform, made->rows)) incumbent.offer(*order, kListRule);
    return true;
  });
}

}  // namespace ripeline::optimise
