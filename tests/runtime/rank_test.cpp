// Tests a rank without I/O: which messages of its peers it accepts, and what its tasks get.
#include "runtime/protocol/rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/runtime/toy_run.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime::protocol {
namespace {

using core::Status;
using core::StatusCode;
using core::Time;
using testing_support::bytes;
using testing_support::ProvedText;

constexpr Time kStart = std::chrono::seconds(1000);

// Rank 1 of a chain of three ranks, which gets F from rank 0 and B from rank 2.
class RankTest : public testing::Test {
 protected:
  RankTest() {
    for (std::size_t i = 0; i < proved_.facts().edges.size(); ++i) {
      const auto edge = static_cast<core::EdgeId>(i);
      const core::EdgeFacts& e = proved_.facts().edges[i];
      const auto rank = [&](core::LaneId lane) {
        return proved_.facts().lanes[static_cast<std::size_t>(lane)].rank;
      };
      edges_[{rank(e.producer), rank(e.consumer)}] = edge;
    }
    EXPECT_TRUE(rank_.begin_step(0, 4, kStart).ok());
  }
  // A delivery of `signal` for a message of step 0, on the edge from way.first to way.second.
  Delivery message(int from, std::pair<int, int> way, Signal signal) {
    message_of(signal)->message = {edges_.at(way), 0};
    return {
        .from = from, .envelope = {.signal = signal, .sent = kStart}, .payload = {}, .at = kStart};
  }

  ProvedText proved_{"bf", 3};
  simulate::InterpretedArbiter arbiter_{proved_.program(), proved_.facts(), 1};
  Rank rank_{arbiter_, {.ranks = 3}, 1, {}};
  std::map<std::pair<int, int>, core::EdgeId> edges_;  // by the two ranks of the edge
};

TEST_F(RankTest, of_a_group_needs_a_process_for_each_member) {
  constexpr core::LaneId kCollectives[] = {2};  // a lane of rank 1
  core::ProgramFacts facts = proved_.facts();
  facts.members = 2;
  facts.agree = core::Agree::vote;
  facts.collectives = kCollectives;
  const auto begins = [&](int of, int self, const core::Layout& layout) {
    simulate::InterpretedArbiter arbiter(proved_.program(), facts, of);
    Rank rank(arbiter, layout, self, {});
    return rank.begin_step(0, 4, kStart).message();
  };
  const core::Layout members{.ranks = 3, .members = 2};
  EXPECT_EQ(begins(1, 3, members), "");
  EXPECT_EQ(begins(1, 1, {.ranks = 3}),
            "the run is laid out as 3 ranks, this process as rank 1; program 'bf' needs 3 ranks of "
            "2 members each, and the arbiter is of rank 1");
  EXPECT_EQ(
      begins(1, 1, members),
      "the run is laid out as 3 ranks of 2 members each, this process as process 1 (rank 0, "
      "member 1); program 'bf' needs 3 ranks of 2 members each, and the arbiter is of rank 1");
}

TEST_F(RankTest, believes_a_message_of_the_rank_at_the_other_end_of_its_edge_alone) {
  for (const Signal& signal : {Signal(signals::Data{}), Signal(signals::Announce{})}) {
    for (const int from : {-1, 1, 2, 3}) {
      const Status status = rank_.delivered(message(from, {0, 1}, signal), kStart);
      EXPECT_EQ(status.code(), StatusCode::invalid);
      EXPECT_EQ(status.message(), "rank " + std::to_string(from) + " sent a message of edge " +
                                      std::to_string(edges_.at({0, 1})) +
                                      ", which leads from rank 0 to rank 1");
    }
  }
  EXPECT_TRUE(rank_.delivered(message(0, {0, 1}, signals::Data{}), kStart).ok())
      << "what was refused has changed nothing";
}

TEST_F(RankTest, believes_a_grant_of_the_consumer_and_a_notice_of_either) {
  for (const int from : {-1, 0, 1}) {
    EXPECT_FALSE(rank_.delivered(message(from, {1, 2}, signals::Grant{}), kStart).ok()) << from;
  }
  EXPECT_TRUE(rank_.delivered(message(2, {0, 1}, signals::Notice{}), kStart).ok())
      << "it may be of a program whose turn is over: it is dropped";
  for (const auto& [from, way] : {std::pair{0, std::pair{0, 1}}, {0, std::pair{1, 0}}}) {
    Delivery notice = message(from, way, signals::Notice{});
    message_of(notice.envelope.signal)->step = 7;  // useless to the receiver, but harmless
    EXPECT_TRUE(rank_.delivered(std::move(notice), kStart).ok());
  }
}

TEST_F(RankTest, refuses_another_number_of_microbatches_in_its_step) {
  const auto delivery = [](int from, std::int64_t step, int microbatches) {
    const signals::Begun begun{.step = step, .microbatches = microbatches};
    return Delivery{.from = from, .envelope = {.signal = begun}, .payload = {}, .at = kStart};
  };
  Actions actions;
  ASSERT_TRUE(rank_.poll(kStart, actions).ok());
  ASSERT_EQ(actions.sends.size(), 2U) << "it tells both of its own";
  for (const Outgoing& out : actions.sends) {
    EXPECT_EQ(std::get<signals::Begun>(out.envelope.signal).microbatches, 4);
  }
  EXPECT_TRUE(rank_.delivered(delivery(0, 0, 4), kStart).ok());
  const Status present = rank_.delivered(delivery(2, 0, 5), kStart);
  EXPECT_EQ(present.code(), StatusCode::refused);
  EXPECT_EQ(present.message(),
            "the ranks have different numbers of microbatches in step 0: rank 2 has 5, rank 1 has "
            "4");
  // The microbatch count for a later step is checked when that step begins on this rank.
  EXPECT_TRUE(rank_.delivered(delivery(0, 1, 3), kStart).ok());
  EXPECT_TRUE(rank_.begin_step(1, 4, kStart).ok());
  EXPECT_EQ(rank_.poll(kStart, actions).message(),
            "the ranks have different numbers of microbatches in step 1: rank 0 has 3, rank 1 has "
            "4");
}

TEST_F(RankTest, refuses_edges_that_there_are_not) {
  for (const Signal& signal :
       {Signal(signals::Data{}), Signal(signals::Announce{}), Signal(signals::Grant{})}) {
    for (const core::EdgeId edge :
         {-1, static_cast<core::EdgeId>(proved_.facts().edges.size()),
          std::numeric_limits<core::EdgeId>::max(), std::numeric_limits<core::EdgeId>::min()}) {
      Delivery wrong = message(0, {0, 1}, signal);
      message_of(wrong.envelope.signal)->message.edge = edge;
      const Status status = rank_.delivered(std::move(wrong), kStart);
      EXPECT_EQ(status.code(), StatusCode::invalid);
      EXPECT_EQ(status.message(),
                "rank 0 sent a message of edge " + std::to_string(edge) + ", which there is not");
    }
  }
}

// Each edge has an output of its own; each input is passed to one task only.
TEST_F(RankTest, gives_a_task_its_inputs_and_sends_what_it_gives) {
  Delivery input = message(0, {0, 1}, signals::Data{});
  input.payload = payload_of(bytes("from 0F0"));
  ASSERT_TRUE(rank_.delivered(std::move(input), kStart).ok());
  Actions actions;
  ASSERT_TRUE(rank_.poll(kStart, actions).ok());
  ASSERT_EQ(actions.starts.size(), 1U);
  for (const Outgoing& out : actions.sends) EXPECT_TRUE(out.envelope.is<signals::Begun>());
  Call call = std::move(actions.starts[0].call);
  EXPECT_EQ(call.task.op, "F");
  EXPECT_EQ(call.task.stage, 1);
  EXPECT_EQ(call.task.microbatches, 4);
  EXPECT_EQ(call.task.start, kStart);
  ASSERT_EQ(call.inputs.size(), 1U);
  EXPECT_EQ(call.inputs[0].op, "F");
  EXPECT_EQ(call.inputs[0].stage, 0);
  EXPECT_EQ(call.inputs[0].payload.head, bytes("from 0F0"));
  ASSERT_EQ(call.outputs.size(), 1U);
  EXPECT_EQ(call.outputs[0].op, "F");
  EXPECT_EQ(call.outputs[0].stage, 2);
  EXPECT_EQ(call.outputs[0].edge, edges_.at({1, 2}));
  EXPECT_EQ(rank_.running().size(), 1U);
  EXPECT_FALSE(rank_.step_done());

  call.give(payload_of(bytes("from 1F0")));
  Ended ended{.call = std::move(call), .begin = kStart, .end = kStart + std::chrono::seconds(1)};
  ASSERT_TRUE(rank_.ended(std::move(ended), kStart + std::chrono::seconds(1)).ok());
  EXPECT_TRUE(rank_.running().empty());
  actions = {};
  rank_.poll_sends(kStart, actions);
  ASSERT_EQ(actions.sends.size(), 1U);
  EXPECT_EQ(actions.sends[0].to, 2);
  EXPECT_EQ(actions.sends[0].envelope.signal, Signal(signals::Data{{0, {edges_.at({1, 2}), 0}}}));
  EXPECT_EQ(actions.sends[0].payload.head, bytes("from 1F0"));
  actions = {};
  ASSERT_TRUE(rank_.poll(kStart, actions).ok());
  EXPECT_TRUE(actions.sends.empty()) << "it is sent once";
  EXPECT_EQ(rank_.report().tasks, 1);
  EXPECT_EQ(rank_.report().busy, std::chrono::seconds(1));
}

TEST_F(RankTest, names_a_task_that_failed) {
  ASSERT_TRUE(rank_.delivered(message(0, {0, 1}, signals::Data{}), kStart).ok());
  Actions actions;
  ASSERT_TRUE(rank_.poll(kStart, actions).ok());
  Ended ended{.call = std::move(actions.starts.at(0).call),
              .status = {StatusCode::failed, "the disk is full"}};
  const Status status = rank_.ended(std::move(ended), kStart);
  EXPECT_EQ(status.code(), StatusCode::failed);
  EXPECT_EQ(status.message(), "1F0 failed: the disk is full");
}

}  // namespace
}  // namespace ripeline::runtime::protocol
