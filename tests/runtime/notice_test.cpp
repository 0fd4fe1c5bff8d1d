// Tests notices between ranks: as bytes, as an arbiter receives them, and what a rank reports to
// its arbiter about costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <limits>
#include <thread>

#include "runtime/network/local.h"
#include "runtime/protocol/notice_codec.h"
#include "runtime/run.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/toy_run.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime::protocol {
namespace {

using core::Notice;
using core::Time;
using testing::HasSubstr;
using testing_support::ProvedText;
using namespace std::chrono_literals;

TEST(NoticeCodec, gives_back_what_was_said) {
  const Notice kSaid[] = {
      {.kind = Notice::Kind::expected,
       .message = {3, 7},
       .in = Time{1'234'567'890'123},
       .count = 0},
      {.kind = Notice::Kind::withdrawn, .message = {0, 0}, .in = Time{0}, .count = 0},
      {.kind = Notice::Kind::taken, .message = {5, -1}, .in = Time{0}, .count = 41},
      {.kind = Notice::Kind::taken,
       .message = {5, -1},
       .in = Time::min(),
       .count = std::numeric_limits<std::int32_t>::min()},
  };
  for (const Notice& said : kSaid) {
    const Payload payload = encode_notice(said);
    EXPECT_EQ(payload.size(), 16U);
    Notice heard;
    EXPECT_EQ(decode_notice(said.message, payload, heard).message(), "");
    EXPECT_EQ(heard, said);
  }
}

TEST(NoticeCodec, refuses_what_is_none) {
  Payload payload = encode_notice({});
  payload.head.pop_back();
  Notice heard;
  EXPECT_THAT(decode_notice({}, payload, heard).message(), HasSubstr("a notice of 15 bytes"));
  payload = encode_notice({});
  payload.head[0] = std::byte{3};
  EXPECT_THAT(decode_notice({}, payload, heard).message(), HasSubstr("kind 3, which there is not"));
  Blob bytes = encode_notice({}).head;
  payload = {};
  payload.parts.push_back({.data = bytes.data(), .size = bytes.size()});
  EXPECT_FALSE(decode_notice({}, payload, heard).ok()) << "it is all head";
}

// An arbiter that records what the rank reports to it.
class Listening final : public core::Arbiter {
 public:
  struct Heard {
    Notice notice;
    Time now;
  };
  explicit Listening(core::Arbiter& inner) : inner_(inner) {}
  const core::ProgramFacts& facts() const override { return inner_.facts(); }
  int rank() const override { return inner_.rank(); }
  core::Status begin_step(std::int64_t step, int microbatches) override {
    return inner_.begin_step(step, microbatches);
  }
  void on_finished(core::Task task, Time now) override { inner_.on_finished(task, now); }
  void on_arrived(core::Message m, Time now) override {
    arrivals.emplace_back(m, now);
    inner_.on_arrived(m, now);
  }
  void ready(core::Engine engine, core::TaskSet& out) const override { inner_.ready(engine, out); }
  core::Choice choose(core::Engine engine, const core::TaskSet* allowed, Time now) const override {
    return inner_.choose(engine, allowed, now);
  }
  void expect(const core::Costs& costs) override { expected.push_back(costs); }
  void on_notice(const Notice& notice, Time now) override { heard.push_back({notice, now}); }
  void take_notices(Time /*now*/, std::vector<Notice>& out) override {
    out.insert(out.end(), to_say.begin(), to_say.end());
    to_say.clear();
  }
  void started(core::Task task, Time now) override { inner_.started(task, now); }

  std::vector<core::Costs> expected;
  std::vector<Heard> heard;
  std::vector<std::pair<core::Message, Time>> arrivals;
  std::vector<Notice> to_say;

 private:
  core::Arbiter& inner_;
};

// Two ranks of the schedule bf, which run one step of the toy model.
struct TwoRanks {
  TwoRanks() {
    for (int r = 0; r < 2; ++r) {
      tables.push_back(
          std::make_unique<simulate::InterpretedArbiter>(proved.program(), proved.facts(), r));
      arbiters.push_back(std::make_unique<Listening>(*tables.back()));
    }
    // The two edges of bf that cross ranks are a forward to rank 1 and a backward to rank 0.
    for (core::EdgeId edge = 0; edge < static_cast<core::EdgeId>(proved.facts().edges.size());
         ++edge) {
      if (!proved.facts().crosses_ranks(edge)) continue;
      const core::LaneId to = proved.facts().edges[static_cast<std::size_t>(edge)].consumer;
      edge_to[static_cast<std::size_t>(proved.facts().lanes[static_cast<std::size_t>(to)].rank)] =
          edge;
    }
  }

  void run(std::vector<std::unique_ptr<Transport>> group, int steps = 1) {
    testing_support::in_threads(2, [&](int r) {
      const auto at = static_cast<std::size_t>(r);
      ToyWork work({.stages = 2});
      testing_support::TellingTransport transport(*group[at], [&](int, const Envelope& envelope) {
        if (sent) sent(envelope);
      });
      Run whole(transport, {.limits = {.stall = 20s}});
      InlineEngine engine(work, before_task);
      RankOptions of_rank = options;
      of_rank.trace = &records[at];
      Rank rank(*arbiters[at], whole.layout(), whole.self(), of_rank);
      for (int step = 0; step < steps && status[at].ok(); ++step) {
        status[at] = whole.step(rank, engine, step, 3);
      }
      if (status[at].ok()) status[at] = whole.finish(20s);
      group[at].reset();
    });
    for (const core::Status& s : status) EXPECT_EQ(s.message(), "");
  }

  ProvedText proved{"bf", 2};
  std::vector<std::unique_ptr<simulate::InterpretedArbiter>> tables;
  std::vector<std::unique_ptr<Listening>> arbiters;
  std::array<core::EdgeId, 2> edge_to{};
  std::array<core::Status, 2> status;
  std::array<trace::Record, 2> records;
  RankOptions options;
  BeforeTask before_task;                     // runs for both ranks, in their threads
  std::function<void(const Envelope&)> sent;  // called for both ranks, in their threads
};

TEST(StepNotices, go_to_whom_they_concern) {
  const testing_support::TemporaryFolder folder;
  for (const bool sockets : {false, true}) {
    SCOPED_TRACE(sockets ? "sockets" : "local");
    TwoRanks two;
    const Notice expected{.message = {two.edge_to[1], 2}, .in = 5ms};
    const Notice taken{
        .kind = Notice::Kind::taken, .message = {two.edge_to[1], -1}, .in = Time{0}, .count = 3};
    two.arbiters[0]->to_say = {expected};
    two.arbiters[1]->to_say = {taken};
    const Time before = RankClock::host();
    two.run(sockets ? testing_support::connect_group(2, folder.path())
                    : network::make_local_group(2));
    ASSERT_EQ(two.arbiters[1]->heard.size(), 1U);
    EXPECT_EQ(two.arbiters[1]->heard[0].notice, expected);
    EXPECT_GE(two.arbiters[1]->heard[0].now, before);
    EXPECT_LE(two.arbiters[1]->heard[0].now, RankClock::host());
    ASSERT_EQ(two.arbiters[0]->heard.size(), 1U);
    EXPECT_EQ(two.arbiters[0]->heard[0].notice, taken);
  }
}

// Waits until rank 0 has sent a notice and the data message; both ranks' threads call told().
class Sent {
 public:
  explicit Sent(core::Message message) : message_(message) {}
  void told(const Envelope& envelope) {
    if (envelope.is<signals::Notice>()) notice_ = true;
    const auto* const data = std::get_if<signals::Data>(&envelope.signal);
    if (data != nullptr && data->message == message_) data_ = true;
    if (notice_ && data_ && !told_.exchange(true)) both_.set_value();
  }
  // Waits until both messages have been sent.
  [[nodiscard]] bool wait() { return both_left_.wait_for(60s) == std::future_status::ready; }

 private:
  core::Message message_;
  std::atomic<bool> notice_ = false;
  std::atomic<bool> data_ = false;
  std::atomic<bool> told_ = false;
  std::promise<void> both_;
  std::future<void> both_left_ = both_.get_future();
};

// Rank 1 is busy when the notice and a message arrive, and reads them only afterwards.
TEST(StepNotices, count_from_when_they_came) {
  const testing_support::TemporaryFolder folder;
  for (const bool sockets : {false, true}) {
    SCOPED_TRACE(sockets ? "sockets" : "local");
    TwoRanks two;
    Sent sent({two.edge_to[1], 1});
    two.sent = [&](const Envelope& envelope) { sent.told(envelope); };
    std::promise<void> busy;
    std::future<void> rank_1_is_busy = busy.get_future();
    Time came{0};  // when both messages had arrived; only rank 1's thread uses it
    two.before_task = [&](const TaskInfo& info) {
      if (info.op != "F") return;
      if (info.stage == 0 && info.microbatch == 1) {
        EXPECT_EQ(rank_1_is_busy.wait_for(60s), std::future_status::ready);
        two.arbiters[0]->to_say = {{.message = {two.edge_to[1], 2}, .in = 5ms}};
      }
      if (info.stage == 1 && info.microbatch == 0) {
        busy.set_value();
        EXPECT_TRUE(sent.wait());
        came = RankClock::host();
        std::this_thread::sleep_for(20ms);
      }
    };
    two.run(sockets ? testing_support::connect_group(2, folder.path())
                    : network::make_local_group(2));
    ASSERT_EQ(two.arbiters[1]->heard.size(), 1U);
    EXPECT_LE(two.arbiters[1]->heard[0].now, came);
    // The message of 0F1 also counts from its arrival, since a learning hint measures its delay.
    int found = 0;
    for (const auto& [message, now] : two.arbiters[1]->arrivals) {
      if (message.edge != two.edge_to[1] || message.microbatch != 1) continue;
      ++found;
      EXPECT_LE(now, came);
    }
    EXPECT_EQ(found, 1);
  }
}

// The mean duration of a lane's tasks in the first step, which has three microbatches.
Time mean_of_first_step(const trace::Record& record, core::LaneId lane) {
  Time took{0};
  for (const trace::TaskEvent& task : record.tasks) {
    if (task.step == 0 && task.task.lane == lane) took += task.end - task.start;
  }
  return took / 3;
}

TEST(StepCosts, are_those_of_the_step_before_unless_they_are_given) {
  constexpr auto kTask = 3ms;
  TwoRanks measured;
  measured.before_task = [&](const TaskInfo& info) {
    std::this_thread::sleep_for(info.op == "B" ? 2 * kTask : kTask);
  };
  measured.run(network::make_local_group(2), 2);
  for (int r = 0; r < 2; ++r) {
    const Listening& arbiter = *measured.arbiters[static_cast<std::size_t>(r)];
    ASSERT_EQ(arbiter.expected.size(), 1U) << "nothing is known before the first step";
    const core::ProgramFacts& facts = arbiter.facts();
    for (std::size_t lane = 0; lane < facts.lanes.size(); ++lane) {
      const Time found = arbiter.expected[0].tasks[lane];
      if (facts.lanes[lane].rank != r) {
        EXPECT_EQ(found, Time{0});
        continue;
      }
      const bool is_b = facts.ops[static_cast<std::size_t>(facts.lanes[lane].op)].name == "B";
      EXPECT_GE(found, is_b ? 2 * kTask : kTask);
      EXPECT_EQ(found, mean_of_first_step(measured.records[static_cast<std::size_t>(r)],
                                          static_cast<core::LaneId>(lane)));
    }
    EXPECT_EQ(arbiter.expected[0].links.size(), facts.edges.size());
    EXPECT_EQ(arbiter.expected[0].notices.size(), facts.edges.size());
  }

  TwoRanks given;
  given.options.costs.emplace();
  given.options.costs->tasks = std::vector<Time>(given.proved.facts().lanes.size(), Time{17});
  given.run(network::make_local_group(2), 2);
  for (const auto& arbiter : given.arbiters) {
    ASSERT_EQ(arbiter->expected.size(), 2U);
    for (const core::Costs& costs : arbiter->expected) EXPECT_EQ(costs.tasks[0], Time{17});
  }
}

}  // namespace
}  // namespace ripeline::runtime::protocol
