// The external interface is zero_bubble_search(). First, sequences are made and weight gradients
// added. Then the best sequences are improved by pulling steps forward where a rank would wait.
#include "optimise/search/zero_bubble.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "optimise/search/zero_bubble_play.h"

namespace ripeline::optimise {
namespace {

using pytorch::ActionKind;
using pytorch::Placement;

// The most tasks to run while sequences are found, and again while they are improved.
constexpr std::int64_t kMostWork = 60'000'000;

// Tries sequences and keeps the best ones.
class Search {
 public:
  Search(const Uniform& uniform, UniformIncumbent& incumbent)
      : uniform_(uniform), incumbent_(incumbent) {}

  // Tries the sequences; returns whether they give a better order than all before.
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

  [[nodiscard]] bool has_time() { return spent_ < kMostWork && incumbent_.goes_on(); }

  // Improves the best sequences that were considered, by pulling steps forward.
  void improve() {
    spent_ = 0;
    for (const TriedOrder& found : found_) {
      for (const std::size_t window : kWindows) {
        for (const bool weights_first : {false, true}) {
          for (const std::int64_t gap : gaps()) improve(found, {gap, window, weights_first});
        }
      }
    }
  }

 private:
  // The numbers of steps that a rank looks ahead. Many are better in a long warm-up. Few are better
  // if a task that runs too early would hold memory that other tasks need first.
  static constexpr std::array<std::size_t, 6> kWindows = {6, 4, 8, 3, 12, 24};
  static constexpr std::size_t kMostFound = 400;
  static constexpr std::int64_t kMostSteps = 8'000'000;  // in all sequences kept for improve()

  struct TriedOrder {
    Value value;
    int number = 0;  // among equal orders, the one found first is first
    Sequences sequences;
    bool operator<(const TriedOrder& other) const {
      return std::tie(value, number) < std::tie(other.value, other.number);
    }
  };

  [[nodiscard]] std::set<std::int64_t> gaps() const {
    return {1, (uniform_.weight + 1) / 2, uniform_.weight};
  }

  static std::int64_t steps_of(const Sequences& sequences) {
    std::int64_t steps = 0;
    for (const Sequence& sequence : sequences) steps += std::ssize(sequence);
    return steps;
  }

  std::optional<Value> filled(const Sequences& sequences) {
    std::optional<Value> best;
    for (const std::int64_t gap : gaps()) {
      spent_ += steps_of(sequences);
      const auto played = fill(uniform_, sequences, gap);
      if (!played) return std::nullopt;
      const Value value = incumbent_.value_of(*played);
      if (!best || value < *best) best = value;
      incumbent_.offer(*played, "zero bubble search");
    }
    return best;
  }

  void improve(const TriedOrder& found, const Leeway& leeway) {
    Value value = found.value;
    for (auto sequences = std::optional(found.sequences); has_time();) {
      spent_ += steps_of(*sequences);
      sequences = pulled_forward(uniform_, *sequences, leeway);
      const auto better = sequences ? filled(*sequences) : std::nullopt;
      if (!better || *better >= value) return;
      value = *better;
    }
  }

  const Uniform& uniform_;
  UniformIncumbent& incumbent_;
  std::set<TriedOrder> found_;
  int numbered_ = 0;
  std::int64_t spent_ = 0;
};

// ---- A chain: a warm-up of forwards, then forwards and input gradients in turn.

class ChainSearch {
 public:
  ChainSearch(const Uniform& uniform, UniformIncumbent& incumbent)
      : uniform_(uniform), search_(uniform, incumbent) {}

  void run() {
    for (int quarters = 0; quarters <= 8 && search_.has_time(); ++quarters) {
      std::vector<int> warm;
      for (int r = 0; r < uniform_.ranks; ++r) {
        const int depth = (quarters * (uniform_.ranks - 1 - r) + 1) / 4;
        warm.push_back(std::min(uniform_.memory - 1, depth));
      }
      consider(warm);
    }
    while (search_.has_time() && improve()) {
    }
    search_.improve();
  }

 private:
  // Tries to change by one the warm-up of one rank, or the warm-ups of all ranks up to that rank.
  bool improve() {
    bool better = false;
    for (const bool all_before : {false, true}) {
      for (int r = 0; r < uniform_.ranks; ++r) {
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
      if (depth < 0 || depth >= uniform_.memory) return false;
      const int first = std::min(depth, uniform_.microbatches);
      Sequence sequence(static_cast<std::size_t>(first), {ActionKind::forward, 0});
      for (int i = 0; i < uniform_.microbatches; ++i) {
        if (first + i < uniform_.microbatches) sequence.push_back({ActionKind::forward, 0});
        sequence.push_back({ActionKind::backward_input, 0});
      }
      sequences.push_back(std::move(sequence));
    }
    if (!search_.consider(std::move(sequences))) return false;
    best_ = warm;
    return true;
  }

  const Uniform& uniform_;
  Search search_;
  std::vector<int> best_;  // warm-ups
};

// ---- A V placement.

// A building block: how much later each rank runs a microbatch than the rank before it, in tasks.
// Down the V, the delay is `first_delay` on the first ranks and `other_delay` on the others, for
// forwards and for gradients; up the V, 1. `turns` has the delays at the three turns.
struct Block {
  int first_delay;
  int other_delay;
  int first_ranks;
  std::array<int, 3> turns;
};
constexpr int kInterval = 6;  // tasks of a rank for one microbatch
constexpr int kLongest = 5;   // the longest delay or turn

// The times at which rank r starts F@0, F@1, I@1 and I@0 of the first microbatch.
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

// The block's sequence on rank r, for all microbatches; nullopt if two of its tasks coincide.
std::optional<Sequence> repeated(const Block& block, const Uniform& uniform, int r) {
  const std::array<int, 4> places = places_of(block, uniform.ranks, r);
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
  std::vector<std::pair<int, std::size_t>> all;  // the time and index of each step
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (int m = 0; m < uniform.microbatches; ++m) all.emplace_back(places[i] + kInterval * m, i);
  }
  std::sort(all.begin(), all.end());
  Sequence sequence;
  for (const auto& [when, which] : all) sequence.push_back(kSteps[which]);
  return sequence;
}

// All building blocks to try. Short blocks come first, since they hold less memory.
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

void consider_block(Search& search, const Uniform& uniform, const Block& block) {
  Sequences sequences;
  for (int r = 0; r < uniform.ranks; ++r) {
    auto sequence = repeated(block, uniform, r);
    if (!sequence) return;
    sequences.push_back(std::move(*sequence));
  }
  search.consider(std::move(sequences));
}

// ZB-V's sequence for enough microbatches to fill the pipeline, without steps of surplus ones.
Sequence zb_v_sequence(const Uniform& uniform, int r) {
  const int p = uniform.ranks;
  const int full = std::max(uniform.microbatches, 2 * p - 1);
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
        if (number++ < uniform.microbatches) sequence.push_back(step);
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

void search_v(const Uniform& uniform, UniformIncumbent& incumbent) {
  Search search(uniform, incumbent);
  Sequences sequences;
  for (int r = 0; r < uniform.ranks; ++r) sequences.push_back(zb_v_sequence(uniform, r));
  search.consider(std::move(sequences));
  for (const Block& block : blocks(uniform.ranks)) {
    if (search.has_time()) consider_block(search, uniform, block);
  }
  search.improve();
}

}  // namespace

void zero_bubble_search(const Uniform& uniform, UniformIncumbent& incumbent) {
  if (uniform.placement == Placement::v) {
    search_v(uniform, incumbent);
  } else {
    ChainSearch(uniform, incumbent).run();
  }
}

}  // namespace ripeline::optimise
