// Tests that need the fake device: its rules, random runs, a device that fails, and a device that
// breaks a rule, which the runs must detect.
#include "tests/fake_gpu/fake_gpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "tests/fake_gpu/fake_run.h"

namespace ripeline::runtime::cuda {
namespace {

using fake_gpu::Fault;
using testing_support::as_processes;
using testing_support::by_way;
using testing_support::DeviceRun;
using testing_support::DeviceRunOptions;
using testing_support::expect_all_is_back;
using testing_support::FakeGpuTest;
using testing_support::kSequentialChain;
using testing_support::kSplitV;
using testing_support::misuses;
using testing_support::number_of;
using testing_support::ProvedText;
using testing_support::TemporaryFolder;
using testing_support::Way;

TEST_F(FakeGpuTest, streams_are_in_order_and_events_hold_them_up) {
  Stream first;
  Stream second;
  Event event;
  ASSERT_TRUE(Stream::make(Stream::Priority::usual, first).ok());
  ASSERT_TRUE(Stream::make(Stream::Priority::usual, second).ok());
  ASSERT_TRUE(Event::make(event).ok());
  bool reached = false;
  ASSERT_TRUE(event.query(reached).ok());
  EXPECT_TRUE(reached) << "never recorded";
  std::string order;
  struct Letter {
    std::string* order;
    char letter;
  } a{&order, 'a'}, b{&order, 'b'}, c{&order, 'c'};
  const auto write = [](void* argument) {
    const auto* letter = static_cast<Letter*>(argument);
    letter->order->push_back(letter->letter);
  };
  ASSERT_EQ(cudaLaunchHostFunc(first.get(), write, &a), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(first.get(), write, &b), cudaSuccess);
  ASSERT_TRUE(event.record(first.get()).ok());
  ASSERT_TRUE(event.hold_up(second.get()).ok());
  ASSERT_EQ(cudaLaunchHostFunc(second.get(), write, &c), cudaSuccess);
  EXPECT_EQ(order, "") << "nothing is done when it is asked for";
  ASSERT_TRUE(second.sync().ok());
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(misuses(), "");
}

TEST_F(FakeGpuTest, reports_what_a_device_would_not_survive) {
  Stream stream;
  ASSERT_TRUE(Stream::make(Stream::Priority::usual, stream).ok());
  network::HostBufferPool pinned = make_pinned_pool();
  char pageable[16] = {};
  {
    const Bytes bytes = pinned.take(-1, 16);
    EXPECT_EQ(cudaMemcpyAsync(bytes.data, pageable, 16, cudaMemcpyDefault, stream.get()),
              cudaSuccess);
    ASSERT_TRUE(stream.sync().ok());
  }
  EXPECT_NE(misuses().find("neither the device's nor pinned"), std::string::npos);
  const auto calls_cuda = [](void* argument) { cudaFree(argument); };
  ASSERT_EQ(cudaLaunchHostFunc(stream.get(), calls_cuda, nullptr), cudaSuccess);
  ASSERT_TRUE(stream.sync().ok());
  EXPECT_NE(misuses().find("out of a host function"), std::string::npos);
}

TEST_F(FakeGpuTest, reports_what_is_done_with_a_stream_that_is_gone) {
  cudaStream_t gone = nullptr;
  {
    Stream stream;
    ASSERT_TRUE(Stream::make(Stream::Priority::usual, stream).ok());
    gone = stream.get();
  }
  EXPECT_EQ(cudaStreamSynchronize(gone), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(misuses(), "a stream is used that is not there\n");
}

TEST_F(FakeGpuTest, reports_memory_that_is_freed_before_a_copy_has_used_it) {
  Stream stream;
  ASSERT_TRUE(Stream::make(Stream::Priority::usual, stream).ok());
  void* from = nullptr;
  void* onto = nullptr;
  ASSERT_EQ(cudaMalloc(&from, 100), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&onto, 100), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(onto, from, 100, cudaMemcpyDefault, stream.get()), cudaSuccess);
  EXPECT_EQ(cudaFree(from), cudaSuccess);
  EXPECT_EQ(misuses(), "memory is freed that a copy still has to read or write\n");
  EXPECT_EQ(cudaFree(onto), cudaSuccess);
}

TEST_F(FakeGpuTest, an_event_without_timing_has_no_time) {
  Event timed;
  Event untimed;
  ASSERT_TRUE(Event::make(timed).ok());
  ASSERT_TRUE(Event::make(untimed, Event::Time::none).ok());
  Stream stream;
  ASSERT_TRUE(Stream::make(Stream::Priority::usual, stream).ok());
  ASSERT_TRUE(timed.record(stream.get()).ok());
  ASSERT_TRUE(untimed.record(stream.get()).ok());
  ASSERT_TRUE(stream.sync().ok());
  float ms = 0;
  EXPECT_EQ(cudaEventElapsedTime(&ms, timed.get(), timed.get()), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, timed.get(), untimed.get()), cudaErrorInvalidResourceHandle);
}

// Process 1 writes to memory of process 0.
TEST_F(FakeGpuTest, processes_open_each_others_memory) {
  fake_gpu::be_process(0);
  void* own = nullptr;
  cudaIpcMemHandle_t handle{};
  ASSERT_EQ(cudaMalloc(&own, 100), cudaSuccess);
  ASSERT_EQ(cudaIpcGetMemHandle(&handle, own), cudaSuccess);
  fake_gpu::be_process(1);
  constexpr unsigned int kFlags = cudaIpcMemLazyEnablePeerAccess;
  void* opened = nullptr;
  void* again = nullptr;
  ASSERT_EQ(cudaIpcOpenMemHandle(&opened, handle, kFlags), cudaSuccess);
  ASSERT_EQ(cudaIpcOpenMemHandle(&again, handle, kFlags), cudaSuccess);
  EXPECT_EQ(opened, again);
  EXPECT_NE(opened, own);
  Stream stream;
  ASSERT_TRUE(Stream::make(Stream::Priority::usual, stream).ok());
  network::HostBufferPool pinned = make_pinned_pool();
  {
    const Bytes from = pinned.take(-1, 100);
    std::memset(from.data, 42, 100);
    const Bytes onto = pinned.take(-1, 100);
    ASSERT_EQ(cudaMemcpyAsync(opened, from.data, 100, cudaMemcpyDefault, stream.get()),
              cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(onto.data, opened, 100, cudaMemcpyDefault, stream.get()),
              cudaSuccess);
    ASSERT_TRUE(stream.sync().ok());
    EXPECT_EQ(onto.data[99], std::byte{42});
  }
  ASSERT_EQ(cudaIpcCloseMemHandle(again), cudaSuccess);
  ASSERT_EQ(cudaIpcCloseMemHandle(opened), cudaSuccess);
  fake_gpu::be_process(0);
  EXPECT_EQ(cudaFree(own), cudaSuccess);
  EXPECT_EQ(misuses(), "");
}

TEST_F(FakeGpuTest, reports_what_must_not_be_done_with_anothers_memory) {
  Stream stream;
  fake_gpu::be_process(0);
  void* own = nullptr;
  void* opened = nullptr;
  cudaIpcMemHandle_t handle{};
  constexpr unsigned int kFlags = cudaIpcMemLazyEnablePeerAccess;
  std::string wanted;
  const auto expect = [&wanted](const std::string& misuse) {
    wanted += misuse + "\n";
    EXPECT_EQ(misuses(), wanted);
  };
  ASSERT_EQ(cudaMalloc(&own, 100), cudaSuccess);
  EXPECT_NE(cudaIpcGetMemHandle(&handle, static_cast<char*>(own) + 8), cudaSuccess);
  expect("a handle is asked of what is not the beginning of memory of the device");
  ASSERT_EQ(cudaIpcGetMemHandle(&handle, own), cudaSuccess);
  EXPECT_EQ(cudaIpcOpenMemHandle(&opened, handle, kFlags), cudaErrorDeviceUninitialized)
      << "its own";
  fake_gpu::be_process(1);
  ASSERT_TRUE(Stream::make(Stream::Priority::usual, stream).ok());
  EXPECT_EQ(cudaMemcpyAsync(own, own, 8, cudaMemcpyDefault, stream.get()), cudaSuccess);
  ASSERT_TRUE(stream.sync().ok());
  const std::string unreached =
      "a copy of 8 bytes from or to memory that is neither the device's nor pinned";
  expect(unreached + "\n" + unreached + "\n" + unreached + "\n" + unreached);
  ASSERT_EQ(cudaIpcOpenMemHandle(&opened, handle, kFlags), cudaSuccess);
  fake_gpu::be_process(0);
  EXPECT_EQ(cudaFree(own), cudaSuccess);
  expect("memory is freed that process 1 has open");
  fake_gpu::be_process(1);
  EXPECT_EQ(cudaIpcCloseMemHandle(opened), cudaSuccess);
  EXPECT_NE(cudaIpcCloseMemHandle(opened), cudaSuccess);
  expect("memory is closed that is not open");
  EXPECT_NE(cudaIpcOpenMemHandle(&opened, handle, kFlags), cudaSuccess);
  expect("a handle is opened of memory that is not there");
}

TEST_F(FakeGpuTest, without_a_device_is_refused) {
  fake_gpu::begin({.devices = 0});
  const core::Status status = use_device(0);
  EXPECT_EQ(status.code(), core::StatusCode::refused);
  EXPECT_NE(status.message().find("no device"), std::string::npos) << status.message();
  fake_gpu::begin({.devices = 1});
  EXPECT_NE(use_device(3).message().find("none with the number 3"), std::string::npos);
}

struct Drawn {
  const char* text;
  int ranks;
  int microbatches;
  Way way;
  bool varies;
  bool over_sockets;
};

Drawn drawn(std::mt19937_64& draw) {
  const char* const kTexts[] = {kSequentialChain, kSplitV, "1f1b", "zb_h1", "eager_1f1b"};
  return {.text = kTexts[draw() % std::size(kTexts)],
          .ranks = static_cast<int>(2 + draw() % 3),
          .microbatches = static_cast<int>(1 + draw() % 7),
          .way = static_cast<Way>(draw() % 3),
          .varies = draw() % 2 == 0,
          .over_sockets = draw() % 4 == 0};
}

// Makes RIPELINE_FAKE_GPU_RUNS runs, with seeds from RIPELINE_FAKE_GPU_SEED on.
TEST_F(FakeGpuTest, runs_at_random_give_the_gradients_of_one_process) {
  const std::uint64_t first = number_of("RIPELINE_FAKE_GPU_SEED", 1);
  const std::uint64_t runs = number_of("RIPELINE_FAKE_GPU_RUNS", 300);
  std::map<std::pair<std::string, int>, std::unique_ptr<ProvedText>> proved;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    SCOPED_TRACE("RIPELINE_FAKE_GPU_SEED=" + std::to_string(seed) + " RIPELINE_FAKE_GPU_RUNS=1");
    std::mt19937_64 draw(seed);
    const Drawn one = drawn(draw);
    auto& program = proved[{one.text, one.ranks}];
    if (!program) program = std::make_unique<ProvedText>(one.text, one.ranks);
    fake_gpu::begin({.seed = draw()});
    {
      DeviceRunOptions options = by_way(one.way);
      options.varies = one.varies;
      DeviceRun run(*program, seed, options);
      ASSERT_TRUE(run.status().ok()) << run.status().message();
      const TemporaryFolder folder;
      if (one.over_sockets) run.connect_in(folder.path());
      run.run(2, one.microbatches);
      run.toys().expect_reference(2, one.microbatches);
      EXPECT_EQ(run.taken(), 0U) << "every buffer is back";
    }
    expect_all_is_back();
    if (HasFailure()) return;
  }
}

// Events are made in threads that have set the device, and destroyed in threads that have not.
TEST_F(FakeGpuTest, another_device_than_the_first_is_used_in_all_threads) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    fake_gpu::begin({.seed = seed, .devices = 2});
    const ProvedText proved(kSplitV, 2);
    {
      DeviceRunOptions options = as_processes();
      options.device = 1;
      DeviceRun run(proved, seed, options);
      ASSERT_TRUE(run.status().ok()) << run.status().message();
      run.run(2, 5);
      run.toys().expect_reference(2, 5);
      EXPECT_EQ(run.taken(), 0U);
    }
    EXPECT_EQ(fake_gpu::usage().device_bytes, 0U) << "no buffer was left behind";
    ASSERT_TRUE(use_device(0).ok());
  }
}

TEST_F(FakeGpuTest, memory_of_other_sizes_is_given_up_when_there_is_no_more) {
  fake_gpu::begin({.memory = 10'000});
  Stream stream;
  ASSERT_TRUE(Stream::make(Stream::Priority::usual, stream).ok());
  DeviceMemory memory(0, {stream.get()});
  for (const std::size_t size : {4'000U, 5'000U, 6'000U, 9'000U}) {
    Bytes bytes;
    const core::Status status = memory.take(size, stream.get(), bytes);
    ASSERT_TRUE(status.ok()) << size << ": " << status.message();
  }
  Bytes bytes;
  const core::Status status = memory.take(20'000, stream.get(), bytes);
  EXPECT_NE(status.message().find("allocate 20000 bytes"), std::string::npos) << status.message();
}

TEST_F(FakeGpuTest, a_device_that_fails_at_any_call_ends_the_run) {
  const auto runs = static_cast<int>(number_of("RIPELINE_FAKE_GPU_FAULTS", 40));
  const auto options = [](int i) { return by_way(i % 4 < 2 ? Way::staged : Way::mixed); };
  EXPECT_GE(testing_support::failed_at_any_call(runs, options), runs / 2);
}

// A device that reports the end of work too early, or ignores a wait, gives other gradients. So the
// right gradients of the runs above depend on events and waits.
class FakeGpuFaultTest : public testing::TestWithParam<Fault> {
 protected:
  void TearDown() override {
    fake_gpu::be_process(-1);
    fake_gpu::begin({});
  }
};

TEST_P(FakeGpuFaultTest, is_noticed) {
  const ProvedText proved(kSplitV, 2);
  int noticed = 0;
  for (std::uint64_t seed = 1; seed <= 1000 && noticed == 0; ++seed) {
    fake_gpu::begin({.seed = seed, .fault = GetParam()});
    DeviceRun run(proved, seed, by_way(GetParam() == Fault::no_waits ? Way::staged : Way::ipc));
    ASSERT_TRUE(run.status().ok());
    run.run(2, 6);
    noticed += run.differs(2, 6) ? 1 : 0;
    fake_gpu::step(1 << 20);  // ends the remaining work, which uses memory of the run
  }
  EXPECT_GT(noticed, 0);
}

INSTANTIATE_TEST_SUITE_P(Of, FakeGpuFaultTest,
                         testing::Values(Fault::events_at_once, Fault::no_waits,
                                         Fault::writes_at_once, Fault::readers_at_once),
                         [](const auto& param) {
                           switch (param.param) {
                             case Fault::no_waits:
                               return "no_waits";
                             case Fault::writes_at_once:
                               return "writes_at_once";
                             case Fault::readers_at_once:
                               return "readers_at_once";
                             default:
                               return "events_at_once";
                           }
                         });

}  // namespace
}  // namespace ripeline::runtime::cuda
