// The cost of agreeing: tensor-parallel groups on a virtual clock.
//
// The executors of all members of all ranks run a chain by bf, in which F takes 1, B takes 2, and
// rank r of p may hold 2 (p - r) activations. A task takes equally long at all members of a rank,
// from the time the last member has started it, since its collectives wait for all members; the
// duration varies by up to 10 % between microbatches. A message arrives at a member after 0.05 or,
// if it is late, after 1. The time of a ballot is in the head of its column.
//
// A cell is the time of a step divided by the time with one member per rank, to which each message
// comes when the last member would get it; geometric mean over the seeds. `ballots` is the number
// of a member's ballots per task; `again` is how many of 1,000 are of a second or later attempt.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <queue>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/draw.h"
#include "core/executor.h"
#include "lower/facts.h"
#include "simulate/table_arbiter.h"
#include "spec/elaborate.h"

namespace ripeline {
namespace {

using core::Command;
using core::Time;

constexpr int kRanks = 8;
constexpr int kMicrobatches = 64;
constexpr int kSeeds = 20;
constexpr double kUnit = 1e6;  // nanoseconds of a forward

std::string text_of(const std::string& agree, int members) {
  return "pipeline chain { microbatches any; stages " + std::to_string(kRanks) +
         "; place s on s; tensor_parallel " + std::to_string(members) + " { agree by " + agree +
         "; }"
         "  op F forward  { needs F at prev;             acquires a;  collectives 2; }"
         "  op B backward { needs F at here, B at next;  releases a;  collectives 2; }"
         "  resource a per stage { capacity 2 * (" +
         std::to_string(kRanks) +
         " - s); }"
         "  hint bf { rounds B, F; }  dispatch ready by bf; }";
}

struct Condition {
  double late = 0;    // the share of late messages
  double ballot = 0;  // the time of a ballot
  bool as_one = false;
};

struct Outcome {
  double makespan = 0;
  double ballots = 0;
  double again = 0;
};

class Step {
 public:
  Step(const spec::Program& program, const core::ProgramFacts& facts, const Condition& condition,
       std::uint64_t seed)
      : facts_(facts), condition_(condition), seed_(seed) {
    alone_ = condition.as_one ? 1 : facts.members;
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int member = 0; member < alone_; ++member) {
        members_.push_back(std::make_unique<Member>(program, facts, rank, member, alone_ == 1));
      }
    }
    started_.assign(facts.lanes.size() * kMicrobatches, 0);
  }

  Outcome run() {
    for (auto& member : members_) check(member->executor.begin_step(0, kMicrobatches, now_));
    for (int i = 0; i < std::ssize(members_); ++i) poll(i);
    while (!agenda_.empty()) {
      const Due due = agenda_.top();
      agenda_.pop();
      now_ = due.at;
      check(due.happen());
      poll(due.to);
    }
    for (const auto& member : members_) {
      if (!member->executor.step_done()) throw std::runtime_error(member->executor.waiting());
    }
    const auto starts = static_cast<double>(started_.size() * static_cast<std::size_t>(alone_));
    return {.makespan = static_cast<double>(now_.count()) / kUnit,
            .ballots = static_cast<double>(ballots_) / starts,
            .again = ballots_ == 0
                         ? 0
                         : 1000.0 * static_cast<double>(again_) / static_cast<double>(ballots_)};
  }

 private:
  struct Member {
    Member(const spec::Program& program, const core::ProgramFacts& facts, int of, int number,
           bool alone)
        : rank(of),
          member(number),
          arbiter(program, facts, of),
          ledger(facts, of),
          agreement(alone ? std::make_unique<core::OneMember>()
                          : core::make_agreement(facts, {0, of, number})),
          executor({0, of, number}, arbiter, *agreement, ledger) {}
    int rank;
    int member;
    simulate::TableArbiter arbiter;
    core::Ledger ledger;
    std::unique_ptr<core::Agreement> agreement;
    core::Executor executor;
  };
  struct Due {
    Time at;
    std::int64_t number;  // events at one time happen in the order of their numbers
    int to;
    std::function<core::Status()> happen;
    bool operator<(const Due& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  static void check(const core::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.message());
  }
  [[nodiscard]] double draw(std::initializer_list<std::uint64_t> words) const {
    return static_cast<double>(core::draw_bits(seed_, words)) / 9007199254740992.0;
  }
  void put(double after, int to, std::function<core::Status()> happen) {
    agenda_.push({now_ + Time(std::llround(after * kUnit)), number_++, to, std::move(happen)});
  }

  // The latency of a message to one member. If members count as one, that of the last member.
  [[nodiscard]] double latency(core::Message message, int member) const {
    const auto of = [&](int i) {
      const bool late = draw({1, static_cast<std::uint64_t>(message.edge),
                              static_cast<std::uint64_t>(message.microbatch),
                              static_cast<std::uint64_t>(i)}) < condition_.late;
      return late ? 1.0 : 0.05;
    };
    if (!condition_.as_one) return of(member);
    double last = 0;
    for (int i = 0; i < facts_.members; ++i) last = std::max(last, of(i));
    return last;
  }
  [[nodiscard]] double duration(core::Task task) const {
    const core::LaneFacts& lane = facts_.lanes[static_cast<std::size_t>(task.lane)];
    const double varies = draw(
        {2, static_cast<std::uint64_t>(task.lane), static_cast<std::uint64_t>(task.microbatch)});
    return (lane.op == 0 ? 1 : 2) * (0.9 + 0.2 * varies);
  }

  void poll(int i) {
    Member& member = *members_[static_cast<std::size_t>(i)];
    commands_.clear();
    check(member.executor.poll(now_, commands_));
    for (const Command& command : commands_) {
      if (command.kind == Command::Kind::start) start(member.rank, command.task);
      if (command.kind == Command::Kind::send) send(member, command);
      if (command.kind == Command::Kind::ballot) {
        give(member, member.executor.ballot(command.engine));
      }
    }
  }

  // The task ends at all members at once, after its duration from the last member's start.
  void start(int rank, core::Task task) {
    const auto place = static_cast<std::size_t>(task.lane) * kMicrobatches +
                       static_cast<std::size_t>(task.microbatch);
    if (++started_[place] < alone_) return;
    for (int member = 0; member < alone_; ++member) {
      const int to = rank * alone_ + member;
      put(duration(task), to, [this, to, task] {
        return members_[static_cast<std::size_t>(to)]->executor.finished(task, now_);
      });
    }
  }

  void send(const Member& from, const Command& command) {
    const core::Message message = command.message;
    const core::EdgeFacts& edge = facts_.edges[static_cast<std::size_t>(message.edge)];
    const int rank = facts_.lanes[static_cast<std::size_t>(edge.consumer)].rank;
    const int to = rank * alone_ + from.member;
    put(latency(message, from.member), to, [this, to, message] {
      return members_[static_cast<std::size_t>(to)]->executor.arrived(0, message, now_);
    });
  }

  void give(const Member& from, const core::Ballot& ballot) {
    ++ballots_;
    again_ += ballot.attempt > 0 ? 1 : 0;
    for (int member = 0; member < alone_; ++member) {
      if (member == from.member) continue;
      const int to = from.rank * alone_ + member;
      put(condition_.ballot, to, [this, to, by = from.member, ballot] {
        return members_[static_cast<std::size_t>(to)]->executor.balloted(0, by, ballot);
      });
    }
  }

  const core::ProgramFacts& facts_;
  const Condition& condition_;
  std::uint64_t seed_;
  int alone_ = 1;  // the number of a rank's members; 1 if they count as one
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<int> started_;  // by lane and microbatch: how many members started it
  std::priority_queue<Due> agenda_;
  std::vector<Command> commands_;
  Time now_{0};
  std::int64_t number_ = 0;
  std::int64_t ballots_ = 0;
  std::int64_t again_ = 0;
};

void row(const std::string& agree, int members, double late) {
  const spec::Program program = spec::compile({"chain.ripe", text_of(agree, members)}).value();
  const core::OwnedFacts facts = lower::facts_of(program);
  std::printf("%-12s %7d %5.2f", agree.c_str(), members, late);
  Outcome all;
  for (const double ballot : {0.0, 0.01, 0.05}) {
    double ratio = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const auto run = [&](const Condition& condition) {
        return Step(program, facts.facts(), condition, seed).run();
      };
      const Outcome apart = run({.late = late, .ballot = ballot});
      const Outcome as_one = run({.late = late, .as_one = true});
      ratio += std::log(apart.makespan / as_one.makespan) / kSeeds;
      all.ballots += apart.ballots / kSeeds / 3;
      all.again += apart.again / kSeeds / 3;
    }
    std::printf(" %8.3f", std::exp(ratio));
  }
  std::printf(" %8.2f %6.1f\n", all.ballots, all.again);
}

}  // namespace
}  // namespace ripeline

int main() {
  std::printf("%d ranks, %d microbatches, %d seeds; time over that of members as one\n",
              ripeline::kRanks, ripeline::kMicrobatches, ripeline::kSeeds);
  std::printf("%-12s %7s %5s %8s %8s %8s %8s %6s\n", "agree by", "members", "late", "ballot 0",
              "0.01", "0.05", "ballots", "again");
  for (const char* agree : {"intersection", "vote", "leader"}) {
    for (const int members : {2, 8}) {
      for (const double late : {0.0, 0.05, 0.2}) ripeline::row(agree, members, late);
    }
  }
}
