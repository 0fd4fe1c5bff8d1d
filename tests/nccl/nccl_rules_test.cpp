// Tests each rule of messages by NCCL by breaking it: the run then deadlocks, gives wrong results,
// or misuses something. So every rule is necessary.
#include <gtest/gtest.h>
#include <nccl.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/engine.h"
#include "tests/nccl/nccl_run.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime::cuda {
namespace {

using core::Status;
using core::StatusCode;
using testing_support::AroundComm;
using testing_support::be_host;
using testing_support::by_nccl;
using testing_support::DeviceRun;
using testing_support::DeviceRunOptions;
using testing_support::kSplitV;
using testing_support::library_of;
using testing_support::misuses;
using testing_support::ProcessLibrary;
using testing_support::ProvedText;

// A library with one communicator for both directions of a pair; the directions connect in turn.
class OneForBoth final : public ProcessLibrary {
 public:
  using ProcessLibrary::ProcessLibrary;
  // The communicator for the second direction: its sender is the first direction's receiver.
  class Comm final : public AroundComm {
   public:
    using AroundComm::AroundComm;
    Status send(const void* data, std::size_t bytes, int rank, cudaStream_t stream) override {
      return inner_->send(data, bytes, 1 - rank, stream);
    }
    Status receive(void* data, std::size_t bytes, int rank, cudaStream_t stream) override {
      return inner_->receive(data, bytes, 1 - rank, stream);
    }
    Status send_parts(std::span<const NcclPart> parts, int rank, cudaStream_t stream) override {
      return inner_->send_parts(parts, 1 - rank, stream);
    }
    Status receive_parts(std::span<const NcclPart> parts, int rank, cudaStream_t stream) override {
      return inner_->receive_parts(parts, 1 - rank, stream);
    }
    void abort() override {}
  };
  [[nodiscard]] Status connect(const NcclId& id, const NcclCommOptions& options,
                               std::unique_ptr<NcclComm>& comm) const override {
    thread_local std::shared_ptr<NcclComm> first;
    if (first) {
      comm = std::make_unique<Comm>(std::exchange(first, nullptr));
      return {};
    }
    std::unique_ptr<NcclComm> made;
    if (Status s = ProcessLibrary::connect(id, options, made); !s.ok()) return s;
    first = std::move(made);
    comm = std::make_unique<AroundComm>(first);
    return {};
  }
};

// A communicator of the fake itself, created in a way that the plug-in does not use.
class RawComm final : public NcclComm {
 public:
  explicit RawComm(ncclComm_t comm) : comm_(comm) {}
  ~RawComm() override { RawComm::abort(); }
  RawComm(const RawComm&) = delete;
  RawComm& operator=(const RawComm&) = delete;
  Status send(const void* data, std::size_t bytes, int rank, cudaStream_t stream) override {
    return said(ncclSend(data, bytes, ncclChar, rank, comm_, stream));
  }
  Status receive(void* data, std::size_t bytes, int rank, cudaStream_t stream) override {
    return said(ncclRecv(data, bytes, ncclChar, rank, comm_, stream));
  }
  Status send_parts(std::span<const NcclPart> parts, int rank, cudaStream_t stream) override {
    ncclGroupStart();
    for (const NcclPart& part : parts) {
      static_cast<void>(send(part.data, part.bytes, rank, stream));
    }
    return said(ncclGroupEnd());
  }
  Status receive_parts(std::span<const NcclPart> parts, int rank, cudaStream_t stream) override {
    ncclGroupStart();
    for (const NcclPart& part : parts) {
      static_cast<void>(receive(part.data, part.bytes, rank, stream));
    }
    return said(ncclGroupEnd());
  }
  Status reduce(const void*, void*, std::size_t, NcclType, NcclSum, cudaStream_t) override {
    return {StatusCode::refused, "it is not for sums"};
  }
  Status health() override { return {}; }
  void abort() override {
    if (comm_ != nullptr) ncclCommAbort(comm_);
    comm_ = nullptr;
  }
  Status finish() override { return {StatusCode::refused, "it is aborted"}; }

  // An operation that is in progress is not a failure.
  static Status said(ncclResult_t result) {
    if (result == ncclSuccess || result == ncclInProgress) return {};
    return {StatusCode::failed, "the fake of NCCL failed"};
  }
  static ncclResult_t make(const NcclId& id, const NcclCommOptions& options, ncclConfig_t config,
                           ncclComm_t& comm) {
    ncclUniqueId unique{};
    std::memcpy(&unique, id.data(), sizeof unique);
    config.maxCTAs = options.most_blocks;
    return ncclCommInitRankConfig(&comm, options.size, unique, options.rank, &config);
  }

 private:
  ncclComm_t comm_;
};

// A library that splits both directions off one communicator, whose resources they share.
class SharesResources final : public ProcessLibrary {
 public:
  explicit SharesResources(int process) : ProcessLibrary(process), process_(process) {}
  [[nodiscard]] Status connect(const NcclId& id, const NcclCommOptions& options,
                               std::unique_ptr<NcclComm>& comm) const override {
    be_host(process_);
    thread_local ncclComm_t parent = nullptr;
    const bool is_first = parent == nullptr;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.splitShare = 1;
    if (is_first && RawComm::make(id, options, config, parent) != ncclSuccess) return none();
    ncclComm_t made = nullptr;
    if (ncclCommSplit(parent, 0, options.rank, &made, nullptr) != ncclSuccess) return none();
    if (!is_first) ncclCommAbort(std::exchange(parent, nullptr));
    comm = std::make_unique<RawComm>(made);
    return {};
  }

 private:
  static Status none() { return {StatusCode::failed, "the fake of NCCL failed"}; }
  int process_;
};

// A library whose communicators launch in a thread, after the call and after the following event.
class LaunchesLater final : public ProcessLibrary {
 public:
  explicit LaunchesLater(int process) : ProcessLibrary(process), process_(process) {}
  [[nodiscard]] Status connect(const NcclId& id, const NcclCommOptions& options,
                               std::unique_ptr<NcclComm>& comm) const override {
    be_host(process_);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t made = nullptr;
    if (Status s = RawComm::said(RawComm::make(id, options, config, made)); !s.ok()) return s;
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress && ncclCommGetAsyncError(made, &state) == ncclSuccess) {
      fake_gpu::step(1);
    }
    comm = std::make_unique<RawComm>(made);
    return RawComm::said(state);
  }

 private:
  int process_;
};

constexpr int kMicrobatches = 6;

// Runs two ranks, each with its own device; returns their faults as text, empty if none.
std::string wrong_with(DeviceRunOptions options, fake_gpu::Options device,
                       const std::function<void(DeviceRun&)>& prepare = nullptr) {
  static const ProvedText proved(kSplitV, 2);
  device.devices = 2;
  fake_gpu::begin(device);
  options.own_devices = true;
  DeviceRun run(proved, device.seed, options);
  for (const int rank : {0, 1}) run.toys().rank(rank).silence = std::chrono::seconds(2);
  if (prepare) prepare(run);
  run.run(2, kMicrobatches);
  std::string wrong = misuses();
  if (run.differs(2, kMicrobatches)) wrong += "other gradients\n";
  for (const int rank : {0, 1}) {
    const Status& status = run.toys().rank(rank).status;
    if (!status.ok()) wrong += status.message() + "\n";
  }
  fake_gpu::step(1 << 20);  // operations still queued need what the run owns
  return wrong;
}

class NcclRulesTest : public testing_support::FakeGpuTest {
 protected:
  // The faults of the first run that has a fault, among runs with these seeds.
  template <class Run>
  static std::string first_wrong(std::uint64_t seeds, const Run& run) {
    std::string wrong;
    for (std::uint64_t seed = 1; seed <= seeds && wrong.empty(); ++seed) wrong = run(seed);
    return wrong;
  }
  static void expect_contains(const std::string& wrong, const std::string& text) {
    EXPECT_NE(wrong.find(text), std::string::npos) << wrong;
  }
};

// Room for two kernels of two blocks each; a rank never has more at the same time.
constexpr int kRoom = 4;

TEST_F(NcclRulesTest, with_all_of_them_nothing_is_wrong) {
  const std::string wrong = first_wrong(30, [](std::uint64_t seed) {
    return wrong_with(by_nccl(), {.seed = seed, .connections = 1, .blocks = kRoom});
  });
  EXPECT_EQ(wrong, "");
}

TEST_F(NcclRulesTest, directions_that_share_a_communicator_are_noticed) {
  const std::string wrong = first_wrong(30, [](std::uint64_t seed) {
    DeviceRunOptions options = by_nccl();
    options.nccl = library_of<OneForBoth>;
    return wrong_with(options, {.seed = seed});
  });
  expect_contains(wrong, "saw nothing happen");
}

TEST_F(NcclRulesTest, directions_that_share_resources_are_noticed) {
  const std::string wrong = first_wrong(30, [](std::uint64_t seed) {
    DeviceRunOptions options = by_nccl();
    options.nccl = library_of<SharesResources>;
    return wrong_with(options, {.seed = seed});
  });
  expect_contains(wrong, "saw nothing happen");
}

TEST_F(NcclRulesTest, kernels_that_do_not_fit_beside_each_other_are_noticed) {
  const std::string wrong = first_wrong(30, [](std::uint64_t seed) {
    return wrong_with(by_nccl(), {.seed = seed, .blocks = kRoom - 1});
  });
  expect_contains(wrong, "saw nothing happen");
}

TEST_F(NcclRulesTest, launches_after_the_call_are_noticed) {
  const std::string wrong = first_wrong(30, [](std::uint64_t seed) {
    DeviceRunOptions options = by_nccl();
    options.nccl = library_of<LaunchesLater>;
    return wrong_with(options, {.seed = seed, .connected = true});
  });
  expect_contains(wrong, "an event is recorded while a thread of NCCL is about to launch");
}

TEST_F(NcclRulesTest, calls_that_wait_for_the_device_are_noticed) {
  const std::string wrong = first_wrong(30, [](std::uint64_t seed) {
    return wrong_with(by_nccl(), {.seed = seed}, [](DeviceRun& run) {
      run.toys().rank(0).before_task = [](const TaskInfo&) { cudaDeviceSynchronize(); };
    });
  });
  expect_contains(wrong, "cudaDeviceSynchronize waits for device 0 while it has");
}

// Swaps the numbers of two announcements by one sender, which NCCL does not notice.
class Confuses final : public testing_support::Around {
 public:
  using Around::Around;
  Status poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) override {
    std::vector<Delivery> came;
    Status status = inner_.poll(held_ ? std::chrono::nanoseconds(0) : wait, came);
    for (Delivery& delivery : came) {
      protocol::CarrierMessage message;
      const bool is_word = delivery.envelope.is<signals::Carrier>() &&
                           protocol::decode_message(delivery.payload, message).ok() &&
                           std::holds_alternative<protocol::Launched>(message);
      if (!is_word) {
        deliveries.push_back(std::move(delivery));
      } else if (!held_) {
        held_ = std::move(delivery);
        looks_ = 0;
      } else {
        protocol::CarrierMessage before;
        static_cast<void>(protocol::decode_message(held_->payload, before));
        std::swap(std::get<protocol::Launched>(before).number,
                  std::get<protocol::Launched>(message).number);
        held_->payload = protocol::encode_message(before);
        delivery.payload = protocol::encode_message(message);
        deliveries.push_back(std::move(delivery));
        deliveries.push_back(*std::exchange(held_, std::nullopt));
      }
    }
    // If no second announcement follows for a while, the first one is delivered.
    if (held_ && ++looks_ > 200) deliveries.push_back(*std::exchange(held_, std::nullopt));
    return status;
  }

 private:
  std::optional<Delivery> held_;
  int looks_ = 0;
};

TEST_F(NcclRulesTest, numbers_that_are_mixed_up_are_noticed) {
  const std::string wrong = first_wrong(200, [](std::uint64_t seed) {
    DeviceRunOptions options = by_nccl();
    options.behind = [](Transport& inner) { return std::make_unique<Confuses>(inner); };
    return wrong_with(options, {.seed = seed, .credits = 4});
  });
  expect_contains(wrong, "other gradients");
}

TEST_F(NcclRulesTest, ends_that_are_told_too_early_are_noticed) {
  const std::string wrong = first_wrong(200, [](std::uint64_t seed) {
    return wrong_with(by_nccl(), {.seed = seed, .fault = fake_gpu::Fault::events_at_once});
  });
  expect_contains(wrong, "other gradients");
}

TEST_F(NcclRulesTest, buffers_that_are_still_read_are_noticed) {
  const std::string wrong = first_wrong(200, [](std::uint64_t seed) {
    return wrong_with(by_nccl(), {.seed = seed, .fault = fake_gpu::Fault::no_waits});
  });
  expect_contains(wrong, "other gradients");
}

}  // namespace
}  // namespace ripeline::runtime::cuda
