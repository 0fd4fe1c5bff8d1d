// Tests ballot by ballot how members of a group agree. GroupRuns tests that runs are as proved.
#include "core/agreement.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/executor.h"
#include "tests/core/fake_program.h"

namespace ripeline::core {
namespace {

constexpr Time kNow{100};
constexpr int kMicrobatches = 4;
constexpr LaneId kF = 0;
constexpr LaneId kB = 1;
constexpr LaneId kCollectives[] = {kF};

ProgramFacts facts_of(Agree agree, int members) {
  ProgramFacts facts = fake::kFacts;
  facts.members = members;
  facts.agree = agree;
  facts.collectives = kCollectives;
  return facts;
}

// Rank 0's arbiter. The test sets which tasks may start; B is preferred, then the lowest task.
class ToldReady final : public Arbiter {
 public:
  explicit ToldReady(const ProgramFacts& facts) : facts_(facts) { may.reset(0, 2, kMicrobatches); }

  [[nodiscard]] const ProgramFacts& facts() const override { return facts_; }
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] Status begin_step(std::int64_t, int microbatches) override {
    may.reset(0, 2, microbatches);
    return {};
  }
  void on_finished(Task, Time) override {}
  void on_arrived(Message, Time) override {}
  void ready(Engine, TaskSet& out) const override { out = may; }
  [[nodiscard]] Choice choose(Engine, const TaskSet* allowed, Time) const override {
    for (const LaneId lane : {kB, kF}) {
      const int m = allowed == nullptr ? may.row(lane).lowest()
                                       : may.row(lane).lowest_common(allowed->row(lane));
      if (m >= 0) return fake::start(lane, m);
    }
    return {};
  }
  void started(Task task, Time) override { may.remove(task); }

  TaskSet may;

 private:
  const ProgramFacts& facts_;
};

TaskSet tasks(std::initializer_list<Task> all) {
  TaskSet set;
  set.reset(0, 2, kMicrobatches);
  for (const Task task : all) set.add(task);
  return set;
}

Ballot ballot(std::int32_t round, std::int32_t attempt, std::initializer_list<Task> all) {
  return {.engine = Engine::compute, .round = round, .attempt = attempt, .tasks = tasks(all)};
}

// A member of a group, without an executor.
struct Member {
  explicit Member(Agree agree, int member = 0, int members = 2)
      : facts(facts_of(agree, members)),
        arbiter(facts),
        agreement(make_agreement(facts, {0, 0, member})) {
    agreement->begin_step(kMicrobatches);
  }
  void may(std::initializer_list<Task> all) {
    for (const Task task : all) arbiter.may.add(task);
  }
  Agreement::Decision ask() { return agreement->choose(arbiter, Engine::compute, kNow); }
  // The ballot that the member publishes now; expects that the member does not decide.
  Ballot gives() {
    const Agreement::Decision decision = ask();
    EXPECT_FALSE(decision.decided);
    EXPECT_NE(decision.ballot, nullptr);
    return decision.ballot == nullptr ? Ballot{} : *decision.ballot;
  }
  bool is_silent() {
    const Agreement::Decision decision = ask();
    return !decision.decided && decision.ballot == nullptr;
  }
  // The task that the member decides to start now.
  Task starts() {
    const Agreement::Decision decision = ask();
    EXPECT_TRUE(decision.decided);
    if (!decision.choice.starts()) return {};
    arbiter.started(decision.choice.task, kNow);
    agreement->started(decision.choice.task);
    return decision.choice.task;
  }
  void hears(int member, const Ballot& ballot) {
    const Status status = agreement->heard(member, ballot);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  std::string refuses(int member, const Ballot& ballot) {
    return agreement->heard(member, ballot).message();
  }

  ProgramFacts facts;
  ToldReady arbiter;
  std::unique_ptr<Agreement> agreement;
};

constexpr Task kF0{kF, 0};
constexpr Task kF1{kF, 1};
constexpr Task kF2{kF, 2};
constexpr Task kB0{kB, 0};

TEST(Agreement, is_needed_on_engines_with_collectives_of_several_members) {
  ProgramFacts facts = facts_of(Agree::vote, 2);
  EXPECT_TRUE(facts.is_governed(0, Engine::compute));
  EXPECT_FALSE(facts.is_governed(0, Engine::copy_in));
  EXPECT_FALSE(facts.is_governed(1, Engine::compute)) << "that rank has none";
  facts.agree = Agree::none;
  EXPECT_FALSE(facts.is_governed(0, Engine::compute));
  for (const ProgramFacts& alone : {facts, facts_of(Agree::vote, 1), fake::kFacts}) {
    EXPECT_NE(dynamic_cast<OneMember*>(make_agreement(alone, {}).get()), nullptr);
  }
}

TEST(Agreement, of_a_member_alone_is_its_own_choice) {
  Member alone(Agree::none);
  alone.may({kF0});
  EXPECT_EQ(alone.starts(), kF0);
  EXPECT_EQ(alone.refuses(1, ballot(0, 0, {kF0})),
            "member 1 gave a ballot for round 0, attempt 0, and nothing is agreed on");
}

TEST(Intersection, starts_the_hints_choice_of_what_may_start_everywhere) {
  Member member(Agree::intersection);
  EXPECT_TRUE(member.is_silent()) << "nothing may start";
  member.may({kF0, kF1, kB0});
  EXPECT_EQ(member.gives(), ballot(0, 0, {kF0, kF1, kB0}));
  EXPECT_TRUE(member.is_silent());
  member.hears(1, ballot(0, 0, {kF1, kF2}));
  EXPECT_EQ(member.starts(), kF1);
  EXPECT_EQ(member.gives(), ballot(1, 0, {kF0, kB0})) << "the next round";
}

// Tasks that became ready later are for the next round, since other members do not know of them.
TEST(Intersection, decides_on_the_ballots_and_not_on_what_has_come_since) {
  Member member(Agree::intersection);
  member.may({kF0});
  EXPECT_EQ(member.gives().tasks, tasks({kF0}));
  member.may({kB0});
  member.hears(1, ballot(0, 0, {kF0, kB0}));
  EXPECT_EQ(member.starts(), kF0);
}

TEST(Intersection, needs_the_ballots_of_all) {
  Member member(Agree::intersection, 0, 3);
  member.may({kF0, kF1});
  (void)member.gives();
  member.hears(2, ballot(0, 0, {kF0, kF1}));
  EXPECT_TRUE(member.is_silent());
  member.hears(1, ballot(0, 0, {kF1}));
  EXPECT_EQ(member.starts(), kF1);
}

TEST(Intersection, that_is_empty_is_tried_again_once_more_may_start) {
  Member member(Agree::intersection);
  member.may({kF0});
  (void)member.gives();
  member.hears(1, ballot(0, 0, {kF1}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(member.is_silent()) << "nothing has happened since";
  member.may({kF1});
  EXPECT_EQ(member.gives(), ballot(0, 1, {kF0, kF1}));
  member.hears(1, ballot(0, 1, {kF1}));
  EXPECT_EQ(member.starts(), kF1);
}

TEST(Intersection, is_answered_when_another_tries_again) {
  Member member(Agree::intersection);
  member.may({kF0});
  (void)member.gives();
  member.hears(1, ballot(0, 0, {kF1}));
  member.hears(1, ballot(0, 1, {kF0, kF1}));
  const Agreement::Decision decision = member.ask();
  ASSERT_NE(decision.ballot, nullptr);
  EXPECT_EQ(*decision.ballot, ballot(0, 1, {kF0})) << "the same again";
  EXPECT_TRUE(decision.decided);
  EXPECT_EQ(decision.choice, fake::start(kF, 0));
}

// The decision on the first attempt must not use ballots of the second.
TEST(Intersection, keeps_ballots_of_two_attempts_apart_that_overtake_each_other) {
  Member member(Agree::intersection, 0, 3);
  member.may({kF0});
  (void)member.gives();
  member.hears(1, ballot(0, 0, {kF0, kF1}));
  member.hears(2, ballot(0, 1, {kF0, kF1}));
  EXPECT_TRUE(member.is_silent()) << "member 2's first ballot is on its way";
  member.hears(2, ballot(0, 0, {kF1}));
  const Agreement::Decision decision = member.ask();
  ASSERT_NE(decision.ballot, nullptr);
  EXPECT_EQ(*decision.ballot, ballot(0, 1, {kF0}));
  EXPECT_FALSE(decision.decided);
  member.hears(1, ballot(0, 1, {kF0, kF1}));
  EXPECT_EQ(member.starts(), kF0);
}

TEST(Intersection, keeps_what_comes_for_the_next_round) {
  Member member(Agree::intersection, 0, 3);
  member.may({kF0, kF1});
  (void)member.gives();
  member.hears(1, ballot(0, 0, {kF0}));
  member.hears(1, ballot(1, 0, {kF1}));
  member.hears(2, ballot(0, 0, {kF0}));
  EXPECT_EQ(member.starts(), kF0);
  EXPECT_EQ(member.gives(), ballot(1, 0, {kF1}));
  member.hears(2, ballot(1, 0, {kF1}));
  EXPECT_EQ(member.starts(), kF1);
}

TEST(Intersection, refuses_what_does_not_fit) {
  Member member(Agree::intersection, 0, 3);
  const std::string gave = "member 1 gave a ballot for round 0, attempt 0, and ";
  EXPECT_EQ(member.refuses(0, ballot(0, 0, {kF0})),
            "member 0 gave a ballot for round 0, attempt 0, and no other member of the rank has "
            "that number");
  EXPECT_NE(member.refuses(3, ballot(0, 0, {kF0})), "");
  EXPECT_NE(member.refuses(-1, ballot(0, 0, {kF0})), "");
  Ballot other = ballot(0, 0, {kF0});
  other.engine = Engine::copy_in;
  EXPECT_EQ(member.refuses(1, other), gave + "its engine is not governed");
  EXPECT_EQ(member.refuses(1, ballot(0, 0, {})), gave + "its tasks are not of the engine");
  for (const std::array<int, 3>& rows : {std::array{0, 3, 4}, {1, 2, 4}, {0, 2, 500}}) {
    other = ballot(0, 0, {});
    other.tasks.reset(rows[0], rows[1], rows[2]);
    other.tasks.add(kB0);
    EXPECT_EQ(member.refuses(1, other), gave + "its tasks are not of the engine");
  }
  other = ballot(0, 0, {});
  other.tasks.add({kF, 5});  // there is no such task, but the set has a bit for it
  EXPECT_EQ(member.refuses(1, other), gave + "its tasks are not of the engine");
  EXPECT_EQ(member.refuses(1, ballot(1, 0, {kF0})),
            "member 1 gave a ballot for round 1, attempt 0, and this one is at round 0, attempt 0")
      << "nobody is there without this member's ballot";
  EXPECT_NE(member.refuses(1, ballot(0, 1, {kF0})), "");
  EXPECT_NE(member.refuses(1, ballot(-1, 0, {kF0})), "");
  member.hears(1, ballot(0, 0, {kF0}));
  EXPECT_NE(member.refuses(1, ballot(0, 0, {kF0})), "") << "twice";
  member.may({kF0});
  (void)member.gives();
  EXPECT_NE(member.refuses(1, ballot(2, 0, {kF1})), "");
  EXPECT_NE(member.refuses(1, ballot(0, 2, {kF1})), "");
  member.hears(1, ballot(1, 0, {kF1}));
  EXPECT_NE(member.refuses(1, ballot(0, 1, {kF1})), "") << "one ahead";
  member.hears(2, ballot(0, 0, {kF1}));
  const Agreement::Decision decision = member.ask();
  ASSERT_NE(decision.failure, nullptr);
  EXPECT_EQ(decision.failure->message(),
            "member 1 gave a ballot for round 1, attempt 0, and the others are at another one")
      << "they came to nothing, so nobody can be in the next round";
}

TEST(Intersection, refuses_ballots_after_the_last_round) {
  Member member(Agree::intersection);
  for (int m = 0; m < kMicrobatches; ++m) {
    for (const LaneId lane : {kF, kB}) {
      member.may({{lane, m}});
      const Ballot given = member.gives();
      member.hears(1, given);
      EXPECT_EQ(member.starts(), (Task{lane, m}));
    }
  }
  EXPECT_NE(member.refuses(1, ballot(8, 0, {kF0})), "");
  EXPECT_TRUE(member.is_silent());
}

// Replicas of a rank that has three reductions on comm (0G, 1G and 1H) and a compute engine.
constexpr OpFacts kReduceOps[] = {
    {"F", OpKind::forward}, {"G", OpKind::reduce}, {"H", OpKind::reduce}};
constexpr LaneFacts kReduceLanes[] = {{0, 0, 0, 0, Engine::compute},
                                      {1, 0, 0, 0, Engine::comm},
                                      {1, 1, 0, 1, Engine::comm},
                                      {2, 1, 0, 1, Engine::comm}};
constexpr LaneId kReductions[] = {1, 2, 3};
constexpr LaneId kCompute[] = {0};

ProgramFacts facts_of_replicas(int replicas, Agree agree = Agree::none, int members = 1) {
  ProgramFacts facts = fake::kFacts;
  facts.ranks = 1;
  facts.ops = kReduceOps;
  facts.lanes = kReduceLanes;
  facts.edges = {};
  facts.pools = {};
  facts.uses = {};
  facts.replicas = replicas;
  facts.reductions = kReductions;
  facts.members = members;
  facts.agree = agree;
  if (members > 1) facts.collectives = kCompute;
  return facts;
}

// The test sets which tasks may start. choose() takes the last lane; reductions must not call it.
class ToldReductions final : public Arbiter {
 public:
  explicit ToldReductions(const ProgramFacts& facts) : facts_(facts) {
    may.reset(0, 4, kMicrobatches);
  }
  [[nodiscard]] const ProgramFacts& facts() const override { return facts_; }
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] Status begin_step(std::int64_t, int) override { return {}; }
  void on_finished(Task, Time) override {}
  void on_arrived(Message, Time) override {}
  void ready(Engine engine, TaskSet& out) const override {
    out = may;
    for (LaneId lane = 0; lane < 4; ++lane) {
      if (kReduceLanes[lane].engine != engine) out.row(lane).clear();
    }
  }
  [[nodiscard]] Choice choose(Engine engine, const TaskSet* allowed, Time) const override {
    for (LaneId lane = 3; lane >= 0; --lane) {
      if (kReduceLanes[lane].engine != engine) continue;
      const int m = allowed == nullptr ? may.row(lane).lowest()
                                       : may.row(lane).lowest_common(allowed->row(lane));
      if (m >= 0) return fake::start(lane, m);
    }
    return {};
  }
  void started(Task task, Time) override { may.remove(task); }

  TaskSet may;

 private:
  const ProgramFacts& facts_;
};

Ballot reductions(std::int32_t round, std::initializer_list<Task> all,
                  Engine engine = Engine::comm) {
  Ballot ballot{.engine = engine, .round = round, .attempt = 0, .tasks = {}};
  ballot.tasks.reset(0, 4, kMicrobatches);
  for (const Task task : all) ballot.tasks.add(task);
  return ballot;
}

TEST(ReplicasAgree, on_engines_that_reduce) {
  ProgramFacts facts = facts_of_replicas(3, Agree::leader, 2);
  EXPECT_EQ(facts.agreeing(0, Engine::comm), (Agreeing{Agreeing::Who::replicas, 3}));
  EXPECT_EQ(facts.agreeing(0, Engine::compute), (Agreeing{Agreeing::Who::members, 2}));
  EXPECT_EQ(facts.agreeing(0, Engine::copy_in), Agreeing{});
  EXPECT_TRUE(facts.is_governed(0, Engine::comm));
  EXPECT_EQ(facts.agreeing(0, Engine::comm).number_of({2, 0, 1}), 2);
  EXPECT_EQ(facts.agreeing(0, Engine::compute).number_of({2, 0, 1}), 1);
  facts.reductions = {};
  EXPECT_FALSE(facts.is_governed(0, Engine::comm)) << "all keep to an order";
}

// The order is by op as declared, then by stage from the last to the first, then by microbatch.
TEST(ReplicasAgree, on_the_first_of_what_all_may_start_and_ask_no_hint) {
  const ProgramFacts facts = facts_of_replicas(2);
  ToldReductions arbiter(facts);
  const std::unique_ptr<Agreement> replica = make_agreement(facts, {1, 0, 0});
  replica->begin_step(kMicrobatches);
  for (const Task task : {Task{0, 0}, Task{1, 0}, Task{2, 1}, Task{2, 2}, Task{3, 0}}) {
    arbiter.may.add(task);
  }
  EXPECT_EQ(replica->choose(arbiter, Engine::compute, kNow).choice, fake::start(0, 0))
      << "each by itself";
  std::vector<Task> order;
  for (std::int32_t round = 0; round < 4; ++round) {
    Agreement::Decision decision = replica->choose(arbiter, Engine::comm, kNow);
    ASSERT_FALSE(decision.decided);
    ASSERT_NE(decision.ballot, nullptr);
    const Ballot same = *decision.ballot;
    ASSERT_TRUE(replica->heard(0, same).ok());
    decision = replica->choose(arbiter, Engine::comm, kNow);
    ASSERT_TRUE(decision.choice.starts());
    order.push_back(decision.choice.task);
    arbiter.started(order.back(), kNow);
    replica->started(order.back());
  }
  EXPECT_EQ(order, (std::vector<Task>{{2, 1}, {2, 2}, {1, 0}, {3, 0}}));
}

TEST(ReplicasAgree, and_are_known_by_their_numbers) {
  const ProgramFacts facts = facts_of_replicas(3);
  const std::unique_ptr<Agreement> replica = make_agreement(facts, {1, 0, 0});
  replica->begin_step(kMicrobatches);
  EXPECT_EQ(replica->heard(1, reductions(0, {{1, 0}})).message(),
            "replica 1 gave a ballot for round 0, attempt 0, and no other replica has that number");
  EXPECT_FALSE(replica->heard(3, reductions(0, {{1, 0}})).ok());
  EXPECT_FALSE(replica->heard(0, reductions(0, {{0, 0}}, Engine::compute)).ok());
  EXPECT_TRUE(replica->heard(0, reductions(0, {{1, 0}})).ok());
  EXPECT_TRUE(replica->heard(2, reductions(0, {{1, 0}})).ok());
}

// Members agree on compute and replicas on comm; the two kinds of agreement count separately.
TEST(ReplicasAgree, beside_the_members_of_each) {
  for (const Agree agree : {Agree::intersection, Agree::leader}) {
    const ProgramFacts facts = facts_of_replicas(2, agree, 3);
    ToldReductions arbiter(facts);
    const std::unique_ptr<Agreement> one = make_agreement(facts, {1, 0, 2});
    one->begin_step(kMicrobatches);
    arbiter.may.add({0, 1});
    arbiter.may.add({3, 0});
    EXPECT_FALSE(one->choose(arbiter, Engine::compute, kNow).decided);
    EXPECT_FALSE(one->choose(arbiter, Engine::comm, kNow).decided);
    EXPECT_TRUE(one->heard(0, reductions(0, {{3, 0}})).ok()) << "replica 0";
    EXPECT_TRUE(one->heard(0, reductions(0, {{0, 1}}, Engine::compute)).ok()) << "member 0";
    EXPECT_FALSE(one->heard(2, reductions(0, {{0, 1}}, Engine::compute)).ok()) << "itself";
    EXPECT_FALSE(one->heard(2, reductions(0, {{3, 0}})).ok()) << "there are two replicas";
    if (agree == Agree::intersection) {
      EXPECT_TRUE(one->heard(1, reductions(0, {{0, 1}}, Engine::compute)).ok());
    }
    EXPECT_EQ(one->choose(arbiter, Engine::comm, kNow).choice, fake::start(3, 0));
    EXPECT_EQ(one->choose(arbiter, Engine::compute, kNow).choice, fake::start(0, 1));
  }
}

TEST(Vote, starts_what_all_would_choose) {
  Member member(Agree::vote);
  member.may({kF0, kF1});
  EXPECT_EQ(member.gives(), ballot(0, 0, {kF0})) << "its choice alone";
  member.may({kB0});
  member.hears(1, ballot(0, 0, {kF0}));
  EXPECT_EQ(member.starts(), kF0) << "what it would choose now does not count";
}

TEST(Vote, that_is_split_is_held_again_once_a_choice_is_another) {
  Member member(Agree::vote);
  member.may({kF1});
  (void)member.gives();
  member.hears(1, ballot(0, 0, {kF0}));
  EXPECT_TRUE(member.is_silent());
  member.may({kF2});
  EXPECT_TRUE(member.is_silent()) << "it would still choose 0F1";
  member.may({kF0});
  EXPECT_EQ(member.gives(), ballot(0, 1, {kF0}));
  member.hears(1, ballot(0, 1, {kF0}));
  EXPECT_EQ(member.starts(), kF0);
}

TEST(Leader, decides_by_itself_and_says_so) {
  Member leader(Agree::leader, 0);
  EXPECT_EQ(leader.ask().ballot, nullptr);
  leader.may({kF1, kF2});
  const Agreement::Decision decision = leader.ask();
  ASSERT_NE(decision.ballot, nullptr);
  EXPECT_EQ(*decision.ballot, ballot(0, 0, {kF1}));
  EXPECT_EQ(leader.starts(), kF1);
  EXPECT_EQ(leader.ask().ballot->round, 1);
  EXPECT_NE(leader.refuses(1, ballot(0, 0, {kF0})), "");
}

TEST(Leader, is_followed_in_the_order_of_its_log) {
  Member follower(Agree::leader, 1);
  follower.may({kF0, kF1, kF2});
  EXPECT_TRUE(follower.is_silent()) << "it does not choose";
  follower.hears(0, ballot(2, 0, {kF0}));
  follower.hears(0, ballot(1, 0, {kB0}));
  EXPECT_TRUE(follower.is_silent()) << "the first entry is on its way";
  follower.hears(0, ballot(0, 0, {kF1}));
  EXPECT_EQ(follower.starts(), kF1);
  EXPECT_EQ(follower.starts(), Task{}) << "0B0 may not start yet, and nothing goes before it";
  follower.may({kB0});
  EXPECT_EQ(follower.starts(), kB0);
  EXPECT_EQ(follower.starts(), kF0);
  EXPECT_TRUE(follower.is_silent());
}

TEST(Leader, is_not_believed) {
  Member follower(Agree::leader, 1, 3);
  follower.hears(0, ballot(0, 0, {kF1}));
  const std::vector<std::pair<int, Ballot>> wrong = {
      {2, ballot(1, 0, {kF0})},                                 // not from the leader
      {0, ballot(0, 0, {kF0})},                                 // an entry for the second time
      {0, ballot(1, 0, {kF1})},                                 // a task for the second time
      {0, ballot(1, 1, {kF0})},                                 // no attempt 1 exists
      {0, ballot(1, 0, {})},                                    // no task
      {0, ballot(1, 0, {kF0, kF2})},                            // two tasks
      {0, ballot(-1, 0, {kF0})},     {0, ballot(8, 0, {kF0})},  // there are 8 tasks
  };
  for (const auto& [member, given] : wrong) {
    EXPECT_NE(follower.refuses(member, given), "") << member << ", round " << given.round;
  }
  follower.hears(0, ballot(1, 0, {kF0}));
}

// A rank with an executor.
struct Rank {
  explicit Rank(Agree agree, int member = 0)
      : facts(facts_of(agree, 2)),
        arbiter(facts),
        agreement(make_agreement(facts, {0, 0, member})),
        ledger(facts),
        executor({0, 0, member}, arbiter, *agreement, ledger) {}

  std::vector<Command> poll() {
    std::vector<Command> commands;
    const Status status = executor.poll(kNow, commands);
    EXPECT_TRUE(status.ok()) << status.message();
    return commands;
  }

  ProgramFacts facts;
  ToldReady arbiter;
  std::unique_ptr<Agreement> agreement;
  Ledger ledger;
  Executor executor;
};

TEST(ExecutorOfAGroup, gives_its_ballot_before_it_starts_what_is_agreed_on) {
  Rank rank(Agree::intersection);
  ASSERT_TRUE(rank.executor.begin_step(0, kMicrobatches, kNow).ok());
  ASSERT_TRUE(rank.executor.balloted(0, 1, ballot(0, 0, {kF0})).ok());
  EXPECT_TRUE(rank.poll().empty());
  EXPECT_EQ(rank.executor.waits().waits.front().reason, Wait::For::agreement);
  rank.arbiter.may.add(kF0);
  const std::vector<Command> commands = rank.poll();
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[0].kind, Command::Kind::ballot);
  EXPECT_EQ(rank.executor.ballot(commands[0].engine), ballot(0, 0, {kF0}));
  EXPECT_EQ(commands[1].task, kF0);
}

TEST(ExecutorOfAGroup, keeps_ballots_of_later_steps) {
  Rank rank(Agree::intersection);
  ASSERT_TRUE(rank.executor.balloted(3, 1, ballot(0, 0, {kF1})).ok());
  EXPECT_FALSE(rank.executor.balloted(3, 1, ballot(0, 0, {kF1})).ok()) << "twice";
  EXPECT_FALSE(rank.executor.balloted(3, 0, ballot(0, 0, {kF1})).ok()) << "itself";
  EXPECT_FALSE(rank.executor.balloted(3, 2, ballot(0, 0, {kF1})).ok());
  EXPECT_FALSE(rank.executor.balloted(-1, 1, ballot(0, 0, {kF1})).ok());
  ASSERT_TRUE(rank.executor.begin_step(3, kMicrobatches, kNow).ok());
  EXPECT_EQ(rank.executor.balloted(2, 1, ballot(0, 0, {kF1})).message(),
            "rank 0, step 3: member 1 gave a ballot for round 0, attempt 0, and it is of step 2");
  rank.arbiter.may.add(kF1);
  EXPECT_EQ(rank.poll().back().task, kF1);
}

TEST(ExecutorOfAGroup, keeps_ballots_of_replicas_by_their_numbers) {
  const ProgramFacts facts = facts_of_replicas(3);
  ToldReductions arbiter(facts);
  const Coordinates self{2, 0, 0};
  const std::unique_ptr<Agreement> agreement = make_agreement(facts, self);
  Ledger ledger(facts);
  Executor executor(self, arbiter, *agreement, ledger);
  EXPECT_TRUE(executor.balloted(0, 0, reductions(0, {{1, 0}})).ok());
  EXPECT_TRUE(executor.balloted(0, 1, reductions(0, {{1, 0}})).ok());
  EXPECT_FALSE(executor.balloted(0, 2, reductions(0, {{1, 0}})).ok()) << "itself";
  EXPECT_FALSE(executor.balloted(0, 1, reductions(0, {{0, 0}}, Engine::compute)).ok())
      << "nobody agrees on that engine";
  ASSERT_TRUE(executor.begin_step(0, kMicrobatches, kNow).ok());
  arbiter.may.add({1, 0});
  std::vector<Command> commands;
  ASSERT_TRUE(executor.poll(kNow, commands).ok());
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[0].kind, Command::Kind::ballot);
  EXPECT_EQ(commands[0].engine, Engine::comm);
  EXPECT_EQ(commands[1].task, (Task{1, 0}));
}

TEST(ExecutorOfAGroup, refuses_to_begin_a_step_with_a_ballot_of_another_size) {
  Rank rank(Agree::vote);
  ASSERT_TRUE(rank.executor.balloted(0, 1, ballot(0, 0, {kF2})).ok());
  EXPECT_EQ(rank.executor.begin_step(0, 2, kNow).message(),
            "rank 0, step 0: member 1 gave a ballot for round 0, attempt 0, and its tasks are not "
            "of the engine");
}

}  // namespace
}  // namespace ripeline::core
