#include "core/patience.h"

#include <algorithm>

#include "core/vocabulary/index.h"

namespace ripeline::core {
namespace {

constexpr Time kUnknown = Time::max();
constexpr Time kArrived = Time::min();
constexpr Time kLongest = Time{std::int64_t{1} << 60};  // a notice beyond this counts as unknown
constexpr int kMostPutOff = 32;                         // per message, so that holding ends
constexpr int kMostForecasts = 10'000;  // per rank while nothing happens, so that they end
constexpr double kMoved = 0.5;  // in task durations: a forecast that moved by less is not repeated

Time times(double factor, Time time) {
  return Time{static_cast<std::int64_t>(factor * static_cast<double>(time.count()))};
}

}  // namespace

Patience::Patience(const ProgramFacts& facts, int rank)
    : facts_(facts), rules_(facts.dispatch.patience.value()), rows_(facts, rank) {
  const LaneSpan own = facts.lanes_of(rank);
  first_lane_ = own.first;
  lanes_.resize(index(own.end - own.first));
  place_.assign(facts.edges.size(), -1);
  taken_.resize(facts.edges.size());
  last_notice_.resize(facts.edges.size());
  const auto is_filler = [&](LaneId id) {
    const std::span<const PlaceFacts> fill = facts.dispatch.fill;
    return std::any_of(fill.begin(), fill.end(),
                       [&](const PlaceFacts& p) { return p.lists(facts.lanes[index(id)]); });
  };
  const auto is_own = [&](LaneId id) { return id >= own.first && id < own.end; };
  for (LaneId id = own.first; id < own.end; ++id) lane(id).filler = is_filler(id);
  std::int32_t rows = 0;
  for (std::size_t i = 0; i < facts.edges.size(); ++i) {
    const EdgeFacts& e = facts.edges[i];
    // Lanes that number microbatches differently exchange no notices, since a notice is about the
    // consumer's next tasks.
    if (e.crosses_shares) continue;
    const bool crosses = facts.crosses_ranks(static_cast<EdgeId>(i));
    if (is_own(e.consumer) && crosses) {
      lane(e.consumer).in.push_back(static_cast<EdgeId>(i));
      place_[i] = rows++;
    }
    if (!is_own(e.producer)) continue;
    if (crosses) {
      lane(e.producer).out.push_back(static_cast<EdgeId>(i));
    } else if (!is_filler(e.consumer)) {
      lane(e.producer).feeds = true;
    }
  }
}

void Patience::expect(const Costs& costs) { costs_ = costs; }

void Patience::begin_step(int microbatches, const FollowedOrder& order) {
  microbatches_ = microbatches;
  order_ = &order;
  static_cast<void>(rows_.begin_step(microbatches));  // the arbiter's own rows check the count
  std::fill(last_notice_.begin(), last_notice_.end(), LastNotice{});
  running_ = {};
  const auto rows = std::count_if(place_.begin(), place_.end(), [](auto p) { return p >= 0; });
  due_.assign(index(rows) * index(microbatches), kUnknown);
  put_off_.assign(due_.size(), 0);
  std::fill(taken_.begin(), taken_.end(), 0);
  idle_ = {};
  forecasts_ = 0;
  notices_.clear();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& l = lanes_[i];
    l.tasks = facts_.tasks_of(first_lane_ + static_cast<LaneId>(i), microbatches);
    l.started = 0;
    l.finished = 0;
    l.coming.clear();
  }
}

// Updates whether `coming` lists `microbatch`: it does while an expected message has not arrived.
void Patience::settle(Lane& lane, std::int32_t microbatch) {
  const bool coming = std::any_of(lane.in.begin(), lane.in.end(), [&](EdgeId edge) {
    const Time time = due({edge, microbatch});
    return time != kUnknown && time != kArrived;
  });
  const auto it = std::find(lane.coming.begin(), lane.coming.end(), microbatch);
  if (coming && it == lane.coming.end()) lane.coming.push_back(microbatch);
  if (!coming && it != lane.coming.end()) lane.coming.erase(it);
}

void Patience::arrived(Message message, Time now) {
  forecasts_ = 0;
  rows_.arrived(message);
  if (place_[index(message.edge)] < 0) return;
  Lane& l = lane(facts_.edges[index(message.edge)].consumer);
  const Time announced = due(message);
  if (rules_.learns && announced != kUnknown && announced != kArrived) l.late.add(now - announced);
  due(message) = kArrived;
  settle(l, message.microbatch);
}

void Patience::noticed(const Notice& notice, Time now) {
  const EdgeId edge = notice.message.edge;
  if (notice.kind == Notice::Kind::taken) {
    taken_[index(edge)] = std::max(taken_[index(edge)], notice.count);
    return;
  }
  if (place_[index(edge)] < 0) return;
  Time& time = due(notice.message);
  if (time == kArrived) return;
  if (notice.kind == Notice::Kind::withdrawn || notice.in > kLongest) {
    time = kUnknown;
  } else if (const Time announced = now + std::max(Time{0}, notice.in); announced < time) {
    if (time == kUnknown && !put_off(notice.message)) return;
    time = announced;
  } else if (put_off(notice.message)) {
    time = announced;
  }
  settle(lane(facts_.edges[index(edge)].consumer), notice.message.microbatch);
}

// Whether the expected arrival of the message may be put off once more.
bool Patience::put_off(Message message) {
  std::uint8_t& times = put_off_[row(message)];
  if (times >= kMostPutOff) return false;
  ++times;
  return true;
}

void Patience::started(Task task, Time now) {
  forecasts_ = 0;
  Lane& l = lane(task.lane);
  ++l.started;
  rows_.started(task);
  if (costs_.tasks.empty()) return;
  const auto engine = static_cast<std::size_t>(facts_.lanes[index(task.lane)].engine);
  const Time end = now + duration(task);
  idle_[engine] = running_[engine]++ > 0 ? std::max(idle_[engine], end) : end;
  for (const EdgeId edge : l.out) {
    if (last_notice_[index(edge)].microbatch == task.microbatch) last_notice_[index(edge)] = {};
  }
  for (const EdgeId edge : l.out) {
    if (facts_.needed_by(edge, task.microbatch, microbatches_) < 0) continue;
    const Time in = duration(task) + costs_.links[index(edge)] - costs_.notices[index(edge)];
    notices_.push_back({.kind = Notice::Kind::expected,
                        .message = {edge, task.microbatch},
                        .in = std::max(Time{0}, in)});
  }
  for (const EdgeId edge : l.in) {
    notices_.push_back(
        {.kind = Notice::Kind::taken, .message = {edge, -1}, .in = Time{0}, .count = l.started});
  }
}

void Patience::finished(Task task, Time now) {
  forecasts_ = 0;
  ++lane(task.lane).finished;
  rows_.finished(task);
  const auto engine = static_cast<std::size_t>(facts_.lanes[index(task.lane)].engine);
  if (--running_[engine] == 0) idle_[engine] = now;
}

Time Patience::expected(const Lane& lane, std::int32_t microbatch) const {
  Time latest = kArrived;
  for (const EdgeId edge : lane.in) latest = std::max(latest, due({edge, microbatch}));
  return latest;
}

Time Patience::earliest(const Lane& lane) const {
  Time earliest = kUnknown;
  for (const std::int32_t m : lane.coming) earliest = std::min(earliest, expected(lane, m));
  return earliest;
}

bool Patience::is_covered(const Lane& lane) const {
  if (!lane.out.empty()) {
    return std::all_of(lane.out.begin(), lane.out.end(),
                       [&](EdgeId edge) { return taken_[index(edge)] < lane.finished; });
  }
  if (lane.feeds) return false;
  return std::all_of(lanes_.begin(), lanes_.end(), [&](const Lane& other) {
    return &other == &lane || other.filler || other.started == other.tasks;
  });
}

bool Patience::fills(LaneId instead, LaneId next) const {
  const LaneFacts& x = facts_.lanes[index(next)];
  if (facts_.lanes[index(instead)].op != x.op) return false;
  bool has_others = false;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const LaneFacts& other = facts_.lanes[index(first_lane_) + i];
    if (other.op == x.op || other.engine != x.engine) continue;
    if (lanes_[i].started > 0) return false;
    has_others = has_others || (lanes_[i].tasks > 0 && !other.once);
  }
  return has_others;
}

Choice Patience::choose(const Choice& ready, LaneId next, Time now) const {
  if (!ready.starts() || next < 0 || ready.task.lane == next || costs_.tasks.empty()) return ready;
  const Lane& x = lane(next);
  if (!fills(ready.task.lane, next) && is_covered(x)) return ready;
  const Time idle = idle_[static_cast<std::size_t>(facts_.lanes[index(next)].engine)];
  const Time until = wait_until(x, idle, duration(ready.task), now);
  if (now >= until) return ready;
  return {.kind = Choice::Kind::hold, .task = {}, .until = until};
}

Time Patience::wait_until(const Lane& x, Time idle, Time instead, Time now) const {
  if (rules_.learns && x.late.known()) {
    Time until = now;
    for (const std::int32_t m : x.coming) {
      const Time expected_at = expected(x, m);
      if (expected_at == kUnknown) continue;
      const Time worth = x.late.worth(now - expected_at, times(rules_.yield, instead),
                                      times(rules_.patience, instead));
      until = std::max(until, expected_at + worth);
    }
    return until;
  }
  const Time coming = earliest(x);
  if (coming == kUnknown || coming - now >= times(rules_.yield, instead)) return now;
  return std::max(coming, idle) + times(rules_.patience, instead);
}

void Patience::take_notices(Time now, std::vector<Notice>& out) {
  if (rules_.forecasts && !costs_.tasks.empty()) forecast(now);
  out.insert(out.end(), notices_.begin(), notices_.end());
  notices_.clear();
}

LaneId Patience::next_to_forecast() const {
  LaneId next = -1;
  int place = kNoPlace;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const LaneId id = first_lane_ + static_cast<LaneId>(i);
    if (lanes_[i].unknown || lanes_[i].filler) continue;
    if (const int p = order_->place(id, lanes_[i].ahead); p < place) {
      next = id;
      place = p;
    }
  }
  return next;
}

std::pair<Time, std::int32_t> Patience::input(LaneId id, Time now) const {
  const Lane& l = lane(id);
  std::size_t ahead = l.ahead;
  const MicrobatchSet& ready = rows_.tasks().row(id);
  const std::size_t count = ready.count();
  if (ahead < count) return {now, ready.lowest()};
  ahead -= count;
  if (l.in.empty()) {
    // The input comes from a lane of this rank; this forecast has found when its tasks end.
    for (const Lane& other : lanes_) {
      if (&other != &l && other.out.empty() && ahead < other.ends.size()) {
        return {other.ends[ahead], -1};
      }
    }
    return {kUnknown, -1};
  }
  if (ahead > 0 || l.coming.empty()) return {kUnknown, -1};
  Time earliest = kUnknown;
  std::int32_t microbatch = -1;
  for (const std::int32_t m : l.coming) {
    const Time latest = expected(l, m);
    if (latest >= earliest) continue;
    earliest = latest;
    microbatch = m;
  }
  if (earliest == kUnknown || earliest + times(1.5, duration(id)) < now) return {kUnknown, -1};
  return {std::max(earliest, now), microbatch};
}

// Follows the order until each lane that sends has a forecast of its next task or can have none.
void Patience::forecast(Time now) {
  std::size_t left = 0;
  for (Lane& l : lanes_) {
    l.ahead = 0;
    l.unknown = false;
    l.ends.clear();
    if (!l.out.empty() && !l.filler) ++left;
  }
  std::array<Time, kEngines> free{};
  for (std::size_t e = 0; e < free.size(); ++e)
    free[e] = running_[e] > 0 ? std::max(idle_[e], now) : now;
  while (left > 0) {
    const LaneId id = next_to_forecast();
    if (id < 0) break;
    Lane& l = lane(id);
    const auto [earliest, microbatch] = input(id, now);
    if (earliest == kUnknown) {
      l.unknown = true;
      if (l.ahead == 0 && !l.out.empty()) --left;
      continue;
    }
    Time& engine = free[static_cast<std::size_t>(facts_.lanes[index(id)].engine)];
    engine = std::max(engine, earliest) +
             (microbatch < 0 ? duration(id) : duration(Task{id, microbatch}));
    l.ends.push_back(engine);
    if (l.ahead++ == 0 && !l.out.empty()) {
      --left;
      if (microbatch >= 0) announce(l, microbatch, engine, now);
    }
  }
  for (const Lane& l : lanes_) {
    if (!l.ends.empty()) continue;
    for (const EdgeId edge : l.out) withdraw(edge);
  }
}

void Patience::announce(const Lane& lane, std::int32_t microbatch, Time ends, Time now) {
  for (const EdgeId edge : lane.out) {
    if (facts_.needed_by(edge, microbatch, microbatches_) < 0) continue;
    LastNotice& last = last_notice_[index(edge)];
    const Time arrives = ends + costs_.links[index(edge)];
    const Time moved = arrives > last.arrives ? arrives - last.arrives : last.arrives - arrives;
    if (last.microbatch == microbatch &&
        moved <= times(kMoved, duration(facts_.edges[index(edge)].producer)))
      continue;
    if (last.microbatch != microbatch) withdraw(edge);
    if (forecasts_ == kMostForecasts) continue;
    ++forecasts_;
    last = {microbatch, arrives};
    notices_.push_back({.kind = Notice::Kind::expected,
                        .message = {edge, microbatch},
                        .in = std::max(Time{0}, arrives - now - costs_.notices[index(edge)])});
  }
}

void Patience::withdraw(EdgeId edge) {
  LastNotice& last = last_notice_[index(edge)];
  if (last.microbatch < 0) return;
  notices_.push_back({.kind = Notice::Kind::withdrawn, .message = {edge, last.microbatch}});
  last = {};
}

}  // namespace ripeline::core
