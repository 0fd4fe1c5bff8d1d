#include "simulate/replay.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/executor.h"
#include "core/print.h"

namespace ripeline::simulate {
namespace {

using spec::Event;
using spec::Machine;
using spec::Program;

// An agreement that permits all tasks, one task of one engine, or none.
class RestrictedAgreement final : public core::Agreement {
 public:
  void begin_step(int /*microbatches*/) override {}
  Decision choose(const core::Arbiter& arbiter, core::Engine engine, core::Time now) override {
    if (!open_ || (engine_ && (*engine_ != engine || spent_))) return {.decided = false};
    return {.choice = arbiter.choose(engine, only_ ? &*only_ : nullptr, now)};
  }
  void started(core::Task /*task*/) override { spent_ = true; }
  core::Status heard(int member, const core::Ballot& ballot) override {
    return core::refused(core::Agreeing::Who::nobody, member, ballot, "the run decides");
  }
  void allow(std::optional<core::TaskSet> only) { only_ = std::move(only); }
  // Allows one task of the engine, or all tasks if `engine` is nullopt.
  void allow_engine(std::optional<core::Engine> engine) {
    engine_ = engine;
    spent_ = false;
  }
  void open(bool value) { open_ = value; }

 private:
  bool open_ = true;
  std::optional<core::Engine> engine_;
  bool spent_ = false;  // the engine's one allowed task has started
  std::optional<core::TaskSet> only_;
};

struct ReplayedRank {
  ReplayedRank(std::unique_ptr<core::Arbiter> made, int rank)
      : arbiter(std::move(made)),
        ledger(arbiter->facts()),
        executor({0, rank, 0}, *arbiter, agreement, ledger) {}

  std::unique_ptr<core::Arbiter> arbiter;
  RestrictedAgreement agreement;
  core::Ledger ledger;
  core::Executor executor;
};

class Replayer {
 public:
  Replayer(const Program& program, const verify::RecordedRun& run, const MakeArbiter& make,
           Machine::Chooser chooser)
      : program_(program), run_(run), make_(make), chooser_(chooser) {}

  Replay replay() {
    if (begin()) {
      for (const Event& event : run_.events) {
        if (!happen(event)) break;
      }
    }
    if (!out_.difference) finish();
    return std::move(out_);
  }

 private:
  ReplayedRank& rank_of(int lane) {
    return *ranks_[static_cast<std::size_t>(at(program_.lanes, lane).rank)];
  }

  bool differ(std::string what) {
    out_.difference = std::move(what);
    return false;
  }

  bool begin() {
    for (int rank = 0; rank < program_.ranks; ++rank) {
      ranks_.push_back(std::make_unique<ReplayedRank>(make_(rank), rank));
      ranks_.back()->executor.hold_back(true);
      const core::Status status = ranks_.back()->executor.begin_step(0, run_.microbatches, {});
      if (!status.ok()) return differ(status.message());
    }
    return true;
  }

  bool happen(const Event& event) {
    const core::Task task{event.lane, event.microbatch};
    switch (event.what) {
      case Event::Do::start:
        return start(task);
      case Event::Do::end:
        --running_;
        return accepted(rank_of(event.lane).executor.finished(task, {})) && settle();
      case Event::Do::arrive:
        return arrive(rank_of(event.lane), {event.edge, event.microbatch}) && settle();
      case Event::Do::agree:
        return differ("it is a run of several members");
    }
    return false;
  }

  // Announces or releases the message only now, so that it takes a slot at the run's moment.
  bool take_slot(ReplayedRank& rank, core::Message message) {
    const spec::Edge& edge = at(program_.edges, message.edge);
    const bool own = edge.inbox >= 0 && at(program_.inboxes, edge.inbox).channel.empty();
    if (own) return accepted(rank_of(edge.producer).executor.let_go(message)) && settle();
    const auto announced = std::find_if(announced_.begin(), announced_.end(),
                                        [&](const auto& c) { return c.message == message; });
    if (announced == announced_.end()) return true;
    const std::int32_t ordinal = announced->ordinal;
    announced_.erase(announced);
    return accepted(rank.executor.announced(0, message, ordinal)) && settle();
  }

  bool arrive(ReplayedRank& rank, core::Message message) {
    if (!take_slot(rank, message)) return false;
    arrived_.push_back(message);
    const auto sent = std::find_if(sent_.begin(), sent_.end(),
                                   [&](const core::Command& c) { return c.message == message; });
    const std::int32_t ordinal = sent == sent_.end() ? 0 : sent->ordinal;
    return accepted(rank.executor.arrived(0, message, {}, ordinal));
  }

  // Delivers all grants, also those that result from other grants, since grants take no time.
  bool settle() {
    for (bool more = true; more;) {
      more = false;
      for (const auto& rank : ranks_) {
        std::vector<core::Task> started;
        rank->agreement.open(false);
        const std::size_t before = passed_;
        const bool polled = poll(*rank, started);
        rank->agreement.open(true);
        if (!polled) return false;
        more = more || passed_ > before;
      }
    }
    return true;
  }

  bool accepted(const core::Status& status) { return status.ok() || differ(status.message()); }

  // Appends the tasks that an executor starts now, and notes the messages that it sends.
  bool poll(ReplayedRank& rank, std::vector<core::Task>& started) {
    std::vector<core::Command> commands;
    if (!accepted(rank.executor.poll({}, commands))) return false;
    return std::all_of(commands.begin(), commands.end(), [&](const core::Command& command) {
      if (command.kind == core::Command::Kind::start) started.push_back(command.task);
      if (command.kind == core::Command::Kind::send) sent_.push_back(command);
      return pass_on(command);
    });
  }

  bool pass_on(const core::Command& command) {
    const core::Message message = command.message;
    if (command.kind == core::Command::Kind::announce) {
      announced_.push_back(command);
    }
    if (command.kind == core::Command::Kind::grant) {
      ++passed_;
      core::Executor& to = rank_of(at(program_.edges, message.edge).producer).executor;
      return accepted(to.granted(0, message, {}));
    }
    return true;
  }

  bool start(core::Task task) {
    ReplayedRank& rank = rank_of(task.lane);
    if (chooser_ == Machine::Chooser::any) {
      const int r = rank.arbiter->rank();
      core::TaskSet only;
      only.reset(program_.first_lane(r), program_.first_lane(r + 1) - program_.first_lane(r),
                 run_.microbatches);
      only.add(task);
      rank.agreement.allow(std::move(only));
    }
    std::vector<core::Task> started;
    const core::ProgramFacts& facts = rank.arbiter->facts();
    rank.agreement.allow_engine(facts.lanes[static_cast<std::size_t>(task.lane)].engine);
    const bool polled = poll(rank, started);
    rank.agreement.allow_engine(std::nullopt);
    rank.agreement.allow(std::nullopt);
    if (!polled) return false;
    ++running_;
    if (started == std::vector{task}) return settle();
    std::string instead;
    for (const core::Task other : started) {
      instead += " " + program_.task_name(other.lane, other.microbatch);
    }
    return differ(fmt::format("the run starts {}, the executor{}",
                              program_.task_name(task.lane, task.microbatch),
                              instead.empty() ? " nothing" : instead));
  }

  void finish() {
    for (const core::Command& c : announced_) {
      core::Executor& to = rank_of(at(program_.edges, c.message.edge).consumer).executor;
      if (!accepted(to.announced(0, c.message, c.ordinal))) return;
    }
    for (const auto& rank : ranks_) rank->executor.hold_back(false);
    if (!settle()) return;
    std::vector<core::Task> started;
    for (const auto& rank : ranks_) {
      if (!poll(*rank, started)) return;
    }
    bool done = true;
    for (const auto& rank : ranks_) {
      done = done && rank->executor.step_done();
      out_.state += rank->executor.waiting(static_cast<int>(program_.lanes.size()));
    }
    for (int pool = 0; pool < static_cast<int>(program_.pools.size()); ++pool) {
      const int rank = at(program_.pools, pool).rank;
      out_.state += fmt::format("{} held {}\n", program_.pool_name(pool),
                                ranks_[static_cast<std::size_t>(rank)]->ledger.held(pool));
    }
    for (const core::Message m : arrived_) {
      const auto is_it = [m](const core::Command& c) { return c.message == m; };
      if (std::any_of(sent_.begin(), sent_.end(), is_it)) continue;
      differ(fmt::format("a message of edge {}, microbatch {} arrives that no executor sent",
                         m.edge, m.microbatch));
      return;
    }
    out_.stuck = !done && running_ == 0 && started.empty() && sent_.size() == arrived_.size();
  }

  const Program& program_;
  const verify::RecordedRun& run_;
  const MakeArbiter& make_;
  Machine::Chooser chooser_;
  std::vector<std::unique_ptr<ReplayedRank>> ranks_;
  int running_ = 0;         // the number of tasks that run
  std::size_t passed_ = 0;  // the number of grants passed on
  std::vector<core::Command> sent_;
  std::vector<core::Command> announced_;  // announcements not yet passed on
  std::vector<core::Message> arrived_;
  Replay out_;
};

}  // namespace

Replay replay(const Program& program, const verify::RecordedRun& run,
              const MakeArbiter& make_arbiter, Machine::Chooser chooser) {
  return Replayer(program, run, make_arbiter, chooser).replay();
}

}  // namespace ripeline::simulate
