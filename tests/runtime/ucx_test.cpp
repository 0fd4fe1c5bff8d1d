// Tests rules that only UCX has: which processes do not connect, and what breaks a connection.
#include "runtime/network/ucx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/network/ucx_worker.h"
#include "tests/runtime/each_transport.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime::network::ucx_test {
namespace {

using core::Status;
using core::StatusCode;
using testing::HasSubstr;
using testing_support::bytes;
using testing_support::expect_ok;
using testing_support::in_threads;
using testing_support::TemporaryFolder;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLimit = 60s;

std::vector<std::unique_ptr<Transport>> two_sockets(const std::string& folder) {
  std::vector<std::unique_ptr<Transport>> two(2);
  in_threads(2, [&](int process) {
    expect_ok(testing_support::connect("unix", process, 2, folder, {},
                                       two[static_cast<std::size_t>(process)]));
  });
  return two;
}

// Connects each process with those before and after it, and with its neighbours in the tree.
std::vector<std::unique_ptr<Transport>> chain_of_sockets(int processes, const std::string& folder) {
  std::vector<std::unique_ptr<Transport>> chain(static_cast<std::size_t>(processes));
  in_threads(processes, [&](int process) {
    SocketOptions options = testing_support::socket_options(process, processes);
    if (process > 0) options.neighbours.push_back(process - 1);
    if (process + 1 < processes) options.neighbours.push_back(process + 1);
    expect_ok(connect_in_folder(options, folder, chain[static_cast<std::size_t>(process)]));
  });
  return chain;
}

// Sets a variable of UCX, which reads its environment when it connects.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(Ucx, is_refused_by_all_if_one_has_no_transport_for_it) {
  const TemporaryFolder folder;
  auto two = two_sockets(folder.path());
  testing_support::prepare("ucx_memory");
  std::vector<Status> status(2);
  const Variable none("UCX_TLS", "there_is_none");
  in_threads(2, [&](int process) {
    const auto self = static_cast<std::size_t>(process);
    status[self] = connect_ucx({}, two[self]);
    EXPECT_EQ(two[self], nullptr);
  });
  for (const Status& s : status) EXPECT_THAT(s.message(), HasSubstr("UCX cannot start"));
}

TEST(Ucx, names_who_does_not_come) {
  const TemporaryFolder folder;
  auto two = two_sockets(folder.path());
  testing_support::prepare("ucx_memory");
  const Status status = connect_ucx({.connect_limit = 100ms}, two[0]);
  EXPECT_EQ(status.code(), StatusCode::timeout);
  EXPECT_EQ(status.message(), "rank 1 was not reached over UCX within 0.1 s");
  two[1] = nullptr;
}

TEST(Ucx, is_not_connected_with_who_is_lost) {
  const TemporaryFolder folder;
  auto two = two_sockets(folder.path());
  testing_support::prepare("ucx_memory");
  two[1] = nullptr;
  const Status status = connect_ucx({}, two[0]);
  EXPECT_EQ(status.code(), StatusCode::lost);
  EXPECT_THAT(status.message(), HasSubstr("rank 1 was lost"));
}

// All ranks refuse, even those that reached all their neighbours, and name the first failure.
TEST(Ucx, is_refused_by_all_if_one_fails) {
  constexpr int kProcesses = 6;
  for (const int failing : {0, kProcesses - 1}) {
    const TemporaryFolder folder;
    auto chain = chain_of_sockets(kProcesses, folder.path());
    testing_support::prepare("ucx_tcp");
    in_threads(kProcesses, [&](int process) {
      auto& self = chain[static_cast<std::size_t>(process)];
      if (process == failing) {
        const Status status = connect_ucx({.connect_limit = 1ns}, self);
        EXPECT_EQ(status.code(), StatusCode::timeout);
        EXPECT_THAT(status.message(), HasSubstr("was not reached over UCX within "));
      } else {
        const Status status = connect_ucx({}, self);
        EXPECT_EQ(status.code(), StatusCode::lost);
        EXPECT_THAT(status.message(),
                    testing::MatchesRegex("rank " + std::to_string(failing) +
                                          " stopped: rank [0-9] was not reached over UCX.*"));
      }
    });
  }
}

TEST(Ucx, is_refused_by_all_if_one_is_lost) {
  const TemporaryFolder folder;
  auto chain = chain_of_sockets(6, folder.path());
  testing_support::prepare("ucx_tcp");
  chain[0] = nullptr;
  in_threads(5, [&](int i) {
    const Status status = connect_ucx({}, chain[static_cast<std::size_t>(i) + 1]);
    EXPECT_EQ(status.code(), StatusCode::lost);
    EXPECT_EQ(status.message(), "rank 0 was lost (connection closed)");
  });
}

TEST(Ucx, is_chosen_by_the_environment) {
  const TemporaryFolder folder;
  auto two = two_sockets(folder.path());
  Transport* const before = two[0].get();
  {
    const Variable chosen("RIPELINE_TRANSPORT", "sockets");
    expect_ok(use_chosen_transport({}, two[0]));
  }
  expect_ok(use_chosen_transport({}, two[0]));
  EXPECT_EQ(two[0].get(), before);
  testing_support::prepare("ucx_memory");
  {
    const Variable chosen("RIPELINE_TRANSPORT", "ucx");
    in_threads(2, [&](int process) {
      expect_ok(use_chosen_transport({}, two[static_cast<std::size_t>(process)]));
    });
  }
  EXPECT_NE(two[0].get(), before);
  const Variable chosen("RIPELINE_TRANSPORT", "pigeons");
  const Status status = use_chosen_transport({}, two[0]);
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_EQ(status.message(), "RIPELINE_TRANSPORT is 'pigeons'; it may be sockets or ucx");
}

// A pool that records whether it is asked for room.
class WatchedBufferPool final : public BufferPool {
 public:
  Bytes take(core::EdgeId edge, std::size_t size) override {
    is_taken = true;
    return pool_.take(edge, size);
  }
  std::atomic<bool> is_taken = false;

 private:
  HostBufferPool pool_;
};

// A fetch may complete while the process ends and waits until others have fetched its messages.
TEST(Ucx, may_end_in_the_middle_of_a_fetch) {
  testing_support::prepare("ucx_tcp");
  for (int round = 0; round < 8; ++round) {
    const TemporaryFolder folder;
    auto two = two_sockets(folder.path());
    WatchedBufferPool pool;
    std::atomic<bool> is_over = false;
    in_threads(2, [&](int process) {
      auto& self = two[static_cast<std::size_t>(process)];
      expect_ok(connect_ucx({}, self, process == 1 ? &pool : nullptr));
      for (int i = 0; i < 1 + process; ++i) {
        expect_ok(self->send(1 - process, {signals::Data{{0, {0, 0}}}}, payload_of(Blob(4 << 20))));
      }
      std::vector<Delivery> some;
      const Clock::time_point limit = Clock::now() + kLimit;
      while (!(process == 1 ? pool.is_taken : is_over) && Clock::now() < limit) {
        expect_ok(self->poll(1ms, some));
      }
      if (process == 1) self = nullptr;
      is_over = process == 1;
    });
  }
}

// Process 0 of two; the test plays process 1 and writes its messages itself.
class UcxPeerTest : public testing::TestWithParam<std::string>, private UcxWorker::Receiver {
 protected:
  void SetUp() override {
    testing_support::prepare(GetParam());
    auto two = two_sockets(folder_.path());
    inner_ = std::move(two[1]);
    std::thread other([&] { expect_ok(connect_ucx({.largest_payload = 1000}, two[0])); });
    expect_ok(UcxWorker::open(2, *this, worker_));
    Blob text(sizeof kToken);
    std::memcpy(text.data(), &kToken, sizeof kToken);
    for (const std::byte byte : worker_->address()) text.push_back(byte);
    say(0, text);
    const Blob address = hear();
    ASSERT_GT(address.size(), sizeof token_);
    std::memcpy(&token_, address.data(), sizeof token_);
    worker_->connect(0, std::span(address).subspan(sizeof token_));
    send(header(Hello{}));
    say(1, {});
    std::ignore = hear();
    other.join();
    process_0_ = std::move(two[0]);
  }
  void TearDown() override {
    process_0_.reset();
    worker_.reset();
    inner_.reset();
  }

  void say(int kind, const Blob& text) {
    const Envelope envelope{.signal = signals::Connect{.kind = kind}};
    expect_ok(inner_->send(0, envelope, payload_of(text)));
  }
  Blob hear() {
    std::vector<Delivery> one;
    const Clock::time_point limit = Clock::now() + kLimit;
    while (one.empty() && Clock::now() < limit) {
      worker_->progress();
      expect_ok(inner_->poll(1ms, one));
    }
    return one.empty() ? Blob{} : blob_of(one[0].payload);
  }
  // A header with token, frame header and sizes.
  std::vector<std::byte> header(FrameContent content,
                                const std::vector<std::uint64_t>& sizes = {}) {
    Frame frame{.content = content};
    for (const std::uint64_t size : sizes) frame.payload.parts.push_back({.size = size});
    std::vector<std::byte> all(sizeof token_);
    std::memcpy(all.data(), &token_, sizeof token_);
    for (const std::byte byte : encode_header(frame)) all.push_back(byte);
    for (const std::byte byte : encode_sizes(frame.payload)) all.push_back(byte);
    return all;
  }
  void send(std::vector<std::byte> header, std::size_t bytes = 0) {
    Payload payload;
    if (bytes > 0) {
      const auto kept = std::make_shared<Blob>(bytes, std::byte{9});
      payload.parts = {{.data = kept->data(), .size = bytes, .owner = kept}};
    }
    worker_->send(0, std::move(header), std::move(payload));
  }
  Delivery receive() {
    std::vector<Delivery> one;
    const Clock::time_point limit = Clock::now() + kLimit;
    while (one.empty() && Clock::now() < limit) {
      worker_->progress();
      expect_ok(process_0_->poll(1ms, one));
    }
    EXPECT_EQ(one.size(), 1U);
    return one.empty() ? Delivery{} : std::move(one[0]);
  }
  void expect_loss(const std::string& why) {
    const Delivery loss = receive();
    EXPECT_TRUE(loss.envelope.is<signals::Lost>());
    EXPECT_EQ(blob_of(loss.payload), bytes(why));
    send(header(Envelope{signals::Data{}}, {5}), 5);
    std::vector<Delivery> none;
    for (int i = 0; i < 5; ++i) {
      worker_->progress();
      expect_ok(process_0_->poll(5ms, none));
    }
    EXPECT_TRUE(none.empty()) << "told once, and nothing after it";
  }

  std::unique_ptr<UcxWorker> worker_;
  std::unique_ptr<Transport> process_0_;

 private:
  std::optional<UcxWorker::Arrival> begins(std::span<const std::byte>, std::size_t, bool) override {
    return std::nullopt;
  }
  void came(UcxWorker::Arrival&&) override {}
  void broke(int, const std::string&) override {}

  static constexpr std::uint64_t kToken = 77;
  TemporaryFolder folder_;
  std::uint64_t token_ = 0;
  std::unique_ptr<Transport> inner_;
};

INSTANTIATE_TEST_SUITE_P(each, UcxPeerTest, testing::Values("ucx_memory", "ucx_tcp"),
                         testing_support::transport_name);

TEST_P(UcxPeerTest, is_understood) {
  send(header(Envelope{signals::Data{}}, {3, 0, 2}), 5);
  const Delivery delivery = receive();
  EXPECT_EQ(delivery.from, 1);
  ASSERT_EQ(delivery.payload.parts.size(), 3U);
  EXPECT_EQ(blob_of(delivery.payload), Blob(5, std::byte{9}));
}

TEST_P(UcxPeerTest, is_ignored_without_its_token) {
  send(std::vector<std::byte>(10));
  std::vector<std::byte> other = header(Envelope{signals::Data{}}, {5});
  other[0] ^= std::byte{1};
  send(other, 5);
  send(other, 100'000);
  send(header(Envelope{signals::Data{}}, {4}), 4);
  EXPECT_EQ(receive().payload.size(), 4U);
}

TEST_P(UcxPeerTest, is_lost_when_it_speaks_another_format) {
  std::vector<std::byte> other = header(Envelope{signals::Data{}});
  other[sizeof(std::uint64_t)] = std::byte{'X'};
  send(other);
  expect_loss("a frame that is not Ripeline's");
}

TEST_P(UcxPeerTest, is_lost_when_it_says_here_what_it_may_say_elsewhere) {
  send(header(Envelope{signals::Grant{}}));
  expect_loss("a frame that is no message's");
}

TEST_P(UcxPeerTest, is_lost_when_its_header_is_cut_off) {
  std::vector<std::byte> half = header(Envelope{signals::Data{}}, {1, 2});
  half.erase(half.end() - 8, half.end());
  send(half, 3);
  expect_loss("a frame that is no message's");
}

TEST_P(UcxPeerTest, is_lost_when_its_parts_are_not_what_comes) {
  for (const std::vector<std::uint64_t>& sizes :
       std::vector<std::vector<std::uint64_t>>{{4}, {6}, {~std::uint64_t{0}, 6}, {}}) {
    if (process_0_ == nullptr) SetUp();
    send(header(Envelope{signals::Data{}}, sizes), 5);
    expect_loss("a frame whose parts are not what came");
    TearDown();
  }
}

TEST_P(UcxPeerTest, is_lost_when_it_sends_too_much) {
  send(header(Envelope{signals::Data{}}, {100'000}), 100'000);
  expect_loss("a frame whose parts take more than the limit of 1000 bytes");
}

// Tests in which UCX fails but the sockets do not; over shared memory UCX would not notice this.
class UcxTcpTest : public UcxPeerTest {};
INSTANTIATE_TEST_SUITE_P(each, UcxTcpTest, testing::Values("ucx_tcp"),
                         testing_support::transport_name);

TEST_P(UcxTcpTest, is_lost_when_only_its_sockets_are_left) {
  worker_.reset();
  std::vector<Delivery> loss;
  const Clock::time_point limit = Clock::now() + kLimit;
  while (loss.empty() && Clock::now() < limit) {
    expect_ok(process_0_->send(1, {}, payload_of(bytes("are you there?"))));
    expect_ok(process_0_->poll(10ms, loss));
  }
  ASSERT_EQ(loss.size(), 1U);
  EXPECT_TRUE(loss[0].envelope.is<signals::Lost>());
  const Blob how = blob_of(loss[0].payload);
  EXPECT_THAT(std::string(reinterpret_cast<const char*>(how.data()), how.size()),
              HasSubstr("UCX: "));
}

}  // namespace
}  // namespace ripeline::runtime::network::ucx_test
