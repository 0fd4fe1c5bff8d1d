#include "bench/optimisers/zero_bubble_greedy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "pytorch/csv/actions.h"
#include "spec/indexing.h"

namespace ripeline::bench {
namespace {

using optimise::FoundOrder;
using optimise::Uniform;
using pytorch::ActionKind;
using Time = std::int64_t;

class Greedy {
 public:
  Greedy(const Uniform& chain, const GreedySettings& settings)
      : chain_(chain), settings_(settings), ranks_(static_cast<std::size_t>(chain.ranks)) {}

  std::optional<FoundOrder> make() {
    if (chain_.memory < 1) return std::nullopt;
    warm_up();
    for (int turn = 1; turn < chain_.microbatches; ++turn) {
      for (int r = 0; r < chain_.ranks; ++r) {
        if (!run_forward(r)) return std::nullopt;
      }
      for (int r = chain_.ranks - 1; r >= 0; --r) {
        if (rank(r).inputs == rank(r).forwards) return std::nullopt;  // F was left too often
        fill_wait(r, input_comes(r));
        run(r, ActionKind::backward_input);
      }
    }
    for (int r = 0; r < chain_.ranks; ++r) {
      while (rank(r).weights < rank(r).inputs) run(r, ActionKind::backward_weight);
    }
    return result();
  }

 private:
  struct Rank {
    int forwards = 0;  // the number run so far, as for the next two
    int inputs = 0;
    int weights = 0;
    Time begin = 0;
    Time end = 0;
    Time waited = 0;  // since its first forward
    int peak = 0;
    std::vector<Time> forward_ends = {};  // per microbatch
    std::vector<Time> input_ends = {};
    std::vector<pytorch::Action> row = {};

    [[nodiscard]] int held() const { return forwards - weights; }
  };

  [[nodiscard]] Rank& rank(int r) { return at(ranks_, r); }

  // The time when the input of the rank's next forward arrives.
  [[nodiscard]] Time forward_comes(int r) {
    return r == 0 ? 0 : at(rank(r - 1).forward_ends, rank(r).forwards) + chain_.latency;
  }
  [[nodiscard]] Time input_comes(int r) {
    const int next = rank(r).inputs;
    return r == chain_.ranks - 1 ? at(rank(r).forward_ends, next)
                                 : at(rank(r + 1).input_ends, next) + chain_.latency;
  }

  // Runs the rank's next task of that kind as soon as it can start.
  void run(int r, ActionKind kind) {
    Rank& me = rank(r);
    const bool is_first = me.row.empty();
    const bool is_forward = kind == ActionKind::forward;
    Time start = me.end;
    if (is_forward) start = std::max(start, forward_comes(r));
    if (kind == ActionKind::backward_input) start = std::max(start, input_comes(r));
    if (is_first) me.begin = start;
    if (!is_first) me.waited += start - me.end;
    const Time takes = is_forward                           ? chain_.forward
                       : kind == ActionKind::backward_input ? chain_.input
                                                            : chain_.weight;
    me.end = start + takes;
    int& count = is_forward                           ? me.forwards
                 : kind == ActionKind::backward_input ? me.inputs
                                                      : me.weights;
    me.row.push_back({kind, r, count++});
    me.peak = std::max(me.peak, me.held());
    if (is_forward) me.forward_ends.push_back(me.end);
    if (kind == ActionKind::backward_input) me.input_ends.push_back(me.end);
  }

  // Runs each rank's forwards before the first input gradient, and then that gradient.
  void warm_up() {
    std::vector<int> more(ranks_.size());  // per rank, the forwards beyond the first
    for (int r = 0; r < chain_.ranks; ++r) run(r, ActionKind::forward);
    Time gradient = 0;  // the end of the first input gradient on the later rank
    for (int r = chain_.ranks - 1; r >= 0; --r) {
      const Time comes = r == chain_.ranks - 1 ? 0 : gradient + chain_.latency;
      Time end = rank(r).end;
      while (r < chain_.ranks - 1 && 1 + at(more, r) < most_forwards() &&
             (settings_.delays_first_input ? end < comes : end + chain_.forward <= comes)) {
        end += chain_.forward;
        ++at(more, r);
      }
      gradient = std::max(end, comes) + chain_.input;
    }
    // As in 1F1B, a rank runs fewer of these forwards than the rank before it.
    for (int r = 1; r < chain_.ranks; ++r) {
      if (1 + at(more, r) < chain_.microbatches) {
        at(more, r) = std::min(at(more, r), std::max(0, at(more, r - 1) - 1));
      }
    }
    for (int r = 0; r < chain_.ranks; ++r) {
      for (int n = 0; n < at(more, r); ++n) run(r, ActionKind::forward);
    }
    for (int r = chain_.ranks - 1; r >= 0; --r) run(r, ActionKind::backward_input);
  }
  [[nodiscard]] int most_forwards() const { return std::min(chain_.memory, chain_.microbatches); }

  // Runs the next forward, unless it is left for a later turn. False if there is no room.
  bool run_forward(int r) {
    Rank& me = rank(r);
    if (me.forwards == chain_.microbatches || is_early(r)) return true;
    if (r > 0 && me.forwards == rank(r - 1).forwards) return true;  // rank r - 1 left its forward
    while (me.held() == chain_.memory) {
      if (me.weights == me.inputs) return false;
      run(r, ActionKind::backward_weight);
    }
    fill_wait(r, forward_comes(r));
    run(r, ActionKind::forward);
    return true;
  }

  [[nodiscard]] bool is_early(int r) {
    if (!settings_.leaves_early_forwards || r + 1 == chain_.ranks) return false;
    const Rank& me = rank(r);
    const Rank& next = rank(r + 1);
    if (me.forwards < next.forwards + 2) return false;
    const bool asks_for_room = me.held() == chain_.memory && me.weights < me.inputs;
    const Time end = me.end + (asks_for_room ? chain_.weight : 0) + chain_.forward;
    return end > next.end + chain_.forward + chain_.input + chain_.latency;
  }

  // Runs weight gradients until `time`.
  void fill_wait(int r, Time time) {
    Rank& me = rank(r);
    while (me.weights < me.inputs && me.end + chain_.weight <= time) {
      run(r, ActionKind::backward_weight);
    }
    if (me.weights == me.inputs || me.end >= time || !settings_.fills_short_waits) return;
    Time longest = 0;
    for (const Rank& other : ranks_) longest = std::max(longest, other.waited);
    if (me.waited + time - me.end > longest) run(r, ActionKind::backward_weight);
  }

  FoundOrder result() {
    FoundOrder found;
    for (Rank& each : ranks_) {
      found.makespan = std::max(found.makespan, each.end);
      found.span = std::max(found.span, each.end - each.begin);
      found.peak = std::max(found.peak, each.peak);
      found.rows.push_back(std::move(each.row));
    }
    return found;
  }

  const Uniform& chain_;
  GreedySettings settings_;
  std::vector<Rank> ranks_;
};

}  // namespace

std::optional<FoundOrder> zero_bubble_greedy(const Uniform& chain, const GreedySettings& settings) {
  return Greedy(chain, settings).make();
}

std::optional<FoundOrder> zero_bubble_greedy(const Uniform& chain) {
  std::optional<FoundOrder> best;
  for (const bool delays : {false, true}) {
    for (const bool fills : {false, true}) {
      for (const bool leaves : {false, true}) {
        auto order = zero_bubble_greedy(chain, {delays, fills, leaves});
        if (order && (!best || std::tie(order->span, order->makespan) <
                                   std::tie(best->span, best->makespan))) {
          best = std::move(order);
        }
      }
    }
  }
  return best;
}

}  // namespace ripeline::bench
