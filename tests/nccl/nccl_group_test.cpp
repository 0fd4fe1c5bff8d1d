// Tests sums of a group on the fake of NCCL: which calls wait, and the effect of a lost process.
#include "runtime/cuda/nccl/nccl_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <numeric>
#include <thread>

#include "runtime/cuda/device_memory.h"
#include "tests/fake_gpu/fake_nccl.h"
#include "tests/fake_gpu/fake_run.h"
#include "tests/nccl/fake_library.h"
#include "tests/runtime/ranks.h"

namespace ripeline::runtime::cuda {
namespace {

using core::Status;
using core::StatusCode;
using testing_support::fake_nccl;
using testing_support::in_threads;
using Clock = std::chrono::steady_clock;

// Numbers on the current device, whose memory this process can access.
class Doubles {
 public:
  Doubles(std::initializer_list<double> values) : count_(values.size()) {
    int device = 0;
    cudaGetDevice(&device);
    const Status status = DeviceMemory(device, {}).allocate(count_ * sizeof(double), memory_);
    EXPECT_TRUE(status.ok()) << status.message();
    std::copy(values.begin(), values.end(), data());
  }
  [[nodiscard]] double* data() const { return reinterpret_cast<double*>(memory_.data()); }
  [[nodiscard]] double sum() const { return std::accumulate(data(), data() + count_, 0.0); }
  [[nodiscard]] NcclNumbers all() const {
    return {.data = data(), .count = count_, .type = NcclType::float64};
  }

 private:
  std::size_t count_;
  DeviceMemory::Own memory_;
};

bool has_misuse(const std::string& text) {
  return testing_support::misuses().find(text) != std::string::npos;
}

class NcclGroupTest : public testing_support::FakeGpuTest {
 protected:
  // One rank: its number, a stream that computes, and a group on each of two communicators.
  struct RankContext {
    int rank;
    Stream stream;
    std::unique_ptr<NcclGroup> group;
    std::unique_ptr<NcclGroup> other;
    std::barrier<>& all;
    void wait_for_all() const { all.arrive_and_wait(); }
  };
  // Runs `body` for each rank, each in a thread with a device of its own.
  static void in_ranks(int ranks, fake_gpu::Options options,
                       const std::function<void(RankContext&)>& body) {
    options.devices = ranks;
    fake_gpu::begin(options);
    NcclId ids[2] = {};
    for (NcclId& id : ids) ASSERT_TRUE(fake_nccl().make_id(id).ok());
    std::barrier all(ranks);
    in_threads(ranks, [&](int rank) {
      const fake_gpu::Host host;
      all.arrive_and_wait();  // before any waits for another
      ASSERT_TRUE(use_device(rank).ok());
      RankContext rank_context{
          .rank = rank, .stream = {}, .group = nullptr, .other = nullptr, .all = all};
      ASSERT_TRUE(Stream::make(Stream::Priority::usual, rank_context.stream).ok());
      for (int i = 0; i < 2; ++i) {
        std::unique_ptr<NcclComm> comm;
        const Status status = fake_nccl().connect(ids[i], {.rank = rank, .size = ranks}, comm);
        ASSERT_TRUE(status.ok()) << status.message();
        (i == 0 ? rank_context.group : rank_context.other) =
            std::make_unique<NcclGroup>(std::move(comm));
      }
      body(rank_context);
    });
  }
  static void expect_all_is_over() {
    EXPECT_EQ(fake_gpu::communicators(), 0);
    testing_support::expect_all_is_back();
  }
};

TEST_F(NcclGroupTest, what_members_enqueue_is_over_with_their_task_and_the_host_waits_for_nobody) {
  in_ranks(2, {}, [](RankContext& rank_context) {
    const Doubles numbers{1.0 + rank_context.rank, 10};
    Event end;
    ASSERT_TRUE(Event::make(end).ok());
    if (rank_context.rank == 0) {
      EXPECT_TRUE(
          rank_context.group->enqueue(numbers.all(), NcclSum::sum, rank_context.stream.get()).ok());
      EXPECT_TRUE(end.record(rank_context.stream.get()).ok());
      bool reached = true;
      EXPECT_TRUE(end.query(reached).ok());
      EXPECT_FALSE(reached) << "the other has not come";
    }
    rank_context.wait_for_all();
    if (rank_context.rank == 1) {
      EXPECT_TRUE(
          rank_context.group->enqueue(numbers.all(), NcclSum::sum, rank_context.stream.get()).ok());
    }
    EXPECT_TRUE(rank_context.stream.sync().ok());
    EXPECT_EQ(numbers.data()[0], 3);
    EXPECT_EQ(numbers.data()[1], 20);
    rank_context.wait_for_all();
  });
  expect_all_is_over();
}

TEST_F(NcclGroupTest, a_reduction_comes_after_what_computes_and_returns_when_it_is_over) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    in_ranks(3, {.seed = seed}, [](RankContext& rank_context) {
      const Doubles from{1.0 + rank_context.rank};
      const Doubles numbers{-1};
      ASSERT_EQ(cudaMemcpyAsync(numbers.data(), from.data(), sizeof(double), cudaMemcpyDefault,
                                rank_context.stream.get()),
                cudaSuccess);
      const Status status =
          rank_context.group->reduce(numbers.all(), NcclSum::sum, rank_context.stream.get());
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(numbers.data()[0], 6);
      EXPECT_TRUE(
          rank_context.group->reduce(from.all(), NcclSum::maximum, rank_context.stream.get()).ok());
      EXPECT_EQ(from.data()[0], 3);
      rank_context.wait_for_all();
    });
    expect_all_is_over();
  }
}

TEST_F(NcclGroupTest, members_and_replicas_sum_at_once_in_two_threads) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    in_ranks(2, {.seed = seed}, [](RankContext& rank_context) {
      const Doubles of_members{1};
      const Doubles of_replicas{1};
      std::thread beside([&] {
        const fake_gpu::Host host;
        ASSERT_TRUE(use_device(rank_context.rank).ok());
        for (int i = 0; i < 20; ++i) {
          const Status status = rank_context.other->reduce(of_replicas.all(), NcclSum::sum,
                                                           rank_context.stream.get());
          EXPECT_TRUE(status.ok()) << status.message();
        }
      });
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(
            rank_context.group->enqueue(of_members.all(), NcclSum::sum, rank_context.stream.get())
                .ok());
      }
      beside.join();
      EXPECT_TRUE(rank_context.stream.sync().ok());
      EXPECT_EQ(of_members.data()[0], 1 << 20);
      EXPECT_EQ(of_replicas.data()[0], 1 << 20);
      rank_context.wait_for_all();
    });
    expect_all_is_over();
  }
}

// Rank 0 has a sum under way, and no process ever starts the other half.
TEST_F(NcclGroupTest, closing_ends_what_waits_for_a_process_that_is_gone) {
  in_ranks(2, {}, [](RankContext& rank_context) {
    if (rank_context.rank == 1) return;
    const Doubles enqueued{1};
    const Doubles reduced{1};
    EXPECT_TRUE(
        rank_context.group->enqueue(enqueued.all(), NcclSum::sum, rank_context.stream.get()).ok());
    std::thread closing([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      rank_context.other->close();
      rank_context.group->close();
    });
    Stream idle;
    ASSERT_TRUE(Stream::make(Stream::Priority::usual, idle).ok());
    const auto begin = Clock::now();
    const Status status = rank_context.other->reduce(reduced.all(), NcclSum::sum, idle.get());
    closing.join();
    EXPECT_LT(Clock::now() - begin, NcclGroup::kClose);
    EXPECT_EQ(status.code(), StatusCode::lost);
    EXPECT_EQ(status.message(), "it was closed");
    EXPECT_TRUE(rank_context.stream.sync().ok()) << "what was enqueued has ended";
    for (NcclGroup* group : {rank_context.group.get(), rank_context.other.get()}) {
      EXPECT_EQ(group->reduce(reduced.all(), NcclSum::sum, idle.get()).code(), StatusCode::lost);
      EXPECT_EQ(group->enqueue(reduced.all(), NcclSum::sum, idle.get()).code(), StatusCode::lost);
    }
    rank_context.other.reset();  // while the numbers still exist
  });
  expect_all_is_over();
}

// A thread inside a call cannot be stopped: it aborts its communicator when the call returns.
TEST_F(NcclGroupTest, closing_leaves_a_thread_that_is_inside_a_call) {
  std::atomic<bool> closed = false;
  in_ranks(2, {.launches = 1}, [&](RankContext& rank_context) {
    const Doubles numbers{1};
    const auto enqueue = [&] {
      return rank_context.group->enqueue(numbers.all(), NcclSum::sum, rank_context.stream.get());
    };
    if (rank_context.rank == 1) {
      while (!closed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_TRUE(enqueue().ok());
      EXPECT_TRUE(enqueue().ok());
      EXPECT_TRUE(rank_context.stream.sync().ok());
      rank_context.wait_for_all();
      return;
    }
    std::thread closing([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      rank_context.group->close();
      closed = true;
    });
    // One sum is on the device and one in the queue; the third one waits for room.
    EXPECT_TRUE(enqueue().ok());
    EXPECT_TRUE(enqueue().ok());
    EXPECT_EQ(enqueue().code(), StatusCode::lost);
    EXPECT_TRUE(closed);
    closing.join();
    rank_context.wait_for_all();
    EXPECT_TRUE(rank_context.stream.sync().ok());
  });
  expect_all_is_over();
}

TEST_F(NcclGroupTest, another_order_at_one_member_is_noticed) {
  in_ranks(2, {}, [](RankContext& rank_context) {
    const Doubles one{1};
    const Doubles two{1, 2};
    const bool first = rank_context.rank == 0;
    const auto enqueue = [&](const Doubles& numbers) {
      return rank_context.group->enqueue(numbers.all(), NcclSum::sum, rank_context.stream.get());
    };
    EXPECT_TRUE(enqueue(first ? one : two).ok());
    rank_context.wait_for_all();
    rank_context.group->close();
  });
  EXPECT_TRUE(has_misuse("is of another size, type or operation at another rank"))
      << testing_support::misuses();
}

// All members must order the sums of an engine alike, even if they use several communicators.
TEST_F(NcclGroupTest, two_groups_in_two_orders_on_one_stream_wait_for_each_other) {
  in_ranks(2, {}, [](RankContext& rank_context) {
    const Doubles numbers{1};
    const bool first = rank_context.rank == 0;
    NcclGroup& before = first ? *rank_context.group : *rank_context.other;
    NcclGroup& after = first ? *rank_context.other : *rank_context.group;
    EXPECT_TRUE(before.enqueue(numbers.all(), NcclSum::sum, rank_context.stream.get()).ok());
    EXPECT_TRUE(after.enqueue(numbers.all(), NcclSum::sum, rank_context.stream.get()).ok());
    rank_context.wait_for_all();
    EXPECT_FALSE(rank_context.stream.sync().ok());
    rank_context.wait_for_all();
  });
  for (const char* rank :
       {"sum 0 of rank 0 on communicator 0 waits for the kernels of all ranks",
        "sum 0 of rank 1 on communicator 1 waits for the kernels of all ranks"}) {
    EXPECT_TRUE(has_misuse(rank)) << testing_support::misuses();
  }
}

}  // namespace
}  // namespace ripeline::runtime::cuda
