#include "verify/judge/peaks.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>

#include "spec/group.h"
#include "spec/machine.h"
#include "verify/group/group_runs.h"
#include "verify/judge/each_count.h"
#include "verify/states/budget.h"
#include "verify/states/fill.h"
#include "verify/states/interleave.h"

namespace ripeline::verify {

using spec::Event;
using spec::Machine;
using spec::Program;

namespace {

// Limits of greedy runs: the starts that they make or try in all, and their random lane orders.
constexpr std::uint64_t kStarts = 50'000;
constexpr int kRandomOrders = 8;
// Counts with more tasks than this are skipped.
constexpr std::int64_t kMostTasks = 100'000;
// The number of states that may be visited in all.
constexpr std::uint64_t kStates = 20'000;
// If not every count can be visited, visits can only find a run; then kStates is divided by kShare.
constexpr std::uint64_t kShare = 4;
// The bound of a pool for which nothing is proved.
constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max();

class Peaks {
 public:
  Peaks(const Program& program, const VerifyOptions& options, const MemoryFinding& memory)
      : program_(program), bounds_(memory.bounds), held_(memory.held), starts_{kStarts} {
    held_.resize(program.pools.size(), 0);
    // A run of one member shows nothing about its group until all members have made the same run.
    reached_.resize(held_.size(), 0);
    if (program.tensor_parallel.members == 1) reached_ = held_;
    states_.left = std::min(kStates, options.search_states);
    const auto& range = program.microbatches;
    few_ = range.max && *range.max < std::int64_t{range.min} + kFewCounts;
    for (auto& bound : bounds_) {
      if (few_ && !bound) bound = kNoBound;
    }
  }

  void search() {
    const auto& range = program_.microbatches;
    const std::int64_t first = range.min;
    const std::int64_t last = few_ ? *range.max : first + kFewCounts - 1;
    fill_with(enough_microbatches());
    for (std::int64_t m = first; m <= last; ++m) fill_with(m);
    if (!is_open()) return;
    if (few_) {
      // Runs with more microbatches mostly hold no less, so the largest count is visited first.
      for (std::int64_t m = last; m >= first; --m) {
        if (!visit(m)) return;
      }
      all_visited_ = true;
    } else {
      states_.left /= kShare;
      for (std::int64_t m = first; m <= last && is_open(); ++m) {
        if (!visit(m)) return;
      }
    }
  }

  std::vector<std::optional<Peak>> found() const {
    std::vector<std::optional<Peak>> peaks(bounds_.size());
    for (std::size_t p = 0; p < bounds_.size(); ++p) {
      if (!bounds_[p]) continue;
      Peak& peak = peaks[p].emplace(Peak{.bound = *bounds_[p]});
      if (all_visited_ && held_[p] < peak.bound) {
        peak.bound = held_[p];
        peak.by_states = true;
      }
      peak.reached = reached_[p] >= peak.bound;
      if (peak.bound == kNoBound) peaks[p].reset();
    }
    return peaks;
  }

 private:
  // The bounds that no known run reaches.
  std::vector<std::optional<std::int64_t>> open_bounds() const {
    std::vector<std::optional<std::int64_t>> open = bounds_;
    for (std::size_t p = 0; p < open.size(); ++p) {
      if (open[p] && reached_[p] >= *open[p]) open[p].reset();
    }
    return open;
  }
  bool is_open() const {
    const auto open = open_bounds();
    return std::any_of(open.begin(), open.end(), [](const auto& bound) { return bound; });
  }

  // A count in range with which lanes have enough tasks to fill the pools.
  std::int64_t enough_microbatches() const {
    const auto& range = program_.microbatches;
    std::int64_t enough = range.min;
    for (const spec::Lane& lane : program_.lanes) {
      for (const spec::Acquire& a : lane.acquires) {
        const auto& bound = at(bounds_, a.pool);
        if (!bound) continue;
        const std::int64_t tasks = std::min(*bound / a.amount, kMostTasks) + 1;
        enough = std::max(enough, (tasks / lane.share.size() + 1) * lane.share.period);
      }
    }
    enough = std::min(enough, most_microbatches());
    enough = std::min<std::int64_t>(enough, range.max.value_or(kMostTasks));
    return std::max<std::int64_t>(enough, range.min);
  }

  std::int64_t most_microbatches() const {
    return kMostTasks / std::max(1, size_of(program_.lanes));
  }

  // True if each rank's order has a meaning for this count, and the count is not too large.
  bool can_run(std::int64_t microbatches) const {
    if (microbatches > most_microbatches()) return false;
    if (program_.dispatch.binding() < 0) return true;
    const spec::Order& order = at(program_.orders, program_.dispatch.binding());
    for (int rank = 0; rank < program_.ranks; ++rank) {
      if (!expand(program_, order, rank, static_cast<int>(microbatches)).ok()) return false;
    }
    return true;
  }

  // --- greedy runs ---

  void fill_with(std::int64_t microbatches) {
    if (!is_open() || starts_.left == 0 || !can_run(microbatches)) return;
    const Machine machine(program_, static_cast<int>(microbatches));
    const auto try_wishes = [&](const Wishes& wishes) {
      if (is_open() && starts_.left > 0)
        add(machine, fill(machine, wishes, open_bounds(), starts_));
    };
    try_wishes(by_use([](const spec::Lane& lane) { return lane.releases.empty() ? 0 : 1; }));
    for (int pool = 0; pool < size_of(program_.pools); ++pool) {
      if (open_bounds()[static_cast<std::size_t>(pool)]) try_wishes(for_pool(pool));
    }
    for (int seed = 1; seed <= kRandomOrders; ++seed) try_wishes(at_random(seed));
  }

  // Wishes that sort lanes by `number_of`, which returns 0, 1 or 2; lanes with 0 start freely.
  template <class NumberOf>
  Wishes by_use(const NumberOf& number_of) const {
    Wishes wishes;
    for (const int number : {0, 1, 2}) {
      for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
        if (number_of(at(program_.lanes, lane)) == number) wishes.lanes.push_back(lane);
      }
      if (number == 0) wishes.freely = size_of(wishes.lanes);
    }
    return wishes;
  }

  Wishes for_pool(int pool) const {
    const auto uses = [pool](const auto& amounts) {
      return std::any_of(amounts.begin(), amounts.end(),
                         [pool](const auto& amount) { return amount.pool == pool; });
    };
    return by_use([&](const spec::Lane& lane) {
      if (uses(lane.releases)) return 2;
      return uses(lane.acquires) ? 0 : 1;
    });
  }

  Wishes at_random(int seed) const {
    Wishes wishes = by_use([](const spec::Lane&) { return 1; });
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    for (std::size_t i = wishes.lanes.size(); i > 1; --i) {
      std::swap(wishes.lanes[i - 1], wishes.lanes[random() % i]);
    }
    return wishes;
  }

  // One member's run counts as a run of its group only if all members can make it in step.
  void add(const Machine& machine, const std::vector<Event>& events) {
    const std::vector<std::int64_t> most = most_held(machine, events);
    const int members = program_.tensor_parallel.members;
    bool is_run = members == 1;
    if (!is_run) {
      const spec::GroupMachine group(program_, machine.microbatches(), members);
      is_run = replayed(group, Machine::Chooser::any, in_step(group, events)).has_value();
    }
    for (std::size_t p = 0; p < most.size(); ++p) {
      held_[p] = std::max(held_[p], most[p]);
      if (is_run) reached_[p] = std::max(reached_[p], most[p]);
    }
  }

  // --- every state ---

  // Returns false if not all states of this count were visited, so that the count stays open.
  bool visit(std::int64_t microbatches) {
    if (!can_run(microbatches)) return false;
    const Machine machine(program_, static_cast<int>(microbatches));
    while (true) {
      Goal more;  // bounds at the amounts held so far
      bool is_more = false;
      for (std::size_t p = 0; p < bounds_.size(); ++p) {
        const bool open = bounds_[p] && held_[p] < *bounds_[p];
        more.bounds.push_back(open ? std::optional(held_[p]) : std::nullopt);
        is_more = is_more || open;
      }
      if (!is_more) return true;
      const Explored<Event> all = interleave(machine, Machine::Chooser::any, more, states_);
      if (!all.way) return all.complete;
      add(machine, *all.way);
    }
  }

  const Program& program_;
  std::vector<std::optional<std::int64_t>> bounds_;
  std::vector<std::int64_t> held_;     // the most that one member holds in some run
  std::vector<std::int64_t> reached_;  // the most held in a run of the whole group
  bool few_ = false;                   // the range has few counts
  bool all_visited_ = false;           // so no member ever holds more, for any count in range
  Budget starts_;
  Budget states_;
};

}  // namespace

std::vector<std::optional<Peak>> peaks_of(const Program& program, const VerifyOptions& options,
                                          const MemoryFinding& memory) {
  Peaks peaks(program, options, memory);
  if (options.find_runs) peaks.search();
  return peaks.found();
}

}  // namespace ripeline::verify
