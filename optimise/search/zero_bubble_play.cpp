// The external interface is fill() and pulled_forward(). Both run steps on a `Pipeline`. fill()
// runs each rank as far as possible, since its order is fixed. pulled_forward() runs steps in the
// order of time, since a rank's choice depends on the inputs that have arrived.
#include "optimise/search/zero_bubble_play.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/vocabulary/index.h"

namespace ripeline::optimise {
namespace {

using pytorch::Action;
using pytorch::ActionKind;
using pytorch::Placement;

constexpr std::int64_t kNotStarted = -1;

// The tasks that have run so far, with their times.
class Pipeline {
 public:
  struct Rank {
    std::int64_t now = 0;                      // when it is free
    std::int64_t begin = kNotStarted;          // when its first task starts
    std::array<std::array<int, 2>, 2> next{};  // the next microbatch of F and I, by chunk
    std::vector<Action> weights;               // the W so far, in the order of their I
    std::size_t weights_done = 0;
    int live = 0;  // forwards whose I have not run
    int held = 0;  // forwards whose W have not run
    int peak = 0;
    std::vector<Action> row;

    [[nodiscard]] bool has_weight() const { return weights_done < weights.size(); }
  };

  explicit Pipeline(const Uniform& uniform)
      : uniform_(uniform),
        chunks_(chunks_of(uniform)),
        stages_(uniform.ranks * chunks_),
        ranks_(index(uniform.ranks)) {
    for (Rank& rank : ranks_) {
      rank.row.reserve(index(3 * chunks_ * uniform.microbatches));
      rank.weights.reserve(index(chunks_ * uniform.microbatches));
    }
    for (auto& ends : ends_) ends.assign(index(stages_ * uniform.microbatches), kNotStarted);
  }

  [[nodiscard]] const Rank& rank(int r) const { return ranks_[index(r)]; }
  [[nodiscard]] bool full(int r) const { return rank(r).held == uniform_.memory; }
  [[nodiscard]] std::int64_t cost(const Step& step) const {
    return step.kind == ActionKind::forward ? uniform_.forward : uniform_.input;
  }

  // The time at which the step's inputs arrive; kNotStarted if some input's sender has not run.
  [[nodiscard]] std::int64_t ready_at(int r, const Step& step) const {
    const int stage = stage_of(r, step.chunk);
    const int m = rank(r).next[lane(step.kind)][index(step.chunk)];
    if (step.kind == ActionKind::forward) {
      return stage == 0 ? 0 : arrival(ActionKind::forward, stage - 1, stage, m);
    }
    const std::int64_t own = end_of(ActionKind::forward, stage, m);
    if (own == kNotStarted || stage == stages_ - 1) return own;
    const std::int64_t gradient = arrival(ActionKind::backward_input, stage + 1, stage, m);
    return gradient == kNotStarted ? kNotStarted : std::max(own, gradient);
  }

  void run(int r, const Step& step, std::int64_t start) {
    Rank& rank = ranks_[index(r)];
    if (rank.begin == kNotStarted) rank.begin = start;
    rank.now = start + cost(step);
    const int stage = stage_of(r, step.chunk);
    const int m = rank.next[lane(step.kind)][index(step.chunk)]++;
    ends_[lane(step.kind)][at(stage, m)] = rank.now;
    rank.row.push_back({step.kind, stage, m});
    if (step.kind == ActionKind::forward) {
      ++rank.live;
      rank.peak = std::max(rank.peak, ++rank.held);
    } else {
      --rank.live;
      rank.weights.push_back({ActionKind::backward_weight, stage, m});
    }
  }

  void run_weight(int r) {
    Rank& rank = ranks_[index(r)];
    rank.now += uniform_.weight;
    --rank.held;
    rank.row.push_back(rank.weights[rank.weights_done++]);
  }

  // Runs the remaining W and returns the order. Every step must have run before.
  FoundOrder take() {
    FoundOrder played;
    for (int r = 0; r < uniform_.ranks; ++r) {
      while (rank(r).has_weight()) run_weight(r);
      Rank& rank = ranks_[index(r)];
      played.span = std::max(played.span, rank.now - rank.begin);
      played.makespan = std::max(played.makespan, rank.now);
      played.peak = std::max(played.peak, rank.peak);
      played.rows.push_back(std::move(rank.row));
    }
    return played;
  }

 private:
  static std::size_t lane(ActionKind kind) { return kind == ActionKind::forward ? 0 : 1; }
  [[nodiscard]] int stage_of(int rank, int chunk) const {
    return chunk == 0 ? rank : 2 * uniform_.ranks - 1 - rank;
  }
  [[nodiscard]] int rank_of(int stage) const {
    return stage < uniform_.ranks ? stage : 2 * uniform_.ranks - 1 - stage;
  }
  [[nodiscard]] std::size_t at(int stage, int microbatch) const {
    return index(stage * uniform_.microbatches + microbatch);
  }
  [[nodiscard]] std::int64_t end_of(ActionKind kind, int stage, int microbatch) const {
    return ends_[lane(kind)][at(stage, microbatch)];
  }
  [[nodiscard]] std::int64_t arrival(ActionKind kind, int from, int to, int microbatch) const {
    const std::int64_t end = end_of(kind, from, microbatch);
    return end == kNotStarted || rank_of(from) == rank_of(to) ? end : end + uniform_.latency;
  }

  const Uniform& uniform_;
  int chunks_;
  int stages_;
  std::array<std::vector<std::int64_t>, 2> ends_;  // for F and I, by stage and microbatch
  std::vector<Rank> ranks_;
};

// ---- pulled_forward()

class ForwardPull {
 public:
  ForwardPull(const Uniform& uniform, const Sequences& sequences, const Leeway& leeway)
      : uniform_(uniform), leeway_(leeway), pipeline_(uniform), sequences_(sequences) {}

  std::optional<Sequences> run() {
    taken_.resize(sequences_.size());
    next_.resize(sequences_.size());
    for (int r = 0; r < uniform_.ranks; ++r) next_[index(r)] = choose(r);
    for (int r = earliest(); r >= 0; r = earliest()) {
      take(r, next_[index(r)]);
      for (int near = std::max(0, r - 1); near <= std::min(uniform_.ranks - 1, r + 1); ++near) {
        next_[index(near)] = choose(near);  // other ranks get nothing from r
      }
    }
    for (int r = 0; r < uniform_.ranks; ++r) {
      if (!rest(r).empty()) return std::nullopt;
    }
    return std::move(sequences_);
  }

 private:
  static constexpr std::size_t kWeight = std::size_t(-1);
  struct Choice {
    std::int64_t start = kNotStarted;  // kNotStarted if nothing can be chosen
    std::size_t what = 0;              // position in the rest of the sequence, or kWeight
  };

  [[nodiscard]] std::span<const Step> rest(int r) const {
    return std::span(sequences_[index(r)]).subspan(taken_[index(r)]);
  }

  [[nodiscard]] int earliest() const {
    int best = -1;
    for (int r = 0; r < uniform_.ranks; ++r) {
      const std::int64_t start = next_[index(r)].start;
      if (start != kNotStarted && (best < 0 || start < next_[index(best)].start)) best = r;
    }
    return best;
  }

  [[nodiscard]] Choice choose(int r) const {
    if (rest(r).empty()) return {};
    const Step head = rest(r).front();
    const Pipeline::Rank& rank = pipeline_.rank(r);
    const Choice weight{rank.has_weight() ? rank.now : kNotStarted, kWeight};
    if (head.kind == ActionKind::forward && pipeline_.full(r)) return weight;
    const Choice first{start_of(r, head), 0};
    const auto later = [&](std::int64_t start, std::int64_t gap) {
      return start == kNotStarted || start - rank.now >= gap;
    };
    const Choice other = other_than(r, first.start);
    const Choice best = other.start == kNotStarted ? first : other;
    if (weight.start != kNotStarted && later(first.start, leeway_.gap) &&
        (leeway_.weights_first || later(best.start, leeway_.gap))) {
      return weight;
    }
    return best;
  }

  // The earliest choice among later steps that end before the first step of the rest can start.
  [[nodiscard]] Choice other_than(int r, std::int64_t first) const {
    const std::span<const Step> rest = this->rest(r);
    const Pipeline::Rank& rank = pipeline_.rank(r);
    Choice best;
    std::array<std::array<bool, 2>, 2> seen{};
    int live = rank.live;
    int most = live;
    for (std::size_t i = 0; i < std::min(rest.size(), leeway_.window); ++i) {
      const bool forward = rest[i].kind == ActionKind::forward;
      bool& same = seen[forward ? 0 : 1][index(rest[i].chunk)];
      if (!std::exchange(same, true) && i > 0 && (!forward || most < uniform_.memory)) {
        const std::int64_t start = start_of(r, rest[i]);
        const bool in_time = start != kNotStarted &&
                             (first == kNotStarted || first - start >= pipeline_.cost(rest[i]));
        const bool sooner = best.start == kNotStarted || start < best.start;
        if (in_time && sooner && !(forward && pipeline_.full(r))) {
          best = {start, i};
        } else if (in_time && sooner && rank.has_weight()) {
          best = {rank.now, kWeight};  // makes room for the forward
        }
      }
      live += forward ? 1 : -1;
      most = std::max(most, live);
    }
    return best;
  }

  [[nodiscard]] std::int64_t start_of(int r, const Step& step) const {
    const std::int64_t ready = pipeline_.ready_at(r, step);
    return ready == kNotStarted ? kNotStarted : std::max(ready, pipeline_.rank(r).now);
  }

  void take(int r, const Choice& choice) {
    if (choice.what == kWeight) {
      pipeline_.run_weight(r);
      return;
    }
    const auto front =
        sequences_[index(r)].begin() + static_cast<std::ptrdiff_t>(taken_[index(r)]++);
    const auto step = front + static_cast<std::ptrdiff_t>(choice.what);
    std::rotate(front, step, step + 1);
    pipeline_.run(r, *front, choice.start);
  }

  const Uniform& uniform_;
  const Leeway& leeway_;
  Pipeline pipeline_;
  Sequences sequences_;             // per rank, the taken steps first
  std::vector<std::size_t> taken_;  // by rank
  std::vector<Choice> next_;
};

}  // namespace

std::optional<FoundOrder> fill(const Uniform& uniform, const Sequences& sequences,
                               std::int64_t gap) {
  Pipeline pipeline(uniform);
  std::vector<std::size_t> done(sequences.size());
  for (bool goes = true; std::exchange(goes, false);) {
    for (int r = 0; r < uniform.ranks; ++r) {
      const Pipeline::Rank& rank = pipeline.rank(r);
      const Sequence& sequence = sequences[index(r)];
      for (std::size_t& i = done[index(r)]; i < sequence.size(); ++i, goes = true) {
        const std::int64_t ready = pipeline.ready_at(r, sequence[i]);
        if (ready == kNotStarted) break;
        const bool forward = sequence[i].kind == ActionKind::forward;
        while (rank.has_weight() && (ready - rank.now >= gap || (forward && pipeline.full(r)))) {
          pipeline.run_weight(r);
        }
        if (forward && pipeline.full(r)) return std::nullopt;
        pipeline.run(r, sequence[i], std::max(ready, rank.now));
      }
    }
  }
  for (std::size_t r = 0; r < sequences.size(); ++r) {
    if (done[r] < sequences[r].size()) return std::nullopt;
  }
  return pipeline.take();
}

std::optional<Sequences> pulled_forward(const Uniform& uniform, const Sequences& sequences,
                                        const Leeway& leeway) {
  return ForwardPull(uniform, sequences, leeway).run();
}

}  // namespace ripeline::optimise
