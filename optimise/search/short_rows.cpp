// The external interface is timed().
#include "optimise/search/short_rows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/vocabulary/index.h"

namespace ripeline::optimise {
namespace {

constexpr std::int64_t kNotYet = -1;
constexpr std::array<pytorch::ActionKind, 3> kKinds = {pytorch::ActionKind::forward,
                                                       pytorch::ActionKind::backward_input,
                                                       pytorch::ActionKind::backward_weight};

// Simulates the rows: each rank runs as far as possible, until no rank can continue.
class ShortRowSimulation {
 public:
  ShortRowSimulation(const Uniform& uniform, const ShortRows& rows)
      : uniform_(uniform),
        rows_(rows),
        stages_(uniform.ranks * chunks_of(uniform)),
        ranks_(index(uniform.ranks)) {
    for (auto& ends : ends_) ends.assign(index(stages_ * uniform.microbatches), kNotYet);
    found_.rows.resize(index(uniform.ranks));
  }

  std::optional<FoundOrder> run() {
    for (bool goes = true; std::exchange(goes, false);) {
      for (int r = 0; r < uniform_.ranks; ++r) {
        while (step(r)) goes = true;
      }
    }
    const auto all = index(3 * chunks_of(uniform_) * uniform_.microbatches);
    for (int r = 0; r < uniform_.ranks; ++r) {
      const Rank& rank = ranks_[index(r)];
      if (found_.rows[index(r)].size() != all || rows_[index(r)].size() != all) return {};
      found_.makespan = std::max(found_.makespan, rank.now);
      found_.span = std::max(found_.span, rank.now - rank.begin);
      found_.peak = std::max(found_.peak, rank.peak);
    }
    if (found_.peak > uniform_.memory) return {};
    return std::move(found_);
  }

 private:
  struct Rank {
    std::int64_t now = 0;
    std::int64_t begin = 0;
    std::array<int, kMostLanes> next{};
    int held = 0;
    int peak = 0;
  };

  bool step(int r) {
    Rank& rank = ranks_[index(r)];
    auto& row = found_.rows[index(r)];
    if (row.size() == rows_[index(r)].size()) return false;
    const Lane lane = rows_[index(r)][row.size()];
    const int kind = lane % kUp;
    const int stage = lane < kUp ? r : 2 * uniform_.ranks - 1 - r;
    const int m = rank.next[lane];
    if (stage >= stages_ || m == uniform_.microbatches) return false;
    const std::int64_t ready = ready_at(kind, stage, m);
    if (ready == kNotYet) return false;
    const std::int64_t start = std::max(rank.now, ready);
    if (row.empty()) rank.begin = start;
    rank.now = start + cost(kind);
    ++rank.next[lane];
    end_of(kind, stage, m) = rank.now;
    if (kind == kForward) rank.peak = std::max(rank.peak, rank.held += uniform_.activation);
    if (kind == kInput) rank.held -= uniform_.activation - uniform_.after_input;
    if (kind == kWeight) rank.held -= uniform_.after_input;
    row.push_back({kKinds[index(kind)], stage, m});
    return true;
  }

  [[nodiscard]] std::int64_t cost(int kind) const {
    return kind == kForward ? uniform_.forward
                            : (kind == kInput ? uniform_.input : uniform_.weight);
  }

  [[nodiscard]] std::int64_t ready_at(int kind, int stage, int m) {
    if (kind == kForward) return stage == 0 ? 0 : arrival(kind, stage - 1, stage, m);
    const std::int64_t own = end_of(kind - 1, stage, m);
    if (kind == kWeight || own == kNotYet || stage == stages_ - 1) return own;
    const std::int64_t gradient = arrival(kind, stage + 1, stage, m);
    return gradient == kNotYet ? kNotYet : std::max(own, gradient);
  }

  [[nodiscard]] std::int64_t arrival(int kind, int from, int to, int m) {
    const std::int64_t end = end_of(kind, from, m);
    const bool turn = from + to == 2 * uniform_.ranks - 1;
    return end == kNotYet || turn ? end : end + uniform_.latency;
  }

  std::int64_t& end_of(int kind, int stage, int m) {
    return ends_[index(kind)][index(stage * uniform_.microbatches + m)];
  }

  const Uniform& uniform_;
  const ShortRows& rows_;
  int stages_;
  std::array<std::vector<std::int64_t>, 3> ends_;  // by kind, stage and microbatch
  std::vector<Rank> ranks_;
  FoundOrder found_;
};

}  // namespace

std::optional<FoundOrder> timed(const Uniform& uniform, const ShortRows& rows) {
  return ShortRowSimulation(uniform, rows).run();
}

}  // namespace ripeline::optimise
