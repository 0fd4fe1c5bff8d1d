// Tests the contract of runtime/transport.h over each of the transports.
#include "runtime/transport.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include "runtime/network/buffer_pool.h"
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
using testing_support::TransportOptions;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLimit = 60s;

core::Time now() { return Clock::now().time_since_epoch(); }

Envelope envelope(int edge, int microbatch, std::int64_t step = 0) {
  return {.signal = signals::Data{{step, {edge, microbatch}}}, .sent = now()};
}
signals::Data data_of(const Delivery& delivery) {
  return std::get<signals::Data>(delivery.envelope.signal);
}

// Bytes that differ between positions that might be confused with each other.
Blob pattern(std::size_t size, std::size_t seed) {
  Blob blob(size);
  for (std::size_t i = 0; i < size; ++i)
    blob[i] = static_cast<std::byte>((i * 31 + (i >> 8)) ^ seed);
  return blob;
}

Payload parts_of(const std::vector<std::size_t>& sizes, std::size_t seed) {
  Payload payload;
  for (const std::size_t size : sizes) {
    const auto kept = std::make_shared<Blob>(pattern(size, seed + payload.parts.size()));
    payload.parts.push_back({.data = kept->data(), .size = size, .owner = kept});
  }
  return payload;
}
void expect_parts(const Payload& payload, const std::vector<std::size_t>& sizes, std::size_t seed) {
  ASSERT_EQ(payload.parts.size(), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Bytes& part = payload.parts[i];
    ASSERT_EQ(part.size, sizes[i]);
    EXPECT_EQ(part.device, -1);
    EXPECT_TRUE(Blob(part.data, part.data + part.size) == pattern(part.size, seed + i));
  }
}

bool is_loss(const Delivery& delivery) { return delivery.envelope.is<signals::Lost>(); }
std::string text_of(const Delivery& delivery) {
  const Blob text = blob_of(delivery.payload);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

class TransportTest : public testing_support::EachTransport {
 protected:
  // Polls all processes in turn, as if each had its own thread, until `done` or for a minute.
  // Stores the deliveries by process.
  void look_until(const std::function<bool()>& done) {
    const Clock::time_point limit = Clock::now() + kLimit;
    while (!done() && Clock::now() < limit) {
      for (int process = 0; process < size(); ++process) {
        if (is_there(process)) expect_ok(of(process).poll(1ms, got(process)));
      }
    }
    EXPECT_TRUE(done());
  }
  // The next `count` deliveries of a process, in the order in which its transport delivers them.
  std::vector<Delivery> receive(int process, std::size_t count) {
    look_until([&] { return got(process).size() >= count; });
    std::vector<Delivery>& all = got(process);
    count = std::min(count, all.size());
    std::vector<Delivery> first(std::make_move_iterator(all.begin()),
                                std::make_move_iterator(all.begin() + std::ptrdiff_t(count)));
    all.erase(all.begin(), all.begin() + std::ptrdiff_t(count));
    return first;
  }
  Delivery receive_one(int process) {
    std::vector<Delivery> all = receive(process, 1);
    return all.empty() ? Delivery{} : std::move(all[0]);
  }
  void expect_nothing(int process) {
    for (int i = 0; i < 3; ++i) expect_ok(of(process).poll(10ms, got(process)));
    EXPECT_TRUE(got(process).empty());
  }
  void finish_all() {
    in_threads(size(), [this](int process) {
      if (is_there(process)) expect_ok(of(process).finish(kLimit));
    });
  }
  std::vector<Delivery>& got(int process) {
    got_.resize(static_cast<std::size_t>(size()));
    return got_[static_cast<std::size_t>(process)];
  }

 private:
  std::vector<std::vector<Delivery>> got_;
};

INSTANTIATE_TEST_SUITE_P(each, TransportTest, testing_support::each_transport(),
                         testing_support::transport_name);

// Tests of behaviour that is required between processes, but not between threads of one process.
class TransportBetweenProcessesTest : public TransportTest {};

INSTANTIATE_TEST_SUITE_P(each, TransportBetweenProcessesTest,
                         testing_support::each_transport_of_processes(),
                         testing_support::transport_name);

TEST_P(TransportTest, knows_its_process_and_refuses_a_wrong_one) {
  make(2);
  EXPECT_EQ(of(1).self(), 1);
  EXPECT_EQ(of(1).processes(), 2);
  for (const Signal& what : {Signal(signals::Data{}), Signal(signals::Grant{})}) {
    for (const int to : {-1, 1, 2}) {
      EXPECT_EQ(of(1).send(to, {what, now()}, {}).code(), StatusCode::invalid);
    }
  }
  expect_ok(of(1).send(0, envelope(0, 0), {}));
}

TEST_P(TransportTest, carries_each_small_message_once_and_whole) {
  make(2);
  constexpr int kMessages = 500;
  const auto text = [](int m) { return std::string(static_cast<std::size_t>(m % 9), 'x'); };
  const core::Time start = now();
  for (int m = 0; m < kMessages; ++m) {
    for (const int self : {0, 1}) {
      expect_ok(of(self).send(1 - self, envelope(7, m, 3), payload_of(bytes(text(m)))));
    }
  }
  for (const int self : {0, 1}) {
    std::vector<int> times(kMessages);
    for (const Delivery& delivery : receive(self, kMessages)) {
      const int m = data_of(delivery).message.microbatch;
      ++times.at(static_cast<std::size_t>(m));
      EXPECT_EQ(delivery.from, 1 - self);
      EXPECT_EQ(data_of(delivery).step, 3);
      EXPECT_EQ(data_of(delivery).message.edge, 7);
      EXPECT_EQ(delivery.payload.head, bytes(text(m)));
      EXPECT_TRUE(delivery.payload.parts.empty());
      EXPECT_GE(delivery.envelope.sent, start - 1s) << "by its own clock";
      EXPECT_LE(delivery.envelope.sent, now() + 1s);
      EXPECT_GE(delivery.at, start);
      EXPECT_LE(delivery.at, now());
    }
    EXPECT_EQ(times, std::vector<int>(kMessages, 1));
  }
  finish_all();
}

TEST_P(TransportTest, carries_every_signal_with_what_it_says) {
  make(2);
  const signals::OfMessage of_message{.step = -7, .message = {3, 5}};
  const Signal kSignals[] = {signals::Data{of_message, 11},
                             signals::Announce{of_message, 11},
                             signals::Grant{of_message},
                             signals::Notice{of_message},
                             signals::Begun{.step = -7, .microbatches = 5},
                             signals::Ballot{-7},
                             signals::Gather{-7},
                             signals::Report{}};
  for (const Signal& what : kSignals) {
    expect_ok(of(0).send(1, {what, now()}, payload_of(bytes("what"))));
    const Delivery delivery = receive_one(1);
    EXPECT_EQ(delivery.envelope.signal, what);
    EXPECT_EQ(delivery.payload.head, bytes("what"));
  }
}

// Payloads of one part or two parts, with the sizes around which transports change their method;
// also the longest head and the largest number of parts.
TEST_P(TransportTest, carries_payloads_of_all_sizes_and_several_parts) {
  make(2);
  constexpr std::size_t kSizes[] = {0,    1,        4096,     8191,         8192,
                                    8193, 63 << 10, 64 << 10, (1 << 20) + 1};
  std::vector<std::vector<std::size_t>> messages = {
      {}, {5 << 20}, {std::begin(kSizes), std::end(kSizes)}};
  for (const std::size_t a : kSizes) {
    messages.push_back({a});
    for (const std::size_t b : kSizes) messages.push_back({a, b});
  }
  messages.emplace_back(kMostParts, 7);
  messages.emplace_back(kMostParts, 20'000);
  const std::size_t kHeads[] = {0, 17, kLargestHead};
  for (std::size_t m = 0; m < messages.size(); ++m) {
    Payload payload = parts_of(messages[m], m);
    payload.head = pattern(kHeads[m % 3], m);
    expect_ok(of(0).send(1, envelope(0, static_cast<int>(m)), std::move(payload)));
  }
  std::vector<int> times(messages.size());
  for (const Delivery& delivery : receive(1, messages.size())) {
    const auto m = static_cast<std::size_t>(data_of(delivery).message.microbatch);
    ++times.at(m);
    EXPECT_EQ(delivery.payload.head, pattern(kHeads[m % 3], m));
    expect_parts(delivery.payload, messages[m], m);
  }
  EXPECT_EQ(times, std::vector<int>(messages.size(), 1));
  finish_all();
}

TEST_P(TransportTest, carries_big_payloads_both_ways_at_once) {
  make(2);
  constexpr std::size_t kBytes = 16 << 20;
  for (const int self : {0, 1}) {
    expect_ok(of(self).send(1 - self, envelope(0, 0),
                            payload_of(pattern(kBytes, static_cast<std::size_t>(self)))));
  }
  for (const int self : {0, 1}) {
    EXPECT_TRUE(blob_of(receive_one(self).payload) ==
                pattern(kBytes, static_cast<std::size_t>(1 - self)));
  }
  finish_all();
}

// A part's owner lives as long as any copy of the part, at the sender or at the receiver.
TEST_P(TransportTest, ends_what_keeps_a_part_with_the_last_copy) {
  make(2);
  for (const std::size_t size : {std::size_t{100}, std::size_t{100'000}}) {
    SCOPED_TRACE(size);
    std::atomic<int> ended = 0;
    const Blob blob = pattern(size, 1);
    Payload payload;
    payload.parts.push_back({.data = const_cast<std::byte*>(blob.data()),
                             .size = blob.size(),
                             .owner = {this, [&](void*) { ++ended; }}});
    expect_ok(of(0).send(1, envelope(0, 0), payload));
    EXPECT_EQ(ended, 0);
    payload = {};
    EXPECT_TRUE(blob_of(receive_one(1).payload) == blob);
    look_until([&] { return ended == 1; });
  }
}

TEST_P(TransportTest, keeps_messages_until_they_are_polled) {
  make(3);
  expect_ok(of(0).send(1, envelope(1, 1), payload_of(bytes("early"))));
  expect_ok(of(2).send(1, envelope(2, 2), payload_of(bytes("early too"))));
  expect_ok(of(1).send(0, envelope(3, 3), payload_of(bytes("meanwhile"))));
  std::vector<Delivery> first;
  const Clock::time_point limit = Clock::now() + kLimit;
  while (first.empty() && Clock::now() < limit) expect_ok(of(0).poll(100ms, first));
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].payload.head, bytes("meanwhile"));
  std::vector<Delivery> both = receive(1, 2);
  ASSERT_EQ(both.size(), 2U);
  if (both[0].from == 2) std::swap(both[0], both[1]);
  EXPECT_EQ(both[0].payload.head, bytes("early"));
  EXPECT_EQ(both[1].payload.head, bytes("early too"));
  EXPECT_EQ(both[1].from, 2);
}

TEST_P(TransportTest, returns_with_nothing_when_nothing_comes) {
  make(2);
  std::vector<Delivery> nothing;
  const Clock::time_point start = Clock::now();
  expect_ok(of(0).poll(30ms, nothing));
  EXPECT_TRUE(nothing.empty());
  EXPECT_GE(Clock::now() - start, 29ms);
  EXPECT_LT(Clock::now() - start, 20s);
}

TEST_P(TransportTest, returns_when_a_message_comes) {
  make(2);
  for (const std::size_t size : {std::size_t{10}, std::size_t{1} << 20}) {
    in_threads(2, [&](int self) {
      if (self == 0) {
        std::this_thread::sleep_for(50ms);
        expect_ok(of(0).send(1, envelope(0, 0), payload_of(pattern(size, 0))));
        std::vector<Delivery> none;
        const Clock::time_point limit = Clock::now() + kLimit;
        while (of(0).queued(1) > 0 && Clock::now() < limit) expect_ok(of(0).poll(1ms, none));
      } else {
        std::vector<Delivery> one;
        const Clock::time_point start = Clock::now();
        expect_ok(of(1).poll(100s, one));
        EXPECT_EQ(one.size(), 1U);
        EXPECT_LT(Clock::now() - start, kLimit);
      }
    });
  }
}

TEST_P(TransportTest, returns_when_another_thread_wakes_it) {
  make(2);
  std::vector<Delivery> nothing;
  const Clock::time_point start = Clock::now();
  of(0).wake();
  expect_ok(of(0).poll(100s, nothing));  // woken before it waits
  std::thread other([&] {
    std::this_thread::sleep_for(50ms);
    of(0).wake();
  });
  expect_ok(of(0).poll(100s, nothing));
  other.join();
  EXPECT_TRUE(nothing.empty());
  EXPECT_LT(Clock::now() - start, kLimit);
  of(0).wake();
  of(0).wake();
  expect_ok(of(0).poll(100s, nothing));
  const Clock::time_point before = Clock::now();
  expect_ok(of(0).poll(30ms, nothing));
  EXPECT_GE(Clock::now() - before, 29ms) << "several count once";
}

TEST_P(TransportTest, uses_no_processor_while_it_waits) {
  make(2);
  for (const int self : {0, 1}) {  // to the other, over all connections
    expect_ok(of(self).send(1 - self, envelope(0, 0), payload_of(pattern(200'000, 0))));
  }
  for (const int self : {0, 1}) std::ignore = receive_one(self);
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto time = [](const timeval& t) { return t.tv_sec * 1s + t.tv_usec * 1us; };
    return time(usage.ru_utime) + time(usage.ru_stime);
  };
  const auto before = used();
  in_threads(2, [&](int self) {
    std::vector<Delivery> nothing;
    expect_ok(of(self).poll(500ms, nothing));
    EXPECT_TRUE(nothing.empty());
  });
  EXPECT_LT(used() - before, 50ms);
}

TEST_P(TransportTest, hears_from_the_others_by_the_clock_of_the_host) {
  make(2);
  const core::Time start = now();
  expect_ok(of(1).send(0, envelope(0, 0), payload_of(bytes("here"))));
  std::ignore = receive_one(0);
  const core::Time heard = of(0).heard(1);
  EXPECT_GE(heard, start);
  EXPECT_LE(heard, now());
}

TEST_P(TransportTest, of_one_process_finishes) {
  make(1);
  expect_nothing(0);
  of(0).flush(1s);
  expect_ok(of(0).finish(1s));
}

TEST_P(TransportTest, is_no_loss_after_finish) {
  make(3);
  in_threads(3, [&](int self) {
    expect_ok(of(self).finish(kLimit));
    if (self > 0) drop(self);
  });
  expect_nothing(0);
}

// Messages that are sent before finish() are delivered, however the processes poll.
TEST_P(TransportTest, finishes_when_all_that_was_sent_has_left) {
  make(2);
  const std::vector<std::size_t> sizes = {3 << 20};
  expect_ok(of(1).send(0, envelope(0, 0), parts_of(sizes, 5)));
  std::vector<Delivery> all;
  in_threads(2, [&](int self) {
    const Clock::time_point limit = Clock::now() + kLimit;
    Status status = of(self).finish(kLimit);
    while (!status.ok() && Clock::now() < limit) {
      std::vector<Delivery> none;
      expect_ok(of(self).poll(0ns, self == 0 ? all : none));
      status = of(self).finish(kLimit);
    }
    expect_ok(status);
    if (self == 0) expect_ok(of(0).poll(0ns, all));
  });
  ASSERT_EQ(all.size(), 1U);
  expect_parts(all[0].payload, sizes, 5);
}

TEST_P(TransportTest, does_not_finish_when_something_comes_until_it_tries_again) {
  make(2);
  for (const Signal& what : {Signal(signals::Data{}), Signal(signals::Report{})}) {
    const Clock::time_point start = Clock::now();
    in_threads(2, [&](int self) {
      if (self == 0) {
        EXPECT_EQ(of(0).finish(100s).code(), StatusCode::timeout);
      } else {
        std::this_thread::sleep_for(20ms);
        expect_ok(of(1).send(0, {what, now()}, payload_of(bytes("wait"))));
      }
    });
    EXPECT_LT(Clock::now() - start, kLimit);
    EXPECT_EQ(text_of(receive_one(0)), "wait");
  }
  finish_all();
}

TEST_P(TransportTest, limits_the_wait_for_the_end) {
  make(2);
  const Clock::time_point start = Clock::now();
  const Status finished = of(1).finish(50ms);
  EXPECT_LT(Clock::now() - start, 20s);
  EXPECT_EQ(finished.code(), StatusCode::timeout);
  EXPECT_THAT(finished.message(), HasSubstr("rank 0 has not finished"));
}

TEST_P(TransportTest, tells_of_a_loss_once_and_goes_on_with_the_others) {
  make(3);
  drop(1);
  for (const int self : {0, 2}) {
    const Delivery loss = receive_one(self);
    EXPECT_TRUE(is_loss(loss));
    EXPECT_EQ(loss.from, 1);
    EXPECT_NE(text_of(loss), "") << "how";
  }
  expect_ok(of(0).send(2, envelope(0, 0), payload_of(bytes("still here"))));
  EXPECT_EQ(receive_one(2).payload.head, bytes("still here"));
  expect_nothing(0);
  const Clock::time_point start = Clock::now();
  const Status status = of(0).finish(kLimit);
  EXPECT_LT(Clock::now() - start, 50s) << "there is nothing to wait for";
  EXPECT_EQ(status.code(), StatusCode::lost);
  EXPECT_THAT(status.message(), HasSubstr("rank 1 was lost"));
}

TEST_P(TransportTest, forgets_messages_to_a_lost_process) {
  make(2);
  std::atomic<int> ended = 0;
  const auto send = [&] {
    const auto kept = std::make_shared<Blob>(pattern(32 << 20, 1));
    Payload payload;
    payload.parts.push_back({.data = kept->data(),
                             .size = kept->size(),
                             .owner = {kept.get(), [&ended, kept](void*) { ++ended; }}});
    expect_ok(of(0).send(1, envelope(0, 0), std::move(payload)));
  };
  send();
  drop(1);
  EXPECT_TRUE(is_loss(receive_one(0)));
  EXPECT_EQ(of(0).queued(1), 0U);
  look_until([&] { return ended == 1; });
  send();
  expect_ok(of(0).send(1, {signals::Grant{}, now()}, {}));
  EXPECT_EQ(of(0).queued(1), 0U);
  expect_nothing(0);
  look_until([&] { return ended == 2; });
}

// All messages arrive, however long they are, and whatever arrives on another connection.
TEST_P(TransportTest, delivers_all_that_a_lost_process_sent_before) {
  for (const std::size_t size : {std::size_t{4}, std::size_t{3} << 20}) {
    SCOPED_TRACE(size);
    make(2);
    expect_ok(of(1).send(0, envelope(0, 4), parts_of({size}, 3)));
    expect_ok(of(1).send(0, {signals::Grant{}, now()}, {}));
    std::thread sender([this] {
      const Clock::time_point limit = Clock::now() + kLimit;
      std::vector<Delivery> none;
      while (of(1).queued(0) > 0 && Clock::now() < limit) expect_ok(of(1).poll(1ms, none));
      drop(1);
    });
    std::vector<Delivery> all;
    const auto is_lost = [&] { return !all.empty() && is_loss(all.back()); };
    const Clock::time_point limit = Clock::now() + kLimit;
    while (!is_lost() && Clock::now() < limit) expect_ok(of(0).poll(100ms, all));
    sender.join();
    ASSERT_EQ(all.size(), 3U);
    if (all[0].envelope.is<signals::Grant>()) std::swap(all[0], all[1]);
    expect_parts(all[0].payload, {size}, 3);
    EXPECT_TRUE(all[1].envelope.is<signals::Grant>());
    drop(0);
  }
}

// All messages arrive, even if nobody polls before the process is lost.
TEST_P(TransportTest, delivers_what_a_lost_process_sent_long_ago) {
  make(2);
  constexpr std::size_t kBytes = 4 << 10;  // every transport can buffer this much
  expect_ok(of(1).send(0, envelope(0, 4), parts_of({kBytes}, 3)));
  ASSERT_EQ(of(1).queued(0), 0U);
  drop(1);
  const std::vector<Delivery> both = receive(0, 2);
  ASSERT_EQ(both.size(), 2U);
  expect_parts(both[0].payload, {kBytes}, 3);
  EXPECT_TRUE(is_loss(both[1]));
}

// Process 1 of two, run by the program transport_peer.
class Peer {
 public:
  Peer(const std::string& name, const std::string& folder, std::size_t size, int count) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
    testing_support::prepare(name);
    const std::string words[] = {RIPELINE_TRANSPORT_PEER, name, folder, std::to_string(size),
                                 std::to_string(count)};
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execl(words[0].c_str(), words[0].c_str(), words[1].c_str(), words[2].c_str(),
            words[3].c_str(), words[4].c_str(), nullptr);
      _exit(99);
    }
    close(ends[1]);
    said_ = ends[0];
  }
  ~Peer() {
    kill();
    close(said_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Whether all of the peer's messages have left.
  [[nodiscard]] bool has_sent() const {
    pollfd said{.fd = said_, .events = POLLIN, .revents = 0};
    return ::poll(&said, 1, 0) == 1;
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
  int said_ = -1;
};

TEST_P(TransportBetweenProcessesTest, delivers_all_that_a_killed_process_sent) {
  for (const std::size_t size : {std::size_t{4}, std::size_t{5000}, std::size_t{1} << 20}) {
    SCOPED_TRACE(size);
    constexpr int kCount = 8;
    Peer peer(GetParam(), folder(), size, kCount);
    make_first();
    look_until([&] { return peer.has_sent(); });
    peer.kill();
    const std::vector<Delivery> all = receive(0, kCount + 1);
    for (int m = 0; m < kCount && all.size() == kCount + 1; ++m) {
      EXPECT_TRUE(blob_of(all[static_cast<std::size_t>(m)].payload) == Blob(size, std::byte{7}));
    }
    ASSERT_FALSE(all.empty());
    EXPECT_TRUE(is_loss(all.back()));
    drop(0);
  }
}

// However much of a message has arrived, only complete messages are delivered.
TEST_P(TransportBetweenProcessesTest, outlives_a_process_that_is_killed_while_it_sends) {
  constexpr std::size_t kBytes = 8 << 20;
  constexpr int kCount = 4;
  Peer peer(GetParam(), folder(), kBytes, kCount);
  make_first();
  expect_ok(of(0).send(1, envelope(0, 0), parts_of({kBytes}, 0)));
  look_until([&] { return !got(0).empty(); });
  peer.kill();
  look_until([&] { return is_loss(got(0).back()); });
  EXPECT_LE(got(0).size(), kCount + 1U);
  for (std::size_t i = 0; i + 1 < got(0).size(); ++i) {
    EXPECT_TRUE(blob_of(got(0)[i].payload) == Blob(kBytes, std::byte{7}));
  }
  got(0).clear();
  EXPECT_EQ(of(0).queued(1), 0U);
  expect_ok(of(0).send(1, envelope(0, 0), parts_of({kBytes}, 0)));
  expect_nothing(0);
  EXPECT_EQ(of(0).finish(kLimit).code(), StatusCode::lost);
}

TEST_P(TransportBetweenProcessesTest, hears_from_a_process_that_does_not_look) {
  make(2, {.heartbeat = 5ms});
  core::Time heard = of(0).heard(1);
  for (int times = 0; times < 5; ++times) {
    const Clock::time_point limit = Clock::now() + kLimit;
    while (of(0).heard(1) == heard && Clock::now() < limit) {
      expect_ok(of(0).poll(10ms, got(0)));
    }
    EXPECT_GT(of(0).heard(1), heard);
    heard = of(0).heard(1);
  }
  EXPECT_TRUE(got(0).empty()) << "that it lives is no message";
}

// A long message waits at the sender while nobody reads; a short message overtakes it.
TEST_P(TransportBetweenProcessesTest, says_what_waits_and_lets_what_is_short_pass) {
  make(2);
  constexpr std::size_t kBytes = 32 << 20;  // the kernel accepts a part
  EXPECT_EQ(of(0).queued(1), 0U);
  expect_ok(of(0).send(1, envelope(0, 0), parts_of({kBytes}, 0)));
  EXPECT_GT(of(0).queued(1), kBytes / 4);
  expect_ok(of(0).send(1, {signals::Grant{}, now()}, {}));
  of(0).flush(kLimit);  // waits only for short messages
  EXPECT_GT(of(0).queued(1), kBytes / 4);
  std::vector<Delivery> first;
  const Clock::time_point limit = Clock::now() + kLimit;
  while (first.empty() && Clock::now() < limit) expect_ok(of(1).poll(100ms, first));
  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(first[0].envelope.is<signals::Grant>());
  expect_parts(receive_one(1).payload, {kBytes}, 0);
  look_until([&] { return of(0).queued(1) == 0; });
  finish_all();
}

// If nobody reads, flush() waits for the given time, and not longer.
TEST_P(TransportBetweenProcessesTest, limits_the_wait_for_what_is_short) {
  make(2);
  Payload words;
  words.head = pattern(kLargestHead, 0);
  for (int i = 0; i < 100'000 && of(0).queued(1) == 0; ++i) {
    expect_ok(of(0).send(1, {signals::Report{}, now()}, words));
  }
  EXPECT_GT(of(0).queued(1), 0U);
  const Clock::time_point start = Clock::now();
  of(0).flush(50ms);
  EXPECT_GE(Clock::now() - start, 49ms);
  EXPECT_LT(Clock::now() - start, 20s);
  EXPECT_GT(of(0).queued(1), 0U);
  drop(1);
  const Clock::time_point gone = Clock::now();
  of(0).flush(kLimit);
  EXPECT_LT(Clock::now() - gone, 50s) << "nobody reads it any longer";
}

TEST_P(TransportBetweenProcessesTest, puts_parts_into_buffers_of_the_pool) {
  network::HostBufferPool pool;
  make(2, {.pool = &pool});
  for (const std::size_t size : {std::size_t{100}, std::size_t{200'000}}) {
    const std::byte* where = nullptr;
    for (int i = 0; i < 3; ++i) {
      expect_ok(of(1).send(0, envelope(0, 0), parts_of({size, size}, 0)));
      const Delivery delivery = receive_one(0);
      expect_parts(delivery.payload, {size, size}, 0);
      EXPECT_GE(pool.taken(), 2 * size);
      for (const Bytes& part : delivery.payload.parts) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part.data) % 64, 0U);
      }
      const std::byte* first =
          std::min(delivery.payload.parts[0].data, delivery.payload.parts[1].data);
      EXPECT_TRUE(where == nullptr || first == where) << "again and again";
      where = first;
    }
    look_until([&] { return pool.taken() == 0; });
  }
}

// A pool that has no room for any buffer.
class EmptyBufferPool final : public network::BufferPool {
 public:
  Bytes take(core::EdgeId, std::size_t) override { return {}; }
};

TEST_P(TransportBetweenProcessesTest, loses_a_peer_whose_message_has_no_room) {
  EmptyBufferPool pool;
  make(2, {.pool = &pool});
  expect_ok(of(1).send(0, envelope(0, 0), parts_of({200'000}, 0)));
  const Delivery loss = receive_one(0);
  EXPECT_TRUE(is_loss(loss));
  EXPECT_EQ(text_of(loss), "there is no memory for a message of 200000 bytes");
}

TEST_P(TransportBetweenProcessesTest, loses_a_peer_whose_message_is_too_long) {
  make(2, {.largest_payload = 300'000});
  expect_ok(of(1).send(0, envelope(0, 0), parts_of({100'000, 200'000}, 0)));
  expect_parts(receive_one(0).payload, {100'000, 200'000}, 0);
  expect_ok(of(1).send(0, envelope(0, 0), parts_of({100'000, 200'001}, 0)));
  const Delivery loss = receive_one(0);
  EXPECT_TRUE(is_loss(loss));
  EXPECT_EQ(text_of(loss), "a frame whose parts take more than the limit of 300000 bytes");
  expect_nothing(0);
}

TEST_P(TransportBetweenProcessesTest, refuses_a_part_that_is_on_a_device) {
  make(2);
  Payload payload = parts_of({10'000}, 0);
  payload.parts[0].device = 0;
  const Status status = of(0).send(1, envelope(0, 0), std::move(payload));
  EXPECT_EQ(status.code(), StatusCode::invalid);
  EXPECT_THAT(status.message(), HasSubstr("on device 0"));
}

}  // namespace
}  // namespace ripeline::runtime
