// Until a pool's first release ends, only tasks that find room in the pool can start, so the engine
// idles. When the last acquiring task starts, tasks that took time have released all amounts that
// were acquired beyond the capacity.
#include "optimise/bounds/room_bounds.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "optimise/uniform.h"
#include "spec/guards.h"

namespace ripeline::optimise {
namespace {

using spec::Program;
using Time = TaskGraph::Time;

// The most distinct heads, or tails, of a pool's tasks to try. Each gives a bound; usually only few
// exist.
constexpr int kMostTried = 64;

// An amount that tasks acquire or release, and the total time of these tasks.
struct Part {
  std::int64_t amount = 0;
  Time takes = 0;
  int earlier = -1;  // index of a part that must be done before this one; -1 if there is none
};

bool of_one_amount(const std::vector<Part>& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](const Part& part) { return part.amount == parts.front().amount; });
}

// Whether `a` takes less time per amount than `b`.
bool cheaper(const Part& a, const Part& b) {
  return static_cast<double>(a.takes) * static_cast<double>(b.amount) <
         static_cast<double>(b.takes) * static_cast<double>(a.amount);
}

// A lower (if `up`, an upper) bound on the time that `amount` of the part takes.
Time fraction(const Part& part, std::int64_t amount, bool up) {
  const double exact = static_cast<double>(part.takes) * static_cast<double>(amount) /
                       static_cast<double>(part.amount);
  return std::max<Time>(0, static_cast<Time>(exact) + (up ? 1 : -1));
}

// The longest total time of parts whose amounts fit into the room.
Time most_within(std::vector<Part>& parts, std::int64_t room) {
  if (parts.empty()) return 0;
  const bool whole = of_one_amount(parts);
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return cheaper(b, a); });
  Time most = 0;
  for (const Part& part : parts) {
    if (part.amount <= room) {
      most += part.takes;
      room -= part.amount;
      continue;
    }
    return whole ? most : most + fraction(part, room, true);
  }
  return most;
}

// Joins a cheaper part to the part that must be done before it, since it cannot be done alone. At
// most one part is joined to each part, so joined parts form a sequence.
void join(std::vector<Part>& parts) {
  std::vector<std::uint8_t> taken(parts.size(), 0);
  for (Part& part : parts) {
    if (part.earlier < 0 || part.amount == 0) continue;
    Part& before = at(parts, part.earlier);
    if (before.amount == 0 || at(taken, part.earlier) != 0 || !cheaper(part, before)) continue;
    at(taken, part.earlier) = 1;
    before.amount += part.amount;
    before.takes += part.takes;
    part.amount = 0;
  }
  std::erase_if(parts, [](const Part& part) { return part.amount == 0; });
}

// The exact least time if there are two kinds of parts and each part of the second kind follows a
// different part of the first kind. nullopt if the parts do not have this form.
std::optional<Time> least_of_two_kinds(const std::vector<Part>& parts, std::int64_t released) {
  std::array<std::vector<Part>, 2> kinds;
  std::vector<std::uint8_t> followed(parts.size(), 0);
  for (const Part& part : parts) {
    kinds[part.earlier < 0 ? 0 : 1].push_back(part);
    if (part.earlier < 0) continue;
    if (at(parts, part.earlier).earlier >= 0) return std::nullopt;
    if (std::exchange(at(followed, part.earlier), std::uint8_t{1}) != 0) return std::nullopt;
  }
  const auto& [first, second] = kinds;
  if (first.size() != second.size()) return std::nullopt;
  for (const std::vector<Part>& kind : kinds) {
    for (const Part& part : kind) {
      if (part.amount != kind.front().amount || part.takes != kind.front().takes) {
        return std::nullopt;
      }
    }
  }
  std::optional<Time> least;
  for (int n = 0; n <= size_of(first); ++n) {
    const std::int64_t left = std::max<std::int64_t>(0, released - n * first.front().amount);
    const std::int64_t more = (left + second.front().amount - 1) / second.front().amount;
    if (more > n) continue;
    const Time takes = n * first.front().takes + more * second.front().takes;
    least = std::min(least.value_or(takes), takes);
  }
  return least;
}

// The least total time of parts that together release at least `released`.
Time least_for(std::vector<Part> parts, std::int64_t released) {
  if (released <= 0 || parts.empty()) return 0;
  const bool whole = of_one_amount(parts);
  if (!whole) {
    if (const auto least = least_of_two_kinds(parts, released)) return *least;
    join(parts);
  }
  std::sort(parts.begin(), parts.end(), cheaper);
  Time least = 0;
  for (const Part& part : parts) {
    if (released <= 0) break;
    least += whole || part.amount <= released ? part.takes : fraction(part, released, false);
    released -= part.amount;
  }
  return least;
}

}  // namespace

RoomBounds::RoomBounds(const Program& program, const TaskGraph& graph, int microbatches)
    : program_(program), graph_(graph), microbatches_(microbatches) {
  for (int pool = 0; pool < size_of(program.pools); ++pool) add(pool);
}

void RoomBounds::add(int id) {
  const spec::Pool& of_program = at(program_.pools, id);
  if (!of_program.capacity) return;
  Pool pool{.pool = id, .capacity = *of_program.capacity};
  std::vector<spec::Engine> engines;
  const int first = program_.first_lane(of_program.rank);
  const int end = program_.first_lane(of_program.rank + 1);
  for (int lane = first; lane < end; ++lane) {
    Use use{.lane = lane};
    for (const spec::Use& u : spec::uses_of(at(program_.lanes, lane))) {
      if (u.pool != id) continue;
      use.acquires = u.acquires;
      use.releases = u.releases;
      engines.push_back(at(program_.lanes, lane).engine);
    }
    pool.acquired += use.acquires * program_.tasks_of(lane, microbatches_);
    pool.uses.push_back(use);
  }
  if (engines.empty()) return;
  const auto elsewhere = [&](spec::Engine engine) { return engine != engines.front(); };
  if (std::any_of(engines.begin(), engines.end(), elsewhere)) return;
  std::erase_if(pool.uses,
                [&](const Use& use) { return elsewhere(at(program_.lanes, use.lane).engine); });
  const bool pairs = std::any_of(pool.uses.begin(), pool.uses.end(), [&](const Use& use) {
    return !spec::guards_of(program_, use.lane).beside.empty();
  });
  if (pairs) return;
  relate(pool);
  pools_.push_back(std::move(pool));
}

// Sets `may_be_last`, `release` and `earlier` of all uses, from the needs among their lanes.
void RoomBounds::relate(Pool& pool) const {
  std::vector<std::vector<int>> needed;  // per use: lanes
  for (const Use& use : pool.uses) needed.push_back(spec::ancestors(program_, use.lane));
  const auto needs = [&](int use, int other) {
    const int lane = at(pool.uses, other).lane;
    return at(program_.lanes, at(pool.uses, use).lane).once == at(program_.lanes, lane).once &&
           std::binary_search(at(needed, use).begin(), at(needed, use).end(), lane);
  };
  for (int use = 0; use < size_of(pool.uses); ++use) {
    Use& u = at(pool.uses, use);
    u.may_be_last = u.acquires > 0;
    for (int other = 0; other < size_of(pool.uses); ++other) {
      const Use& o = at(pool.uses, other);
      if (o.acquires > 0 && needs(other, use)) u.may_be_last = false;
      // Among lanes that need this lane, the nearest has the fewest needs. Among lanes that this
      // lane needs, the nearest has the most needs.
      const auto nearest = [&](int best, bool least) {
        return best < 0 || (size_of(at(needed, other)) < size_of(at(needed, best))) == least;
      };
      if (o.releases == 0) continue;
      if (u.releases == 0 && u.acquires == 0 && needs(other, use) && nearest(u.release, true)) {
        u.release = other;
      }
      if (u.releases > 0 && needs(use, other) && nearest(u.earlier, false)) u.earlier = other;
    }
  }
}

void RoomBounds::find(const std::vector<Time>& heads, const std::vector<Time>& tails,
                      const Consider& consider) const {
  for (const Pool& pool : pools_) {
    Tasks tasks;
    bool all = true;
    for (int use = 0; use < size_of(pool.uses); ++use) {
      const int lane = at(pool.uses, use).lane;
      tasks.first.push_back(size_of(tasks.all));
      for (int node = graph_.first_node(lane); node < graph_.first_node(lane + 1); ++node) {
        all = all && at(heads, node) != TaskGraph::kNone && at(tails, node) != TaskGraph::kNone;
        tasks.all.push_back({at(heads, node), graph_.takes(node), at(tails, node), use});
      }
    }
    tasks.first.push_back(size_of(tasks.all));
    if (all && !tasks.all.empty()) find(pool, tasks, consider);
  }
}

// Before the first release ends, the engine can only have run tasks that need no room and tasks
// that found room. It was idle for the rest of the time.
RoomBounds::Idle RoomBounds::idle(const Pool& pool, const Tasks& tasks) {
  Time first_release = kNever;
  std::vector<Time> moments;
  for (const Task& task : tasks.all) {
    moments.push_back(task.head);
    if (at(pool.uses, task.use).releases == 0) continue;
    first_release = std::min(first_release, task.head + task.takes);
  }
  if (first_release < kNever) moments.push_back(first_release);
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  if (size_of(moments) > kMostTried) moments.resize(kMostTried);
  Idle best;
  std::vector<Part> acquiring;
  for (const Time moment : moments) {
    if (moment > first_release) break;
    acquiring.clear();
    Time run = 0;
    for (const Task& task : tasks.all) {
      if (task.head >= moment) continue;
      const std::int64_t amount = at(pool.uses, task.use).acquires;
      if (amount == 0) run += task.takes;
      if (amount > 0) acquiring.push_back({.amount = amount, .takes = task.takes});
    }
    run += most_within(acquiring, pool.capacity);
    if (moment - run > best.time) best = {moment, moment - run};
  }
  return best;
}

Time RoomBounds::work_of_releases(const Pool& pool, const Tasks& tasks, Time tail) {
  const auto counted = [&](const Task& task) {
    return at(pool.uses, task.use).acquires > 0 || task.tail >= tail;
  };
  std::int64_t released = pool.acquired - pool.capacity;
  std::vector<Time> charged(tasks.all.size(), 0);  // per task that releases
  for (int use = 0; use < size_of(pool.uses); ++use) {
    const Use& u = at(pool.uses, use);
    const int charges = u.releases > 0 ? use : u.release;
    if (charges < 0) continue;
    for (int i = at(tasks.first, use); i < at(tasks.first, use + 1); ++i) {
      const int number = i - at(tasks.first, use);
      if (!counted(at(tasks.all, i))) {
        at(charged, at(tasks.first, charges) + number) += at(tasks.all, i).takes;
      }
    }
  }
  std::vector<int> part_of(tasks.all.size(), -1);
  std::vector<Part> parts;
  for (int i = 0; i < size_of(tasks.all); ++i) {
    const std::int64_t amount = at(pool.uses, at(tasks.all, i).use).releases;
    if (at(charged, i) == 0) {
      released -= amount;
    } else {
      at(part_of, i) = size_of(parts);
      parts.push_back({.amount = amount, .takes = at(charged, i), .earlier = i});
    }
  }
  for (Part& part : parts) {
    const int use = at(tasks.all, part.earlier).use;
    const int number = part.earlier - at(tasks.first, use);
    const int earlier = at(pool.uses, use).earlier;
    part.earlier = earlier < 0 ? -1 : at(part_of, at(tasks.first, earlier) + number);
  }
  return least_for(std::move(parts), released);
}

void RoomBounds::find(const Pool& pool, const Tasks& tasks, const Consider& consider) const {
  const Idle before = idle(pool, tasks);
  find_drain(pool, tasks, before, consider);
  if (pool.acquired <= pool.capacity) return;
  Time work = 0;
  Time tail = kNever;
  for (const Task& task : tasks.all) {
    const Use& use = at(pool.uses, task.use);
    if (use.acquires > 0) work += task.takes;
    if (use.may_be_last) tail = std::min(tail, task.tail);
  }
  if (tail == kNever) return;
  consider(bound_by(before.time + work + work_of_releases(pool, tasks, kNever) + tail,
                    Formula::head_and_tail, pool));
}

// Bounds by each length of a tail: all tasks with a tail of at least this length must run, and a
// path of at least this length follows the last of them to run.
void RoomBounds::find_drain(const Pool& pool, const Tasks& tasks, const Idle& before,
                            const Consider& consider) const {
  std::vector<Task> longest = tasks.all;
  std::sort(longest.begin(), longest.end(),
            [](const Task& a, const Task& b) { return a.tail > b.tail; });
  std::int64_t acquired = 0;
  Time work = 0;
  Time last_head = 0;
  int tried = 0;
  for (std::size_t i = 0; i < longest.size(); ++i) {
    const Task& task = longest[i];
    acquired += at(pool.uses, task.use).acquires;
    work += task.takes;
    last_head = std::max(last_head, task.head);
    const bool last = i + 1 == longest.size();
    if (!last && (longest[i + 1].tail == task.tail || tried++ >= kMostTried)) continue;
    const bool released = acquired == pool.acquired && acquired > pool.capacity;
    // The idle time counts only if one of these tasks cannot start before the idle time ends.
    if (!released && last_head < before.until) continue;
    const Time more = released ? work_of_releases(pool, tasks, task.tail) : 0;
    consider(bound_by(before.time + work + more + task.tail,
                      task.tail == longest.back().tail ? Formula::head : Formula::head_and_drain,
                      pool));
  }
}

Bound RoomBounds::bound_by(Time value, Formula formula, const Pool& pool) const {
  const std::string name = program_.pool_name(pool.pool);
  return {value,
          fmt::format("{} of rank {} by {}", name_of(formula), at(program_.pools, pool.pool).rank,
                      name),
          formula, name};
}

}  // namespace ripeline::optimise
