// Tests messages by NCCL between processes that are threads: how they connect, the effect of a
// wrong carrier message, and what remains when a process ends.
#include "runtime/cuda/carriers/nccl_carrier.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_gpu/carrier_ends.h"
#include "tests/nccl/nccl_run.h"

namespace ripeline::runtime::cuda {
namespace {

using core::Status;
using core::StatusCode;
using testing_support::AroundComm;
using testing_support::be_host;
using testing_support::expect_all_is_back;
using testing_support::in_threads;
using testing_support::library_of;
using testing_support::misuses;
using testing_support::ProcessLibrary;
using namespace std::chrono_literals;

class NcclCarrierTest : public testing_support::CarrierEnds {
 protected:
  void enter(int process) override { be_host(process); }

  template <class Library = ProcessLibrary>
  static std::vector<DeviceTransportOptions> by_nccl(int processes) {
    std::vector<DeviceTransportOptions> all;
    for (int process = 0; process < processes; ++process) {
      DeviceTransportOptions& one = all.emplace_back(usual());
      one.carrier = CarrierKind::nccl;
      one.nccl.library = library_of<Library>(process);
      one.nccl.device = "of process " + std::to_string(process);
      one.nccl.process = static_cast<std::uint64_t>(process) + 1;
    }
    return all;
  }
  static std::string text_of(const Delivery& lost) {
    return {reinterpret_cast<const char*>(lost.payload.head.data()), lost.payload.head.size()};
  }
  // Sends a message of carriers as the carrier of `from` would.
  void say(int from, int to, const protocol::CarrierMessage& message) {
    const Envelope envelope{.signal = signals::Carrier{}};
    ASSERT_TRUE(of(from).inner->send(to, envelope, protocol::encode_message(message)).ok());
  }
  void drop_all() {
    for (const auto& end : ends_) drop(end->process);
    ends_.clear();
    EXPECT_EQ(fake_gpu::communicators(), 0);
    expect_all_is_back();
  }
};

TEST_F(NcclCarrierTest, messages_go_both_ways_between_all) {
  connect_all(by_nccl(3));
  EXPECT_EQ(of(1).device->carriers(),
            "nccl with rank 0, nccl with rank 2; assumed: kernels of NCCL of different "
            "communicators run side by side on a device");
  EXPECT_EQ(fake_gpu::communicators(), 12) << "one at each end of six directions";
  int seed = 0;
  for (const int from : {0, 1, 2}) {
    for (const int to : {0, 1, 2}) {
      if (from != to) pass(from, to, {1000}, ++seed);
    }
  }
  finish();
  EXPECT_EQ(fake_gpu::communicators(), 0);
}

TEST_F(NcclCarrierTest, parts_of_any_size_are_one_operation) {
  connect_all(by_nccl(2));
  const std::vector<std::vector<std::size_t>> messages = {
      {1000}, {0}, {1, 0, 5000}, std::vector<std::size_t>(kMostParts, 300), {0, 0}, {7}};
  for (std::size_t i = 0; i < messages.size(); ++i) send(0, 1, messages[i], static_cast<int>(i));
  for (const auto& sizes : messages) expect_bytes(1, receive(1), sizes);
  finish();
}

TEST_F(NcclCarrierTest, head_and_envelope_go_with_it) {
  connect_all(by_nccl(2));
  Payload long_one = payload(0, {1000}, 7);
  long_one.head.assign(kLargestHead, std::byte{9});
  ASSERT_TRUE(of(0).device->send(1, {signals::Data{{7, {3, 4}}, 5}}, std::move(long_one)).ok());
  Delivery delivery = receive(1);
  EXPECT_EQ(delivery.from, 0);
  EXPECT_EQ(delivery.envelope.signal, Signal(signals::Data{{7, {3, 4}}, 5}));
  EXPECT_EQ(delivery.payload.head, Blob(kLargestHead, std::byte{9}));
  expect_bytes(1, delivery, {1000});
  delivery = {};
  finish();
}

TEST_F(NcclCarrierTest, parts_of_the_host_go_beside_them) {
  connect_all(by_nccl(2));
  Payload mixed = payload(0, {1000}, 7);
  mixed.parts.push_back(of(0).pinned.take(-1, 500));
  std::memset(mixed.parts.back().data, 7, 500);
  ASSERT_TRUE(of(0).device->send(1, {signals::Data{{7, {0, 0}}}}, std::move(mixed)).ok());
  expect_bytes(1, receive(1), {1000, 500});
  finish();
}

TEST_F(NcclCarrierTest, buffers_go_round) {
  connect_all(by_nccl(2));
  pass(0, 1, {1000}, 1);
  const std::size_t allocations = of(1).memory->allocations();
  for (int i = 2; i <= 20; ++i) pass(0, 1, {1000}, i);
  EXPECT_EQ(of(1).memory->allocations(), allocations);
  finish();
}

TEST_F(NcclCarrierTest, who_has_no_nccl_is_named_by_all) {
  std::vector<DeviceTransportOptions> options = by_nccl(3);
  options[2].nccl.library = nullptr;
  options[2].nccl.why_none = "NCCL cannot be used here: it is not there";
  for (const Status& status : connect(options)) {
    EXPECT_EQ(status.code(), StatusCode::refused);
    EXPECT_NE(status.message().find("were told to use nccl, and cannot: rank 2 has no NCCL: NCCL "
                                    "cannot be used here: it is not there"),
              std::string::npos)
        << status.message();
  }
}

TEST_F(NcclCarrierTest, all_must_be_told_to_use_it) {
  std::vector<DeviceTransportOptions> options = by_nccl(2);
  options[1].carrier = std::nullopt;
  for (const Status& status : connect(options)) {
    EXPECT_EQ(status.message(),
              "rank 0 was told to use nccl, rank 1 was told none: RIPELINE_CARRIER must be the "
              "same for both");
  }
}

TEST_F(NcclCarrierTest, more_neighbours_than_fit_are_refused) {
  std::vector<DeviceTransportOptions> options = by_nccl(4);
  for (DeviceTransportOptions& one : options) one.nccl.most_blocks = 8;
  for (const Status& status : connect(options)) {
    EXPECT_EQ(status.code(), StatusCode::refused);
    EXPECT_NE(
        status.message().find(" has 3 neighbours, and by NCCL it may have 2: kernels of more "
                              "need not fit on a device beside each other; RIPELINE_CARRIER=staged "
                              "goes without NCCL"),
        std::string::npos)
        << status.message();
  }
}

TEST_F(NcclCarrierTest, an_environment_that_leaves_a_rule_out_is_refused) {
  const std::vector<std::pair<std::string, std::string>> settings = {
      {"NCCL_COMM_BLOCKING", "0"},
      {"NCCL_LAUNCH_ORDER_IMPLICIT", "1"},
      {"NCCL_MIN_CTAS", "3"},
      {"NCCL_MAX_CTAS", "16"},
      {"CUDA_LAUNCH_BLOCKING", "1"}};
  for (const auto& [name, value] : settings) {
    setenv(name.c_str(), value.c_str(), 1);
    for (const Status& status : connect(by_nccl(2))) {
      EXPECT_EQ(status.code(), StatusCode::refused);
      EXPECT_EQ(
          status.message().rfind(
              "messages cannot go by NCCL with " + name + "=" + value + " in the environment: ", 0),
          0U)
          << status.message();
    }
    unsetenv(name.c_str());
    ends_.clear();
  }
  setenv("NCCL_MAX_CTAS", "2", 1);
  setenv("CUDA_LAUNCH_BLOCKING", "0", 1);
  connect_all(by_nccl(2));
  unsetenv("NCCL_MAX_CTAS");
  unsetenv("CUDA_LAUNCH_BLOCKING");
  drop_all();
}

TEST_F(NcclCarrierTest, processes_that_share_a_device_are_of_several_hosts_for_nccl) {
  unsetenv("NCCL_HOSTID");
  connect_all(by_nccl(2));
  EXPECT_EQ(std::getenv("NCCL_HOSTID"), nullptr) << "they have one each";
  drop_all();
  std::vector<DeviceTransportOptions> options = by_nccl(2);
  for (DeviceTransportOptions& one : options) one.nccl.device = "";
  connect_all(options);
  EXPECT_NE(std::getenv("NCCL_HOSTID"), nullptr);
  drop_all();
  setenv("NCCL_HOSTID", "mine", 1);
  connect_all(options);
  EXPECT_STREQ(std::getenv("NCCL_HOSTID"), "mine");
  unsetenv("NCCL_HOSTID");
  unsetenv("NCCL_MNNVL_ENABLE");
  drop_all();
  for (DeviceTransportOptions& one : options) one.nccl.process = 5;
  for (const Status& status : connect(options)) {
    EXPECT_EQ(
        status.message(),
        "rank 0 and rank 1 are of one process and use one device, which NCCL does not connect; "
        "RIPELINE_CARRIER=staged goes without NCCL");
  }
  EXPECT_EQ(std::getenv("NCCL_HOSTID"), nullptr);
}

// A library whose connect() fails in the second process.
class NoRoute final : public ProcessLibrary {
 public:
  explicit NoRoute(int process) : ProcessLibrary(process), fails_(process == 1) {}
  [[nodiscard]] Status connect(const NcclId& id, const NcclCommOptions& options,
                               std::unique_ptr<NcclComm>& comm) const override {
    if (fails_) return {StatusCode::failed, "there is no route"};
    return ProcessLibrary::connect(id, options, comm);
  }

 private:
  bool fails_;
};

TEST_F(NcclCarrierTest, what_nccl_says_as_it_connects_is_said_by_all) {
  for (const Status& status : connect(by_nccl<NoRoute>(3))) {
    EXPECT_EQ(status.code(), StatusCode::refused);
    EXPECT_EQ(status.message(),
              "rank 0 and rank 1 could not connect by NCCL: there is no route; "
              "RIPELINE_CARRIER=staged goes without NCCL");
  }
}

// A library whose connect() waits until released, and counts the calls that are inside.
class Waits final : public ProcessLibrary {
 public:
  using ProcessLibrary::ProcessLibrary;
  [[nodiscard]] Status connect(const NcclId& id, const NcclCommOptions& options,
                               std::unique_ptr<NcclComm>& comm) const override {
    std::unique_lock lock(mutex);
    ++inside;
    changed.notify_all();
    changed.wait(lock, [] { return may_go_on; });
    lock.unlock();
    return ProcessLibrary::connect(id, options, comm);
  }
  static inline std::mutex mutex;
  static inline std::condition_variable changed;
  static inline int inside = 0;
  static inline bool may_go_on = false;
};

TEST_F(NcclCarrierTest, who_waits_in_nccl_is_left_behind) {
  std::vector<DeviceTransportOptions> options = by_nccl<Waits>(2);
  for (DeviceTransportOptions& one : options) one.connect_limit = 200ms;
  int timeouts = 0;
  for (const Status& status : connect(options)) {
    EXPECT_NE(status.message().find("rank 0 and rank 1 took too long to be connected by NCCL; "
                                    "RIPELINE_CARRIER=staged goes without NCCL"),
              std::string::npos)
        << status.message();
    timeouts += status.code() == StatusCode::timeout ? 1 : 0;
  }
  EXPECT_GE(timeouts, 1);
  ends_.clear();              // frees all that the threads do not still use
  const fake_gpu::Host host;  // a thread may start before the other
  {
    const std::lock_guard lock(Waits::mutex);
    EXPECT_EQ(Waits::inside, 2);
    Waits::may_go_on = true;
    Waits::changed.notify_all();
  }
  const auto last = std::chrono::steady_clock::now() + testing_support::kLimit;
  while (fake_gpu::usage().device_bytes > 0 && std::chrono::steady_clock::now() < last) {
    std::this_thread::sleep_for(1ms);
  }
  fake_gpu::step(1 << 20);
  EXPECT_EQ(fake_gpu::communicators(), 0);
  expect_all_is_back();
}

TEST_F(NcclCarrierTest, a_process_that_is_lost_as_they_connect_is_named) {
  auto group = network::make_local_group(3);
  std::vector<std::unique_ptr<testing_support::End>> ends;
  for (int process = 0; process < 3; ++process) {
    ends.push_back(std::make_unique<testing_support::End>(process));
  }
  in_threads(3, [&](int process) {
    be_host(process);
    testing_support::End& end = *ends[static_cast<std::size_t>(process)];
    auto& inner = group[static_cast<std::size_t>(process)];
    if (process == 2) {  // sends its hello and nothing more
      std::vector<Delivery> early;
      CarrierMeeting meeting(*inner, testing_support::kLimit, early);
      EXPECT_TRUE(CarrierChoice(
                      meeting, end.pinned, *end.memory,
                      {.carrier = CarrierKind::nccl, .host = {}, .why_no_nccl = {}, .granule = 256})
                      .meet()
                      .ok());
      EXPECT_TRUE(meeting.send_to_all(protocol::NcclHello{.device = "another", .process = 9}).ok());
      std::this_thread::sleep_for(20ms);
      inner = nullptr;
      return;
    }
    DeviceTransport device(*inner, end.pinned, *end.memory,
                           by_nccl(3)[static_cast<std::size_t>(process)]);
    EXPECT_EQ(device.connect().message(), "rank 2 was lost (it ended without a word)");
    inner = nullptr;
  });
  ends.clear();
}

// A foreign or faulty process might send such a message. The other processes continue.
TEST_F(NcclCarrierTest, a_wrong_word_is_its_senders_fault) {
  const auto launched = [](std::uint64_t number, std::vector<std::uint64_t> sizes) {
    return protocol::Launched{.number = number, .sizes = std::move(sizes), .head = {}};
  };
  const std::vector<std::pair<protocol::CarrierMessage, std::string>> messages = {
      {launched(0, {10}), "the sender announced message 0 a second time"},
      {launched(2000, {10}), "the sender announced message 2000, and not yet message 1"},
      {launched(1, {10, std::uint64_t{1} << 60}),
       "the sender announced a part of 1152921504606846976 bytes; at most 68719476736 are allowed"},
      {protocol::AllLaunched{.count = 0},
       "the sender says that it sent 0 messages, and 1 are known"},
      {protocol::NcclName{}, "it said something that no nccl carrier says"},
      {protocol::BuffersAsked{}, "it said something that no nccl carrier says"},
      {protocol::CarrierRefusal{.code = 2, .text = "no reason"}, "no reason"},
  };
  for (const auto& [message, how] : messages) {
    SCOPED_TRACE(how);
    fake_gpu::begin({});
    connect_all(by_nccl(3));
    pass(0, 1, {1000}, 1);
    settle();
    say(0, 1, message);
    const Delivery lost = receive(1);
    EXPECT_TRUE(lost.envelope.is<signals::Lost>());
    EXPECT_EQ(lost.from, 0);
    EXPECT_EQ(text_of(lost), how);
    pass(1, 2, {1000}, 2);
    pass(2, 1, {1000}, 3);
    drop_all();
    if (HasFailure()) return;
  }
}

TEST_F(NcclCarrierTest, nothing_may_come_after_the_last) {
  connect_all(by_nccl(2));
  say(0, 1, protocol::AllLaunched{.count = 1});
  pass(0, 1, {1000}, 1);
  say(0, 1, protocol::Launched{.number = 1, .sizes = {10}, .head = {}});
  EXPECT_EQ(text_of(receive(1)), "the sender announced message 1 after all of its 1");
}

// The announced messages never arrive; the buffers that wait for these messages are released.
TEST_F(NcclCarrierTest, who_announces_and_does_not_send_holds_nobody_up_once_it_is_gone) {
  connect_all(by_nccl(3));
  say(0, 1, protocol::Launched{.number = 0, .sizes = {1000}, .head = {}});
  say(0, 1, protocol::Launched{.number = 2, .sizes = {1000}, .head = {}});
  say(0, 1, protocol::Launched{.number = 1, .sizes = {1000}, .head = {}});
  pass(2, 1, {1000}, 1);
  EXPECT_GT(of(1).memory->taken(), 0U) << "a buffer waits";
  EXPECT_FALSE(of(1).device->finish(1ms).ok());
  drop(0);
  EXPECT_TRUE(receive(1).envelope.is<signals::Lost>());
  pass(2, 1, {1000}, 2);
  EXPECT_EQ(of(1).memory->taken(), 0U);
  drop_all();
}

// The process that does not end continues, and ends well.
TEST_F(NcclCarrierTest, a_process_may_end_at_any_time) {
  for (int polls = 0; polls < 12; ++polls) {
    for (const int gone : {0, 1}) {
      SCOPED_TRACE(std::to_string(polls) + ", process " + std::to_string(gone));
      fake_gpu::begin({.seed = static_cast<std::uint64_t>(polls) + 1, .credits = polls % 3});
      connect_all(by_nccl(2));
      end_one(gone, polls);
      drop_all();
      if (HasFailure()) return;
    }
  }
}

// A library whose communicator reports that an operation in progress has failed.
class Sick final : public ProcessLibrary {
 public:
  class Comm final : public AroundComm {
   public:
    using AroundComm::AroundComm;
    Status health() override { return says; }
    static inline Status says;
  };
  explicit Sick(int process) : ProcessLibrary(process), is_sick_(process == 0) {}
  [[nodiscard]] Status connect(const NcclId& id, const NcclCommOptions& options,
                               std::unique_ptr<NcclComm>& comm) const override {
    Status status = ProcessLibrary::connect(id, options, comm);
    if (status.ok() && is_sick_) comm = std::make_unique<Comm>(std::move(comm));
    return status;
  }

 private:
  bool is_sick_;
};

TEST_F(NcclCarrierTest, what_nccl_says_of_the_other_end_is_a_loss) {
  Sick::Comm::says = {StatusCode::lost, "a remote process exited"};
  connect_all(by_nccl<Sick>(2));
  send(0, 1, {1000}, 1);
  const Delivery lost = receive(0);
  EXPECT_TRUE(lost.envelope.is<signals::Lost>());
  EXPECT_EQ(lost.from, 1);
  EXPECT_EQ(text_of(lost), "messages by NCCL stopped: a remote process exited");
  drop_all();
}

TEST_F(NcclCarrierTest, what_nccl_says_of_this_end_ends_the_run) {
  Sick::Comm::says = {StatusCode::failed, "an internal error"};
  connect_all(by_nccl<Sick>(2));
  Payload what = payload(0, {1000}, 1);
  const Status status = of(0).device->send(1, {signals::Data{{1, {0, 0}}}}, std::move(what));
  EXPECT_EQ(status.message(), "messages by NCCL stopped: an internal error");
  EXPECT_EQ(of(0).device->poll(0ms, of(0).got).message(), status.message());
  drop_all();
}

}  // namespace
}  // namespace ripeline::runtime::cuda
