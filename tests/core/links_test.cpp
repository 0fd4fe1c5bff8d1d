// Tests links between two ranks: for each kind, a table of the messages that are sent, granted and
// handed over.
#include "core/links.h"

#include <gtest/gtest.h>

#include "core/executor.h"
#include "tests/core/fake_program.h"

namespace ripeline::core {
namespace {

constexpr Time kNow{100};
using Kind = Command::Kind;

constexpr OpFacts kOps[] = {{"F", OpKind::forward}, {"G", OpKind::reduce}};

// Rank 0 has 0F (lane 0) and 0G (1), rank 1 has 1F (2) and 1G (3); `edges` lead from 0 to 1.
struct Two {
  Two(std::vector<EdgeFacts> edges_, std::vector<InboxFacts> inboxes_,
      std::vector<LaneFacts> lanes_ = {{0, 0, 0, 0, Engine::compute},
                                       {1, 0, 0, 0, Engine::compute},
                                       {0, 1, 1, 0, Engine::compute},
                                       {1, 1, 1, 0, Engine::compute}})
      : edges(std::move(edges_)), inboxes(std::move(inboxes_)), lanes(std::move(lanes_)) {
    facts.ops = kOps;
    facts.lanes = lanes;
    facts.edges = edges;
    facts.inboxes = inboxes;
    facts.pools = {};
    facts.uses = {};
  }
  std::vector<EdgeFacts> edges;
  std::vector<InboxFacts> inboxes;
  std::vector<LaneFacts> lanes;
  ProgramFacts facts = fake::kFacts;
};

struct Rank {
  Rank(const Two& two, int rank)
      : arbiter(rank, two.facts),
        ledger(two.facts),
        executor({0, rank, 0}, arbiter, agreement, ledger) {}

  // A poll's commands, such as `send 0/1`, `announce 0/1`, `start 2/0`; #1 is a fifo's ordinal.
  std::string poll(Choice next = {}) {
    arbiter.next = next;
    std::vector<Command> commands;
    const Status status = executor.poll(kNow, commands);
    EXPECT_TRUE(status.ok()) << status.message();
    std::string text;
    for (const Command& c : commands) {
      const bool start = c.kind == Kind::start;
      const bool numbered = c.kind == Kind::send || c.kind == Kind::announce;
      const char* const names[] = {"start", "send", "announce", "grant", "hold"};
      text +=
          (text.empty() ? "" : ", ") + std::string(names[static_cast<std::size_t>(c.kind)]) + " " +
          std::to_string(start ? c.task.lane : c.message.edge) + "/" +
          std::to_string(start ? c.task.microbatch : c.message.microbatch) +
          (numbered && c.ordinal != c.message.microbatch ? "#" + std::to_string(c.ordinal) : "");
    }
    return text;
  }
  // Starts and ends a task; returns the commands of the poll that started it.
  std::string run(LaneId lane, int m) {
    const std::string text = poll(fake::start(lane, m));
    const Status status = executor.finished({lane, m}, kNow);
    EXPECT_TRUE(status.ok()) << status.message();
    return text;
  }
  void arrive(Message message, int ordinal = 0) {
    const Status status = executor.arrived(executor.step(), message, kNow, ordinal);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void announce(Message message, int ordinal = 0) {
    EXPECT_TRUE(executor.announced(executor.step(), message, ordinal).ok());
  }
  void grant(Message message) {
    EXPECT_TRUE(executor.granted(executor.step(), message, kNow).ok());
  }
  std::string handed_over() {
    std::string text;
    for (const Message m : arbiter.arrived_messages) {
      text += " " + std::to_string(m.edge) + "/" + std::to_string(m.microbatch);
    }
    arbiter.arrived_messages.clear();
    return text;
  }

  fake::FakeArbiter arbiter;
  OneMember agreement;
  Ledger ledger;
  Executor executor;
};

void begin(Rank& rank, int microbatches, std::int64_t step = 0) {
  const Status status = rank.executor.begin_step(step, microbatches, kNow);
  ASSERT_TRUE(status.ok()) << status.message();
}

void expect_refused(const Status& status, const std::string& message) {
  EXPECT_EQ(status.code(), StatusCode::invalid);
  EXPECT_EQ(status.message(), message);
}

TEST(Links, held_back_messages_leave_when_they_are_let_go_in_any_order) {
  const Two two({{0, 2, Of::same, 0}}, {{"", 1, 1, 1}});
  Rank sender(two, 0);
  sender.executor.hold_back(true);
  begin(sender, 4);
  for (int m : {0, 1, 2}) sender.run(0, m);
  EXPECT_EQ(sender.poll(), "") << "there is a slot, and nothing is let go";
  EXPECT_TRUE(sender.executor.let_go({0, 2}).ok());
  EXPECT_TRUE(sender.executor.let_go({0, 0}).ok());
  EXPECT_EQ(sender.poll(), "send 0/0") << "of those that are let go the earliest";
  sender.grant({0, 0});
  EXPECT_EQ(sender.poll(), "send 0/2") << "before an earlier one that is held back";
  sender.grant({0, 2});
  EXPECT_EQ(sender.poll(), "");
  expect_refused(sender.executor.let_go({0, 2}),
                 "rank 0, step 0: a message of edge 0, microbatch 2 does not wait for a slot of "
                 "its own link");
  sender.executor.hold_back(false);
  EXPECT_EQ(sender.poll(), "send 0/1");
}

TEST(Links, a_message_leaves_when_its_own_inbox_has_a_slot) {
  const Two two({{0, 2, Of::same, 0}}, {{"", 1, 1, 2}});
  Rank sender(two, 0);
  begin(sender, 4);
  for (int m : {0, 1}) sender.run(0, m);
  EXPECT_EQ(sender.run(0, 2), "send 0/1, start 0/2") << "the engine goes on";
  EXPECT_EQ(sender.run(0, 3), "start 0/3") << "no slot for the third";
  for (int m : {0, 1, 2, 3}) sender.run(1, m);
  EXPECT_EQ(sender.poll(), "");
  EXPECT_FALSE(sender.executor.step_done());
  EXPECT_EQ(sender.executor.waiting(),
            "rank 0: the message of 0F2 at 1F2 waits for a slot: the slots from 0F to 1F, 2 of 2 "
            "taken\n"
            "rank 0: the message of 0F3 at 1F3 waits for a slot: the slots from 0F to 1F, 2 of 2 "
            "taken\n");
  sender.grant({0, 1});
  EXPECT_EQ(sender.poll(), "send 0/2");
  sender.grant({0, 0});
  EXPECT_EQ(sender.poll(), "send 0/3");
  sender.grant({0, 2});
  EXPECT_FALSE(sender.executor.step_done()) << "a slot is still taken";
  EXPECT_EQ(sender.executor.waiting(),
            "rank 0: the end of the step waits for the slots from 0F to 1F, 1 of 2 taken on rank "
            "1\n");
  sender.grant({0, 3});
  EXPECT_TRUE(sender.executor.step_done());
  expect_refused(sender.executor.granted(0, {0, 3}, kNow),
                 "rank 0, step 0: 0F3 at 1F3 was granted, and no slot was taken");

  Rank receiver(two, 1);
  begin(receiver, 4);
  for (int m : {1, 0}) receiver.arrive({0, m});
  EXPECT_EQ(receiver.handed_over(), " 0/1 0/0") << "they overtake";
  expect_refused(receiver.executor.arrived(0, {0, 2}, kNow),
                 "rank 1, step 0: 0F2 at 1F2 has arrived without a slot: the slots from 0F to 1F, "
                 "2 of 2 taken");
  EXPECT_EQ(receiver.run(2, 1), "grant 0/1, start 2/1") << "before the task runs";
  receiver.arrive({0, 2});
}

TEST(Links, a_channel_lets_in_the_earliest_that_is_announced) {
  const Two two({{0, 2, Of::same, 0}, {1, 3, Of::same, 0}}, {{"inbox", 1, 1, 1}});
  Rank sender(two, 0);
  begin(sender, 2);
  sender.run(0, 0);
  EXPECT_EQ(sender.run(1, 0), "announce 0/0, start 1/0");
  EXPECT_EQ(sender.poll(), "announce 1/0");
  EXPECT_EQ(sender.executor.waiting(2),
            "rank 0: the message of 0F0 at 1F0 waits for a slot: inbox of stage 1 of 1 on rank 1\n"
            "rank 0: 0F1 waits for its turn\n");
  sender.grant({1, 0});
  EXPECT_EQ(sender.poll(), "send 1/0");
  expect_refused(sender.executor.granted(0, {1, 0}, kNow),
                 "rank 0, step 0: 0G0 at 1G0 was granted, and does not wait for it");
  expect_refused(
      sender.executor.granted(0, {5, 0}, kNow),
      "rank 0, step 0: a message of edge 5 was granted, which does not lead from here to "
      "another rank");
  expect_refused(sender.executor.granted(1, {0, 0}, kNow),
                 "rank 0, step 0: a message was granted for step 1");

  Rank receiver(two, 1);
  begin(receiver, 2);
  receiver.announce({1, 0});
  receiver.announce({0, 0});
  EXPECT_EQ(receiver.poll(), "grant 1/0");
  EXPECT_EQ(receiver.executor.waiting(1),
            "rank 1: 1F0 waits for 0F0 from rank 0, whose message waits for a slot: inbox of stage "
            "1, 1 of 1 taken\n");
  const Wait wait = receiver.executor.waits().waits.front();
  EXPECT_EQ(wait.on, 1) << "nobody else owes it";
  EXPECT_EQ(wait.other, (Task{3, 0})) << "which has the slot";
  expect_refused(receiver.executor.announced(0, {0, 0}, 0),
                 "rank 1, step 0: 0F0 at 1F0 was announced twice");
  expect_refused(receiver.executor.arrived(0, {0, 0}, kNow),
                 "rank 1, step 0: 0F0 at 1F0 has arrived without being granted");
  receiver.arrive({1, 0});
  EXPECT_EQ(receiver.poll(), "");
  EXPECT_EQ(receiver.run(3, 0), "grant 0/0, start 3/0");
}

TEST(Links, a_fifo_hands_over_in_the_order_of_ends) {
  const Two two({{0, 2, Of::same, 0, true}}, {{"", 1, 1, 2}});
  Rank sender(two, 0);
  begin(sender, 4);
  sender.run(0, 2);
  sender.run(0, 0);
  sender.run(0, 3);
  EXPECT_EQ(sender.poll(), "") << "2 was the first, 0 the second; 3 waits";
  sender.grant({0, 2});
  EXPECT_EQ(sender.poll(), "send 0/3#2");

  Rank receiver(two, 1);
  begin(receiver, 4);
  receiver.arrive({0, 0}, 1);
  EXPECT_EQ(receiver.handed_over(), "");
  expect_refused(receiver.executor.arrived(0, {0, 1}, kNow, 1),
                 "rank 1, step 0: 0F1 at 1F1 has arrived as number 1 of its link");
  expect_refused(receiver.executor.arrived(0, {0, 1}, kNow, 4),
                 "rank 1, step 0: 0F1 at 1F1 has arrived as number 4 of its link");
  expect_refused(receiver.executor.arrived(0, {0, 0}, kNow, 0),
                 "rank 1, step 0: 0F0 at 1F0 has arrived twice");
  receiver.arrive({0, 2}, 0);
  EXPECT_EQ(receiver.handed_over(), " 0/2 0/0");
}

TEST(Links, a_fifo_of_a_channel_is_let_in_by_the_order_of_ends) {
  const Two two({{0, 2, Of::same, 0, true}}, {{"inbox", 1, 1, 1}});
  Rank receiver(two, 1);
  begin(receiver, 2);
  receiver.announce({0, 1}, 1);
  EXPECT_EQ(receiver.poll(), "") << "its announcement overtook";
  receiver.announce({0, 0}, 0);
  EXPECT_EQ(receiver.poll(), "grant 0/0");
  receiver.arrive({0, 0}, 0);
  EXPECT_EQ(receiver.run(2, 0), "grant 0/1, start 2/0");
}

TEST(Links, a_rendezvous_holds_its_engine_until_its_consumer_is_next) {
  const Two two({{0, 2, Of::same, -1, false, true}}, {});
  Rank sender(two, 0);
  begin(sender, 2);
  sender.run(0, 0);
  EXPECT_EQ(sender.poll(fake::start(0, 1)), "announce 0/0") << "its engine hands it over";
  EXPECT_EQ(sender.executor.waiting(1), "rank 0: 0F1 waits for its engine, which hands over 0F0\n");
  EXPECT_EQ(sender.executor.waiting(2).substr(0, 78),
            "rank 0: the message of 0F0 at 1F0 waits for its rendezvous with rank 1\nrank 0:");
  sender.grant({0, 0});
  EXPECT_EQ(sender.arbiter.taken_messages, (std::vector<Message>{{0, 0}}));
  EXPECT_EQ(sender.poll(fake::start(0, 1)), "send 0/0, start 0/1");

  Rank receiver(two, 1);
  begin(receiver, 2);
  receiver.announce({0, 0});
  receiver.arbiter.in_order = {3, 0};
  EXPECT_EQ(receiver.poll(), "");
  EXPECT_EQ(receiver.executor.waiting(1),
            "rank 1: 1F0 waits for 0F0 from rank 0, whose message waits for its rendezvous\n");
  EXPECT_EQ(receiver.executor.waits().waits.front().other, (Task{3, 0})) << "is before it";
  receiver.arbiter.in_order = {2, 0};
  EXPECT_EQ(receiver.poll(), "grant 0/0");
}

TEST(Links, keep_what_comes_of_the_next_step) {
  const Two two({{0, 2, Of::same, 0}}, {{"inbox", 1, 1, 1}});
  Rank receiver(two, 1);
  ASSERT_TRUE(receiver.executor.announced(0, {0, 0}).ok());
  begin(receiver, 1);
  EXPECT_EQ(receiver.poll(), "grant 0/0");
  ASSERT_TRUE(receiver.executor.announced(1, {0, 0}).ok());
  expect_refused(receiver.executor.announced(1, {0, 0}),
                 "rank 1, step 0: 0F0 was announced twice for step 1");
  receiver.arrive({0, 0});
  EXPECT_EQ(receiver.run(2, 0), "start 2/0") << "the next step's waits for its step";
  receiver.run(3, 0);
  ASSERT_TRUE(receiver.executor.step_done());
  begin(receiver, 1, 1);
  EXPECT_EQ(receiver.poll(), "grant 0/0");
}

// When messages of the next step arrive, that step's number of microbatches is not known yet.
TEST(Links, a_step_does_not_begin_with_messages_that_it_does_not_need) {
  Two two({{0, 2, Of::before}, {1, 3, Of::all}}, {});
  two.lanes[1].once = true;
  for (const Message early : {Message{0, 2}, Message{1, 1}}) {
    Rank receiver(two, 1);
    ASSERT_TRUE(receiver.executor.arrived(0, early, kNow).ok());
    expect_refused(receiver.executor.begin_step(0, 3, kNow),
                   "rank 1, step -1: a message of microbatch " + std::to_string(early.microbatch) +
                       " has arrived for step 0, which has 3, and no task needs it");
    EXPECT_EQ(receiver.executor.begin_step(0, 4, kNow).ok(), early.edge == 0)
        << "of four microbatches the last needs 0F2; there is one 0G";
  }
}

// 1G runs once and needs every 0F; 1F needs 0F of the previous microbatch.
TEST(Links, send_what_other_microbatches_need) {
  Two two({{0, 2, Of::before, 0}, {0, 3, Of::all, 1}}, {{"", 1, 1, 1}, {"", 1, 1, 3}});
  two.lanes[1].once = two.lanes[3].once = true;
  Rank sender(two, 0);
  begin(sender, 3);
  for (int m : {0, 1, 2}) sender.run(0, m);
  EXPECT_EQ(sender.poll(), "send 1/2") << "no task needs 0F2 of the microbatch before";
  sender.grant({0, 0});
  EXPECT_EQ(sender.poll(), "send 0/1");
  expect_refused(
      sender.executor.finished({1, 1}, kNow),
      "rank 0, step 0: a task of lane 1, microbatch 1 has finished, which is not of this "
      "rank");

  Rank receiver(two, 1);
  begin(receiver, 3);
  expect_refused(receiver.executor.arrived(0, {0, 2}, kNow),
                 "rank 1, step 0: 0F2 has arrived, and no task needs it");
  EXPECT_EQ(receiver.run(2, 0), "start 2/0") << "the first needs nothing";
  EXPECT_EQ(receiver.executor.waiting(),
            "rank 1: 1F1 waits for 0F0 from rank 0\nrank 1: 1G0 waits for 0F0 from rank 0\n");
  for (int m : {0, 2}) receiver.arrive({1, m});
  receiver.arbiter.next = fake::start(3, 0);
  receiver.arrive({0, 0});
  EXPECT_EQ(receiver.run(2, 1), "grant 0/0, start 2/1");
  receiver.arrive({1, 1});
  EXPECT_EQ(receiver.run(3, 0), "grant 1/0, grant 1/1, grant 1/2, start 3/0");
  receiver.arrive({0, 1});
  receiver.run(2, 2);
  EXPECT_TRUE(receiver.executor.step_done()) << "1G runs once";
}

// Both tasks of 1F need both tasks of 0F: the 1F that starts first frees the slots of both.
TEST(Links, what_all_tasks_need_is_freed_once) {
  const Two two({{0, 2, Of::all, 0}}, {{"inbox", 1, 1, 2}});
  Rank receiver(two, 1);
  begin(receiver, 2);
  for (int m : {0, 1}) receiver.announce({0, m});
  EXPECT_EQ(receiver.poll(), "grant 0/0, grant 0/1");
  for (int m : {0, 1}) receiver.arrive({0, m});
  receiver.run(2, 1);
  receiver.run(2, 0);

  const Two own({{0, 2, Of::all, 0}}, {{"", 1, 1, 2}});
  Rank other(own, 1);
  begin(other, 2);
  for (int m : {0, 1}) other.arrive({0, m});
  EXPECT_EQ(other.run(2, 1), "grant 0/0, grant 0/1, start 2/1");
  EXPECT_EQ(other.run(2, 0), "start 2/0");
}

TEST(Links, a_start_without_all_that_it_needs_is_a_breach) {
  Two two({{0, 3, Of::all}}, {});
  two.lanes[3].once = true;
  Rank receiver(two, 1);
  begin(receiver, 2);
  receiver.arrive({0, 0});
  receiver.arbiter.next = fake::start(3, 0);
  std::vector<Command> commands;
  const Status status = receiver.executor.poll(kNow, commands);
  EXPECT_EQ(status.code(), StatusCode::breach);
  EXPECT_NE(status.message().find("chose 1G0, which needs 0F1 from rank 0"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace ripeline::core
