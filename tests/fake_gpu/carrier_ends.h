// The processes of a group as threads, whose DeviceTransports a test drives by hand.
#pragma once

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/network/local.h"
#include "tests/cuda/kept_buffer_pool.h"
#include "tests/fake_gpu/fake_run.h"

namespace ripeline::testing_support {

inline constexpr std::chrono::seconds kLimit{60};

// A process of a group: its own objects and its transport.
struct End {
  explicit End(int number) : process(number) {
    fake_gpu::be_process(process);
    EXPECT_TRUE(runtime::cuda::Stream::make(runtime::cuda::Stream::Priority::usual, compute).ok());
    memory =
        std::make_unique<runtime::cuda::DeviceMemory>(0, std::vector<cudaStream_t>{compute.get()});
  }
  int process;
  runtime::cuda::Stream compute;
  KeptBufferPool pinned;
  std::unique_ptr<runtime::cuda::DeviceMemory> memory;
  std::unique_ptr<runtime::Transport> inner;
  std::unique_ptr<runtime::cuda::DeviceTransport> device;
  std::vector<runtime::Delivery> got;
};

class CarrierEnds : public FakeGpuTest {
 protected:
  void TearDown() override {
    for (const auto& end : ends_) drop(end->process);
    ends_.clear();
    FakeGpuTest::TearDown();
  }

  // Called first in each thread that plays a process.
  virtual void enter(int process) { fake_gpu::be_process(process); }

  static runtime::cuda::DeviceTransportOptions usual() {
    runtime::cuda::DeviceTransportOptions options;
    options.ipc.granule = 256;
    return options;
  }

  // Connects all processes; returns the status of each connect(), by process.
  std::vector<core::Status> connect(
      const std::vector<runtime::cuda::DeviceTransportOptions>& options) {
    auto group = runtime::network::make_local_group(static_cast<int>(options.size()));
    for (std::size_t i = 0; i < options.size(); ++i) {
      End& end = *ends_.emplace_back(std::make_unique<End>(static_cast<int>(i)));
      end.inner = std::move(group[i]);
      end.device = std::make_unique<runtime::cuda::DeviceTransport>(*end.inner, end.pinned,
                                                                    *end.memory, options[i]);
    }
    std::vector<core::Status> statuses(options.size());
    in_threads(static_cast<int>(options.size()), [&](int process) {
      enter(process);
      statuses[static_cast<std::size_t>(process)] = of(process).device->connect();
      if (!statuses[static_cast<std::size_t>(process)].ok()) drop(process);
    });
    return statuses;
  }
  void connect_all(const std::vector<runtime::cuda::DeviceTransportOptions>& options) {
    for (const core::Status& status : connect(options))
      ASSERT_TRUE(status.ok()) << status.message();
  }
  End& of(int process) {
    fake_gpu::be_process(process);
    return *ends_[static_cast<std::size_t>(process)];
  }
  void drop(int process) {
    End& end = of(process);
    end.got.clear();
    end.device = nullptr;
    end.inner = nullptr;
  }

  // A payload on the device of the process; each of its bytes is the seed.
  runtime::Payload payload(int process, const std::vector<std::size_t>& sizes, int seed) {
    End& end = of(process);
    runtime::Payload payload{.head = {std::byte(seed)}, .parts = {}};
    for (const std::size_t size : sizes) {
      const runtime::Bytes text = end.pinned.take(-1, size);
      std::memset(text.data, seed, size);
      runtime::Bytes& part = payload.parts.emplace_back();
      EXPECT_TRUE(end.memory->take(size, end.compute.get(), part).ok());
      EXPECT_EQ(cudaMemcpyAsync(part.data, text.data, size, cudaMemcpyDefault, end.compute.get()),
                cudaSuccess);
      EXPECT_TRUE(end.compute.sync().ok());
    }
    return payload;
  }
  void send(int from, int to, const std::vector<std::size_t>& sizes, int seed) {
    runtime::Payload what = payload(from, sizes, seed);
    const core::Status status =
        of(from).device->send(to, {runtime::signals::Data{{seed, {0, 0}}}}, std::move(what));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void expect_bytes(int process, const runtime::Delivery& delivery,
                    const std::vector<std::size_t>& sizes) {
    End& end = of(process);
    const auto seed = std::get<runtime::signals::Data>(delivery.envelope.signal).step;
    ASSERT_EQ(delivery.payload.parts.size(), sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const runtime::Bytes& part = delivery.payload.parts[i];
      ASSERT_EQ(part.size, sizes[i]);
      EXPECT_EQ(part.device, 0);
      const runtime::Bytes text = end.pinned.take(-1, part.size);
      ASSERT_EQ(
          cudaMemcpyAsync(text.data, part.data, part.size, cudaMemcpyDefault, end.compute.get()),
          cudaSuccess);
      ASSERT_TRUE(end.compute.sync().ok());
      for (std::size_t b = 0; b < part.size; ++b) {
        ASSERT_EQ(text.data[b], static_cast<std::byte>(seed));
      }
    }
  }

  // Polls all processes in turn until `done` returns true.
  template <class Done>
  void look_until(const Done& done) {
    const auto last = std::chrono::steady_clock::now() + kLimit;
    while (!done() && std::chrono::steady_clock::now() < last) {
      for (const auto& end : ends_) {
        if (end->device == nullptr) continue;
        fake_gpu::be_process(end->process);
        static_cast<void>(end->device->poll(std::chrono::milliseconds(1), end->got));
      }
    }
    ASSERT_TRUE(done());
  }
  // The process's next delivery. When it is destroyed, its buffers return to their owner.
  runtime::Delivery receive(int process) {
    look_until([&] { return !of(process).got.empty(); });
    if (of(process).got.empty()) return {};
    runtime::Delivery first = std::move(of(process).got.front());
    of(process).got.erase(of(process).got.begin());
    return first;
  }
  // Sends a message, receives and checks it, and releases it.
  void pass(int from, int to, const std::vector<std::size_t>& sizes, int seed) {
    send(from, to, sizes, seed);
    expect_bytes(to, receive(to), sizes);
  }
  // Polls `polls` times with messages under way, then ends one process; the other one continues.
  void end_one(int gone, int polls) {
    pass(0, 1, {1000}, 1);
    pass(1, 0, {1000}, 2);
    for (int i = 3; i < 6; ++i) send(0, 1, {1000}, i);
    for (int i = 3; i < 6; ++i) send(1, 0, {2000}, i);
    for (int i = 0; i < polls; ++i) {
      ASSERT_TRUE(of(i % 2).device->poll(std::chrono::nanoseconds(0), of(i % 2).got).ok());
    }
    drop(gone);
    const int left = 1 - gone;
    look_until([&] {
      const auto& got = of(left).got;
      return !got.empty() && got.back().envelope.is<runtime::signals::Lost>();
    });
    runtime::Payload late = payload(left, {1000}, 9);
    ASSERT_TRUE(
        of(left).device->send(gone, {runtime::signals::Data{{9, {0, 0}}}}, std::move(late)).ok());
    settle();
    EXPECT_EQ(of(left).device->queued(gone), 0U);
    for (const runtime::Delivery& delivery : of(left).got) {
      if (delivery.envelope.is<runtime::signals::Lost>()) continue;
      expect_bytes(left, delivery, {left == 1 ? 1000U : 2000U});
    }
  }
  // Polls all processes until nothing more can arrive.
  void settle() {
    for (int i = 0; i < 200; ++i) {
      for (const auto& end : ends_) {
        if (end->device == nullptr) continue;
        fake_gpu::be_process(end->process);
        static_cast<void>(end->device->poll(std::chrono::nanoseconds(0), end->got));
      }
    }
  }
  void finish() {
    in_threads(static_cast<int>(ends_.size()), [&](int process) {
      enter(process);
      const auto last = std::chrono::steady_clock::now() + kLimit;
      core::Status status = of(process).device->finish(kLimit);
      while (!status.ok() && std::chrono::steady_clock::now() < last) {
        static_cast<void>(of(process).device->poll(std::chrono::milliseconds(1), of(process).got));
        status = of(process).device->finish(std::chrono::seconds(1));
      }
      EXPECT_TRUE(status.ok()) << status.message();
    });
    for (const auto& end : ends_) drop(end->process);
    ends_.clear();
    expect_all_is_back();
  }

  std::vector<std::unique_ptr<End>> ends_;
};

}  // namespace ripeline::testing_support
