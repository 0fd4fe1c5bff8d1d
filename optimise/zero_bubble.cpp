// The external interface is zero_bubble_order(). Sequences are made, filled with weight gradients,
// and the best of them improved by pulling steps forward where a rank would wait.
#include "optimise/zero_bubble.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "optimise/zero_bubble_play.h"

namespace ripeline::spec {
namespace {

// Tasks played to find sequences, and again to improve them.
constexpr std::int64_t kMostWork = 60'000'000;

// The best of what is tried.
class Search {
 public:
  explicit Search(const ZeroBubbleRequest& request) : request_(request) {}

  // Whether it is better than all before.
  bool consider(Sequences sequences) {
    const auto value = filled(sequences);
    if (!value) return false;
    const std::int64_t steps = steps_of(sequences);
    const bool better = found_.empty() || *value < found_.begin()->value;
    found_.insert({*value, numbered_++, std::move(sequences)});
    if (found_.size() > kMostFound || std::ssize(found_) * steps > kMostSteps) {
      found_.erase(std::prev(found_.end()));
    }
    return better;
  }

  [[nodiscard]] bool has_time() const { return spent_ < kMostWork && !is_perfect(); }

  // The best of what was considered and of what pulling forward makes of it.
  std::optional<ZeroBubbleOrder> take() {
    spent_ = 0;
    for (const TriedOrder& found : found_) {
      for (const std::size_t window : kWindows) {
        for (const bool weights_first : {false, true}) {
          for (const std::int64_t gap : gaps()) improve(found, {gap, window, weights_first});
        }
      }
    }
    return best_ ? std::optional(order()) : std::nullopt;
  }

 private:
  // How far ahead a rank looks: far is better in a long warm-up, near where a task taken too early
  // holds memory that others need first.
  static constexpr std::array<std::size_t, 6> kWindows = {6, 4, 8, 3, 12, 24};
  static constexpr std::size_t kMostFound = 400;
  static constexpr std::int64_t kMostSteps = 8'000'000;  // of what is kept to be improved

  using Value = std::pair<std::int64_t, std::int64_t>;  // span and wall
  struct TriedOrder {
    Value value;
    int number = 0;  // the first of equals first
    Sequences sequences;
    bool operator<(const TriedOrder& other) const {
      return std::tie(value, number) < std::tie(other.value, other.number);
    }
  };

  static Value value_of(const OrderPlay& played) { return {played.span, played.wall}; }
  [[nodiscard]] std::set<std::int64_t> gaps() const {
    return {1, (request_.weight + 1) / 2, request_.weight};
  }

  [[nodiscard]] bool is_perfect() const {
    const std::int64_t last_begins = (request_.ranks - 1) * (request_.forward + request_.latency);
    return best_ && best_->span == work() && best_->wall == work() + last_begins;
  }

  [[nodiscard]] std::int64_t work() const {
    const std::int64_t chunks = request_.placement == Placement::v ? 2 : 1;
    return chunks * request_.microbatches * (request_.forward + request_.input + request_.weight);
  }

  ZeroBubbleOrder order() {
    ZeroBubbleOrder order;
    order.span = best_->span;
    order.wall = best_->wall;
    order.peak = best_->peak;
    order.work = work();
    for (const std::vector<Action>& row : best_->rows) {
      order.table.rows.emplace_back();
      for (const Action& action : row) order.table.rows.back().push_back({.actions = {action}});
    }
    return order;
  }

  static std::int64_t steps_of(const Sequences& sequences) {
    std::int64_t steps = 0;
    for (const Sequence& sequence : sequences) steps += std::ssize(sequence);
    return steps;
  }

  std::optional<Value> filled(const Sequences& sequences) {
    std::optional<Value> value;
    for (const std::int64_t gap : gaps()) {
      spent_ += steps_of(sequences);
      auto played = fill(request_, sequences, gap);
      if (!played) return std::nullopt;
      if (!value || value_of(*played) < *value) value = value_of(*played);
      if (!best_ || value_of(*played) < value_of(*best_)) best_ = std::move(played);
    }
    return value;
  }

  void improve(const TriedOrder& found, const Leeway& leeway) {
    Value value = found.value;
    for (auto sequences = std::optional(found.sequences); has_time();) {
      spent_ += steps_of(*sequences);
      sequences = pulled_forward(request_, *sequences, leeway);
      const auto better = sequences ? filled(*sequences) : std::nullopt;
      if (!better || *better >= value) return;
      value = *better;
    }
  }

  const ZeroBubbleRequest& request_;
  std::set<TriedOrder> found_;
  int numbered_ = 0;
  std::optional<OrderPlay> best_;
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
    Sequences sequences;
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
    if (!search_.consider(std::move(sequences))) return false;
    best_ = warm;
    return true;
  }

  const ZeroBubbleRequest& request_;
  Search search_;
  std::vector<int> best_;  // warm-ups
};

// ---- A V placement.

// A building block: how much later each rank runs a forward on its way down, and an input gradient
// on its way back down, for the first ranks and for the others (on the way up it is 1); and the
// waits at the three turns.
struct Block {
  int first_delay;
  int other_delay;
  int first_ranks;
  std::array<int, 3> turns;
};
constexpr int kInterval = 6;  // tasks of a rank for one microbatch
constexpr int kLongest = 5;   // delay or turn

// When rank r runs F@0, F@1, I@1 and I@0 of the first microbatch.
std::array<int, 4> places_of(const Block& block, int ranks, int r) {
  const auto down = [&](int rank) {
    const int first = std::min(rank, block.first_ranks);
    return block.first_delay * first + block.other_delay * (rank - first);
  };
  const int far = ranks - 1;
  const int forward = down(far) + block.turns[0] + far;    // F@1 on rank 0
  const int gradient = forward + block.turns[1];           // I@1 on rank 0
  const int last = gradient + down(far) + block.turns[2];  // I@0 on the last rank
  return {down(r), forward - r, gradient + down(r), last + far - r};
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

// Short ones first: they hold less.
std::vector<Block> blocks(int ranks) {
  std::vector<Block> all;
  for (int first = 1; first <= kLongest; ++first) {
    for (int other = 1; other <= first; ++other) {
      for (int count = 1; count < (first == other ? 2 : ranks); ++count) {
        for (int turns = 0; turns < kLongest * kLongest * kLongest; ++turns) {
          all.push_back({first,
                         other,
                         count,
                         {turns % kLongest + 1, turns / kLongest % kLongest + 1,
                          turns / kLongest / kLongest + 1}});
        }
      }
    }
  }
  return all;
}

void consider_block(Search& search, const ZeroBubbleRequest& request, const Block& block) {
  Sequences sequences;
  for (int r = 0; r < request.ranks; ++r) {
    auto sequence = repeated(block, request, r);
    if (!sequence) return;
    sequences.push_back(std::move(*sequence));
  }
  search.consider(std::move(sequences));
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
  Sequences sequences;
  for (int r = 0; r < request.ranks; ++r) sequences.push_back(zb_v_sequence(request, r));
  search.consider(std::move(sequences));
  for (const Block& block : blocks(request.ranks)) {
    if (search.has_time()) consider_block(search, request, block);
  }
  return search.take();
}

}  // namespace

std::optional<ZeroBubbleOrder> zero_bubble_order(const ZeroBubbleRequest& request) {
  return request.placement == Placement::v ? v_order(request) : ChainSearch(request).run();
}

}  // namespace ripeline::spec
