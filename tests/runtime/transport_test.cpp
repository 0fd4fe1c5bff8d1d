// What every transport does, over each of them.
#include "runtime/transport/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/runtime/each_transport.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing::HasSubstr;
using testing_support::bytes;
using testing_support::expect_ok;
using testing_support::in_threads;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

Envelope envelope(int edge, int microbatch, std::int64_t step = 0) {
  return {.step = step, .message = {edge, microbatch}, .sent = core::Time{microbatch}};
}

// Polls until `count` deliveries are there.
std::vector<Delivery> receive(Transport& transport, std::size_t count) {
  std::vector<Delivery> deliveries;
  const Clock::time_point limit = Clock::now() + 60s;
  while (deliveries.size() < count && Clock::now() < limit) {
    expect_ok(transport.poll(100ms, deliveries));
  }
  EXPECT_EQ(deliveries.size(), count);
  deliveries.resize(count);
  return deliveries;
}

// Polls until `from` is lost; how.
std::string loss(Transport& transport, int from) {
  std::vector<Delivery> deliveries;
  const Clock::time_point limit = Clock::now() + 60s;
  while (deliveries.empty() && Clock::now() < limit) expect_ok(transport.poll(100ms, deliveries));
  if (deliveries.size() != 1 || deliveries[0].envelope.signal != Signal::lost) return "not lost";
  EXPECT_EQ(deliveries[0].from, from);
  const Blob how = blob_of(deliveries[0].payload);
  return {reinterpret_cast<const char*>(how.data()), how.size()};
}

class TransportTest : public testing_support::EachTransport {};

INSTANTIATE_TEST_SUITE_P(each, TransportTest, testing_support::each_transport(),
                         testing_support::transport_name);

TEST_P(TransportTest, knows_its_process_and_refuses_a_wrong_one) {
  make(2);
  EXPECT_EQ(of(1).self(), 1);
  EXPECT_EQ(of(1).processes(), 2);
  for (const int to : {-1, 1, 2}) {
    EXPECT_EQ(of(1).send(to, envelope(0, 0), {}).code(), StatusCode::invalid);
  }
  expect_ok(of(1).send(0, envelope(0, 0), {}));
}

TEST_P(TransportTest, carries_small_messages_whole_and_in_order) {
  make(2);
  constexpr int kMessages = 500;
  in_threads(2, [&](int self) {
    const auto text = [](int m) { return std::string(static_cast<std::size_t>(m % 9), 'x'); };
    for (int m = 0; m < kMessages; ++m) {
      expect_ok(of(self).send(1 - self, envelope(7, m, 3), payload_of(bytes(text(m)))));
    }
    const std::vector<Delivery> got = receive(of(self), kMessages);
    for (int m = 0; m < kMessages; ++m) {
      const Delivery& delivery = got[static_cast<std::size_t>(m)];
      EXPECT_EQ(delivery.from, 1 - self);
      EXPECT_EQ(delivery.envelope.step, 3);
      EXPECT_EQ(delivery.envelope.message, (core::Message{7, m}));
      EXPECT_EQ(delivery.envelope.sent, core::Time{m});
      EXPECT_EQ(delivery.payload.head, bytes(text(m)));
      EXPECT_TRUE(delivery.payload.parts.empty());
    }
    expect_ok(of(self).finish(60s));
  });
}

TEST_P(TransportTest, carries_every_signal_with_what_it_says) {
  make(2);
  const Signal kSignals[] = {Signal::data,   Signal::announce, Signal::grant,
                             Signal::notice, Signal::gather,   Signal::report};
  for (const Signal signal : kSignals) {
    Envelope sent = envelope(3, 5, -7);
    sent.signal = signal;
    sent.ordinal = 11;
    expect_ok(of(0).send(1, sent, payload_of(bytes("what"))));
    const Delivery got = receive(of(1), 1)[0];
    EXPECT_EQ(got.envelope.signal, signal);
    EXPECT_EQ(got.envelope.step, -7);
    EXPECT_EQ(got.envelope.message, (core::Message{3, 5}));
    EXPECT_EQ(got.envelope.ordinal, 11);
    EXPECT_EQ(got.payload.head, bytes("what"));
  }
}

// Bytes that differ at every place that matters.
Blob pattern(std::size_t size, std::size_t seed) {
  Blob blob(size);
  for (std::size_t i = 0; i < size; ++i)
    blob[i] = static_cast<std::byte>((i * 31 + i / 251) ^ seed);
  return blob;
}

// Parts that are shorter and longer than what is read at once, in every order of two.
TEST_P(TransportTest, carries_payloads_of_several_parts) {
  make(2);
  constexpr std::size_t kSizes[] = {0, 1, 63 << 10, 64 << 10, (1 << 20) + 1};
  std::vector<std::vector<std::size_t>> messages = {
      {}, {0}, {std::begin(kSizes), std::end(kSizes)}};
  for (const std::size_t a : kSizes) {
    for (const std::size_t b : kSizes) messages.push_back({a, b});
  }
  messages.emplace_back(kMostParts, 7);
  in_threads(2, [&](int self) {
    for (std::size_t m = 0; self == 0 && m < messages.size(); ++m) {
      Payload payload;
      payload.head = pattern(m % 3 == 0 ? 0 : m % 3 == 1 ? 17 : kLargestHead, m);
      for (const std::size_t size : messages[m]) {
        const auto kept = std::make_shared<Blob>(pattern(size, m + payload.parts.size()));
        payload.parts.push_back({.data = kept->data(), .size = size, .keeper = kept});
      }
      expect_ok(of(0).send(1, envelope(0, static_cast<int>(m)), std::move(payload)));
    }
    std::vector<Delivery> all;
    if (self == 1) all = receive(of(1), messages.size());
    for (std::size_t m = 0; m < all.size(); ++m) {
      const Delivery& got = all[m];
      ASSERT_EQ(got.envelope.message.microbatch, static_cast<int>(m));
      EXPECT_EQ(got.payload.head, pattern(m % 3 == 0 ? 0 : m % 3 == 1 ? 17 : kLargestHead, m));
      ASSERT_EQ(got.payload.parts.size(), messages[m].size());
      for (std::size_t i = 0; i < messages[m].size(); ++i) {
        const Bytes& part = got.payload.parts[i];
        ASSERT_EQ(part.size, messages[m][i]);
        EXPECT_EQ(part.device, -1);
        EXPECT_TRUE(Blob(part.data, part.data + part.size) == pattern(part.size, m + i));
      }
    }
    expect_ok(of(self).finish(60s));
  });
}

TEST_P(TransportTest, carries_big_payloads_both_ways_at_once) {
  make(2);
  constexpr std::size_t kBytes = 32 << 20;
  in_threads(2, [&](int self) {
    expect_ok(of(self).send(1 - self, envelope(0, 0),
                            payload_of(pattern(kBytes, static_cast<std::size_t>(self)))));
    const Delivery got = receive(of(self), 1)[0];
    EXPECT_TRUE(blob_of(got.payload) == pattern(kBytes, static_cast<std::size_t>(1 - self)));
    expect_ok(of(self).finish(60s));
  });
}

// As long as a copy of it is there, the sender's or the receiver's.
TEST_P(TransportTest, ends_what_keeps_a_part_with_the_last_copy) {
  make(2);
  std::atomic<int> ended = 0;
  const Blob blob = pattern(100'000, 1);
  Payload payload;
  payload.parts.push_back({.data = const_cast<std::byte*>(blob.data()),
                           .size = blob.size(),
                           .keeper = {this, [&](void*) { ++ended; }}});
  expect_ok(of(0).send(1, envelope(0, 0), payload));
  EXPECT_EQ(ended, 0);
  payload = {};
  {
    const std::vector<Delivery> got = receive(of(1), 1);
    EXPECT_TRUE(blob_of(got[0].payload) == blob);
  }
  std::vector<Delivery> none;
  expect_ok(of(0).poll(0ns, none));
  EXPECT_EQ(ended, 1);
}

TEST_P(TransportTest, keeps_messages_until_they_are_polled) {
  make(3);
  expect_ok(of(0).send(1, envelope(1, 1), payload_of(bytes("early"))));
  expect_ok(of(2).send(1, envelope(2, 2), payload_of(bytes("early too"))));
  expect_ok(of(1).send(0, envelope(3, 3), payload_of(bytes("meanwhile"))));
  EXPECT_EQ(receive(of(0), 1)[0].payload.head, bytes("meanwhile"));
  std::vector<Delivery> got = receive(of(1), 2);
  if (got[0].from == 2) std::swap(got[0], got[1]);
  EXPECT_EQ(got[0].payload.head, bytes("early"));
  EXPECT_EQ(got[1].payload.head, bytes("early too"));
  EXPECT_EQ(got[1].from, 2);
}

TEST_P(TransportTest, returns_with_nothing_when_nothing_comes) {
  make(2);
  std::vector<Delivery> got;
  const Clock::time_point start = Clock::now();
  expect_ok(of(0).poll(30ms, got));
  EXPECT_TRUE(got.empty());
  EXPECT_GE(Clock::now() - start, 29ms);
  EXPECT_LT(Clock::now() - start, 20s);
}

TEST_P(TransportTest, of_one_process_finishes) {
  make(1);
  std::vector<Delivery> got;
  expect_ok(of(0).poll(0ns, got));
  of(0).flush(1s);
  expect_ok(of(0).finish(1s));
  EXPECT_TRUE(got.empty());
}

TEST_P(TransportTest, is_no_loss_after_finish) {
  make(3);
  in_threads(3, [&](int self) {
    expect_ok(of(self).finish(60s));
    if (self > 0) drop(self);
  });
  std::vector<Delivery> got;
  expect_ok(of(0).poll(50ms, got));
  EXPECT_TRUE(got.empty());
}

TEST_P(TransportTest, tells_of_a_loss_once_and_goes_on_with_the_others) {
  make(3);
  drop(1);
  for (const int self : {0, 2}) EXPECT_NE(loss(of(self), 1), "not lost");
  expect_ok(of(0).send(1, envelope(0, 0), payload_of(bytes("to nobody"))));
  expect_ok(of(0).send(2, envelope(0, 0), payload_of(bytes("still here"))));
  EXPECT_EQ(receive(of(2), 1)[0].payload.head, bytes("still here"));
  std::vector<Delivery> got;
  expect_ok(of(0).poll(30ms, got));
  EXPECT_TRUE(got.empty()) << "told once";
  const Clock::time_point start = Clock::now();
  const Status status = of(0).finish(60s);
  EXPECT_LT(Clock::now() - start, 50s) << "there is nothing to wait for";
  EXPECT_EQ(status.code(), StatusCode::lost);
  EXPECT_THAT(status.message(), HasSubstr("rank 1 was lost"));
}

// However long it is, and whatever comes on another connection.
TEST_P(TransportTest, delivers_all_that_a_lost_process_sent_before) {
  for (const std::size_t size : {std::size_t{4}, std::size_t{3} << 20}) {
    SCOPED_TRACE(size);
    make(2);
    Envelope grant = envelope(0, 3);
    grant.signal = Signal::grant;
    expect_ok(of(1).send(0, envelope(0, 4), payload_of(pattern(size, 3))));
    expect_ok(of(1).send(0, grant, {}));
    std::thread sender([this] {
      const Clock::time_point limit = Clock::now() + 60s;
      std::vector<Delivery> none;
      while (of(1).queued(0) > 0 && Clock::now() < limit) expect_ok(of(1).poll(1ms, none));
      drop(1);
    });
    std::vector<Delivery> got;
    const auto is_lost = [&] { return !got.empty() && got.back().envelope.signal == Signal::lost; };
    const Clock::time_point limit = Clock::now() + 60s;
    while (!is_lost() && Clock::now() < limit) expect_ok(of(0).poll(100ms, got));
    sender.join();
    ASSERT_EQ(got.size(), 3U);
    if (got[0].envelope.signal == Signal::grant) std::swap(got[0], got[1]);
    EXPECT_TRUE(blob_of(got[0].payload) == pattern(size, 3));
    EXPECT_EQ(got[1].envelope.signal, Signal::grant);
    drop(0);
  }
}

// The same, when nobody looked until it was gone.
TEST_P(TransportTest, delivers_what_a_lost_process_sent_long_ago) {
  make(2);
  constexpr std::size_t kBytes = 120 << 10;  // fits what the kernel keeps
  expect_ok(of(1).send(0, envelope(0, 4), payload_of(pattern(kBytes, 3))));
  ASSERT_EQ(of(1).queued(0), 0U);
  drop(1);
  const std::vector<Delivery> got = receive(of(0), 2);
  EXPECT_TRUE(blob_of(got[0].payload) == pattern(kBytes, 3));
  EXPECT_EQ(got[1].envelope.signal, Signal::lost);
}

TEST_P(TransportTest, limits_the_wait_for_the_end) {
  make(2);
  const Status finished = of(1).finish(50ms);
  EXPECT_EQ(finished.code(), StatusCode::timeout);
  EXPECT_THAT(finished.message(), HasSubstr("rank 0 has not finished"));
}

TEST_P(TransportTest, wakes_when_a_message_comes) {
  make(2);
  in_threads(2, [&](int self) {
    if (self == 0) {
      std::this_thread::sleep_for(50ms);
      expect_ok(of(0).send(1, envelope(0, 0), {}));
    } else {
      std::vector<Delivery> got;
      const Clock::time_point start = Clock::now();
      expect_ok(of(1).poll(100s, got));
      EXPECT_EQ(got.size(), 1U);
      EXPECT_LT(Clock::now() - start, 60s);
    }
  });
}

TEST_P(TransportTest, wakes_when_another_thread_says_so) {
  make(2);
  std::vector<Delivery> got;
  const Clock::time_point start = Clock::now();
  of(0).wake();
  expect_ok(of(0).poll(100s, got));  // said before it waits
  std::thread other([&] {
    std::this_thread::sleep_for(50ms);
    of(0).wake();
  });
  expect_ok(of(0).poll(100s, got));
  other.join();
  EXPECT_TRUE(got.empty());
  EXPECT_LT(Clock::now() - start, 60s);
  of(0).wake();
  of(0).wake();
  expect_ok(of(0).poll(100s, got));
  const Clock::time_point before = Clock::now();
  expect_ok(of(0).poll(30ms, got));
  EXPECT_GE(Clock::now() - before, 29ms) << "several count once";
}

TEST_P(TransportTest, hears_from_the_others_by_the_clock_of_the_host) {
  make(2);
  const core::Time start = Clock::now().time_since_epoch();
  expect_ok(of(1).send(0, envelope(0, 0), payload_of(bytes("here"))));
  std::ignore = receive(of(0), 1);
  const core::Time heard = of(0).heard(1);
  EXPECT_GE(heard, start);
  EXPECT_LE(heard, Clock::now().time_since_epoch());
}

}  // namespace
}  // namespace ripeline::runtime
