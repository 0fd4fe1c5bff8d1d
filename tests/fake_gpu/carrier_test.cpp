// Tests messages between devices of processes that are threads: which carrier each pair uses, how
// buffers are reused, how a process's end affects them, and the effect of a wrong carrier message.
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cuda/carriers/exports.h"
#include "runtime/cuda/carriers/imports.h"
#include "tests/fake_gpu/carrier_ends.h"

namespace ripeline::runtime::cuda {
namespace {

using core::Status;
using core::StatusCode;
using testing_support::End;
using testing_support::in_threads;
using testing_support::kLimit;
using testing_support::misuses;
using namespace std::chrono_literals;

class CarrierTest : public testing_support::CarrierEnds {};

TEST_F(CarrierTest, each_pair_uses_what_it_can) {
  DeviceTransportOptions elsewhere = usual();
  elsewhere.host = "elsewhere";
  connect_all({usual(), usual(), elsewhere});
  EXPECT_EQ(of(0).device->carriers(), "ipc with rank 1, staged with rank 2 (on another host)");
  EXPECT_EQ(of(2).device->carriers(),
            "staged with rank 0 (on another host), staged with rank 1 (on another host)");
  pass(0, 1, {1000}, 1);
  pass(1, 2, {1000}, 2);
  EXPECT_EQ(of(1).memory->owned(), 2U) << "one to try, one that was written to";
  finish();
}

TEST_F(CarrierTest, what_cannot_be_exported_or_opened_is_staged) {
  for (const fake_gpu::Ipc ipc : {fake_gpu::Ipc::no_handles, fake_gpu::Ipc::no_opening}) {
    fake_gpu::begin({.ipc = ipc});
    connect_all({usual(), usual()});
    const std::string found = of(0).device->carriers();
    const std::string what = ipc == fake_gpu::Ipc::no_handles
                                 ? "export memory to other processes"
                                 : "open the memory of another process";
    EXPECT_EQ(found.rfind("staged with rank 1 (CUDA could not " + what, 0), 0U) << found;
    pass(0, 1, {1000}, 1);
    finish();
  }
}

TEST_F(CarrierTest, memory_of_the_same_process_is_not_opened) {
  fake_gpu::begin({});
  fake_gpu::be_process(0);
  DeviceMemory::Own own;
  ASSERT_TRUE(DeviceMemory(0, {}).allocate(1000, own).ok());
  protocol::MemoryHandle handle{};
  ASSERT_TRUE(export_memory(own.data(), handle).ok());
  OpenedMemory opened;
  const Status status = OpenedMemory::open(handle, opened);
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_EQ(status.message(), "CUDA IPC is between processes, and these ranks share one");
  fake_gpu::be_process(1);
  EXPECT_TRUE(OpenedMemory::open(handle, opened).ok());
  opened = {};
  fake_gpu::be_process(0);
}

TEST_F(CarrierTest, one_that_does_not_work_is_refused_to_who_insists) {
  fake_gpu::begin({.ipc = fake_gpu::Ipc::no_opening});
  DeviceTransportOptions insists = usual();
  insists.carrier = CarrierKind::ipc;
  for (const Status& status : connect({insists, insists, insists})) {
    EXPECT_EQ(status.code(), StatusCode::refused);
    EXPECT_NE(status.message().find("were told to use ipc, and cannot: CUDA could not open"),
              std::string::npos)
        << status.message();
  }
}

TEST_F(CarrierTest, both_must_be_told_the_same) {
  DeviceTransportOptions ipc = usual();
  ipc.carrier = CarrierKind::ipc;
  DeviceTransportOptions staged = usual();
  staged.carrier = CarrierKind::staged;
  for (const Status& status : connect({ipc, staged})) {
    EXPECT_EQ(status.code(), StatusCode::refused);
    EXPECT_EQ(status.message(),
              "rank 0 was told to use ipc, rank 1 was told to use staged: RIPELINE_CARRIER must be "
              "the same for both");
  }
  ends_.clear();
  for (const Status& status : connect({usual(), staged})) {
    EXPECT_EQ(status.message(),
              "rank 0 was told none, rank 1 was told to use staged: RIPELINE_CARRIER must be the "
              "same for both");
  }
}

TEST_F(CarrierTest, is_named_by_the_environment) {
  std::optional<CarrierKind> carrier = CarrierKind::ipc;
  unsetenv("RIPELINE_CARRIER");
  EXPECT_TRUE(read_carrier(carrier).ok());
  EXPECT_FALSE(carrier.has_value());
  setenv("RIPELINE_CARRIER", "staged", 1);
  EXPECT_TRUE(read_carrier(carrier).ok());
  EXPECT_EQ(carrier, CarrierKind::staged);
  setenv("RIPELINE_CARRIER", "pigeons", 1);
  EXPECT_EQ(read_carrier(carrier).message(),
            "RIPELINE_CARRIER is 'pigeons'; it may be ipc, nccl or staged");
  unsetenv("RIPELINE_CARRIER");
}

// A process that has connected to all of its peers begins while others still wait for theirs.
TEST_F(CarrierTest, what_comes_before_all_are_connected_is_kept) {
  auto group = network::make_local_group(3);
  for (int process = 0; process < 3; ++process) {
    End& end = *ends_.emplace_back(std::make_unique<End>(process));
    end.inner = std::move(group[static_cast<std::size_t>(process)]);
  }
  // Process 0 sees only process 1 as a peer for which it must wait.
  const protocol::MemoryHandle none{};
  const Envelope envelope{.signal = signals::Carrier{}};
  for (const protocol::CarrierMessage& message : std::vector<protocol::CarrierMessage>{
           protocol::CarrierHello{.setting = {}, .host = {}, .handle = none, .token = 0, .why = {}},
           protocol::CarrierVerdict{.works = false, .why = "on another host"},
           protocol::Landed{.parts = {{.buffer = 7, .size = 1}}, .head = {}}}) {
    ASSERT_TRUE(of(0).inner->send(1, envelope, protocol::encode_message(message)).ok());
  }
  in_threads(2, [&](int thread) {
    const int process = thread + 1;
    enter(process);
    End& end = of(process);
    if (process == 2) {
      std::this_thread::sleep_for(20ms);
      ASSERT_TRUE(
          end.inner
              ->send(1, envelope,
                     protocol::encode_message(protocol::CarrierVerdict{.works = false, .why = {}}))
              .ok());
      ASSERT_TRUE(
          end.inner->send(1, envelope, protocol::encode_message(protocol::CarrierHello{})).ok());
      return;
    }
    end.device = std::make_unique<DeviceTransport>(*end.inner, end.pinned, *end.memory, usual());
    EXPECT_TRUE(end.device->connect().ok());
  });
  const Delivery lost = receive(1);
  const std::string how(reinterpret_cast<const char*>(lost.payload.head.data()),
                        lost.payload.head.size());
  EXPECT_EQ(how, "it said something that no staged carrier says") << "and it was heard whole";
}

TEST_F(CarrierTest, a_buffer_goes_round) {
  connect_all({usual(), usual()});
  for (int i = 1; i <= 20; ++i) {
    pass(0, 1, {1000}, i);
    settle();
  }
  EXPECT_EQ(of(1).memory->owned(), 2U) << "one to try, one for all messages";
  // Three messages at once; the receiver does not release them.
  std::vector<Delivery> kept;
  for (int i = 21; i <= 23; ++i) {
    send(0, 1, {1000}, i);
    kept.push_back(receive(1));
  }
  EXPECT_EQ(of(1).memory->owned(), 4U);
  for (const Delivery& delivery : kept) expect_bytes(1, delivery, {1000});
  kept.clear();
  finish();
}

// A buffer is reused only after the stream's work that reads the buffer has been seen to end.
TEST_F(CarrierTest, a_buffer_that_is_read_is_not_written_to) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    fake_gpu::begin({.seed = seed});
    connect_all({usual(), usual()});
    std::vector<Bytes> seen;
    for (int i = 1; i <= 10; ++i) {
      send(0, 1, {1000}, i);
      const Delivery delivery = receive(1);
      const Bytes& part = delivery.payload.parts.at(0);
      End& end = of(1);
      seen.push_back(end.pinned.take(-1, 1000));
      ASSERT_EQ(
          cudaMemcpyAsync(seen.back().data, part.data, 1000, cudaMemcpyDefault, end.compute.get()),
          cudaSuccess);
    }
    ASSERT_TRUE(of(1).compute.sync().ok());
    for (int i = 1; i <= 10; ++i) {
      EXPECT_EQ(seen[static_cast<std::size_t>(i - 1)].data[999], std::byte(i));
    }
    seen.clear();
    finish();
    if (HasFailure()) return;
  }
}

TEST_F(CarrierTest, a_part_goes_to_the_smallest_buffer_that_is_large_enough) {
  connect_all({usual(), usual()});
  const std::size_t before = of(1).memory->owned();
  const auto made = [&] { return of(1).memory->owned() - before; };
  const std::size_t bytes = fake_gpu::usage().device_bytes;
  pass(0, 1, {1000}, 1);
  EXPECT_EQ(made(), 1U);
  settle();
  pass(0, 1, {300}, 2);
  EXPECT_EQ(made(), 1U) << "it fits";
  settle();
  pass(0, 1, {5000, 700}, 3);
  EXPECT_EQ(made(), 2U) << "the one that fits is used, and one is made";
  settle();
  pass(0, 1, {6000, 6000}, 4);
  EXPECT_EQ(made(), 4U) << "neither does";
  settle();
  // The sender's own buffers are still allocated, one for each part that it sent.
  const std::size_t sent = 1000 + 300 + 5000 + 700 + 6000 + 6000;
  EXPECT_EQ(fake_gpu::usage().device_bytes - bytes - sent, 2U * 6144) << "and the others are freed";
  pass(0, 1, {100, 6144}, 5);
  EXPECT_EQ(made(), 4U);
  finish();
}

TEST_F(CarrierTest, parts_of_the_host_go_beside_them) {
  connect_all({usual(), usual()});
  Payload mixed = payload(0, {1000}, 7);
  mixed.parts.push_back(of(0).pinned.take(-1, 500));
  std::memset(mixed.parts.back().data, 7, 500);
  ASSERT_TRUE(of(0).device->send(1, {signals::Data{{7, {0, 0}}}}, std::move(mixed)).ok());
  expect_bytes(1, receive(1), {1000, 500});
  finish();
}

TEST_F(CarrierTest, a_head_may_be_as_long_as_it_may_be) {
  connect_all({usual(), usual()});
  Payload long_one = payload(0, {1000}, 7);
  long_one.head.assign(kLargestHead, std::byte{9});
  ASSERT_TRUE(of(0).device->send(1, {signals::Data{{7, {3, 4}}, 5}}, std::move(long_one)).ok());
  const Delivery delivery = receive(1);
  EXPECT_EQ(delivery.from, 0);
  EXPECT_EQ(delivery.envelope.signal, Signal(signals::Data{{7, {3, 4}}, 5}));
  EXPECT_EQ(delivery.payload.head, Blob(kLargestHead, std::byte{9}));
  expect_bytes(1, delivery, {1000});
}

// The process that ends has buffers of its own and buffers of its peer. The peer continues.
TEST_F(CarrierTest, a_process_may_end_at_any_time) {
  for (int polls = 0; polls < 12; ++polls) {
    for (const int gone : {0, 1}) {
      SCOPED_TRACE(std::to_string(polls) + ", process " + std::to_string(gone));
      fake_gpu::begin({.seed = static_cast<std::uint64_t>(polls) + 1});
      connect_all({usual(), usual()});
      end_one(gone, polls);
      drop(1 - gone);
      ends_.clear();
      EXPECT_EQ(misuses(), "");
      if (HasFailure()) return;
    }
  }
}

// A foreign process, or a faulty one, might send such messages.
TEST_F(CarrierTest, a_wrong_word_is_its_senders_fault) {
  const protocol::MemoryHandle handle{};
  const std::vector<std::pair<protocol::CarrierMessage, std::string>> messages = {
      {protocol::Landed{.parts = {{.buffer = 77, .size = 10}}, .head = {}},
       "the sender wrote to place 77, which it was not given"},
      {protocol::Landed{.parts = {{.buffer = 0, .size = 5000}}, .head = {}},
       "the sender wrote 5000 bytes to a place of 1024"},
      {protocol::BuffersAsked{.seen = 0, .sizes = {}, .closed = {78}},
       "the sender closed place 78, which it does not have"},
      {protocol::BuffersAsked{.seen = 0, .sizes = {std::uint64_t{1} << 60}, .closed = {}},
       "the sender asked for a place of 1152921504606846976 bytes; at most 68719476736 are "
       "allowed"},
      {protocol::BuffersGiven{{{.id = 5, .bytes = 100, .handle = {}}}},
       "the receiver gave place 5, which it cannot give"},
      {protocol::BuffersGiven{{{.id = 0, .bytes = 1024, .handle = handle}}},
       "the receiver gave place 0, which it cannot give"},
      {protocol::CarrierVerdict{.works = true, .why = {}},
       "it said something that no ipc carrier says"},
      {protocol::CarrierRefusal{.code = 2, .text = "no reason"}, "no reason"},
  };
  for (const auto& [message, how] : messages) {
    SCOPED_TRACE(how);
    fake_gpu::begin({});
    connect_all({usual(), usual()});
    // Each process gets buffers of the other.
    pass(0, 1, {1000}, 1);
    pass(1, 0, {1000}, 2);
    settle();
    const Envelope envelope{.signal = signals::Carrier{}};
    ASSERT_TRUE(of(0).inner->send(1, envelope, protocol::encode_message(message)).ok());
    const Delivery lost = receive(1);
    EXPECT_TRUE(lost.envelope.is<signals::Lost>());
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(lost.payload.head.data()),
                          lost.payload.head.size()),
              how);
    drop(1);
    drop(0);
    ends_.clear();
  }
}

TEST_F(CarrierTest, what_is_no_word_is_refused_too) {
  connect_all({usual(), usual()});
  const Envelope envelope{.signal = signals::Carrier{}};
  ASSERT_TRUE(of(0).inner->send(1, envelope, payload_of(Blob(3, std::byte{9}))).ok());
  const Delivery lost = receive(1);
  EXPECT_TRUE(lost.envelope.is<signals::Lost>());
  ASSERT_TRUE(
      of(0).inner->send(1, envelope, protocol::encode_message(protocol::CarrierVerdict{})).ok());
  settle();
  EXPECT_TRUE(of(1).got.empty()) << "it is told once";
}

TEST_F(CarrierTest, a_process_that_is_lost_or_late_at_the_start_is_named) {
  auto group = network::make_local_group(2);
  End end(0);
  DeviceTransportOptions options = usual();
  options.connect_limit = 50ms;
  {
    DeviceTransport device(*group[0], end.pinned, *end.memory, options);
    const Status status = device.connect();
    EXPECT_EQ(status.code(), StatusCode::timeout);
    EXPECT_EQ(status.message(),
              "rank 1 has not said how messages go between its device and that of rank 0");
    std::vector<Delivery> none;
    EXPECT_EQ(device.poll(0ms, none).message(), status.message());
  }
  group[1] = nullptr;
  options.connect_limit = kLimit;
  DeviceTransport device(*group[0], end.pinned, *end.memory, options);
  EXPECT_EQ(device.connect().message(), "rank 1 was lost (it ended without a word)");
}

}  // namespace
}  // namespace ripeline::runtime::cuda
