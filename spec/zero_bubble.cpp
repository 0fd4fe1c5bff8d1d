// The external interface is zero_bubble_order(). `Filling` plays given sequences of forwards and
// input gradients and puts the weight gradients between them; what follows makes sequences.
#include "spec/zero_bubble.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace ripeline::spec {
namespace {

constexpr std::int64_t kNotYet = -1;
// Tasks played over all sequences tried.
constexpr std::int64_t kMostWork = 60'000'000;

struct Step {
  ActionKind kind = ActionKind::forward;
  int chunk = 0;
};
using Sequence = std::vector<Step>;  // of one rank; each occurrence is its lane's next microbatch

// Plays sequences: each step as soon as it can. A weight gradient runs where the next step comes
// at least `gap` later, or needs room.
class Filling {
 public:
  Filling(const ZeroBubbleRequest& request, std::int64_t gap)
      : request_(request),
        gap_(gap),
        chunks_(request.placement == Placement::v ? 2 : 1),
        stages_(request.ranks * chunks_),
        ranks_(static_cast<std::size_t>(request.ranks)) {
    const auto tasks = static_cast<std::size_t>(stages_ * request.microbatches);
    for (auto& ends : ends_) ends.assign(tasks, kNotYet);
  }

  // Nothing: the memory does not suffice, or the sequences wait for each other.
  std::optional<ZeroBubbleOrder> play(const std::vector<Sequence>& sequences) {
    for (bool goes = true; goes;) {
      goes = false;
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        while (ranks_[r].at < sequences[r].size()) {
          const std::int64_t ready = ready_at(static_cast<int>(r), sequences[r][ranks_[r].at]);
          if (ready == kNotYet) break;
          if (!take(static_cast<int>(r), sequences[r][ranks_[r].at], ready)) return std::nullopt;
          goes = true;
        }
      }
    }
    return result(sequences);
  }

 private:
  struct Rank {
    std::size_t at = 0;
    std::int64_t now = 0;
    std::int64_t begin = kNotYet;
    std::array<std::array<int, 2>, 2> next{};  // microbatch, by F and I, by chunk
    std::vector<Action> weights;               // put off, in the order of their I
    std::size_t weights_done = 0;
    int held = 0;
    int peak = 0;
    std::vector<ActionCell> row;
  };

  [[nodiscard]] int stage_of(int rank, int chunk) const {
    return chunk == 0 ? rank : 2 * request_.ranks - 1 - rank;
  }
  [[nodiscard]] int rank_of(int stage) const {
    return stage < request_.ranks ? stage : 2 * request_.ranks - 1 - stage;
  }
  static std::size_t index(ActionKind kind) { return kind == ActionKind::forward ? 0 : 1; }
  std::int64_t& end_of(ActionKind kind, int stage, int microbatch) {
    return ends_[index(kind)][static_cast<std::size_t>(stage * request_.microbatches + microbatch)];
  }

  std::int64_t arrival(ActionKind kind, int from, int to, int microbatch) {
    const std::int64_t end = end_of(kind, from, microbatch);
    return end == kNotYet || rank_of(from) == rank_of(to) ? end : end + request_.latency;
  }

  std::int64_t ready_at(int rank, const Step& step) {
    const int stage = stage_of(rank, step.chunk);
    const int m = ranks_[static_cast<std::size_t>(rank)]
                      .next[index(step.kind)][static_cast<std::size_t>(step.chunk)];
    if (step.kind == ActionKind::forward) {
      return stage == 0 ? 0 : arrival(ActionKind::forward, stage - 1, stage, m);
    }
    const std::int64_t own = end_of(ActionKind::forward, stage, m);
    if (own == kNotYet || stage == stages_ - 1) return own;
    const std::int64_t gradient = arrival(ActionKind::backward_input, stage + 1, stage, m);
    return gradient == kNotYet ? kNotYet : std::max(own, gradient);
  }

  void put_weight(Rank& rank) {
    const Action& action = rank.weights[rank.weights_done++];
    rank.now += request_.weight;
    --rank.held;
    rank.row.push_back({.actions = {action}});
  }

  bool take(int r, const Step& step, std::int64_t ready) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    const auto has_weight = [&] { return rank.weights_done < rank.weights.size(); };
    while (has_weight() && ready - rank.now >= gap_) put_weight(rank);
    const bool forward = step.kind == ActionKind::forward;
    while (forward && rank.held == request_.memory) {
      if (!has_weight()) return false;
      put_weight(rank);
    }
    const std::int64_t start = std::max(ready, rank.now);
    if (rank.begin == kNotYet) rank.begin = start;
    rank.now = start + (forward ? request_.forward : request_.input);
    const int stage = stage_of(r, step.chunk);
    const int m = rank.next[index(step.kind)][static_cast<std::size_t>(step.chunk)]++;
    end_of(step.kind, stage, m) = rank.now;
    rank.row.push_back({.actions = {{step.kind, stage, m}}});
    if (forward) rank.peak = std::max(rank.peak, ++rank.held);
    if (!forward) rank.weights.push_back({ActionKind::backward_weight, stage, m});
    ++rank.at;
    return true;
  }

  std::optional<ZeroBubbleOrder> result(const std::vector<Sequence>& sequences) {
    ZeroBubbleOrder order;
    order.work =
        chunks_ * request_.microbatches * (request_.forward + request_.input + request_.weight);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      if (rank.at < sequences[r].size()) return std::nullopt;
      while (rank.weights_done < rank.weights.size()) put_weight(rank);
      order.span = std::max(order.span, rank.now - rank.begin);
      order.wall = std::max(order.wall, rank.now);
      order.peak = std::max(order.peak, rank.peak);
      order.table.rows.push_back(std::move(rank.row));
    }
    return order;
  }

  const ZeroBubbleRequest& request_;
  std::int64_t gap_;
  int chunks_;
  int stages_;
  std::array<std::vector<std::int64_t>, 2> ends_;  // of F and I, by stage and microbatch
  std::vector<Rank> ranks_;
};

// The best so far.
class Search {
 public:
  explicit Search(const ZeroBubbleRequest& request) : request_(request) {}

  // Whether it is better than all before.
  bool consider(const std::vector<Sequence>& sequences) {
    bool better = false;
    for (const std::int64_t gap : {request_.weight, (request_.weight + 1) / 2, std::int64_t{1}}) {
      for (const Sequence& sequence : sequences) {
        spent_ += static_cast<std::int64_t>(sequence.size());
      }
      auto order = Filling(request_, gap).play(sequences);
      if (!order) continue;
      if (best_ && std::pair(best_->span, best_->wall) <= std::pair(order->span, order->wall)) {
        continue;
      }
      best_ = std::move(order);
      better = true;
    }
    return better;
  }

  [[nodiscard]] bool has_time() const { return spent_ < kMostWork; }
  std::optional<ZeroBubbleOrder> take() { return std::move(best_); }

 private:
  const ZeroBubbleRequest& request_;
  std::optional<ZeroBubbleOrder> best_;
  std::int64_t spent_ = 0;
};

// ---- A chain: so many forwards, then one forward and one input gradient in turn.

class ChainSearch {
 public:
  explicit ChainSearch(const ZeroBubbleRequest& request) : request_(request), search_(request) {}

  std::optional<ZeroBubbleOrder> run() {
    for (int quarters = 0; quarters <= 8; ++quarters) {
      std::vector<int> warm;
      for (int r = 0; r < request_.ranks; ++r) {
        const int depth = (quarters * (request_.ranks - 1 - r) + 1) / 4;
        warm.push_back(std::min(request_.memory - 1, depth));
      }
      consider(warm);
    }
    while (search_.has_time() && improve()) {
    }
    return search_.take();
  }

 private:
  // One rank's warm-up, or those of all ranks up to one, longer or shorter by one.
  bool improve() {
    bool better = false;
    for (const bool all_before : {false, true}) {
      for (int r = 0; r < request_.ranks; ++r) {
        for (const int change : {1, -1}) {
          std::vector<int> warm = best_;
          for (int i = all_before ? 0 : r; i <= r; ++i) warm[static_cast<std::size_t>(i)] += change;
          if (search_.has_time() && consider(warm)) better = true;
        }
      }
    }
    return better;
  }

  bool consider(const std::vector<int>& warm) {
    std::vector<Sequence> sequences;
    for (const int depth : warm) {
      if (depth < 0 || depth >= request_.memory) return false;
      const int first = std::min(depth, request_.microbatches);
      Sequence sequence(static_cast<std::size_t>(first), {ActionKind::forward, 0});
      for (int i = 0; i < request_.microbatches; ++i) {
        if (first + i < request_.microbatches) sequence.push_back({ActionKind::forward, 0});
        sequence.push_back({ActionKind::backward_input, 0});
      }
      sequences.push_back(std::move(sequence));
    }
    if (!search_.consider(sequences)) return false;
    best_ = warm;
    return true;
  }

  const ZeroBubbleRequest& request_;
  Search search_;
  std::vector<int> best_;  // warm-ups
};

// ---- A V placement.

// Building blocks: how much later each rank runs a forward on the way down and up, and an input
// gradient on the way down and up; and the waits at the three turns.
struct Block {
  std::array<int, 4> delays;
  std::array<int, 3> turns;
};
constexpr std::array<std::array<int, 4>, 6> kDelays = {
    {{1, 1, 1, 1}, {2, 1, 2, 1}, {2, 2, 2, 2}, {3, 1, 3, 1}, {3, 3, 3, 3}, {4, 2, 4, 2}}};
constexpr int kInterval = 6;  // tasks of a rank for one microbatch
constexpr int kLongestTurn = 5;

// When rank r runs F@0, F@1, I@1 and I@0 of the first microbatch.
std::array<int, 4> places_of(const Block& block, int ranks, int r) {
  const auto& [down, up, back_down, back_up] = block.delays;
  const int far = ranks - 1;
  const int first = down * far + block.turns[0] + up * far;  // F@1 on rank 0
  const int last = first + block.turns[1] + back_down * far;
  return {down * r, first - up * r, first + block.turns[1] + back_down * r,
          last + block.turns[2] + back_up * (far - r)};
}

// Nothing: two tasks of a rank meet.
std::optional<Sequence> repeated(const Block& block, const ZeroBubbleRequest& request, int r) {
  const std::array<int, 4> places = places_of(block, request.ranks, r);
  constexpr std::array<Step, 4> kSteps = {{{ActionKind::forward, 0},
                                           {ActionKind::forward, 1},
                                           {ActionKind::backward_input, 1},
                                           {ActionKind::backward_input, 0}}};
  std::array<bool, kInterval> taken{};
  for (const int place : places) {
    if (std::exchange(taken[static_cast<std::size_t>(place % kInterval)], true)) {
      return std::nullopt;
    }
  }
  std::vector<std::pair<int, std::size_t>> all;  // when, and which
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (int m = 0; m < request.microbatches; ++m) all.emplace_back(places[i] + kInterval * m, i);
  }
  std::sort(all.begin(), all.end());
  Sequence sequence;
  for (const auto& [when, which] : all) sequence.push_back(kSteps[which]);
  return sequence;
}

void consider_block(Search& search, const ZeroBubbleRequest& request, const Block& block) {
  std::vector<Sequence> sequences;
  for (int r = 0; r < request.ranks; ++r) {
    auto sequence = repeated(block, request, r);
    if (!sequence) return;
    sequences.push_back(std::move(*sequence));
  }
  search.consider(sequences);
}

// ZB-V's, of as many microbatches as fill the pipeline, less what is beyond.
Sequence zb_v_sequence(const ZeroBubbleRequest& request, int r) {
  const int p = request.ranks;
  const int full = std::max(request.microbatches, 2 * p - 1);
  constexpr Step kF0{ActionKind::forward, 0};
  constexpr Step kF1{ActionKind::forward, 1};
  constexpr Step kI0{ActionKind::backward_input, 0};
  constexpr Step kI1{ActionKind::backward_input, 1};
  Sequence sequence;
  std::array<std::array<int, 2>, 2> listed{};
  const auto add = [&](std::initializer_list<Step> steps, int count) {
    for (int i = 0; i < count; ++i) {
      for (const Step& step : steps) {
        const std::size_t kind = step.kind == ActionKind::forward ? 0 : 1;
        int& number = listed[kind][static_cast<std::size_t>(step.chunk)];
        if (number++ < request.microbatches) sequence.push_back(step);
      }
    }
  };
  add({kF0}, 2 * (p - r) - 1);
  add({kF1, kF0}, r);
  add({kF1, kI1}, p - r);
  add({kF0, kI0, kF1, kI1}, full - 2 * p + 1 + r);
  add({kI0, kF1, kI1}, p - 1 - r);
  add({kI0, kI1}, r);
  add({kI0}, p - r);
  return sequence;
}

std::optional<ZeroBubbleOrder> v_order(const ZeroBubbleRequest& request) {
  Search search(request);
  std::vector<Sequence> sequences;
  for (int r = 0; r < request.ranks; ++r) sequences.push_back(zb_v_sequence(request, r));
  search.consider(sequences);
  for (int sum = 3; sum <= 3 * kLongestTurn; ++sum) {  // short waits first
    for (const auto& delays : kDelays) {
      for (int a = 1; a <= kLongestTurn; ++a) {
        for (int b = 1; b <= kLongestTurn; ++b) {
          const int c = sum - a - b;
          if (c < 1 || c > kLongestTurn || !search.has_time()) continue;
          consider_block(search, request, {delays, {a, b, c}});
        }
      }
    }
  }
  return search.take();
}

}  // namespace

std::optional<ZeroBubbleOrder> zero_bubble_order(const ZeroBubbleRequest& request) {
  return request.placement == Placement::v ? v_order(request) : ChainSearch(request).run();
}

}  // namespace ripeline::spec
