#include "emulate/together.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "core/layout.h"
#include "core/vocabulary/index.h"
#include "simulate/idle.h"

namespace ripeline::emulate {
namespace {

using core::Time;
using simulate::EngineReport;
using Kind = Entry::Kind;

class Together {
 public:
  Together(const core::ProgramFacts& facts, int microbatches, const std::vector<RankRun>& ranks,
           const EmulateOptions& options)
      : facts_(facts), microbatches_(microbatches), ranks_(ranks), options_(options) {}

  EmulatedRun make() {
    all_.run.ranks.resize(ranks_.size());
    all_.run.peaks.assign(facts_.pools.size(), 0);
    for (const RankRun& rank : ranks_) zero_ = std::max(zero_, rank.start);
    for (const RankRun& rank : ranks_) add(rank);
    if (options_.causes) {
      for (const RankRun& rank : ranks_) note_what_waited(rank);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) replay(static_cast<int>(rank));
    judge();
    sum_up();
    return std::move(all_);
  }

 private:
  static constexpr Time kRuns = Time::max();
  using Key = std::pair<std::int32_t, std::int32_t>;  // lane or edge, microbatch

  void add(const RankRun& rank) {
    all_.run.controls += rank.controls;
    all_.run.notices += rank.notices;
    all_.overshot = std::max(all_.overshot, rank.overshot);
    all_.behind = std::max(all_.behind, rank.behind);
    for (std::size_t pool = 0; pool < rank.peaks.size(); ++pool) {
      all_.run.peaks[pool] = std::max(all_.run.peaks[pool], rank.peaks[pool]);
    }
  }

  // A message did not wait at its sender if it was sent at its rank's first poll after the
  // message's producer ended.
  void note_what_waited(const RankRun& rank) {
    std::map<Key, std::pair<Time, int>> ended;  // the end, and the number of polls before it
    int asked = 0;
    for (const Entry& entry : rank.entries) {
      if (entry.kind == Kind::asked) ++asked;
      if (entry.kind == Kind::finished) ended[{entry.what, entry.microbatch}] = {entry.at, asked};
      if (entry.kind != Kind::sent) continue;
      const auto found = ended.find({facts_.edges[index(entry.what)].producer, entry.microbatch});
      if (found == ended.end() || asked <= found->second.second + 1) continue;
      waited_since_[{entry.what, entry.microbatch}] = found->second.first;
    }
  }

  void replay(int rank) {
    simulate::IdleWatch watch(facts_, rank);
    watch.begin_step(microbatches_);
    // The tasks in the order of their starts, even if two starts are equal. The end of a task that
    // still runs is kRuns.
    std::vector<trace::TaskEvent> tasks;
    std::map<Key, std::size_t> running;  // indices into `tasks`
    struct Busy {
      int tasks = 0;
      Time since{0};
    };
    std::array<Busy, core::kEngines> busy_engines;
    const auto busy_engine = [&](core::LaneId lane) -> Busy& {
      return busy_engines[static_cast<std::size_t>(facts_.lanes[index(lane)].engine)];
    };
    Time last{0};  // the latest time so far; a late event follows others in the log
    for (const Entry& entry : ranks_[index(rank)].entries) {
      const Time when = entry.at - zero_;
      const core::Task task{entry.what, entry.microbatch};
      switch (entry.kind) {
        case Kind::arrived: {
          last = std::max(last, when);
          const core::Message message{entry.what, entry.microbatch};
          const Time sent = entry.sent - zero_;
          all_.record.message(0, message, sent, when);
          ++all_.run.messages;
          const auto waited = waited_since_.find({entry.what, entry.microbatch});
          watch.arrived(message, waited == waited_since_.end() ? sent : waited->second - zero_,
                        sent);
          break;
        }
        case Kind::started: {
          EngineReport& engine = report(rank, task.lane);
          if (engine.tasks++ == 0) engine.first = when;
          running[{task.lane, task.microbatch}] = tasks.size();
          tasks.push_back({.task = task, .start = when, .end = kRuns});
          Busy& busy = busy_engine(task.lane);
          if (busy.tasks++ == 0) busy.since = when;
          watch.started(task, when, 0, engine, options_.causes ? &all_.record : nullptr);
          break;
        }
        case Kind::finished: {
          last = std::max(last, when);
          EngineReport& engine = report(rank, task.lane);
          engine.last = when;
          Busy& busy = busy_engine(task.lane);
          if (--busy.tasks == 0) engine.busy += when - busy.since;
          const auto own = running.find({task.lane, task.microbatch});
          if (own != running.end()) tasks[own->second].end = when;
          watch.finished(task, when);
          break;
        }
        case Kind::idle:
          // The noted reason applies from the last event, since that event led to it.
          watch.look(entry.engine, last,
                     {.hands_over = entry.hands_over, .holds = entry.holds, .next = task});
          break;
        case Kind::asked:
        case Kind::sent:
          break;
      }
    }
    std::copy_if(tasks.begin(), tasks.end(), std::back_inserter(all_.record.tasks),
                 [](const trace::TaskEvent& e) { return e.end != kRuns; });
  }

  // Sets the run's status. The run is stuck if its ranks only waited.
  void judge() {
    core::Status lost;
    for (const RankRun& rank : ranks_) {
      if (rank.status.code() == core::StatusCode::timeout) all_.run.stuck = true;
      if (rank.status.code() == core::StatusCode::lost && lost.ok()) lost = rank.status;
      const bool says_why = !rank.status.ok() && rank.status.code() != core::StatusCode::timeout &&
                            rank.status.code() != core::StatusCode::lost;
      if (says_why && all_.run.status.ok()) all_.run.status = rank.status;
      all_.run.waiting += rank.waiting;
    }
    if (!all_.run.status.ok()) all_.run.stuck = false;
    if (all_.run.status.ok() && !all_.run.stuck) all_.run.status = lost;
  }

  void sum_up() {
    all_.run.add_up();
    auto& record = all_.record;
    std::stable_sort(record.tasks.begin(), record.tasks.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    std::stable_sort(record.messages.begin(), record.messages.end(),
                     [](const auto& a, const auto& b) { return a.arrived < b.arrived; });
  }

  EngineReport& report(int rank, core::LaneId lane) {
    return all_.run.ranks[index(rank)][static_cast<std::size_t>(facts_.lanes[index(lane)].engine)];
  }

  const core::ProgramFacts& facts_;
  int microbatches_;
  const std::vector<RankRun>& ranks_;
  const EmulateOptions& options_;
  Time zero_{0};
  std::map<Key, Time> waited_since_;  // per message that waited at its sender: since when
  EmulatedRun all_;
};

}  // namespace

EmulatedRun together(const core::ProgramFacts& facts, int microbatches,
                     std::vector<RankRun> processes, const EmulateOptions& options) {
  const core::Layout layout = core::layout_of(facts);
  std::vector<RankRun> ranks(index(layout.ranks));
  for (int process = 0; process < layout.processes(); ++process) {
    RankRun& run = processes[index(process)];
    RankRun& rank = ranks[index(layout.at(process).rank)];
    if (layout.at(process) == core::Coordinates{.rank = layout.at(process).rank}) {
      rank = std::move(run);
      continue;
    }
    if (rank.status.ok()) rank.status = run.status;
    rank.waiting += run.waiting;
    rank.overshot = std::max(rank.overshot, run.overshot);
    rank.behind = std::max(rank.behind, run.behind);
  }
  return Together(facts, microbatches, ranks, options).make();
}

}  // namespace ripeline::emulate
