// Tests each part of a rank alone: mailbox, peers, messages that are delayed, times of a step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/protocol/held_deliveries.h"
#include "runtime/protocol/mailbox.h"
#include "runtime/protocol/rank_peers.h"
#include "runtime/protocol/step_times.h"
#include "tests/runtime/toy_run.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime::protocol {
namespace {

using core::Time;
using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::bytes;
using testing_support::ProvedText;
using namespace std::chrono_literals;

// The edge of the forward from stage 0 to stage 1, in a chain with one stage on each rank.
core::EdgeId forward_edge(const core::ProgramFacts& facts) {
  for (std::size_t i = 0; i < facts.edges.size(); ++i) {
    const auto edge = static_cast<core::EdgeId>(i);
    const core::LaneId to = facts.edges[i].consumer;
    if (facts.crosses_ranks(edge) && facts.lanes[static_cast<std::size_t>(to)].stage == 1) {
      return edge;
    }
  }
  ADD_FAILURE() << "there is none";
  return -1;
}

class MailboxTest : public testing::Test {
 protected:
  MailboxTest() { mailbox_.begin_step(0, 2); }

  ProvedText proved_{"bf", 2};
  const core::ProgramFacts& facts_ = proved_.facts();
  core::EdgeId edge_ = forward_edge(facts_);
  core::LaneId producer_ = facts_.edges[static_cast<std::size_t>(edge_)].producer;
  core::LaneId consumer_ = facts_.edges[static_cast<std::size_t>(edge_)].consumer;
  Mailbox mailbox_{facts_};
};

TEST_F(MailboxTest, keeps_what_comes_early_for_its_step) {
  mailbox_.put(1, {edge_, 0}, payload_of(bytes("later")));
  mailbox_.put(0, {edge_, 1}, payload_of(bytes("other")));
  mailbox_.put(0, {edge_, 0}, payload_of(bytes("now")));
  Call call = mailbox_.call_of({consumer_, 0}, 7s);
  ASSERT_EQ(call.inputs.size(), 1U);
  EXPECT_EQ(call.inputs[0].payload.head, bytes("now"));
  EXPECT_EQ(call.task.start, Time(7s));
  mailbox_.put_outputs(std::move(call));
  mailbox_.begin_step(1, 2);
  call = mailbox_.call_of({consumer_, 0}, 8s);
  ASSERT_EQ(call.inputs.size(), 1U) << "nothing of a call before";
  EXPECT_EQ(call.inputs[0].payload.head, bytes("later"));
  EXPECT_EQ(call.task.step, 1);
}

TEST_F(MailboxTest, gives_the_output_of_a_task_once) {
  Call call = mailbox_.call_of({producer_, 1}, 7s);
  ASSERT_EQ(call.outputs.size(), 1U);
  EXPECT_EQ(call.outputs[0].edge, edge_);
  EXPECT_EQ(call.outputs[0].stage, 1);
  call.give(payload_of(bytes("made")));
  mailbox_.put_outputs(std::move(call));
  EXPECT_THAT(mailbox_.take({edge_, 0}).head, IsEmpty()) << "of another microbatch";
  EXPECT_EQ(mailbox_.take({edge_, 1}).head, bytes("made"));
  EXPECT_THAT(mailbox_.take({edge_, 1}).head, IsEmpty());
}

// In a chain of three ranks, rank 1 sends to both other ranks.
TEST(RankPeers, know_who_has_not_begun_a_step) {
  const ProvedText proved("bf", 3);
  RankPeers peers(proved.facts(), {.ranks = 3}, 1);
  EXPECT_THAT(peers.senders(), ElementsAre(0, 2));
  peers.begin_step(4, 8);
  EXPECT_TRUE(peers.have_begun(3)) << "the run begins with step 4";
  EXPECT_THAT(peers.behind(4), ElementsAre(0, 2));
  EXPECT_TRUE(peers.accept_begun(2, {.step = 4, .microbatches = 8}).ok());
  EXPECT_THAT(peers.behind(4), ElementsAre(0));
  EXPECT_TRUE(peers.accept_begun(0, {.step = 5, .microbatches = 3}).ok());
  EXPECT_TRUE(peers.have_begun(4));
  EXPECT_TRUE(peers.check_counts().ok());
  peers.begin_step(5, 8);
  EXPECT_EQ(peers.check_counts().message(),
            "the ranks have different numbers of microbatches in step 5: rank 0 has 3, rank 1 has "
            "8");
  EXPECT_EQ(peers.accept_begun(1, {.step = 5, .microbatches = 8}).code(),
            core::StatusCode::invalid);
}

TEST(HeldDeliveries, are_taken_in_the_order_in_which_they_are_due) {
  HeldDeliveries held;
  EXPECT_EQ(held.next(), Time::max());
  const DueTime due = [](const signals::OfMessage& of, Time sent) {
    return sent + of.message.microbatch * 1s;
  };
  const auto hold = [&](int microbatch, Time sent, Time now) {
    const signals::Data data{{0, {0, microbatch}}};
    held.hold(due,
              {.from = 0, .envelope = {.signal = data, .sent = sent}, .payload = {}, .at = now},
              now);
  };
  hold(3, 10s, 11s);
  hold(1, 20s, 11s);  // by its sender's clock, it is sent in the future
  hold(0, 11s, 11s);
  EXPECT_EQ(held.next(), Time(11s));
  const auto first = held.take(11s);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(message_of(first->envelope.signal)->message.microbatch, 0);
  EXPECT_FALSE(held.take(11s).has_value());
  EXPECT_EQ(held.next(), Time(12s));
  const auto second = held.take(20s);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(message_of(second->envelope.signal)->message.microbatch, 1);
  EXPECT_EQ(second->at, Time(12s)) << "as if it came when it was due";
  EXPECT_TRUE(held.take(20s).has_value());
  EXPECT_FALSE(held.take(20s).has_value());
}

TEST(StepTimes, average_the_tasks_of_a_step_by_lane) {
  const ProvedText proved("bf", 2);
  StepTimes times;
  EXPECT_FALSE(times.averages(proved.facts()).has_value()) << "no step has begun";
  times.begin_step(proved.facts(), 100s);
  times.task_ended(1, 2s);
  times.task_ended(1, 4s);
  times.task_ended(0, 5s);
  times.step_done(120s);
  EXPECT_EQ(times.report().tasks, 3);
  EXPECT_EQ(times.report().busy, 11s);
  EXPECT_EQ(times.report().duration, 20s);
  const auto costs = times.averages(proved.facts());
  ASSERT_TRUE(costs.has_value());
  EXPECT_THAT(costs->tasks, ElementsAre(Time(5s), Time(3s), Time(0), Time(0)));
  times.begin_step(proved.facts(), 120s);
  EXPECT_EQ(times.report().tasks, 0);
  EXPECT_EQ(times.averages(proved.facts())->tasks[1], Time(0));
}

}  // namespace
}  // namespace ripeline::runtime::protocol
