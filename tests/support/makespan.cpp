#include "tests/support/makespan.h"

#include <algorithm>

namespace ripeline {
namespace {

using spec::Program;

constexpr std::int64_t kNotYet = -1;

class Clock {
 public:
  Clock(const Program& program, int microbatches, std::int64_t latency)
      : program_(program), microbatches_(microbatches), latency_(latency) {
    ends_.assign(program.lanes.size(),
                 std::vector<std::int64_t>(static_cast<std::size_t>(microbatches), kNotYet));
    held_.assign(program.pools.size(), 0);
    result_.peaks = held_;
  }

  std::optional<Makespan> run() {
    std::vector<std::vector<spec::OrderTask>> rows;
    for (int rank = 0; rank < program_.ranks; ++rank) {
      const auto& order = Program::at(program_.orders, program_.dispatch.order);
      const auto row = expand(program_, order, rank, microbatches_);
      if (!row.ok()) return std::nullopt;
      rows.push_back(row.value());
    }
    std::vector<Rank> ranks(rows.size());
    for (bool goes = true; goes;) {
      goes = false;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        while (ranks[r].at < rows[r].size() && take(ranks[r], rows[r][ranks[r].at])) goes = true;
      }
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (ranks[r].at < rows[r].size()) return std::nullopt;
      result_.wall = std::max(result_.wall, ranks[r].now);
      result_.span = std::max(result_.span, ranks[r].now - ranks[r].begin);
      result_.work = std::max(result_.work, ranks[r].work);
    }
    return result_;
  }

 private:
  struct Rank {
    std::size_t at = 0;
    std::int64_t now = 0;
    std::int64_t begin = kNotYet;
    std::int64_t work = 0;
  };

  bool take(Rank& rank, const spec::OrderTask& task) {
    const spec::Lane& lane = Program::at(program_.lanes, task.lane);
    std::int64_t start = rank.now;
    for (const int edge : lane.edges) {
      const spec::Edge& e = Program::at(program_.edges, edge);
      const auto [first, last] = program_.needed(e, task.microbatch, microbatches_);
      for (int m = first; m < last; ++m) {
        const std::int64_t end = Program::at(ends_, e.producer)[static_cast<std::size_t>(m)];
        if (end == kNotYet) return false;
        start = std::max(start, end + (program_.crosses_ranks(e) ? latency_ : 0));
      }
    }
    const std::int64_t cost = lane.cost.numerator;
    if (rank.begin == kNotYet) rank.begin = start;
    rank.now = start + cost;
    rank.work += cost;
    ends_[static_cast<std::size_t>(task.lane)][static_cast<std::size_t>(task.microbatch)] =
        rank.now;
    for (const spec::Use& use : uses_of(lane)) {
      auto& held = held_[static_cast<std::size_t>(use.pool)];
      auto& peak = result_.peaks[static_cast<std::size_t>(use.pool)];
      held += use.acquires;
      peak = std::max(peak, held);
      held -= use.releases;
    }
    ++rank.at;
    return true;
  }

  const Program& program_;
  int microbatches_;
  std::int64_t latency_;
  std::vector<std::vector<std::int64_t>> ends_;
  std::vector<std::int64_t> held_;
  Makespan result_;
};

}  // namespace

std::optional<Makespan> makespan_of(const Program& program, int microbatches,
                                    std::int64_t latency) {
  return Clock(program, microbatches, latency).run();
}

}  // namespace ripeline
