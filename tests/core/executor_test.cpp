#include "core/executor.h"

#include <gtest/gtest.h>

#include "tests/core/fake_program.h"

namespace ripeline::core::executor_test {
namespace {

constexpr Time kNow{100};
constexpr EdgeId kToF = 2;  // 0F to 1F
constexpr EdgeId kToB = 1;  // 1B to 0B

Command start_of(LaneId lane, int m) {
  return {.kind = Command::Kind::start, .task = {lane, m}, .message = {}, .until = {}};
}
Command send_of(EdgeId edge, int m) {
  return {.kind = Command::Kind::send, .task = {}, .message = {edge, m}, .until = {}};
}

struct Rank {
  explicit Rank(int rank)
      : arbiter(rank), ledger(fake::kFacts), executor({0, rank, 0}, arbiter, agreement, ledger) {}

  std::vector<Command> poll() {
    std::vector<Command> commands;
    const Status status = executor.poll(kNow, commands);
    EXPECT_TRUE(status.ok()) << status.message();
    return commands;
  }
  std::vector<Command> poll(Choice next) {
    arbiter.next = next;
    return poll();
  }
  void run(LaneId lane, int m) {
    ASSERT_EQ(poll(fake::start(lane, m)).back(), start_of(lane, m));
    ASSERT_TRUE(executor.finished({lane, m}, kNow).ok());
  }

  fake::FakeArbiter arbiter;
  OneMember agreement;
  Ledger ledger;
  Executor executor;
};

void expect_refused(const Status& status, const std::string& message) {
  EXPECT_EQ(status.code(), StatusCode::invalid);
  EXPECT_EQ(status.message(), message);
}

TEST(Executor, starts_what_the_arbiter_chooses_and_sends_what_ended) {
  Rank first(0);
  ASSERT_TRUE(first.executor.begin_step(0, 2, kNow).ok());
  EXPECT_FALSE(first.executor.step_done());
  EXPECT_EQ(first.poll(fake::start(0, 0)), std::vector{start_of(0, 0)});
  EXPECT_EQ(first.poll(fake::start(0, 1)), std::vector<Command>{}) << "its engine is busy";
  ASSERT_TRUE(first.executor.finished({0, 0}, kNow).ok());
  EXPECT_EQ(first.poll(), (std::vector{send_of(kToF, 0), start_of(0, 1)}));
}

TEST(Executor, ends_a_step_when_all_tasks_of_the_rank_have_ended) {
  Rank last(1);
  ASSERT_TRUE(last.executor.begin_step(5, 1, kNow).ok());
  ASSERT_TRUE(last.executor.arrived(5, {kToF, 0}, kNow).ok());
  last.run(2, 0);
  EXPECT_FALSE(last.executor.step_done());
  last.run(3, 0);
  EXPECT_TRUE(last.executor.step_done());
  EXPECT_EQ(last.poll(), std::vector{send_of(kToB, 0)}) << "the last message leaves";
  EXPECT_TRUE(last.executor.begin_step(6, 2, kNow).ok());
  EXPECT_EQ(last.arbiter.steps, 2);
}

TEST(Executor, repeats_hold_until_at_each_poll) {
  Rank first(0);
  ASSERT_TRUE(first.executor.begin_step(0, 1, kNow).ok());
  const Choice hold{.kind = Choice::Kind::hold, .task = {}, .until = Time{170}};
  const Command expected{
      .kind = Command::Kind::hold_until, .task = {}, .message = {}, .until = Time{170}};
  EXPECT_EQ(first.poll(hold), std::vector{expected});
  EXPECT_EQ(first.poll(hold), std::vector{expected});
  EXPECT_TRUE(first.arbiter.started_tasks.empty());
}

TEST(Executor, waits_while_the_agreement_is_open) {
  struct Open final : Agreement {
    void begin_step(int) override {}
    Decision choose(const Arbiter&, Engine, Time) override { return {.decided = false}; }
    void started(Task) override {}
    Status heard(int, const Ballot&) override { return {}; }
  } open;
  fake::FakeArbiter arbiter(0);
  Ledger ledger(fake::kFacts);
  Executor executor({0, 0, 0}, arbiter, open, ledger);
  ASSERT_TRUE(executor.begin_step(0, 1, kNow).ok());
  arbiter.next = fake::start(0, 0);
  std::vector<Command> commands;
  ASSERT_TRUE(executor.poll(kNow, commands).ok());
  EXPECT_TRUE(commands.empty());
}

TEST(Executor, keeps_messages_of_the_next_step) {
  Rank last(1);
  ASSERT_TRUE(last.executor.arrived(0, {kToF, 0}, kNow).ok()) << "before the first step";
  ASSERT_TRUE(last.executor.begin_step(0, 1, kNow).ok());
  EXPECT_EQ(last.arbiter.arrived_messages, (std::vector<Message>{{kToF, 0}}));
  ASSERT_TRUE(last.executor.arrived(1, {kToF, 1}, kNow).ok());
  expect_refused(last.executor.arrived(1, {kToF, 1}, kNow),
                 "rank 1, step 0: 0F1 has arrived twice for step 1");
  EXPECT_EQ(last.arbiter.arrived_messages.size(), 1U);
  last.run(2, 0);
  last.run(3, 0);
  expect_refused(
      last.executor.begin_step(1, 1, kNow),
      "rank 1, step 0: a message of microbatch 1 has arrived for step 1, which has 1, and "
      "no task needs it");
  ASSERT_TRUE(last.executor.begin_step(1, 2, kNow).ok());
  EXPECT_EQ(last.arbiter.arrived_messages.back(), (Message{kToF, 1}));
  expect_refused(last.executor.arrived(1, {kToF, 1}, kNow),
                 "rank 1, step 1: 0F1 at 1F1 has arrived twice");
}

// Messages of later steps, in whatever order, are each handed over once, when their step begins.
TEST(Executor, keeps_messages_of_all_later_steps) {
  Rank last(1);
  Executor& executor = last.executor;
  using Messages = std::vector<Message>;
  ASSERT_TRUE(executor.arrived(4, {kToF, 1}, kNow).ok()) << "before the first step";
  ASSERT_TRUE(executor.begin_step(2, 1, kNow).ok());
  ASSERT_TRUE(executor.arrived(4, {kToF, 0}, kNow).ok());
  ASSERT_TRUE(executor.arrived(5, {kToF, 0}, kNow).ok());
  ASSERT_TRUE(executor.arrived(2, {kToF, 0}, kNow).ok());
  expect_refused(executor.arrived(4, {kToF, 1}, kNow),
                 "rank 1, step 2: 0F1 has arrived twice for step 4");
  EXPECT_EQ(last.arbiter.arrived_messages, (Messages{{kToF, 0}}));
  const auto end_and_begin = [&](int ends, int begins) {
    for (int m = 0; m < ends; ++m) {
      last.run(2, m);
      last.run(3, m);
    }
    last.arbiter.arrived_messages.clear();
    const Status status = executor.begin_step(executor.step() + 1, begins, kNow);
    EXPECT_TRUE(status.ok()) << status.message();
    return last.arbiter.arrived_messages;
  };
  EXPECT_EQ(end_and_begin(1, 1), Messages{});
  ASSERT_TRUE(executor.arrived(3, {kToF, 0}, kNow).ok());
  EXPECT_EQ(end_and_begin(1, 2), (Messages{{kToF, 1}, {kToF, 0}})) << "in the order they came";
  EXPECT_EQ(end_and_begin(2, 1), (Messages{{kToF, 0}}));
  expect_refused(executor.arrived(5, {kToF, 0}, kNow),
                 "rank 1, step 5: 0F0 at 1F0 has arrived twice");
  expect_refused(executor.arrived(4, {kToF, 0}, kNow),
                 "rank 1, step 5: 0F0 at 1F0 has arrived for step 4");
}

TEST(Executor, refuses_what_does_not_fit_and_goes_on) {
  Rank last(1);
  Executor& executor = last.executor;
  ASSERT_TRUE(executor.begin_step(4, 2, kNow).ok());
  const std::string who = "rank 1, step 4: ";
  expect_refused(executor.begin_step(5, 1, kNow), who + "step 5 begins before this one is done");
  const std::string not_here = " has arrived, which does not lead here from another rank";
  expect_refused(executor.arrived(4, {kToB, 0}, kNow), who + "a message of edge 1" + not_here);
  expect_refused(executor.arrived(4, {3, 0}, kNow), who + "a message of edge 3" + not_here);
  expect_refused(executor.arrived(4, {17, 0}, kNow), who + "a message of edge 17" + not_here);
  expect_refused(executor.arrived(4, {kToF, -1}, kNow),
                 who + "a message of microbatch -1 has arrived");
  expect_refused(executor.arrived(3, {kToF, 0}, kNow), who + "0F0 at 1F0 has arrived for step 3");
  expect_refused(executor.arrived(4, {kToF, 2}, kNow),
                 who + "0F2 at 1F2 has arrived; there are 2 microbatches");
  ASSERT_TRUE(executor.arrived(4, {kToF, 0}, kNow).ok());
  expect_refused(executor.arrived(4, {kToF, 0}, kNow), who + "0F0 at 1F0 has arrived twice");
  expect_refused(executor.finished({2, 0}, kNow), who + "1F0 has finished, but it does not run");
  expect_refused(executor.finished({0, 0}, kNow),
                 who + "a task of lane 0, microbatch 0 has finished, which is not of this rank");
  EXPECT_EQ(last.arbiter.arrived_messages.size(), 1U);
  EXPECT_EQ(last.poll(fake::start(2, 0)), std::vector{start_of(2, 0)});
  ASSERT_TRUE(executor.finished({2, 0}, kNow).ok());
  expect_refused(executor.finished({2, 0}, kNow), who + "1F0 has finished, but it does not run");
}

TEST(Executor, has_no_tasks_before_the_first_step) {
  Rank last(1);
  expect_refused(
      last.executor.finished({2, 0}, kNow),
      "rank 1, step -1: a task of lane 2, microbatch 0 has finished, which is not of this rank");
}

TEST(Executor, refuses_steps_out_of_order_or_out_of_range) {
  Rank first(0);
  expect_refused(first.executor.begin_step(0, 9, kNow),
                 "rank 0, step -1: 9 microbatches are outside the program's range");
  expect_refused(first.executor.begin_step(-1, 1, kNow),
                 "rank 0, step -1: step -1 begins out of order");
  ASSERT_TRUE(first.executor.begin_step(3, 1, kNow).ok());
  first.run(0, 0);
  ASSERT_TRUE(first.executor.arrived(3, {kToB, 0}, kNow).ok());
  first.run(1, 0);
  expect_refused(first.executor.begin_step(5, 1, kNow),
                 "rank 0, step 3: step 5 begins out of order");
  EXPECT_TRUE(first.executor.begin_step(4, 1, kNow).ok());
}

TEST(Executor, gives_the_first_failure_from_then_on) {
  Rank first(0);
  ASSERT_TRUE(first.executor.begin_step(0, 1, kNow).ok());
  first.executor.failed({StatusCode::lost, "rank 1 is gone"});
  first.executor.failed({StatusCode::failed, "later"});
  std::vector<Command> commands;
  for (const Status& status :
       {first.executor.poll(kNow, commands), first.executor.arrived(0, {kToB, 0}, kNow),
        first.executor.finished({0, 0}, kNow), first.executor.begin_step(1, 1, kNow)}) {
    EXPECT_EQ(status.code(), StatusCode::lost);
    EXPECT_EQ(status.message(), "rank 1 is gone");
  }
}

TEST(Executor, calls_a_breach_what_an_arbiter_must_not_choose) {
  for (const Choice bad : {fake::start(2, 0), fake::start(0, 1), fake::start(-1, 0)}) {
    Rank first(0);
    ASSERT_TRUE(first.executor.begin_step(0, 1, kNow).ok());
    first.arbiter.next = bad;
    std::vector<Command> commands;
    EXPECT_EQ(first.executor.poll(kNow, commands).code(), StatusCode::breach);
    EXPECT_EQ(first.executor.poll(kNow, commands).code(), StatusCode::breach) << "it sticks";
    EXPECT_TRUE(commands.empty());
  }
}

TEST(Executor, stops_at_a_breach_of_the_ledger) {
  Rank last(1);
  ASSERT_TRUE(last.executor.begin_step(3, 2, kNow).ok());
  for (const int m : {0, 1}) ASSERT_TRUE(last.executor.arrived(3, {kToF, m}, kNow).ok());
  last.run(2, 0);
  last.arbiter.next = fake::start(2, 1);
  std::vector<Command> commands;
  const Status status = last.executor.poll(kNow, commands);
  EXPECT_EQ(status.code(), StatusCode::breach);
  EXPECT_EQ(
      status.message(),
      "rank 1, step 3: starting 1F1 makes activation of stage 1 2, and at most 1 was proved or "
      "has room; of 2 microbatches 1F started 2, ended 1, 1B started 0, ended 0; held: "
      "activation of stage 1 2");
  EXPECT_TRUE(commands.empty()) << "it does not start";
}

TEST(Executor, stops_before_a_task_whose_needs_are_not_met) {
  Rank last(1);
  ASSERT_TRUE(last.executor.begin_step(0, 2, kNow).ok());
  ASSERT_TRUE(last.executor.arrived(0, {kToF, 1}, kNow).ok());
  last.arbiter.next = fake::start(2, 0);
  std::vector<Command> commands;
  const Status early = last.executor.poll(kNow, commands);
  EXPECT_EQ(early.code(), StatusCode::breach);
  EXPECT_EQ(early.message(),
            "rank 1, step 0: the arbiter chose 1F0, which needs 0F0 from rank 0; of 2 microbatches "
            "1F started 0, ended 0, 1B started 0, ended 0; held: activation of stage 1 0");
  EXPECT_TRUE(last.arbiter.started_tasks.empty());

  Rank own(1);
  ASSERT_TRUE(own.executor.begin_step(0, 1, kNow).ok());
  own.arbiter.next = fake::start(3, 0);
  const Status local = own.executor.poll(kNow, commands);
  EXPECT_EQ(local.code(), StatusCode::breach);
  EXPECT_NE(local.message().find("the arbiter chose 1B0, which needs 1F0;"), std::string::npos)
      << local.message();
  EXPECT_TRUE(commands.empty());
}

TEST(Executor, says_who_waits_for_whom) {
  Rank first(0);
  ASSERT_TRUE(first.executor.begin_step(0, 2, kNow).ok());
  EXPECT_EQ(first.executor.waiting(),
            "rank 0: 0F0 waits for its turn\n"
            "rank 0: 0B0 waits for 0F0 and 1B0 from rank 1\n");
  first.poll(fake::start(0, 0));
  EXPECT_EQ(first.executor.waiting(1), "rank 0: 0F0 runs\n");
  ASSERT_TRUE(first.executor.finished({0, 0}, kNow).ok());
  first.run(0, 1);
  EXPECT_EQ(first.executor.waiting(), "rank 0: 0B0 waits for 1B0 from rank 1\n");
}

// A rank of a program where F and B are a pair.
struct PairRank {
  static constexpr PairFacts kPairs[] = {{0, 1}};
  static ProgramFacts with_pairs() {
    ProgramFacts facts = fake::kFacts;
    facts.pairs = kPairs;
    return facts;
  }
  explicit PairRank(int rank)
      : arbiter(rank, facts), executor({0, rank, 0}, arbiter, agreement, ledger) {}

  Status poll(Choice next) {
    commands.clear();
    arbiter.next = next;
    return executor.poll(kNow, commands);
  }

  ProgramFacts facts = with_pairs();
  fake::FakeArbiter arbiter;
  OneMember agreement;
  Ledger ledger{facts};
  Executor executor;
  std::vector<Command> commands;
};

TEST(Executor, starts_a_pair_beside_what_runs_and_no_third) {
  PairRank rank(0);
  ASSERT_TRUE(rank.executor.begin_step(0, 2, kNow).ok());
  ASSERT_TRUE(rank.executor.arrived(0, {kToB, 0}, kNow).ok());
  ASSERT_TRUE(rank.poll(fake::start(0, 0)).ok());
  ASSERT_TRUE(rank.executor.finished({0, 0}, kNow).ok());
  ASSERT_TRUE(rank.poll(fake::start(1, 0)).ok());
  ASSERT_TRUE(rank.poll(fake::start(0, 1)).ok());
  EXPECT_EQ(rank.commands, std::vector{start_of(0, 1)}) << "beside 0B0";
  ASSERT_TRUE(rank.poll(fake::start(1, 1)).ok());
  EXPECT_EQ(rank.commands, std::vector<Command>{}) << "its engine runs two";
  ASSERT_TRUE(rank.executor.finished({1, 0}, kNow).ok());
  ASSERT_TRUE(rank.executor.finished({0, 1}, kNow).ok());
}

// The arbiter admits the pair, but the executor refuses it: 1B0 has not released its room yet.
TEST(Executor, stops_a_pair_without_room_for_both) {
  PairRank rank(1);
  ASSERT_TRUE(rank.executor.begin_step(0, 2, kNow).ok());
  for (const int m : {0, 1}) ASSERT_TRUE(rank.executor.arrived(0, {kToF, m}, kNow).ok());
  ASSERT_TRUE(rank.poll(fake::start(2, 0)).ok());
  ASSERT_TRUE(rank.executor.finished({2, 0}, kNow).ok());
  ASSERT_TRUE(rank.poll(fake::start(3, 0)).ok());
  const Status breach = rank.poll(fake::start(2, 1));
  EXPECT_EQ(breach.code(), StatusCode::breach);
  EXPECT_NE(breach.message().find("starting 1F1 makes activation of stage 1 2"), std::string::npos)
      << breach.message();
}

TEST(Executor, stops_a_start_beside_what_is_no_pair_with_it) {
  PairRank rank(1);
  ASSERT_TRUE(rank.executor.begin_step(0, 2, kNow).ok());
  for (const int m : {0, 1}) ASSERT_TRUE(rank.executor.arrived(0, {kToF, m}, kNow).ok());
  ASSERT_TRUE(rank.poll(fake::start(2, 0)).ok());
  const Status breach = rank.poll(fake::start(2, 1));
  EXPECT_EQ(breach.code(), StatusCode::breach);
  EXPECT_NE(breach.message().find("the arbiter chose 1F1, and its engine runs 1F"),
            std::string::npos)
      << breach.message();
}

}  // namespace
}  // namespace ripeline::core::executor_test
