// Tests that a rank which needs nothing from the next rank can be any number of steps ahead: its
// messages are stored, each only once, until their step begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/run.h"
#include "simulate/interpreter.h"
#include "tests/runtime/toy_run.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::ProvedText;
using namespace std::chrono_literals;

const char* const kForwards = R"(
pipeline forwards {
  param ranks = 2;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward sequential { needs F at prev; }
  dispatch ready;
}
)";

using Told = std::tuple<std::int64_t, int, std::byte>;  // step, microbatch, payload

// A work that records its inputs.
class Keeping final : public Work {
 public:
  Status begin_step(std::int64_t, int) override { return {}; }
  Status run(Call& call) override {
    for (const Input& input : call.inputs)
      given.emplace_back(call.task.step, call.task.microbatch, input.payload.head.at(0));
    return {};
  }
  std::vector<Told> given;
};

// Counts the messages that have arrived for each step.
class Counting final : public protocol::RankObserver {
 public:
  void arrived(const signals::Data& data, core::Time, core::Time) override {
    ++arrived_of.at(static_cast<std::size_t>(data.step));
  }
  void started(core::Task, core::Time) override {}
  void finished(core::Task, core::Time) override {}
  void polled(core::Time, const core::Executor&, std::span<const core::Command>) override {}

  std::vector<int> arrived_of = {0, 0};
};

class EarlyMessages : public testing::Test {
 protected:
  Delivery data(std::int64_t step, int microbatch, int payload) const {
    return {.from = 0,
            .envelope = {.signal = signals::Data{{step, {edge_, microbatch}}}},
            .payload = payload_of({static_cast<std::byte>(payload)})};
  }
  // Counts for each step the messages that have arrived.
  Status run(std::vector<Delivery> sent, int steps) {
    testing_support::ScriptedTransport transport(1, 2, std::move(sent));
    simulate::InterpretedArbiter arbiter(proved_.program(), proved_.facts(), 1);
    runtime::Run whole(transport, {.limits = {.stall = 20s, .answers = 50ms}});
    InlineEngine engine(work_);
    protocol::Rank rank(arbiter, whole.layout(), whole.self(), {.observer = &observer_});
    Status status;
    for (int step = 0; step < steps && status.ok(); ++step) {
      status = whole.step(rank, engine, step, 2);
      seen_after_.push_back(observer_.arrived_of);
    }
    return status;
  }

  ProvedText proved_{kForwards, 2};
  core::EdgeId edge_ = 0;  // the program's only edge
  Keeping work_;
  Counting observer_;
  std::vector<std::vector<int>> seen_after_;  // after each step: arrivals by step
};

TEST_F(EarlyMessages, of_the_next_step_are_kept_once_and_given_once) {
  const Status status = run({data(1, 1, 11), data(0, 1, 1), data(1, 0, 10), data(0, 0, 0)}, 2);
  EXPECT_EQ(status.message(), "");
  std::vector<Told> wanted;
  for (const int step : {0, 1}) {
    for (const int m : {0, 1}) wanted.emplace_back(step, m, static_cast<std::byte>(10 * step + m));
  }
  EXPECT_EQ(work_.given, wanted);
  for (const std::vector<int>& seen : seen_after_) {
    EXPECT_THAT(seen, ElementsAre(2, 2)) << "each is told of once, when it comes";
  }
}

TEST_F(EarlyMessages, that_do_not_fit_are_refused_when_they_come) {
  const auto expect_refused = [&](Delivery wrong, const std::string& why) {
    SCOPED_TRACE(why);
    const Status status = run({data(0, 0, 0), data(1, 0, 10), data(0, 1, 1), std::move(wrong)}, 1);
    EXPECT_EQ(status.code(), StatusCode::invalid);
    EXPECT_THAT(status.message(), testing::StartsWith("rank 0 failed: ")) << "it has sent it";
    EXPECT_THAT(status.message(), HasSubstr(why));
  };
  expect_refused(data(1, 0, 10), "rank 1, step 0: 0F0 has arrived twice for step 1");
  expect_refused(data(2, 0, 20), "it sent rank 1 a message of step 2 while rank 1 is in step 0");
  expect_refused(data(1, -1, 10), "a message of microbatch -1 has arrived");
  expect_refused(data(-1, 0, 30), "0F0 at 1F0 has arrived for step -1");
  Delivery elsewhere = data(1, 0, 10);
  elsewhere.envelope.signal = signals::Data{{1, {7, 0}}};
  expect_refused(std::move(elsewhere), "it sent rank 1 a message of edge 7, which there is not");
  Delivery grant = data(1, 0, 10);
  grant.envelope.signal = signals::Grant{{1, {edge_, 0}}};
  expect_refused(std::move(grant),
                 "it sent rank 1 a message of edge 0, which leads from rank 0 to rank 1");
}

// A wrong microbatch is noticed when its step begins, since the step's size is known only then.
TEST_F(EarlyMessages, of_no_task_are_refused_when_their_step_begins) {
  std::vector<Delivery> sent = {data(0, 0, 0), data(0, 1, 1), data(1, 5, 15)};
  EXPECT_EQ(run(sent, 1).message(), "");
  const Status status = run(std::move(sent), 2);
  EXPECT_EQ(status.code(), StatusCode::invalid);
  EXPECT_THAT(status.message(), HasSubstr("rank 1, step 0: a message of microbatch 5 has arrived "
                                          "for step 1, which has 2, and no task needs it"));
}

}  // namespace
}  // namespace ripeline::runtime
