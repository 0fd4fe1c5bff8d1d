// Tests a run over sockets: who may join, who is refused, and what breaks a connection.
#include "runtime/network/socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "runtime/duration.h"
#include "runtime/network/connection.h"
#include "runtime/network/frame.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime::network {
namespace {

using core::Status;
using core::StatusCode;
using testing::HasSubstr;
using testing_support::in_threads;
using testing_support::socket_options;
using testing_support::TemporaryFolder;
using testing_support::token_in;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A plain socket, which the ranks cannot recognise as a rank.
class Stranger {
 public:
  // Connects to `path` as soon as some process listens there.
  explicit Stranger(const std::string& path) : socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const Clock::time_point limit = Clock::now() + 60s;
    while (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      if (Clock::now() >= limit) {
        ADD_FAILURE() << path << ": " << std::strerror(errno);
        return;
      }
      std::this_thread::sleep_for(1ms);
    }
  }
  ~Stranger() { close(socket_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  void write(const void* data, std::size_t bytes) const {
    EXPECT_EQ(send(socket_, data, bytes, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
  }
  void write(const Frame& frame) const {
    const Header header = encode_header(frame);
    write(header.data(), header.size());
  }
  // Waits until the other side closes the connection; ignores bytes that it sent before.
  [[nodiscard]] bool is_dropped() const {
    const timeval limit{.tv_sec = 60, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char buffer[256];
    ssize_t n = 0;
    while ((n = read(socket_, buffer, sizeof buffer)) > 0) {
    }
    return n == 0 || errno == ECONNRESET;
  }

 private:
  int socket_;
};

Frame hello(std::uint64_t token, int rank, int ranks, ConnectionRole role = ConnectionRole::data) {
  return {.token = token,
          .program_hash = 0xabcd,
          .content = Hello{.rank = rank, .ranks = ranks, .role = static_cast<std::int32_t>(role)}};
}

Status connect_alone(const SocketOptions& options, const std::string& folder) {
  std::unique_ptr<Transport> transport;
  return connect_in_folder(options, folder, transport);
}

TEST(Socket, refuses_another_program_on_both_sides) {
  const TemporaryFolder folder;
  std::vector<Status> status(2);
  in_threads(2, [&](int rank) {
    SocketOptions options = socket_options(rank, 2);
    options.program_hash = rank == 0 ? 0xabcd : 0x9876;
    status[static_cast<std::size_t>(rank)] = connect_alone(options, folder.path());
  });
  for (const Status& s : status) {
    EXPECT_EQ(s.code(), StatusCode::refused);
    EXPECT_THAT(s.message(), HasSubstr("abcd"));
    EXPECT_THAT(s.message(), HasSubstr("9876"));
    EXPECT_THAT(s.message(), HasSubstr("built from the same schedule"));
  }
}

TEST(Socket, tells_a_late_rank_that_the_programs_differ) {
  const TemporaryFolder folder;
  std::vector<Status> status(3);
  in_threads(3, [&](int rank) {
    SocketOptions options = socket_options(rank, 3);
    options.program_hash = rank == 1 ? 0x9876 : 0xabcd;
    if (rank == 0) std::this_thread::sleep_for(200ms);
    status[static_cast<std::size_t>(rank)] = connect_alone(options, folder.path());
  });
  for (const Status& s : status) EXPECT_THAT(s.message(), HasSubstr("runs program 9876"));
}

TEST(Socket, refuses_another_number_of_ranks_on_both_sides) {
  const TemporaryFolder folder;
  std::vector<Status> status(2);
  in_threads(2, [&](int rank) {
    status[static_cast<std::size_t>(rank)] =
        connect_alone(socket_options(rank, 2 + rank), folder.path());
  });
  for (const Status& s : status) {
    EXPECT_EQ(s.message(), "rank 1 has 3 ranks, rank 0 has 2");
    EXPECT_EQ(s.code(), StatusCode::refused);
  }
}

TEST(Socket, refuses_a_rank_that_is_none) {
  const TemporaryFolder folder;
  for (const auto& [rank, ranks] : {std::pair{2, 2}, {-1, 2}, {0, 0}}) {
    EXPECT_EQ(connect_alone(socket_options(rank, ranks), folder.path()).code(),
              StatusCode::invalid);
  }
}

TEST(Socket, refuses_a_folder_that_others_may_enter) {
  const TemporaryFolder folder;
  chmod(folder.path().c_str(), 0755);
  const Status status = connect_alone(socket_options(0, 2), folder.path());
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_THAT(status.message(), HasSubstr("mode 0700"));
}

TEST(Socket, refuses_a_link_in_place_of_the_folder) {
  const TemporaryFolder folder;
  const std::string real = folder.path() + "/real";
  const std::string link = folder.path() + "/link";
  mkdir(real.c_str(), 0700);
  std::filesystem::create_symlink(real, link);
  EXPECT_EQ(connect_alone(socket_options(0, 2), link).code(), StatusCode::refused);
}

TEST(Socket, refuses_a_folder_that_cannot_be_made_or_is_too_long) {
  const TemporaryFolder folder;
  EXPECT_EQ(connect_alone(socket_options(0, 2), folder.path() + "/a/b").code(), StatusCode::failed);
  const Status status =
      connect_alone(socket_options(0, 2), folder.path() + "/" + std::string(100, 'x'));
  EXPECT_EQ(status.code(), StatusCode::invalid);
  EXPECT_THAT(status.message(), HasSubstr("too long"));
}

TEST(Socket, makes_its_folder_and_removes_it) {
  const TemporaryFolder parent;
  const std::string folder = parent.path() + "/run";
  {
    const auto group = testing_support::connect_group(2, folder);
    EXPECT_TRUE(std::filesystem::exists(folder));
    EXPECT_FALSE(std::filesystem::exists(folder + "/socket-0")) << "nobody listens any longer";
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

// On a busy machine another rank may also be too late; then all ranks get more time.
TEST(Socket, names_a_rank_that_does_not_come) {
  std::string said;
  for (const auto limit : {200ms, 2000ms, 20000ms}) {
    const TemporaryFolder folder;
    std::vector<Status> status(2);
    in_threads(2, [&](int rank) {
      SocketOptions options = socket_options(rank, 3);
      options.connect_limit = limit;
      status[static_cast<std::size_t>(rank)] = connect_alone(options, folder.path());
    });
    EXPECT_EQ(status[0].message(), status[1].message()) << "the one whose time is over tells all";
    EXPECT_EQ(status[0].code(), StatusCode::timeout);
    said = status[0].message();
    if (said == "rank 2 did not come to " + folder.path() + " within " + seconds_text(limit))
      return;
  }
  ADD_FAILURE() << said;
}

TEST(Socket, takes_the_place_of_a_socket_that_was_left_behind) {
  const TemporaryFolder folder;
  const int leftover = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (folder.path() + "/socket-0").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(leftover, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(leftover);
  const auto group = testing_support::connect_group(2, folder.path());
  EXPECT_NE(group[0], nullptr);
}

// The bytes that a stranger sends before the ranks connect; the stranger stays until it is dropped.
struct Disturbance {
  const char* name;
  void (*say)(const Stranger&, std::uint64_t token);
  bool dropped_at_once = true;
};

class SocketStrangerTest : public testing::TestWithParam<Disturbance> {};

INSTANTIATE_TEST_SUITE_P(
    each, SocketStrangerTest,
    testing::Values(
        Disturbance{"garbage", [](const Stranger& s,
                                  std::uint64_t) { s.write(std::string(200, 'x').data(), 200); }},
        Disturbance{"nothing", [](const Stranger&, std::uint64_t) {}, false},
        Disturbance{"half_a_hello",
                    [](const Stranger& s, std::uint64_t token) {
                      s.write(encode_header(hello(token, 1, 2)).data(), 30);
                    },
                    false},
        Disturbance{"another_token",
                    [](const Stranger& s, std::uint64_t token) {
                      Frame frame = hello(token, 1, 2);
                      ++frame.token;
                      s.write(frame);
                    }},
        Disturbance{"data_before_hello",
                    [](const Stranger& s, std::uint64_t token) {
                      Frame frame = hello(token, 1, 2);
                      frame.content = Envelope{signals::Data{}};
                      s.write(frame);
                    }},
        Disturbance{"a_rank_out_of_range",
                    [](const Stranger& s, std::uint64_t token) { s.write(hello(token, 7, 2)); }},
        Disturbance{"a_negative_rank",
                    [](const Stranger& s, std::uint64_t token) { s.write(hello(token, -3, 2)); }},
        Disturbance{"the_listeners_own_rank",
                    [](const Stranger& s, std::uint64_t token) { s.write(hello(token, 0, 2)); }},
        Disturbance{"an_absurd_length",
                    [](const Stranger& s, std::uint64_t token) {
                      Header header = encode_header(hello(token, 1, 2));
                      std::memset(header.data() + 52, 0xff, 4);
                      s.write(header.data(), header.size());
                    }},
        Disturbance{"an_absurd_part",
                    [](const Stranger& s, std::uint64_t token) {
                      Frame frame = hello(token, 1, 2);
                      frame.payload.parts.resize(1);
                      s.write(frame);
                      const std::uint64_t size = std::uint64_t{1} << 60;
                      s.write(&size, sizeof size);
                    }},
        Disturbance{"parts_that_add_up_to_little",
                    [](const Stranger& s, std::uint64_t token) {
                      Frame frame = hello(token, 1, 2);
                      frame.payload.parts.resize(2);
                      s.write(frame);
                      const std::uint64_t sizes[] = {~std::uint64_t{0}, 2};
                      s.write(sizes, sizeof sizes);
                    }},
        Disturbance{"a_channel_that_there_is_not",
                    [](const Stranger& s, std::uint64_t token) {
                      s.write(hello(token, 1, 2, ConnectionRole{2}));
                    }},
        Disturbance{"a_negative_channel",
                    [](const Stranger& s, std::uint64_t token) {
                      Frame frame = hello(token, 1, 2);
                      frame.content = Hello{.rank = 1, .ranks = 2, .role = -1};
                      s.write(frame);
                    }}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_P(SocketStrangerTest, is_dropped_and_the_ranks_connect) {
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<Transport>> group(2);
  std::unique_ptr<Stranger> stranger;
  std::atomic<bool> has_spoken = false;
  in_threads(3, [&](int thread) {
    if (thread == 2) {
      stranger = std::make_unique<Stranger>(folder.path() + "/socket-0");
      GetParam().say(*stranger, token_in(folder.path()));
      EXPECT_TRUE(!GetParam().dropped_at_once || stranger->is_dropped());
      has_spoken = true;
      return;
    }
    while (thread == 1 && !has_spoken) std::this_thread::sleep_for(1ms);
    const Status status = connect_in_folder(socket_options(thread, 2), folder.path(),
                                            group[static_cast<std::size_t>(thread)]);
    EXPECT_TRUE(status.ok()) << status.message();
  });
  ASSERT_TRUE(group[0] && group[1]);
  EXPECT_TRUE(stranger->is_dropped());
  in_threads(
      2, [&](int rank) { EXPECT_TRUE(group[static_cast<std::size_t>(rank)]->finish(60s).ok()); });
}

TEST(Socket, is_not_forgotten_by_a_network) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  prepare_socket(descriptor, 0);
  int keeps_alive = 0;
  socklen_t size = sizeof keeps_alive;
  EXPECT_EQ(getsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &keeps_alive, &size), 0);
  EXPECT_NE(keeps_alive, 0);
  close(descriptor);
}

// Rank 0 of 2, connected with a stranger that behaves as rank 1 until it violates the format.
class SocketPeerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::thread peer([this] {
      for (const ConnectionRole role : {ConnectionRole::data, ConnectionRole::control}) {
        peer_[static_cast<int>(role)] = std::make_unique<Stranger>(folder_.path() + "/socket-0");
        token_ = token_in(folder_.path());
        on(role).write(hello(token_, 1, 2, role));
      }
      on(ConnectionRole::control).write(frame(Ready{}));
    });
    SocketOptions options = socket_options(0, 2);
    options.largest_payload = 1000;
    const Status status = connect_in_folder(options, folder_.path(), rank_0_);
    peer.join();
    ASSERT_TRUE(status.ok()) << status.message();
  }
  const Stranger& on(ConnectionRole role) const { return *peer_[static_cast<int>(role)]; }
  Frame frame(FrameContent content) const {
    return {.token = token_, .program_hash = 0xabcd, .content = content};
  }
  // Expects that rank 1 is lost for the reason `why`; returns the earlier deliveries.
  std::vector<Delivery> expect_loss(const std::string& why) {
    std::vector<Delivery> got;
    const auto is_lost = [&] { return !got.empty() && got.back().envelope.is<signals::Lost>(); };
    for (int i = 0; i < 600 && !is_lost(); ++i) EXPECT_TRUE(rank_0_->poll(100ms, got).ok());
    if (!is_lost()) {
      ADD_FAILURE() << "rank 1 is not lost";
      return got;
    }
    EXPECT_EQ(got.back().from, 1);
    EXPECT_EQ(blob_of(got.back().payload), testing_support::bytes(why));
    got.pop_back();
    for (const auto& peer : peer_) EXPECT_TRUE(!peer || peer->is_dropped());
    return got;
  }

  TemporaryFolder folder_;
  std::uint64_t token_ = 0;
  std::unique_ptr<Stranger> peer_[kConnectionsPerPeer];
  std::unique_ptr<Transport> rank_0_;
};

TEST_F(SocketPeerTest, is_lost_when_it_announces_too_much) {
  Frame long_one = frame(Envelope{signals::Data{}});
  long_one.payload.parts.resize(2);
  on(ConnectionRole::data).write(long_one);
  const std::uint64_t sizes[] = {1000, 1};
  on(ConnectionRole::data).write(sizes, sizeof sizes);
  expect_loss("a frame whose parts take more than the limit of 1000 bytes");
}

TEST_F(SocketPeerTest, is_lost_when_it_speaks_another_format) {
  on(ConnectionRole::control)
      .write("GET / HTTP/1.1\r\nHost: an.example\r\nAccept: everything\r\n\r\n", 56);
  expect_loss("a frame that is not Ripeline's");
}

// A header of another version may be shorter, so its first bytes must be enough to refuse it.
TEST_F(SocketPeerTest, is_lost_when_it_speaks_another_version) {
  on(ConnectionRole::data).write("RIPL\3\0", 6);
  expect_loss("frame version 3, expected " + std::to_string(kFrameVersion));
}

TEST_F(SocketPeerTest, is_lost_when_it_speaks_for_another_run) {
  Frame other = frame(Envelope{signals::Data{}});
  other.token = 1;
  on(ConnectionRole::data).write(other);
  expect_loss("a frame of another run");
}

TEST_F(SocketPeerTest, is_lost_when_it_says_hello_twice) {
  on(ConnectionRole::control).write(hello(token_, 1, 2));
  expect_loss("it said hello twice");
}

TEST_F(SocketPeerTest, is_lost_in_the_middle_of_a_frame) {
  Frame half = frame(Envelope{signals::Data{}});
  half.payload.parts.resize(1);
  on(ConnectionRole::data).write(half);
  const std::uint64_t size = 100;
  on(ConnectionRole::data).write(&size, sizeof size);
  on(ConnectionRole::data).write("half", 4);
  for (auto& peer : peer_) peer.reset();
  EXPECT_TRUE(expect_loss("connection closed").empty());
}

// Both messages arrive, whichever of the two connections ends first.
TEST_F(SocketPeerTest, is_lost_after_what_it_said_on_either_connection) {
  for (const ConnectionRole first : {ConnectionRole::data, ConnectionRole::control}) {
    if (first == ConnectionRole::control) {
      rank_0_.reset();
      SetUp();
    }
    on(ConnectionRole::data).write(frame(Envelope{signals::Data{}}));
    on(ConnectionRole::control).write(frame(Envelope{signals::Grant{}}));
    peer_[static_cast<int>(first)].reset();
    for (auto& peer : peer_) peer.reset();
    EXPECT_EQ(expect_loss("connection closed").size(), 2U);
  }
}

// If one connection breaks while the peer lives, its messages on the other arrive before the loss.
TEST_F(SocketPeerTest, is_lost_with_one_of_its_connections) {
  for (const ConnectionRole ended : kEachRole) {
    if (ended == ConnectionRole::control) {
      rank_0_.reset();
      SetUp();
    }
    peer_[static_cast<int>(ended)].reset();
    const ConnectionRole other =
        ended == ConnectionRole::data ? ConnectionRole::control : ConnectionRole::data;
    const Signal last = other == ConnectionRole::data ? Signal(signals::Data{}) : signals::Grant{};
    on(other).write(frame(Envelope{last}));
    EXPECT_EQ(expect_loss("connection closed").size(), 1U);
  }
}

// Each further part of a long message is a sign of life, even if the message is incomplete.
TEST_F(SocketPeerTest, is_heard_by_half_a_frame) {
  const core::Time before = rank_0_->heard(1);
  std::this_thread::sleep_for(1ms);
  on(ConnectionRole::data).write(encode_header(frame(Envelope{signals::Data{}})).data(), 20);
  std::vector<Delivery> got;
  const Clock::time_point limit = Clock::now() + 60s;
  while (rank_0_->heard(1) == before && Clock::now() < limit) {
    EXPECT_TRUE(rank_0_->poll(10ms, got).ok());
  }
  EXPECT_GT(rank_0_->heard(1), before);
  EXPECT_TRUE(got.empty());
}

}  // namespace
}  // namespace ripeline::runtime::network
