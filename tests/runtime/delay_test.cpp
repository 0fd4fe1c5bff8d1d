#include "runtime/protocol/delay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <optional>

#include "tests/runtime/toy_run.h"

namespace ripeline::runtime::protocol {
namespace {

using core::Status;
using core::StatusCode;
using core::Time;
using testing_support::ProvedText;
using testing_support::ToyRun;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

DelayPlan plan(std::string_view spec, std::uint64_t seed = 1) {
  DelayPlan result;
  const Status status = DelayPlan::parse(spec, seed, result);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

TEST(Delay, refuses_a_wrong_plan_with_what_it_wants) {
  const std::string any = "compute=OP:MS, jitter=P, message=MS, rare=PERCENT:MS, seed=N or fifo";
  const std::string compute = "compute=OP:MS, as in compute=F:4";
  const std::string jitter = "jitter=P with P from 0 to 1";
  const std::string message = "message=MS, as in message=0.5";
  const std::string rare = "rare=PERCENT:MS, as in rare=2:80";
  const struct {
    const char* spec;
    const char* part;
    std::string wanted;
  } kTable[] = {
      {"slow", "slow", any},
      {"fifo=1", "fifo=1", any},
      {",fifo", "", any},
      {"Compute=F:4", "Compute=F:4", any},
      {"compute", "compute", compute},
      {"compute=F", "compute=F", compute},
      {"compute=:4", "compute=:4", compute},
      {"compute=F:", "compute=F:", compute},
      {"compute=F:x", "compute=F:x", compute},
      {"compute=F:4ms", "compute=F:4ms", compute},
      {"compute=F:-1", "compute=F:-1", compute},
      {"compute=F:nan", "compute=F:nan", compute},
      {"compute=F:4,compute=B:1e99", "compute=B:1e99", compute},
      {"compute=F:4:5", "compute=F:4:5", compute},
      {"jitter=1.5", "jitter=1.5", jitter},
      {"jitter=", "jitter=", jitter},
      {"message=inf", "message=inf", message},
      {"message=1 ", "message=1 ", message},
      {"rare=5", "rare=5", rare},
      {"rare=101:5", "rare=101:5", rare},
      {"rare=5:", "rare=5:", rare},
      {"seed=", "seed=", "seed=N, a whole number from 0"},
      {"seed=-1", "seed=-1", "seed=N, a whole number from 0"},
  };
  for (const auto& row : kTable) {
    DelayPlan kept = plan("message=7");
    const Status status = DelayPlan::parse(row.spec, 1, kept);
    EXPECT_EQ(status.code(), StatusCode::invalid);
    EXPECT_EQ(status.message(), "delay '" + std::string(row.part) + "': expected " + row.wanted);
    EXPECT_FALSE(kept.empty()) << "the plan is as before";
  }
}

TEST(Delay, has_the_seed_of_its_text_or_the_callers) {
  EXPECT_EQ(plan("fifo").seed(), 1U);
  EXPECT_EQ(plan("seed=18446744073709551615,fifo").seed(), 18446744073709551615U);
}

class DelayPlanTest : public testing::Test {
 protected:
  [[nodiscard]] const core::ProgramFacts& facts() const { return proved_.facts(); }
  Time compute(const DelayPlan& p, core::LaneId lane, int m, std::int64_t step = 0) {
    return p.compute(facts(), step, {lane, m});
  }
  ProvedText proved_{"bf", 2};  // lanes: 0F 0B 1F 1B
};

TEST_F(DelayPlanTest, gives_nothing_unless_asked) {
  EXPECT_TRUE(plan("").empty());
  EXPECT_TRUE(plan("fifo,jitter=0.5").empty());
  EXPECT_EQ(compute(plan("compute=B:4"), 0, 0), 0ns);
  EXPECT_EQ(plan("compute=B:4").message(facts(), 0, {1, 0}), 0ns);
}

TEST_F(DelayPlanTest, refuses_an_op_that_no_program_has) {
  EXPECT_TRUE(plan("compute=F:4,compute=B:8").check_ops({&facts()}).ok());
  EXPECT_TRUE(plan("").check_ops({&facts()}).ok());
  const Status status = plan("compute=F:4,compute=Q:4").check_ops({&facts()});
  EXPECT_EQ(status.code(), StatusCode::invalid);
  EXPECT_EQ(status.message(), "delay 'compute=Q': no op is called 'Q'; ops here: F, B");
}

TEST_F(DelayPlanTest, is_a_function_of_seed_and_subject) {
  EXPECT_EQ(compute(plan("compute=F:4,compute=B:8.5"), 0, 3), 4ms);
  EXPECT_EQ(compute(plan("compute=F:4,compute=B:8.5"), 3, 3), 8500us);
  const DelayPlan a = plan("compute=F:4,jitter=0.5", 5);
  EXPECT_EQ(compute(a, 0, 3), compute(plan("compute=F:4,jitter=0.5", 5), 0, 3));
  EXPECT_NE(compute(a, 0, 3), compute(plan("compute=F:4,jitter=0.5", 6), 0, 3));
  EXPECT_NE(compute(a, 0, 3), compute(a, 2, 3));
  EXPECT_NE(compute(a, 0, 3), compute(a, 0, 4));
  EXPECT_NE(compute(a, 0, 3), compute(a, 0, 3, 1));
}

TEST_F(DelayPlanTest, scatters_evenly_within_the_jitter) {
  const DelayPlan p = plan("compute=F:10,jitter=0.5", 11);
  Time sum{0};
  for (int m = 0; m < 1000; ++m) {
    const Time t = compute(p, 0, m);
    EXPECT_GE(t, 5ms);
    EXPECT_LE(t, 15ms);
    sum += t;
  }
  EXPECT_NEAR(static_cast<double>(sum.count()) / 1e9, 10, 0.4);
}

TEST_F(DelayPlanTest, delays_that_share_of_the_messages) {
  const DelayPlan p = plan("message=1,rare=10:80", 12);
  int rare = 0;
  for (int m = 0; m < 2000; ++m) {
    const Time t = p.message(facts(), 0, {1, m});
    EXPECT_TRUE(t == 1ms || t == 81ms);
    rare += t == 81ms ? 1 : 0;
  }
  EXPECT_NEAR(rare, 200, 60);
}

// Rank 0 of two, on a clock that the test sets; records in order the messages that it has seen.
class DelayedRankTest : public DelayPlanTest, private RankObserver {
 protected:
  void begin(const std::string& spec) {
    rank_.emplace(arbiter_, core::Layout{.ranks = 2}, 0,
                  RankOptions{.due = due_of(plan(spec, 3), facts()), .observer = this});
    ASSERT_TRUE(rank_->begin_step(0, kMicrobatches, kStart).ok());
  }
  static Delivery data(int microbatch, core::EdgeId edge = kEdge, int from = 1) {
    return {.from = from,
            .envelope = {.signal = signals::Data{{0, {edge, microbatch}}}, .sent = kStart},
            .payload = {},
            .at = kStart};
  }
  Time poll(Time now) {
    Actions actions;
    const Status status = rank_->poll(now, actions);
    EXPECT_TRUE(status.ok()) << status.message();
    return actions.until;
  }
  // The order in which microbatches are delivered if one in the middle is late.
  std::vector<int> order(const std::string& spec) {
    const DelayPlan late = plan(spec, 3);
    int first_late = 0;
    while (late.message(facts(), 0, {kEdge, first_late}) == 0ns) ++first_late;
    begin(spec);
    for (const int m : {first_late, first_late + 1}) {
      EXPECT_EQ(late.message(facts(), 0, {kEdge, m}) > 0ns, m == first_late)
          << "another seed, please";
      EXPECT_TRUE(rank_->delivered(data(m), kStart).ok());
    }
    EXPECT_EQ(poll(kStart), kStart + 60ms);
    EXPECT_LT(seen_.size(), 2U) << "the late one came too early";
    EXPECT_EQ(poll(kStart + 60ms - 1ns), kStart + 60ms);
    EXPECT_LT(seen_.size(), 2U) << "the late one came too early";
    EXPECT_EQ(poll(kStart + 60ms), Time::max());
    std::vector<int> result;
    for (const core::Message& message : seen_) result.push_back(message.microbatch - first_late);
    return result;
  }

  static constexpr core::EdgeId kEdge = 1;
  static constexpr int kMicrobatches = 100;
  static constexpr Time kStart = 1000s;
  simulate::InterpretedArbiter arbiter_{proved_.program(), facts(), 0};
  std::optional<Rank> rank_;
  std::vector<core::Message> seen_;

 private:
  void arrived(const signals::Data& data, Time, Time) override { seen_.push_back(data.message); }
  void started(core::Task, Time) override {}
  void finished(core::Task, Time) override {}
  void polled(Time, const core::Executor&, std::span<const core::Command>) override {}
};

TEST_F(DelayedRankTest, lets_messages_overtake) {
  EXPECT_EQ(order("rare=10:60"), (std::vector{1, 0}));
}

TEST_F(DelayedRankTest, keeps_their_order_with_fifo) {
  EXPECT_EQ(order("rare=10:60,fifo"), (std::vector{0, 1}));
}

// The first poll is so late that both messages are due; the second message has only just arrived.
TEST_F(DelayedRankTest, keeps_their_order_when_nobody_looks_in_time) {
  for (const char* spec : {"message=5,fifo", "message=5"}) {
    seen_.clear();
    begin(spec);
    Delivery second = data(1);
    second.envelope.sent += 1ms;
    EXPECT_TRUE(rank_->delivered(data(0), kStart).ok());
    EXPECT_TRUE(rank_->delivered(std::move(second), kStart + 50ms).ok());
    poll(kStart + 50ms);
    EXPECT_EQ(seen_, (std::vector<core::Message>{{kEdge, 0}, {kEdge, 1}})) << spec;
  }
}

TEST_F(DelayedRankTest, says_when_it_wants_to_look_again) {
  begin("message=100000");
  EXPECT_TRUE(rank_->delivered(data(0), kStart).ok());
  EXPECT_EQ(poll(kStart + 30ms), kStart + 100s);
  EXPECT_TRUE(seen_.empty());
}

// The edge is checked before the delay is computed, since the delay depends on the edge.
TEST_F(DelayedRankTest, refuses_messages_of_edges_that_there_are_not) {
  for (const core::EdgeId edge : {-1, 4, 1'000'000, std::numeric_limits<core::EdgeId>::min()}) {
    begin("message=5,rare=10:60,fifo");
    const Status status = rank_->delivered(data(0, edge), kStart);
    EXPECT_EQ(status.code(), StatusCode::invalid);
    EXPECT_EQ(status.message(),
              "rank 1 sent a message of edge " + std::to_string(edge) + ", which there is not");
  }
  begin("message=5");
  EXPECT_FALSE(rank_->delivered(data(0, kEdge, 0), kStart).ok()) << "it is not from itself";
}

// A peer may send any microbatch number. For a wrong number no delay is computed.
TEST_F(DelayedRankTest, refuses_messages_of_microbatches_that_there_are_not) {
  for (const int microbatch : {-1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max(),
                               std::numeric_limits<int>::max() / 2}) {
    begin("message=5,rare=10:60,fifo");
    poll(kStart);
    EXPECT_EQ(rank_->delivered(data(microbatch), kStart).code(), StatusCode::invalid) << microbatch;
  }
}

TEST_F(DelayedRankTest, does_not_believe_that_a_message_was_sent_later_than_now) {
  begin("message=5");
  Delivery late = data(0);
  late.envelope.sent = Time::max();
  EXPECT_TRUE(rank_->delivered(std::move(late), kStart).ok());
  EXPECT_EQ(poll(kStart), kStart + 5ms);
}

TEST_F(DelayPlanTest, delays_a_whole_run_that_ends_well) {
  for (const char* spec : {"message=2,rare=20:8", "message=2,rare=20:8,fifo"}) {
    for (const bool in_engine_thread : {false, true}) {
      const DelayPlan late = plan(spec, 4);
      ToyRun run(proved_, {});
      run.in_engine_thread = in_engine_thread;
      for (const int r : {0, 1}) run.rank(r).options.due = due_of(late, facts());
      const Clock::time_point start = Clock::now();
      run.run(2, 4);
      EXPECT_GE(Clock::now() - start, 8ms);
      for (const int r : {0, 1}) {
        EXPECT_TRUE(run.rank(r).status.ok()) << run.rank(r).status.message();
      }
    }
  }
}

}  // namespace
}  // namespace ripeline::runtime::protocol
