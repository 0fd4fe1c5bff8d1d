// Tests TcpStore with several processes on this host.
#include "runtime/torch/tcp_store.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/termination.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/store_contract.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::becomes;
using testing_support::blob;
using testing_support::StoreContract;
using testing_support::text_in;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A port on which no process listens now.
int free_port() {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(descriptor, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(descriptor);
  return ntohs(address.sin_port);
}

TcpStoreOptions options_of(int port, bool serves = false) {
  TcpStoreOptions options;
  options.host = "localhost";
  options.port = port;
  options.serves = serves;
  options.prefix = "ripeline/0/";
  options.connect_limit = 60s;
  return options;
}

std::unique_ptr<TcpStore> open(const TcpStoreOptions& options) {
  std::unique_ptr<TcpStore> store;
  const Status status = TcpStore::open(options, store);
  EXPECT_TRUE(status.ok()) << status.message();
  return store;
}

class TcpWorld final : public testing_support::StoreWorld {
 public:
  std::unique_ptr<network::Store> open() override {
    if (server_ == nullptr && getpid() == owner_) server_ = runtime::open(options_of(port_, true));
    return runtime::open(options_of(port_));
  }

 private:
  const pid_t owner_ = getpid();
  const int port_ = free_port();
  std::unique_ptr<TcpStore> server_;  // destroyed after the other stores
};

std::unique_ptr<testing_support::StoreWorld> tcp_world() { return std::make_unique<TcpWorld>(); }
INSTANTIATE_TEST_SUITE_P(tcp, StoreContract, testing::Values(tcp_world));

class TcpStoreTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  // Must be called before the test opens a store, since fork() does not copy a store's thread.
  void fork_to(const std::function<void()>& run) {
    child_ = fork();
    if (child_ != 0) return children_.push_back(child_);
    run();
    pause();
  }
  void fork_claimer() {
    fork_to([this] {
      const auto store = open(options_of(port_));
      Blob there;
      if (store == nullptr || !store->claim("a", blob("child"), there).ok()) _exit(1);
      pause();
    });
  }

  const int port_ = free_port();
  pid_t child_ = -1;  // the last child
  std::vector<pid_t> children_;
};

TEST_F(TcpStoreTest, finds_a_stopped_process_silent_and_later_alive_again) {
  fork_claimer();
  const auto store = open(options_of(port_, true));
  ASSERT_TRUE(becomes(*store, "a", network::Claim::held, network::Claim::held));
  const Clock::time_point before = Clock::now();
  kill(child_, SIGSTOP);
  EXPECT_TRUE(becomes(*store, "a", network::Claim::silent, network::Claim::abandoned));
  EXPECT_GE(Clock::now() - before, TcpStore::kSilence - 1s);
  EXPECT_EQ(store->claim_of("a"), network::Claim::silent);
  kill(child_, SIGCONT);
  EXPECT_TRUE(becomes(*store, "a", network::Claim::held, network::Claim::held));
}

// If the store's server pauses, the processes whose signs of life it stores do not count as silent.
TEST_F(TcpStoreTest, finds_nobody_silent_because_the_store_paused) {
  fork_to([this] { open(options_of(port_, true)).release(); });
  const pid_t server = child_;
  const std::vector<std::string> keys = {"a", "b", "c", "d"};
  fork_to([&] {
    const auto store = open(options_of(port_));
    Blob there;
    for (const std::string& key : keys) {
      if (store == nullptr || !store->claim(key, blob("child"), there).ok()) _exit(1);
    }
    pause();
  });
  // There are several observers, so that some of them ask just before the pause.
  constexpr int kObservers = 8;
  std::vector<std::unique_ptr<TcpStore>> stores;
  for (int i = 0; i < kObservers; ++i) stores.push_back(open(options_of(port_)));
  testing_support::in_threads(kObservers, [&](int i) {
    network::Store& store = *stores[static_cast<std::size_t>(i)];
    for (const std::string& key : keys)
      EXPECT_TRUE(becomes(store, key, network::Claim::held, network::Claim::held));
  });
  testing_support::in_threads(kObservers + 1, [&](int i) {
    if (i == kObservers) {
      std::this_thread::sleep_for(100ms);  // time for the others to ask
      kill(server, SIGSTOP);
      std::this_thread::sleep_for(TcpStore::kSilence + 1s);
      kill(server, SIGCONT);
      return;
    }
    const Clock::time_point limit = Clock::now() + TcpStore::kSilence + 3s;
    bool is_held = true;
    while (Clock::now() < limit) {
      for (const std::string& key : keys) {
        is_held =
            is_held && stores[static_cast<std::size_t>(i)]->claim_of(key) == network::Claim::held;
      }
    }
    EXPECT_TRUE(is_held);
  });
}

// A process gets SIGTERM during a wait; the test reads the status that the process
// prints.
TEST_F(TcpStoreTest, ends_its_waits_when_the_process_is_told_to_end) {
  const auto when_told = [this](const std::function<Status(TcpStoreOptions)>& wait) {
    int both[2];
    EXPECT_EQ(pipe(both), 0);
    fork_to([&] {
      Termination termination;
      TcpStoreOptions options = options_of(port_);
      options.termination = &termination;
      const std::string said = wait(options).message();
      _exit(write(both[1], said.data(), said.size()) < 0 ? 1 : 0);
    });
    close(both[1]);
    std::string said(200, '\0');
    said.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(both[0], said.data(), 200))));
    close(both[0]);
    return said;
  };
  const auto tell_to_end = [](const TcpStoreOptions& options) {
    kill(getpid(), SIGTERM);
    while (!options.termination->requested()) std::this_thread::sleep_for(1ms);
  };
  const auto open_told = [&](const TcpStoreOptions& options) {
    tell_to_end(options);
    std::unique_ptr<TcpStore> store;
    return TcpStore::open(options, store);
  };
  EXPECT_EQ(when_told(open_told), "told to end by SIGTERM");

  fork_to([this] { open(options_of(port_, true)).release(); });
  const pid_t server = child_;
  fork_claimer();
  {
    const auto store = open(options_of(port_));
    ASSERT_TRUE(becomes(*store, "a", network::Claim::held, network::Claim::held));
  }
  kill(child_, SIGKILL);
  const auto claim_told = [&](const TcpStoreOptions& options) {
    const auto store = open(options);
    tell_to_end(options);
    Blob there;
    return store->claim("a", blob("mine"), there);
  };
  EXPECT_EQ(when_told(claim_told), "told to end by SIGTERM");
  const auto ask_told = [&](const TcpStoreOptions& options) {
    const auto store = open(options);
    tell_to_end(options);
    kill(server, SIGSTOP);
    Status status;
    while (status.ok()) status = store->set("b", blob("one"));  // until the server has stopped
    return status;
  };
  EXPECT_THAT(when_told(ask_told), HasSubstr("no answer for 1 s"));
}

TEST_F(TcpStoreTest, refuses_a_second_process_with_what_the_first_said) {
  fork_claimer();
  const auto store = open(options_of(port_, true));
  ASSERT_TRUE(becomes(*store, "a", network::Claim::unseen, network::Claim::held));
  Blob there;
  const Status status = store->claim("a", blob("mine"), there);
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_THAT(status.message(), HasSubstr("another process holds it"));
  EXPECT_EQ(there, blob("child"));
}

TEST_F(TcpStoreTest, never_takes_what_is_left_of_a_killed_process_for_alive) {
  fork_claimer();
  const auto server = open(options_of(port_, true));
  ASSERT_TRUE(becomes(*server, "a", network::Claim::held, network::Claim::held));
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  const auto later = open(options_of(port_));
  while (later->claim_of("a") != network::Claim::silent) {
    ASSERT_EQ(later->claim_of("a"), network::Claim::unseen);
    std::this_thread::sleep_for(50ms);
  }
}

TEST_F(TcpStoreTest, says_that_rank_0_was_lost_with_its_store) {
  fork_to([this] { open(options_of(port_, true)).release(); });
  const auto store = open(options_of(port_));
  ASSERT_TRUE(store->set("a", blob("one")).ok());
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  for (int time = 0; time < 2; ++time) {
    const Status status = store->set("a", blob("two"));
    EXPECT_EQ(status.code(), StatusCode::lost);
    EXPECT_THAT(status.message(),
                StartsWith("rank 0 was lost, which serves the store at localhost:" +
                           std::to_string(port_) + ": "));
  }
  EXPECT_EQ(store->claim_of("a"), network::Claim::unseen);
}

TEST_F(TcpStoreTest, does_not_wait_for_ever_for_a_server_that_is_stopped) {
  fork_to([this] { open(options_of(port_, true)).release(); });
  TcpStoreOptions options = options_of(port_);
  options.is_of_agent = true;
  const auto store = open(options);
  ASSERT_TRUE(store != nullptr && store->set("a", blob("one")).ok());
  store->started();
  kill(child_, SIGSTOP);
  int state = 0;
  ASSERT_EQ(waitpid(child_, &state, WUNTRACED), child_);  // before that, the server may answer
  std::optional<Blob> value;
  const Status status = store->get("a", value);
  EXPECT_EQ(status.code(), StatusCode::lost);
  EXPECT_EQ(status.message(),
            "the store at localhost:" + std::to_string(port_) + " was lost: no answer for 2 s");
}

TEST_F(TcpStoreTest, says_where_nobody_serves_the_store) {
  TcpStoreOptions options = options_of(port_);
  options.connect_limit = 300ms;
  std::unique_ptr<TcpStore> store;
  Status status = TcpStore::open(options, store);
  EXPECT_EQ(status.code(), StatusCode::timeout);
  EXPECT_EQ(status.message(), "nobody serves the store at localhost:" + std::to_string(port_) +
                                  " within 0.3 s (Connection refused): rank 0 did not come, or "
                                  "cannot be reached there");
  options.host = "::1:2:3";  // neither a name nor an address
  options.is_of_agent = true;
  status = TcpStore::open(options, store);
  EXPECT_EQ(status.code(), StatusCode::timeout);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("[::1:2:3]:" + std::to_string(port_)),
                                      HasSubstr("torchrun's agent did not come")));
}

TEST_F(TcpStoreTest, says_that_its_port_is_taken) {
  const auto first = open(options_of(port_, true));
  std::unique_ptr<TcpStore> second;
  const Status status = TcpStore::open(options_of(port_, true), second);
  EXPECT_EQ(status.code(), StatusCode::failed);
  EXPECT_THAT(status.message(), AllOf(StartsWith("the store at localhost:" + std::to_string(port_) +
                                                 " cannot be served: "),
                                      HasSubstr("address already in use")));
}

TEST_F(TcpStoreTest, stays_until_the_others_have_left) {
  auto server = open(options_of(port_, true));
  auto client = open(options_of(port_));
  ASSERT_TRUE(server->set("failure", blob("why")).ok());
  std::thread end([&] { server.reset(); });
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(text_in(*client, "failure"), "why");
  const Clock::time_point before = Clock::now();
  client.reset();
  end.join();
  EXPECT_LT(Clock::now() - before, 30s);
}

TEST_F(TcpStoreTest, does_not_stay_for_ever) {
  auto server = open(options_of(port_, true));
  const auto client = open(options_of(port_));
  server.reset();
  EXPECT_EQ(client->set("a", {}).code(), StatusCode::lost);
}

TEST_F(TcpStoreTest, keeps_attempts_apart) {
  const auto server = open(options_of(port_, true));
  TcpStoreOptions options = options_of(port_);
  options.prefix = "ripeline/1/";
  const auto next = open(options);
  ASSERT_TRUE(server->set("failure", blob("why")).ok());
  EXPECT_EQ(text_in(*next, "failure"), "nothing");
}

}  // namespace
}  // namespace ripeline::runtime
