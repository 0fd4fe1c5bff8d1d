// Tests a CUDA call that does not return, in each of a rank's threads that make such calls.
#include "runtime/watchdog/call_guard.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "runtime/cuda/stream_engine.h"
#include "tests/fake_gpu/fake_run.h"

namespace ripeline::runtime::cuda {
namespace {

using testing_support::expect_all_is_back;
using testing_support::FakeGpuTest;
using testing_support::ProvedText;
using namespace std::chrono_literals;

const char* const kOffload = R"(
pipeline offload {
  param ranks = 1;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward { acquires activation; }
  op O offload on copy_out { needs F at here;  releases activation; }
  op L reload on copy_in { needs O at here;  acquires activation; }
  op B backward { needs L at here;  releases activation; }
  resource activation per rank { capacity 1; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
}
)";

// A work whose copies may overlap with other tasks, and which computes nothing.
class Idle final : public Work {
 public:
  core::Status begin_step(std::int64_t, int) override { return {}; }
  core::Status run(Call&) override { return {}; }
  [[nodiscard]] bool runs_beside(const TaskInfo& task) const override {
    return task.engine != core::Engine::compute;
  }
};

class CallGuardOnFakeGpu : public FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    for (Stream& stream : streams_) {
      ASSERT_TRUE(Stream::make(Stream::Priority::usual, stream).ok());
    }
    testing::internal::CaptureStderr();
  }

  void make(const watchdog::CallGuard::Limits& limits) {
    guard_ = std::make_unique<watchdog::CallGuard>("rank 0", limits, [this] {
      has_ended_ = true;
      fake_gpu::let_go();
    });
    engine_ = std::make_unique<StreamEngine>(
        work_, proved_.facts(),
        EngineStreams{streams_[0].get(), streams_[1].get(), streams_[2].get()}, [] {});
    engine_->begin_step(0, 4);
  }

  // Starts the op with this name for microbatch 3.
  void start(const std::string& op) {
    const core::ProgramFacts& facts = proved_.facts();
    for (std::size_t lane = 0; lane < facts.lanes.size(); ++lane) {
      const core::LaneFacts& one = facts.lanes[lane];
      const core::OpFacts& of = facts.ops[static_cast<std::size_t>(one.op)];
      if (of.name != op) continue;
      engine_->start({.task = {.op = of.name,
                               .kind = of.kind,
                               .microbatch = 3,
                               .task = {static_cast<core::LaneId>(lane), 3},
                               .engine = one.engine}});
    }
  }
  void await_end() {
    Ended ended;
    while (!engine_->ended(ended)) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(ended.status.ok()) << ended.status.message();
  }
  // Runs the op twice and returns the output on standard error. In the second run, the CUDA
  // function `call` hangs until the guard ends the process.
  std::string said_of(const std::string& op, const std::string& call) {
    start(op);
    await_end();
    fake_gpu::hang(call);
    start(op);
    await_end();
    EXPECT_TRUE(has_ended_);
    engine_.reset();
    return testing::internal::GetCapturedStderr();
  }

  const ProvedText proved_{kOffload, 1};
  Idle work_;
  Stream streams_[3];
  std::atomic<bool> has_ended_{false};
  std::unique_ptr<watchdog::CallGuard> guard_;
  std::unique_ptr<StreamEngine> engine_;
};

constexpr auto npos = std::string::npos;

TEST_F(CallGuardOnFakeGpu, the_loop_does_not_come_out_of_asking_an_event) {
  make({.call = 300ms});
  const std::string text = said_of("F", "cudaEventQuery");
  EXPECT_NE(text.find("rank 0: cudaEventQuery has not come back for 0.3"), npos) << text;
  EXPECT_NE(text.find(": the process ends without it"), npos) << text;
}

TEST_F(CallGuardOnFakeGpu, no_thread_that_enqueues_comes_out_of_recording_an_event) {
  for (const std::string op : {"F", "O", "L"}) {
    has_ended_ = false;
    make({.call = 300ms, .orderly = 300ms});
    const std::string text = said_of(op, "cudaEventRecord");
    testing::internal::CaptureStderr();
    const std::string call = "rank 0, 0" + op + "3: cudaEventRecord has not come back for 0.";
    const std::size_t first = text.find(call);
    ASSERT_NE(first, npos) << text;
    EXPECT_NE(text.find(call, first + 1), npos) << text;
    EXPECT_NE(text.find(": the process ends without it"), npos) << text;
  }
  testing::internal::GetCapturedStderr();
}

TEST_F(CallGuardOnFakeGpu, slow_calls_that_come_back_are_none_of_its_business) {
  make({.call = 1s, .orderly = 0s});
  for (const std::string call : {"cudaEventQuery", "cudaEventRecord"}) {
    fake_gpu::hang(call, 0, 150ms);
    for (const std::string op : {"F", "O", "L"}) {
      start(op);
      await_end();
    }
    fake_gpu::let_go();
  }
  EXPECT_FALSE(has_ended_);
  engine_.reset();
  for (Stream& stream : streams_) stream = Stream();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  expect_all_is_back();
}

}  // namespace
}  // namespace ripeline::runtime::cuda
