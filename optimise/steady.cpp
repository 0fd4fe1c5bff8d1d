// The external interface is steady_order(). A move shifts one task in its row, by up to kMostShift
// places.
#include "optimise/steady.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "optimise/bounds/task_graph.h"
#include "optimise/search/random.h"

namespace ripeline::optimise {
namespace {

constexpr std::uint64_t kMostShift = 10;
constexpr double kHopeless = .01;  // a mean excess, as a logarithm, over a quarter of the draws

class Draws {
 public:
  explicit Draws(Objective objective) : objective_(objective) {}

  bool add(const spec::Program& program, int microbatches, const simulate::TimingOptions& times) {
    simulate::Timing timing;
    TaskGraph graph;
    if (!simulate::Timing::make(program, microbatches, times, timing).ok()) return false;
    if (!TaskGraph::make(program, microbatches, timing, graph).ok()) return false;
    models_.push_back(Model::of(program, microbatches, timing, graph));
    return !models_.back().left_out;
  }

  [[nodiscard]] std::vector<Model>& models() { return models_; }

  // The logarithm of the geometric mean of the order's values over the draws; `logs` gets each
  // value's logarithm. nullopt if the order is not legal, or if after the first draws it is much
  // worse than the order that was accepted last.
  std::optional<double> value_of(const Rows& rows, std::vector<double>& logs) const {
    logs.clear();
    double more = 0;  // the sum of how much worse the order is
    const std::size_t few = models_.size() / 4;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      const auto starts = starts_of(models_[i], rows);
      if (!starts) return std::nullopt;
      logs.push_back(std::log(static_cast<double>(value_of(models_[i], *starts))));
      if (accepted_.empty()) continue;
      more += logs.back() - accepted_[i];
      if (i + 1 == few && more > static_cast<double>(few) * kHopeless) return std::nullopt;
    }
    return std::accumulate(logs.begin(), logs.end(), 0.) / static_cast<double>(logs.size());
  }
  void accept(const std::vector<double>& logs) { accepted_ = logs; }

 private:
  [[nodiscard]] Time value_of(const Model& model, const std::vector<Time>& starts) const {
    const std::size_t ranks = model.begin_of.size();
    std::vector<Time> begin(ranks, INT64_MAX);
    std::vector<Time> end(ranks, 0);
    for (int task = 0; task < model.tasks(); ++task) {
      const int rank = at(model.machines, at(model.lanes, at(model.lane_of, task)).machine).rank;
      if (rank < 0) continue;
      at(begin, rank) = std::min(at(begin, rank), at(starts, task));
      at(end, rank) = std::max(at(end, rank), at(starts, task) + at(model.takes, task));
    }
    Time value = 1;
    for (std::size_t r = 0; r < ranks; ++r) {
      const Time from = objective_ == Objective::span && begin[r] < end[r] ? begin[r] : 0;
      value = std::max(value, end[r] - from);
    }
    return value;
  }

  Objective objective_;
  std::vector<Model> models_;     // one per draw
  std::vector<double> accepted_;  // per draw
};

// Lowers each pool's capacity to what this order needs, so that no later order needs more.
void hold_to(Model& model, const Rows& rows) {
  for (int m = 0; m < size_of(model.machines); ++m) {
    for (const int p : at(model.machines, m).pools) {
      Model::Pool& pool = at(model.pools, p);
      std::int64_t held = 0;
      std::int64_t peak = 0;
      for (const int lane : at(rows, m)) {
        const Model::Use& use = at(pool.uses, lane);
        if (use.acquires > 0) peak = std::max(peak, held + use.asks);
        held += use.acquires - use.releases;
      }
      pool.capacity = std::min(pool.capacity, peak);
    }
  }
}

}  // namespace

std::optional<Steady> steady_order(const spec::Program& program, int microbatches,
                                   const simulate::TimingOptions& times, Objective objective,
                                   const Rows& rows, const SteadyOptions& options) {
  Draws draws(objective);
  for (int i = 0; i < options.draws; ++i) {
    simulate::TimingOptions drawn = times;
    drawn.seed = options.first_seed + static_cast<std::uint64_t>(i);
    if (!draws.add(program, microbatches, drawn)) return std::nullopt;
    hold_to(draws.models().back(), rows);
  }
  std::vector<double> logs;
  std::optional<double> now = draws.value_of(rows, logs);
  if (!now) return std::nullopt;
  draws.accept(logs);
  Steady steady{.rows = rows, .before = std::exp(*now), .after = std::exp(*now)};
  Random random(options.first_seed);
  std::vector<std::size_t> movable;  // rows with several tasks, each listed once per task
  for (std::size_t m = 0; m < rows.size(); ++m) {
    if (rows[m].size() > 1) movable.insert(movable.end(), rows[m].size(), m);
  }
  if (movable.empty()) return steady;
  while (options.go_on()) {
    ++steady.tried;
    std::vector<int>& row = steady.rows[movable[random.draw(movable.size())]];
    const auto from = static_cast<std::size_t>(random.draw(row.size()));
    const auto by = static_cast<std::size_t>(random.draw(kMostShift)) + 1;
    const bool earlier = random.draw(2) == 0;
    if (earlier ? from < by : from + by >= row.size()) continue;
    const auto place = [&](std::size_t i) { return row.begin() + static_cast<std::ptrdiff_t>(i); };
    const std::size_t to = earlier ? from - by : from + by;
    // A move past a task of the same lane changes nothing, since a lane's tasks run in turn.
    if (row[from] == row[to] && by == 1) continue;
    const auto shift = [&](std::size_t a, std::size_t b) {
      if (b < a) {
        std::rotate(place(b), place(a), place(a) + 1);
      } else {
        std::rotate(place(a), place(a) + 1, place(b) + 1);
      }
    };
    shift(from, to);
    const auto value = draws.value_of(steady.rows, logs);
    if (value && *value <= *now) {
      now = value;
      draws.accept(logs);
    } else {
      shift(to, from);
    }
  }
  steady.after = std::exp(*now);
  return steady;
}

}  // namespace ripeline::optimise
