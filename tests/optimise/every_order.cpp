#include "tests/optimise/every_order.h"

#include <algorithm>
#include <map>
#include <vector>

namespace ripeline::testing_support {
namespace {

using Times = std::vector<std::int64_t>;

// A lane's number is stage * 3 + op, where the ops F, I and W are 0, 1 and 2.
class EveryOrder {
 public:
  // A rank starts no task before its entry in `releases`.
  EveryOrder(const TinyProblem& problem, Times releases)
      : p_(problem),
        stages_((problem.v ? 2 : problem.chunks) * problem.ranks),
        lanes_(3 * stages_),
        releases_(std::move(releases)) {}

  // The ends of the ranks for each order that no other order beats; empty if there is no order.
  std::vector<Times> ends() {
    std::map<Counts, std::vector<State>> layer;
    const auto lanes = static_cast<std::size_t>(lanes_);
    const auto m = static_cast<std::size_t>(p_.microbatches);
    layer[Counts(lanes, 0)] = {State{.free = releases_, .ended = Times(lanes * m, 0)}};
    for (int done = 0; done < lanes_ * p_.microbatches; ++done) {
      std::map<Counts, std::vector<State>> next;
      for (const auto& [counts, states] : layer) {
        for (int lane = 0; lane < lanes_; ++lane) {
          if (may_append(counts, lane)) append(counts, states, lane, next);
        }
      }
      layer = std::move(next);
    }
    std::vector<Times> all;
    for (const auto& [counts, states] : layer) {
      for (const State& state : states) all.push_back(state.free);
    }
    return all;
  }

 private:
  using Counts = std::vector<int>;  // per lane
  struct State {
    Times free;   // per rank
    Times ended;  // per lane and microbatch; 0 once no task needs it
  };

  [[nodiscard]] int rank_of(int stage) const {
    return p_.v && stage >= p_.ranks ? 2 * p_.ranks - 1 - stage : stage % p_.ranks;
  }
  [[nodiscard]] std::int64_t amount_of(int stage) const {
    return p_.amounts.empty() ? 1 : p_.amounts[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] std::size_t index(int lane, int microbatch) const {
    return static_cast<std::size_t>(lane * p_.microbatches + microbatch);
  }
  static int count(const Counts& counts, int lane) {
    return counts[static_cast<std::size_t>(lane)];
  }

  // The lanes that the lane `lane` needs.
  [[nodiscard]] std::vector<int> needs(int lane) const {
    const int stage = lane / 3;
    std::vector<int> needs;
    if (lane % 3 == 0 && stage > 0) needs.push_back(lane - 3);
    if (lane % 3 == 1) needs.push_back(lane - 1);
    if (lane % 3 == 1 && stage + 1 < stages_) needs.push_back(lane + 3);
    if (lane % 3 == 2) needs.push_back(lane - 1);
    return needs;
  }

  [[nodiscard]] bool may_append(const Counts& counts, int lane) const {
    const int next = count(counts, lane);
    if (next == p_.microbatches) return false;
    for (const int need : needs(lane)) {
      if (count(counts, need) <= next) return false;
    }
    if (lane % 3 != 0) return true;
    std::int64_t held = amount_of(lane / 3) * p_.activation;
    for (int stage = 0; stage < stages_; ++stage) {
      if (rank_of(stage) != rank_of(lane / 3)) continue;
      held += amount_of(stage) * (p_.activation * count(counts, 3 * stage) -
                                  (p_.activation - p_.after_input) * count(counts, 3 * stage + 1) -
                                  p_.after_input * count(counts, 3 * stage + 2));
    }
    return held <= p_.memory;
  }

  void append(const Counts& counts, const std::vector<State>& states, int lane,
              std::map<Counts, std::vector<State>>& next) const {
    Counts after = counts;
    const int microbatch = after[static_cast<std::size_t>(lane)]++;
    std::vector<State>& kept = next[after];
    for (State state : states) {
      const int rank = rank_of(lane / 3);
      std::int64_t start = state.free[static_cast<std::size_t>(rank)];
      for (const int need : needs(lane)) {
        const std::int64_t way = rank_of(need / 3) == rank ? 0 : p_.latency;
        start = std::max(start, state.ended[index(need, microbatch)] + way);
      }
      const std::int64_t takes[] = {p_.forward, p_.input, p_.weight};
      const std::int64_t end =
          start + (p_.takes.empty() ? takes[lane % 3] : p_.takes[static_cast<std::size_t>(lane)]);
      state.free[static_cast<std::size_t>(rank)] = end;
      state.ended[index(lane, microbatch)] = end;
      forget(after, state);
      keep(std::move(state), kept);
    }
  }

  // Sets to 0 the ends for which no further task has to wait.
  void forget(const Counts& counts, State& state) const {
    std::vector<std::uint8_t> needed(state.ended.size(), 0);
    for (int lane = 0; lane < lanes_; ++lane) {
      for (const int need : needs(lane)) {
        for (int m = count(counts, lane); m < p_.microbatches; ++m) needed[index(need, m)] = 1;
      }
    }
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (needed[i] == 0) state.ended[i] = 0;
    }
  }

  static bool as_early(const State& a, const State& b) {
    return std::equal(a.free.begin(), a.free.end(), b.free.begin(), std::less_equal<>()) &&
           std::equal(a.ended.begin(), a.ended.end(), b.ended.begin(), std::less_equal<>());
  }
  static void keep(State state, std::vector<State>& kept) {
    for (const State& other : kept) {
      if (as_early(other, state)) return;
    }
    std::erase_if(kept, [&](const State& other) { return as_early(state, other); });
    kept.push_back(std::move(state));
  }

  const TinyProblem& p_;
  int stages_;
  int lanes_;
  Times releases_;
};

}  // namespace

std::optional<std::int64_t> least_makespan(const TinyProblem& problem) {
  std::optional<std::int64_t> least;
  const Times from_zero(static_cast<std::size_t>(problem.ranks), 0);
  for (const Times& ends : EveryOrder(problem, from_zero).ends()) {
    const std::int64_t makespan = *std::max_element(ends.begin(), ends.end());
    least = std::min(least.value_or(makespan), makespan);
  }
  return least;
}

// Later starts of ranks are tried as well, since a rank that starts late may have a shorter span.
std::optional<std::int64_t> least_span(const TinyProblem& problem) {
  std::optional<std::int64_t> least = least_makespan(problem);
  if (!least) return least;
  Times releases(static_cast<std::size_t>(problem.ranks), 0);
  const std::int64_t latest = *least;
  for (;;) {
    // Computes the next combination of starts; rank 0 always starts at 0.
    std::size_t rank = 1;
    while (rank < releases.size() && releases[rank] == latest) releases[rank++] = 0;
    if (rank >= releases.size()) return least;
    ++releases[rank];
    for (const Times& ends : EveryOrder(problem, releases).ends()) {
      std::int64_t span = 0;
      for (std::size_t r = 0; r < ends.size(); ++r) span = std::max(span, ends[r] - releases[r]);
      least = std::min(*least, span);
    }
  }
}

}  // namespace ripeline::testing_support
