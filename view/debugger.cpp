#include "view/debugger.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/blocks.h"
#include "core/print.h"
#include "view/explain.h"

namespace ripeline::view {
namespace {

using core::EdgeId;
using core::LaneId;
using core::Task;
using What = core::SeenEvent::What;

constexpr int kMostRanks = 16;
constexpr std::size_t kMostNames = 8;
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

constexpr const char* kHelp =
    "forward [N]   N events on (1); also f, or an empty line\n"
    "backward [N]  N events back; also b, back\n"
    "to TASK       to just before it starts: to 2F0\n"
    "end TASK      to just after it ends\n"
    "idle RANK     to where the rank next stands idle\n"
    "start         to before the first event\n"
    "step N        to the start of step N, of a trace of several\n"
    "show          every rank, what it holds, and the messages on their way\n"
    "rank N        one rank\n"
    "why TASK      what it waited for, back to the start\n"
    "quit          also q\n";

std::optional<long> number(std::string_view text) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += (i > 0 ? " " : "") + names[i];
  }
  if (names.size() > kMostNames) text += fmt::format(" and {} more", names.size() - kMostNames);
  return text;
}

}  // namespace

Debugger::Debugger(const Timeline& timeline, Adviser adviser, Stuck stuck)
    : timeline_(timeline),
      adviser_(std::move(adviser)),
      stuck_(std::move(stuck)),
      reasons_(timeline) {
  list_events();
}

void Debugger::list_events() {
  const core::ProgramFacts& facts = timeline_.facts();
  const std::int64_t step = timeline_.last_step();
  const auto& messages = timeline_.messages();
  for (int id = 0; id < static_cast<int>(timeline_.boxes().size()); ++id) {
    const Box& b = timeline_.box(id);
    if (b.step != step) continue;
    const int rank = facts.lanes[static_cast<std::size_t>(b.task.lane)].rank;
    // The end of a task that takes no time comes after its start.
    events_.push_back({b.start, 2, What::started, id, rank});
    events_.push_back({b.end, b.start == b.end ? 3 : 0, What::ended, id, rank});
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].step != step) continue;
    const auto& edge = facts.edges[static_cast<std::size_t>(messages[i].message.edge)];
    if (edge.rendezvous) {
      events_.push_back({messages[i].sent, 1, What::taken, static_cast<int>(i),
                         facts.lanes[static_cast<std::size_t>(edge.producer)].rank});
    }
    events_.push_back({messages[i].arrived, 1, What::arrived, static_cast<int>(i),
                       facts.lanes[static_cast<std::size_t>(edge.consumer)].rank});
  }
  std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
    return std::tuple(a.at, a.order, a.rank) < std::tuple(b.at, b.order, b.rank);
  });
  start_of_.assign(timeline_.boxes().size(), kNever);
  end_of_.assign(timeline_.boxes().size(), kNever);
  arrival_of_.assign(messages.size(), kNever);
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const auto id = static_cast<std::size_t>(events_[i].id);
    if (events_[i].what == What::started) start_of_[id] = i;
    if (events_[i].what == What::ended) end_of_[id] = i;
    if (events_[i].what == What::arrived) arrival_of_[id] = i;
  }
}

std::string Debugger::describe(const Event& event) const {
  const core::ProgramFacts& facts = timeline_.facts();
  const std::string when = text_of(timeline_, event.at - timeline_.begin());
  if (event.what == What::arrived || event.what == What::taken) {
    const auto& m = timeline_.messages()[static_cast<std::size_t>(event.id)];
    const auto& edge = facts.edges[static_cast<std::size_t>(m.message.edge)];
    return fmt::format("at {} the message of {} {} rank {} for {}", when,
                       core::task_name(facts, {edge.producer, m.message.microbatch}),
                       event.what == What::taken ? "is taken from" : "arrives at", event.rank,
                       core::lane_name(facts, edge.consumer));
  }
  return fmt::format("at {} {} {} on rank {}", when,
                     core::task_name(facts, timeline_.box(event.id).task),
                     event.what == What::started ? "starts" : "ends", event.rank);
}

std::vector<core::SeenEvent> Debugger::seen_by(int rank) const {
  std::vector<core::SeenEvent> seen;
  for (std::size_t i = 0; i < now_; ++i) {
    const Event& event = events_[i];
    if (event.rank != rank) continue;
    if (event.what == What::started || event.what == What::ended) {
      seen.push_back({event.what, timeline_.box(event.id).task, {}, event.at});
    } else {
      const auto& m = timeline_.messages()[static_cast<std::size_t>(event.id)];
      seen.push_back({event.what, {}, m.message, event.at});
    }
  }
  return seen;
}

// The state at one moment, as core/blocks.h needs it. Whether an engine is busy and whose turn is
// next is shown elsewhere.
class Debugger::Moment {
 public:
  explicit Moment(const Debugger& debugger) : at(debugger) {}

  [[nodiscard]] int microbatches() const { return at.timeline_.run().microbatches; }
  [[nodiscard]] bool is_here(EdgeId edge, int m) const {
    const Timeline& timeline = at.timeline_;
    const core::ProgramFacts& facts = timeline.facts();
    if (!facts.crosses_ranks(edge)) {
      return has_ended({facts.edges[static_cast<std::size_t>(edge)].producer, m});
    }
    const auto* message = timeline.find(timeline.last_step(), core::Message{edge, m});
    if (message == nullptr) return false;
    const auto id = static_cast<std::size_t>(message - timeline.messages().data());
    return at.before_now(at.arrival_of_[id]);
  }
  [[nodiscard]] bool has_started(Task task) const { return is_past(at.start_of_, task); }
  [[nodiscard]] bool has_ended(Task task) const { return is_past(at.end_of_, task); }
  static bool takes(LaneId /*lane*/) { return true; }
  static Task next(LaneId /*lane*/) { return {}; }
  // Each pool is counted once, since nothing changes during a moment.
  [[nodiscard]] std::int64_t held(int pool) const {
    const auto [known, is_new] = held_.try_emplace(pool, 0);
    if (!is_new) return known->second;
    for (const core::UseFacts& use : at.timeline_.facts().uses) {
      if (use.pool != pool) continue;
      for (int m = 0; m < at.timeline_.facts().tasks_of(use.lane, microbatches()); ++m) {
        if (has_started({use.lane, m})) known->second += use.acquires;
        if (has_ended({use.lane, m})) known->second -= use.releases;
      }
    }
    return known->second;
  }

 private:
  [[nodiscard]] bool is_past(const std::vector<std::size_t>& event_of_box, Task task) const {
    const int box = at.timeline_.find(at.timeline_.last_step(), task);
    return box >= 0 && at.before_now(event_of_box[static_cast<std::size_t>(box)]);
  }

  const Debugger& at;
  mutable std::map<int, std::int64_t> held_;  // by pool, for pools that were asked for
};

namespace {

std::string room_text(const core::ProgramFacts& facts, const core::Block& block) {
  const std::int64_t leaving = block.room.leaving;
  return fmt::format("{} has too little room, {} of {} held{}",
                     core::pool_name(facts, block.use.pool), block.held, block.room.capacity,
                     leaving > 0 ? fmt::format(", and {} must stay free", leaving) : std::string());
}

}  // namespace

Debugger::Lack Debugger::lack_of(const Moment& moment, Task task) const {
  Lack lack;
  core::each_block(timeline_.facts(), moment, task, [&](const core::Block& block) {
    if (block.by == core::Block::By::room) {
      lack.room = room_text(timeline_.facts(), block);
    } else {
      lack.others = true;
    }
    return true;
  });
  return lack;
}

std::vector<int> Debugger::running_on(const Row& row) const {
  std::vector<int> running;
  for (const Row& one : timeline_.rows_of_engine(row)) {
    for (int id = one.first; id < one.end; ++id) {
      const auto i = static_cast<std::size_t>(id);
      if (before_now(start_of_[i]) && !before_now(end_of_[i])) running.push_back(id);
    }
  }
  return running;
}

bool Debugger::may_take(const std::vector<int>& running) const {
  if (running.size() != 1) return running.empty();
  const core::ProgramFacts& facts = timeline_.facts();
  const LaneId lane = timeline_.box(running.front()).task.lane;
  const core::LaneSpan lanes = facts.lanes_of(facts.lanes[static_cast<std::size_t>(lane)].rank);
  for (LaneId other = lanes.first; other < lanes.end; ++other) {
    if (facts.are_pair(lane, other)) return true;
  }
  return false;
}

std::string Debugger::show_row(const Row& row) const {
  const core::ProgramFacts& facts = timeline_.facts();
  std::string text = name_of(row);
  const std::vector<int> running = running_on(row);
  for (const int id : running) {
    text += fmt::format(" {} {} since {}", id == running.front() ? "runs" : "and",
                        core::task_name(facts, timeline_.box(id).task),
                        text_of(timeline_, timeline_.box(id).start - timeline_.begin()));
  }
  const Moment moment(*this);
  std::vector<std::string> ready;
  std::string room;
  const core::LaneSpan lanes = facts.lanes_of(row.rank);
  for (LaneId lane = lanes.first; lane < lanes.end; ++lane) {
    if (facts.lanes[static_cast<std::size_t>(lane)].engine != row.engine) continue;
    for (int m = 0; m < facts.tasks_of(lane, timeline_.run().microbatches); ++m) {
      const int box = timeline_.find(timeline_.last_step(), Task{lane, m});
      if (box >= 0 && before_now(start_of_[static_cast<std::size_t>(box)])) continue;
      const Lack lack = lack_of(moment, {lane, m});
      if (lack.others) continue;
      if (!lack.room.empty()) {
        room += fmt::format("\n    {} has its needs, and {}", core::task_name(facts, {lane, m}),
                            lack.room);
        break;
      }
      ready.push_back(core::task_name(facts, {lane, m}));
    }
  }
  if (running.empty()) text += " is idle";
  text += ready.empty() ? "; nothing is ready" : "; ready: " + listed(ready);
  text += room;
  if (adviser_ && may_take(running)) {
    const auto advice = adviser_(row.rank, row.engine, seen_by(row.rank));
    if (advice) text += "\n    " + *advice;
  }
  return text + '\n';
}

std::string Debugger::held(int rank) const {
  const core::ProgramFacts& facts = timeline_.facts();
  const Moment moment(*this);
  std::string text;
  for (std::size_t p = 0; p < facts.pools.size(); ++p) {
    const core::PoolFacts& pool = facts.pools[p];
    if (pool.rank != rank) continue;
    const std::int64_t now = moment.held(static_cast<int>(p));
    text += fmt::format("    {}: {}", core::pool_name(facts, static_cast<int>(p)), now);
    text += pool.capacity < 0 ? " held\n" : fmt::format(" of {} held\n", pool.capacity);
  }
  return text;
}

std::string Debugger::flights() const {
  const core::ProgramFacts& facts = timeline_.facts();
  std::vector<std::string> flying;
  const auto& messages = timeline_.messages();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const trace::MessageEvent& m = messages[i];
    if (m.step != timeline_.last_step() || before_now(arrival_of_[i])) continue;
    const auto& edge = facts.edges[static_cast<std::size_t>(m.message.edge)];
    const Task producer{edge.producer, m.message.microbatch};
    const int box = timeline_.find(m.step, producer);
    if (box < 0 || !before_now(end_of_[static_cast<std::size_t>(box)])) continue;
    const core::Time now = now_ == 0 ? timeline_.begin() : events_[now_ - 1].at;
    flying.push_back(fmt::format(
        "{} to {} ({})", core::task_name(facts, producer), core::lane_name(facts, edge.consumer),
        m.sent > now ? "waits at its sender"
                     : "arrives at " + text_of(timeline_, m.arrived - timeline_.begin())));
  }
  if (flying.empty()) return "no message is on its way\n";
  return "messages on their way: " + listed(flying) + "\n";
}

std::string Debugger::show_rank(int rank) const {
  std::string text;
  for (const Row& row : timeline_.rows()) {
    if (row.rank == rank && !row.second) text += show_row(row);
  }
  return text + held(rank);
}

std::string Debugger::show() const {
  std::string text;
  for (int rank = 0; rank < std::min(kMostRanks, timeline_.facts().ranks); ++rank) {
    text += show_rank(rank);
  }
  if (timeline_.facts().ranks > kMostRanks) {
    text +=
        fmt::format("and {} ranks more: rank N shows one\n", timeline_.facts().ranks - kMostRanks);
  }
  text += flights();
  if (now_ < events_.size()) return text + "next: " + describe(events_[now_]) + '\n';
  for (std::size_t i = 0; i < stuck_.waits.size(); ++i) {
    text +=
        fmt::format("{} {} waits for {}\n", i < stuck_.circle ? ">" : " ",
                    core::task_name(timeline_.facts(), stuck_.waits[i].task), stuck_.waits[i].text);
  }
  return text + (stuck_.any() ? "the run deadlocks here\n" : "the run ends here\n");
}

std::string Debugger::move_to(std::size_t event) {
  now_ = std::min(event, events_.size());
  std::string text = fmt::format("event {} of {}", now_, events_.size());
  if (now_ > 0) text += ": " + describe(events_[now_ - 1]);
  text += '\n';
  // Shows the rank of the last event; before the first event, all ranks.
  return now_ == 0 ? text + show() : text + show_rank(events_[now_ - 1].rank);
}

std::string Debugger::go_to(std::string_view name, bool end) {
  const auto task = task_named(timeline_, name);
  if (!task) return fmt::format("'{}' is no task of this run\n", name);
  const int box = timeline_.find(timeline_.last_step(), *task);
  if (box < 0) return fmt::format("{} did not run\n", name);
  if (end) return move_to(end_of_[static_cast<std::size_t>(box)] + 1);
  const std::size_t event = start_of_[static_cast<std::size_t>(box)];
  const std::string text = move_to(event);
  const int rank = timeline_.row_of(box).rank;
  const bool shown = event > 0 && events_[event - 1].rank == rank;
  return text + (shown || event == 0 ? "" : show_rank(rank)) + "next: " + describe(events_[event]) +
         '\n';
}

std::string Debugger::go_idle(std::string_view rank) {
  const auto wanted = number(rank);
  if (!wanted || *wanted >= timeline_.facts().ranks) {
    return fmt::format("'{}' is no rank of this run\n", rank);
  }
  const trace::IdleEvent* best = nullptr;
  const core::Time now = now_ == 0 ? timeline_.begin() - core::Time{1} : events_[now_ - 1].at;
  for (const Row& row : timeline_.rows()) {
    if (row.rank != *wanted) continue;
    for (const trace::IdleEvent& idle : timeline_.idle_of(row)) {
      if (idle.step != timeline_.last_step() || idle.start <= now) continue;
      if (best == nullptr || idle.start < best->start) best = &idle;
    }
  }
  if (best == nullptr) return fmt::format("rank {} does not stand idle after this\n", *wanted);
  // Moves past all events of the instant, after which the rank could have started a task.
  const auto after = std::find_if(events_.begin(), events_.end(),
                                  [&](const Event& e) { return e.at > best->start; });
  now_ = static_cast<std::size_t>(after - events_.begin());
  std::string text =
      fmt::format("rank {} is idle from {} to {}: {}", *wanted,
                  text_of(timeline_, best->start - timeline_.begin()),
                  text_of(timeline_, best->end - timeline_.begin()), trace::text_of(best->cause));
  if (best->next.lane >= 0) {
    const int box = timeline_.find(best->step, best->next);
    text += "; then " + core::task_name(timeline_.facts(), best->next);
    if (box >= 0) text += ", which " + text_of(timeline_, reasons_.of(box));
  }
  return text + '\n' + show_rank(static_cast<int>(*wanted)) + flights();
}

std::string Debugger::explain_task(std::string_view name) {
  const auto task = task_named(timeline_, name);
  if (!task) return fmt::format("'{}' is no task of this run\n", name);
  const int box = timeline_.find(timeline_.last_step(), *task);
  if (box < 0) return fmt::format("{} did not run\n", name);
  return explain(timeline_, reasons_, box);
}

std::string Debugger::run(std::string_view command) {
  std::istringstream words{std::string(command)};
  std::string verb;
  std::string what;
  words >> verb >> what;
  if (verb == "q" || verb == "quit" || verb == "exit") {
    done_ = true;
    return {};
  }
  if (verb.empty() || verb == "f" || verb == "forward" || verb == "b" || verb == "back" ||
      verb == "backward") {
    const auto by = what.empty() ? std::optional<long>(1) : number(what);
    if (!by) return fmt::format("'{}' is no number of events\n", what);
    const auto n = static_cast<std::size_t>(*by);
    if (!verb.empty() && verb.front() == 'b') return move_to(now_ - std::min(n, now_));
    return now_ == events_.size() ? show() : move_to(now_ + std::min(n, events_.size() - now_));
  }
  if (verb == "to") return go_to(what, false);
  if (verb == "end") return go_to(what, true);
  if (verb == "idle") return go_idle(what);
  if (verb == "start") return move_to(0);
  if (verb == "show") return show();
  if (verb == "why") return explain_task(what);
  if (verb == "help") return kHelp;
  if (verb == "rank") {
    const auto rank = number(what);
    if (rank && *rank < timeline_.facts().ranks) return show_rank(static_cast<int>(*rank));
    return fmt::format("'{}' is no rank of this run\n", what);
  }
  return fmt::format("'{}' is no command; help lists them\n", verb);
}

}  // namespace ripeline::view
