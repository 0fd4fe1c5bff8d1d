#include "tests/joint/group_run.h"

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "core/executor.h"
#include "lower/facts.h"
#include "simulate/interpreter.h"
#include "simulate/table_arbiter.h"
#include "tests/joint/group_program.h"
#include "tests/joint/group_witness.h"
#include "tests/joint/random.h"
#include "tests/joint/reporting_arbiter.h"

namespace ripeline::joint {
namespace {

using core::Command;
using core::Status;
using core::Time;

constexpr std::int64_t kMostEvents = 300'000;

struct Member {
  core::Coordinates self;
  int number = 0;  // the member's number in spec::GroupMachine
  std::unique_ptr<core::Arbiter> arbiter;
  std::unique_ptr<WatchedAgreement> agreement;
  std::unique_ptr<core::Ledger> ledger;
  std::unique_ptr<core::Executor> executor;
  std::int64_t step = -1;
  std::int64_t begins_at = -1;  // the last step whose begin event was put in the bag
  bool asked_soon = false;      // the bag has an event that polls the executor
  Time until = Time::max();
};

struct Happening {
  int to = 0;  // the member
  std::function<Status()> happen;
  bool asks = false;     // polls the executor; not an event of the member
  core::Task ends = {};  // the task of `step` that ends, if this is such an event
  std::int64_t step = -1;
};

class GroupRun {
 public:
  GroupRun(const GroupProgram& of, std::uint64_t seed, const GroupOptions& options)
      : program_(of.program),
        facts_(lower::facts_of(program_)),
        microbatches_(of.microbatches),
        random_(seed),
        options_(options),
        witness_(program_, microbatches_) {
    steps_ = random_.between(2, 3);
    members_.resize(static_cast<std::size_t>(facts().replicas * program_.ranks * facts().members));
    for (int replica = 0; replica < facts().replicas; ++replica) {
      for (int rank = 0; rank < program_.ranks; ++rank) {
        for (int member = 0; member < facts().members; ++member) make({replica, rank, member});
      }
    }
  }

  void run() {
    for (int i = 0; i < std::ssize(members_); ++i) add_begin(i);
    while (problem_.empty()) {
      if (events_++ > kMostEvents) problem_ = "the run does not end";
      if (!next() && !wait()) break;
      if (problem_.empty()) problem_ = witness_.problem();
    }
    if (!problem_.empty() || witness_.is_done(steps_)) return check_ballots();
    stuck_ = witness_.is_stuck();
    if (!stuck_) problem_ = "nothing happens any more, and the machine goes on";
  }

  void fill(GroupVerdict& verdict) const {
    // The witness's problem is preferred, because the run's own problem may follow from it.
    verdict.broken = witness_.problem().empty() ? problem_ : witness_.problem();
    verdict.agree = facts().agree;
    verdict.members = facts().members;
    verdict.replicas = facts().replicas;
    verdict.stuck = stuck_;
    verdict.events = witness_.events();
    verdict.agreements = witness_.agreements();
    verdict.ballots = ballots_;
    verdict.retries = retries_;
  }

 private:
  [[nodiscard]] const core::ProgramFacts& facts() const { return facts_.facts(); }
  [[nodiscard]] int index(const core::Coordinates& one) const {
    return (one.replica * program_.ranks + one.rank) * facts().members + one.member;
  }
  Member& of(int i) { return members_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] int rank_of(core::LaneId lane) const {
    return facts().lanes[static_cast<std::size_t>(lane)].rank;
  }

  void make(const core::Coordinates& self) {
    Member& made = of(index(self));
    made.self = self;
    made.number = self.replica * facts().members + self.member;
    const int rank = self.rank;
    std::unique_ptr<core::Arbiter> inner;
    if (options_.make_arbiter) {
      inner = options_.make_arbiter(rank);
    } else if (random_.one_in(2)) {
      inner = std::make_unique<simulate::InterpretedArbiter>(program_, facts(), rank);
    } else {
      inner = std::make_unique<simulate::TableArbiter>(program_, facts(), rank);
    }
    made.arbiter = std::make_unique<ReportingArbiter>(
        std::move(inner),
        ReportingArbiter::Listener{
            .begins = [this](std::int64_t step) { witness_.begins(step); },
            .happens = [this, number = made.number](
                           std::int64_t step,
                           const spec::Event& event) { witness_.happens(step, number, event); }});
    made.arbiter->expect({.tasks = std::vector<Time>(facts().lanes.size(), Time{1000}),
                          .varying = {},
                          .links = std::vector<Time>(facts().edges.size(), Time{200}),
                          .notices = std::vector<Time>(facts().edges.size(), Time{100})});
    made.agreement = std::make_unique<WatchedAgreement>(
        facts(), self, options_.bug,
        [this, &made](const core::Ballot& ballot) { given(made, ballot); });
    made.ledger = std::make_unique<core::Ledger>(facts(), rank);
    made.executor =
        std::make_unique<core::Executor>(self, *made.arbiter, *made.agreement, *made.ledger);
  }

  void given(const Member& by, const core::Ballot& ballot) {
    ++ballots_;
    retries_ += ballot.attempt > 0 ? 1 : 0;
    witness_.ballot(by.step, by.self.rank, by.number, ballot);
  }

  void add(int to, std::function<Status()> happen) { bag_.push_back({to, std::move(happen)}); }

  void add_begin(int i) {
    const std::int64_t step = of(i).step + 1;
    if (step >= steps_) return;
    of(i).begins_at = step;
    add(i, [this, i, step] {
      of(i).step = step;
      return of(i).executor->begin_step(step, microbatches_, now_);
    });
  }

  // Lets some possible event happen; returns false if there is none.
  bool next() {
    if (bag_.empty()) return false;
    const std::size_t first = random_.below(bag_.size());
    for (std::size_t i = 0; i < bag_.size(); ++i) {
      const std::size_t chosen = (first + i) % bag_.size();
      if (!may_happen(bag_[chosen])) continue;
      const Happening happening = std::move(bag_[chosen]);
      if (chosen + 1 < bag_.size()) bag_[chosen] = std::move(bag_.back());
      bag_.pop_back();
      now_ += Time{random_.between(1, 400)};
      check(happening.happen());
      if (!happening.asks) ask_soon(happening.to);
      return true;
    }
    return false;
  }

  // Only the end of a task with collectives must wait, until all members have started the task.
  [[nodiscard]] bool may_happen(const Happening& happening) const {
    return happening.ends.lane < 0 ||
           witness_.may_end(happening.step, members_[static_cast<std::size_t>(happening.to)].number,
                            happening.ends);
  }

  // Lets time pass until a hint has waited long enough; returns false if no hint waits.
  bool wait() {
    int first = 0;
    for (int i = 1; i < std::ssize(members_); ++i) {
      if (of(i).until < of(first).until) first = i;
    }
    if (of(first).until == Time::max()) return false;
    now_ = std::max(now_, of(first).until);
    ask_soon(first);
    return true;
  }

  void ask_soon(int i) {
    Member& member = of(i);
    if (member.asked_soon || member.executor->step() < 0) return;
    member.asked_soon = true;
    bag_.push_back({i, [this, i] { return ask(i); }, true});
  }

  Status ask(int i) {
    Member& member = of(i);
    member.until = Time::max();
    std::vector<Command> commands;
    if (Status status = member.executor->poll(now_, commands); !status.ok()) return status;
    for (const Command& command : commands) carry_out(i, command);
    member.asked_soon = false;
    if (member.executor->step_done() && member.begins_at == member.step) add_begin(i);
    check_ledger(member);
    return {};
  }

  void carry_out(int i, const Command& command) {
    const Member& from = of(i);
    const std::int64_t step = from.step;
    const core::Message message = command.message;
    const auto to_member = [&](int rank) {
      return index({from.self.replica, rank, from.self.member});
    };
    switch (command.kind) {
      case Command::Kind::start: {
        const core::Task task = command.task;
        bag_.push_back({i, [this, i, task] { return of(i).executor->finished(task, now_); }, false,
                        task, step});
        return;
      }
      case Command::Kind::send:
      case Command::Kind::announce: {
        const auto& edge = facts().edges[static_cast<std::size_t>(message.edge)];
        const int to = to_member(rank_of(edge.consumer));
        const bool whole = command.kind == Command::Kind::send;
        return add(to, [this, to, step, message, whole, ordinal = command.ordinal] {
          core::Executor& executor = *of(to).executor;
          return whole ? executor.arrived(step, message, now_, ordinal)
                       : executor.announced(step, message, ordinal);
        });
      }
      case Command::Kind::grant: {
        const auto& edge = facts().edges[static_cast<std::size_t>(message.edge)];
        const int to = to_member(rank_of(edge.producer));
        return add(to, [this, to, step, message] {
          return of(to).executor->granted(step, message, now_);
        });
      }
      case Command::Kind::hold_until:
        of(i).until = std::min(from.until, command.until);
        return;
      case Command::Kind::notify: {
        if (random_.one_in(5)) return;  // the notice is lost
        const int to = to_member(command.to);
        return add(to, [this, to, step, notice = command.notice] {
          (void)of(to).executor->noticed(step, notice, now_);  // a misfit is harmless
          return Status();
        });
      }
      case Command::Kind::ballot:
        return give(i, from.executor->ballot(command.engine));
    }
  }

  void give(int i, const core::Ballot& ballot) {
    const Member& from = of(i);
    const core::Agreeing agreeing = facts().agreeing(from.self.rank, ballot.engine);
    const int own = agreeing.number_of(from.self);
    for (int number = 0; number < agreeing.size; ++number) {
      if (number == own) continue;
      core::Coordinates other = from.self;
      (agreeing.who == core::Agreeing::Who::replicas ? other.replica : other.member) = number;
      const int to = index(other);
      add(to, [this, to, step = from.step, by = own, ballot] {
        core::Executor& executor = *of(to).executor;
        if (options_.bug == GroupBug::early_is_lost && step > executor.step()) return Status();
        return executor.balloted(step, by, ballot);
      });
    }
  }

  void check(const Status& status) {
    if (!status.ok() && problem_.empty()) problem_ = status.message();
  }

  void check_ledger(const Member& member) {
    for (int pool = 0; pool < std::ssize(facts().pools); ++pool) {
      if (facts().pools[static_cast<std::size_t>(pool)].rank != member.self.rank) continue;
      if (member.ledger->held(pool) == witness_.held(member.step, member.number, pool)) continue;
      if (problem_.empty()) problem_ = "a ledger does not hold what the machine holds";
    }
  }

  // A member publishes a ballot once per round. Only after an event of some member do all members
  // publish another one.
  void check_ballots() {
    if (facts().agree == core::Agree::leader || !problem_.empty()) return;
    if (ballots_ > facts().members * facts().replicas * witness_.events())
      problem_ = "there is a flood of ballots";
  }

  const spec::Program& program_;
  core::OwnedFacts facts_;
  int microbatches_;
  Random random_;
  const GroupOptions& options_;
  GroupWitness witness_;
  int steps_ = 1;
  std::vector<Member> members_;
  std::vector<Happening> bag_;
  Time now_{0};
  std::string problem_;
  bool stuck_ = false;
  std::int64_t events_ = 0;
  std::int64_t ballots_ = 0;
  std::int64_t retries_ = 0;
};

}  // namespace

GroupVerdict run_group(const GroupProgram& of, std::uint64_t seed, const GroupOptions& options) {
  GroupVerdict verdict;
  verdict.text = of.text;
  GroupRun run(of, seed, options);
  run.run();
  run.fill(verdict);
  return verdict;
}

GroupVerdict run_group(std::uint64_t seed, GroupBug bug) {
  return run_group(draw_group_program(seed), seed, {.bug = bug});
}

}  // namespace ripeline::joint
