#include "simulate/simulator.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/executor.h"
#include "core/vocabulary/index.h"
#include "simulate/agenda.h"
#include "simulate/idle.h"
#include "simulate/overlap.h"
#include "spec/long_work.h"

namespace ripeline::simulate {
namespace {

using core::Command;
using core::Status;
using core::Time;

constexpr int kWaitingLines = 12;  // the most lines on a stuck run

struct Rank {
  Rank(const core::ProgramFacts& facts, int rank, std::unique_ptr<core::Arbiter> made)
      : id(rank),
        arbiter(std::move(made)),
        ledger(facts, rank),
        executor({.replica = 0, .rank = rank, .member = 0}, *arbiter, alone, ledger) {}

  int id;
  std::unique_ptr<core::Arbiter> arbiter;
  core::Ledger ledger;
  core::OneMember alone;
  core::Executor executor;
  std::unique_ptr<IdleWatch> watch;
  std::array<Overlap, core::kEngines> overlaps;  // used by programs with pairs
  std::uint8_t engines = 0;                      // one bit for each engine that its lanes use
  bool touched = false;                          // whether an event concerned it at this instant
};

}  // namespace

void RunReport::add_up() {
  for (const auto& rank : ranks) {
    Time first = Time::max();
    Time last{0};
    for (const EngineReport& engine : rank) {
      tasks += engine.tasks;
      if (engine.tasks == 0) continue;
      first = std::min(first, engine.first);
      last = std::max(last, engine.last);
    }
    makespan = std::max(makespan, last);
    span = std::max(span, last - std::min(first, last));
    work = std::max(work, rank[0].busy);
  }
}

class Simulator::Impl {
 public:
  Impl(const core::ProgramFacts& facts, const MakeArbiter& make_arbiter) : facts_(facts) {
    for (int rank = 0; rank < facts.ranks; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(facts, rank, make_arbiter(rank)));
    }
    for (const core::LaneFacts& lane : facts.lanes) {
      ranks_[index(lane.rank)]->engines |=
          static_cast<std::uint8_t>(1U << static_cast<unsigned>(lane.engine));
    }
    std::map<std::pair<int, int>, int> ways;
    for (const core::EdgeFacts& edge : facts.edges) {
      const std::pair ends{facts.lanes[index(edge.producer)].rank,
                           facts.lanes[index(edge.consumer)].rank};
      way_of_.push_back(ways.emplace(ends, static_cast<int>(ways.size())).first->second);
    }
    free_.resize(ways.size());
    last_.resize(facts.edges.size());
  }

  RunReport run(int microbatches, const Timing& timing, const RunOptions& options) {
    report_ = {};
    report_.ranks.resize(ranks_.size());
    timing_ = &timing;
    options_ = &options;
    microbatches_ = microbatches;
    now_ = Time{0};
    agenda_.clear();
    std::fill(free_.begin(), free_.end(), Time{0});
    std::fill(last_.begin(), last_.end(), Time{0});
    touched_.clear();
    notices_.clear();
    free_notices_.clear();
    for (const auto& rank : ranks_) rank->arbiter->expect(timing.costs());
    if (report_.status = begin(); report_.status.ok()) report_.status = go();
    finish();
    return std::move(report_);
  }

 private:
  Status begin() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = *ranks_[r];
      rank.touched = false;
      rank.overlaps = {};
      if (Status s = rank.executor.begin_step(step_, microbatches_, now_); !s.ok()) return s;
      touch(rank);
    }
    if (!facts_.pairs.empty()) ends_.assign(facts_.lanes.size(), {});
    if (!options_->causes) return {};
    ended_.assign(facts_.lanes.size() * index(microbatches_), Time{0});
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      std::unique_ptr<IdleWatch>& watch = ranks_[r]->watch;
      watch = std::make_unique<IdleWatch>(facts_, static_cast<int>(r));
      watch->begin_step(microbatches_);
    }
    return {};
  }

  // At each instant, handles all events and then starts tasks; returns when nothing can start.
  Status go() {
    for (;;) {
      while (!agenda_.empty() && agenda_.next_time() == now_) {
        spec::stop_point();
        if (Status s = happen(agenda_.take()); !s.ok()) return s;
      }
      if (Status s = poll_touched(); !s.ok()) return s;
      if (nothing_can_start()) return {};
      now_ = agenda_.next_time();
    }
  }

  // Whether only notices are due. Notices make no task ready, and a held engine has a wake-up due.
  [[nodiscard]] bool nothing_can_start() const {
    return agenda_.size() == notices_.size() - free_notices_.size();
  }

  void touch(Rank& rank) {
    if (!std::exchange(rank.touched, true)) touched_.push_back(&rank);
  }

  [[nodiscard]] Rank& rank_of(core::LaneId lane) {
    return *ranks_[index(facts_.lanes[index(lane)].rank)];
  }

  Status happen(const AgendaEvent& h) {
    switch (h.kind) {
      case AgendaEvent::Kind::finished:
        return has_moved(h) ? Status{} : finished({h.what, h.microbatch});
      case AgendaEvent::Kind::arrived:
        return arrived(h);
      case AgendaEvent::Kind::announced: {
        Rank& rank = rank_of(edge(h.what).consumer);
        Status s = rank.executor.announced(step_, {h.what, h.microbatch}, h.ordinal);
        return s.ok() ? links(rank) : s;
      }
      case AgendaEvent::Kind::granted: {
        Rank& rank = rank_of(edge(h.what).producer);
        Status s = rank.executor.granted(step_, {h.what, h.microbatch}, now_);
        return s.ok() ? links(rank) : s;
      }
      case AgendaEvent::Kind::noticed:
        return noticed(h);
      case AgendaEvent::Kind::wake:
        touch(*ranks_[index(h.what)]);
        return {};
    }
    return {};
  }

  // Whether the event is a task's end that has moved to another time since.
  [[nodiscard]] bool has_moved(const AgendaEvent& h) const {
    return !facts_.pairs.empty() && ends_[index(h.what)].number != h.ordinal;
  }

  Status finished(core::Task task) {
    const core::LaneFacts& lane = facts_.lanes[index(task.lane)];
    Rank& rank = *ranks_[index(lane.rank)];
    if (!facts_.pairs.empty()) rank.overlaps[static_cast<std::size_t>(lane.engine)].finish(task);
    engine_report(lane).last = now_;
    if (rank.watch) {
      rank.watch->finished(task, now_);
      ended_[index(task.lane) * index(microbatches_) + index(task.microbatch)] = now_;
    }
    Status s = rank.executor.finished(task, now_);
    return s.ok() ? links(rank) : s;
  }

  Status arrived(const AgendaEvent& h) {
    const core::Message message{h.what, h.microbatch};
    Rank& rank = rank_of(edge(h.what).consumer);
    if (rank.watch) {
      const std::size_t producer = index(edge(h.what).producer) * index(microbatches_);
      rank.watch->arrived(message, ended_[producer + index(h.microbatch)], h.sent);
    }
    if (options_->record != nullptr) options_->record->message(step_, message, h.sent, now_);
    ++report_.messages;
    touch(rank);
    return rank.executor.arrived(step_, message, now_, h.ordinal);
  }

  Status noticed(const AgendaEvent& h) {
    const core::Notice notice = notices_[index(h.what)];
    free_notices_.push_back(h.what);
    const core::EdgeFacts& e = edge(notice.message.edge);
    const bool taken = notice.kind == core::Notice::Kind::taken;
    Rank& rank = rank_of(taken ? e.producer : e.consumer);
    touch(rank);
    return rank.executor.noticed(step_, notice, now_);
  }

  // Carries out the commands for the rank's links now, before other ranks start tasks.
  Status links(Rank& rank) {
    touch(rank);
    commands_.clear();
    rank.executor.poll_links(commands_);
    for (const Command& command : commands_) carry_out(rank, command);
    return {};
  }

  Status poll_touched() {
    for (std::size_t i = 0; i < touched_.size(); ++i) {
      Rank& rank = *touched_[i];
      spec::stop_point();
      rank.touched = false;
      commands_.clear();
      if (Status s = rank.executor.poll(now_, commands_); !s.ok()) return s;
      for (const Command& command : commands_) carry_out(rank, command);
      if (rank.watch) look(rank);
    }
    touched_.clear();
    return {};
  }

  void look(Rank& rank) {
    const bool holds = std::any_of(commands_.begin(), commands_.end(), [](const Command& c) {
      return c.kind == Command::Kind::hold_until;
    });
    for (unsigned engine = 0; engine < core::kEngines; ++engine) {
      if ((rank.engines >> engine & 1U) == 0) continue;
      const auto e = static_cast<core::Engine>(engine);
      rank.watch->look(e, now_,
                       {.hands_over = rank.executor.hands_over(e),
                        .holds = holds,
                        .next = rank.arbiter->next_in_order(e)});
    }
  }

  void carry_out(Rank& rank, const Command& command) {
    switch (command.kind) {
      case Command::Kind::start:
        return start(rank, command.task);
      case Command::Kind::send:
        return send(command);
      case Command::Kind::announce:
      case Command::Kind::grant: {
        ++report_.controls;
        const auto kind = command.kind == Command::Kind::grant ? AgendaEvent::Kind::granted
                                                               : AgendaEvent::Kind::announced;
        const auto [edge, microbatch] = command.message;
        return agenda_.put(now_, timing_->control(edge), kind, edge, microbatch, command.ordinal);
      }
      case Command::Kind::notify:
        return notify(command.notice);
      case Command::Kind::hold_until:
        return agenda_.put(now_, std::max(Time{1}, command.until - now_), AgendaEvent::Kind::wake,
                           rank.id);
      case Command::Kind::ballot:
        return;  // a group is simulated as one member, which has nobody to tell
    }
  }

  void notify(const core::Notice& notice) {
    ++report_.notices;
    if (free_notices_.empty()) {
      free_notices_.push_back(static_cast<std::int32_t>(notices_.size()));
      notices_.emplace_back();
    }
    const std::int32_t place = free_notices_.back();
    free_notices_.pop_back();
    notices_[index(place)] = notice;
    agenda_.put(now_, timing_->notice(notice.message.edge), AgendaEvent::Kind::noticed, place);
  }

  void start(Rank& rank, core::Task task) {
    const core::LaneFacts& lane = facts_.lanes[index(task.lane)];
    EngineReport& engine = engine_report(lane);
    const Time duration = timing_->task(task);
    if (engine.tasks++ == 0) engine.first = now_;
    if (rank.watch) rank.watch->started(task, now_, step_, engine, options_->record);
    if (options_->record != nullptr) options_->record->task(step_, task, now_, now_ + duration);
    if (!facts_.pairs.empty()) return start_beside(rank, task, duration, engine);
    engine.busy += duration;
    agenda_.put(now_, duration, AgendaEvent::Kind::finished, task.lane, task.microbatch);
  }

  // Starts a task that may run beside another, which changes the other task's end, too.
  void start_beside(Rank& rank, core::Task task, Time duration, EngineReport& engine) {
    Overlap& overlap =
        rank.overlaps[static_cast<std::size_t>(facts_.lanes[index(task.lane)].engine)];
    const Time busy_from = std::max(now_, overlap.busy_until());
    overlap.start(task, duration, now_, *timing_);
    engine.busy += overlap.busy_until() - busy_from;
    End& end = ends_[index(task.lane)];
    end.at = Time{-1};
    if (options_->record != nullptr) end.recorded = options_->record->tasks.size() - 1;
    for (const Overlap::Running& running : overlap.running()) {
      if (running.task.lane >= 0) set_end(running);
    }
  }

  void set_end(const Overlap::Running& running) {
    const auto [lane, microbatch] = running.task;
    End& end = ends_[index(lane)];
    if (end.at == running.end) return;
    end.at = running.end;
    if (options_->record != nullptr) options_->record->tasks[end.recorded].end = running.end;
    agenda_.put(now_, running.end - now_, AgendaEvent::Kind::finished, lane, microbatch,
                ++end.number);
  }

  void send(const Command& command) {
    const core::Message message = command.message;
    Time due = now_ + timing_->latency(message);
    if (const Time transfer = timing_->transfer(message); transfer.count() > 0) {
      Time& free = free_[index(way_of_[index(message.edge)])];
      free = std::max(free, now_) + transfer;
      due += free - now_;
    }
    if (timing_->fifo()) {
      due = std::max(due, last_[index(message.edge)]);
      last_[index(message.edge)] = due;
    }
    agenda_.put(now_, due - now_, AgendaEvent::Kind::arrived, message.edge, message.microbatch,
                command.ordinal);
  }

  void finish() {
    report_.peaks.assign(facts_.pools.size(), 0);
    for (std::size_t pool = 0; pool < facts_.pools.size(); ++pool) {
      report_.peaks[pool] =
          ranks_[index(facts_.pools[pool].rank)]->ledger.peak(static_cast<int>(pool));
    }
    report_.add_up();
    if (!report_.status.ok()) return;
    ++step_;
    for (const auto& rank : ranks_) {
      if (rank->executor.step_done()) continue;
      report_.stuck = true;
      const auto shown = std::count(report_.waiting.begin(), report_.waiting.end(), '\n');
      report_.waiting += rank->executor.waiting(kWaitingLines - static_cast<int>(shown));
    }
  }

  [[nodiscard]] const core::EdgeFacts& edge(core::EdgeId id) const {
    return facts_.edges[index(id)];
  }
  [[nodiscard]] EngineReport& engine_report(const core::LaneFacts& lane) {
    return report_.ranks[index(lane.rank)][static_cast<std::size_t>(lane.engine)];
  }

  // The end of the task that a lane runs; used by programs with pairs.
  struct End {
    std::int32_t number = 0;  // numbers the lane's ends in the agenda; only the last is valid
    Time at{0};
    std::size_t recorded = 0;  // its index in the record
  };

  const core::ProgramFacts& facts_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<int> way_of_;  // per edge, the index of the way between its two ranks
  std::vector<Time> free_;   // per way, when it becomes free
  std::vector<Time> last_;   // per edge, the last arrival, if links are fifo
  std::vector<Time> ended_;  // per lane and microbatch, the task's end, for the causes
  std::vector<End> ends_;    // per lane
  std::int64_t step_ = 0;

  const Timing* timing_ = nullptr;  // from the current run, as are all members below
  const RunOptions* options_ = nullptr;
  int microbatches_ = 0;
  Time now_{0};
  Agenda agenda_;
  std::vector<Rank*> touched_;
  std::vector<Command> commands_;
  std::vector<core::Notice> notices_;  // notices on their way
  std::vector<std::int32_t> free_notices_;
  RunReport report_;
};

Simulator::Simulator(const core::ProgramFacts& facts, const MakeArbiter& make_arbiter)
    : impl_(std::make_unique<Impl>(facts, make_arbiter)) {}
Simulator::~Simulator() = default;

RunReport Simulator::run(int microbatches, const Timing& timing, const RunOptions& options) {
  return impl_->run(microbatches, timing, options);
}

}  // namespace ripeline::simulate
