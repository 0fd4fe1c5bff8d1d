// Tests ranks as processes while they connect: if one of them fails, all report this at
// once and name that rank. Tests wait for the connect limit only if they test that
// limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <thread>

#include "runtime/blob_io.h"
#include "runtime/network/folder_store.h"
#include "runtime/network/socket.h"
#include "runtime/termination.h"
#include "tests/runtime/ranks.h"

namespace ripeline::runtime::network::startup_test {
namespace {

using core::Status;
using core::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::TemporaryFolder;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kNever = 1h;      // a limit that no test reaches
constexpr auto kPatience = 60s;  // for what an idle machine does at once

template <class Condition>
bool becomes_true(const Condition& condition) {
  const Clock::time_point end = Clock::now() + kPatience;
  while (!condition()) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

SocketOptions options_of(int rank, int ranks) {
  SocketOptions options;
  options.rank = rank;
  options.ranks = ranks;
  options.program_hash = 0xabcd;
  options.configuration = {{"microbatches", "8"}, {"seed", "1"}};
  options.connect_limit = kNever;
  return options;
}

// Processes by name. A process that connects ends when all others have connected too.
class StartUpTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const auto& [name, pid] : running_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }

  // Runs `run` in a separate process; said() returns the text that `run` returns.
  void start(const std::string& name, const std::function<std::string()>& run) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid != 0) {
      running_[name] = pid;
      return;
    }
    const std::string text = run();
    { std::ofstream(files_.path() + "/" + name) << text; }
    _exit(0);
  }
  void start_rank(const SocketOptions& options, std::string name = "") {
    if (name.empty()) name = std::to_string(options.rank);
    start(name, [&] { return connect_and_say(options); });
  }
  void start_ranks(const std::vector<int>& which, int ranks) {
    for (const int rank : which) start_rank(options_of(rank, ranks));
  }
  std::string connect_and_say(const SocketOptions& options) const {
    return connect_and_say(options, folder());
  }
  static std::string connect_and_say(const SocketOptions& options, const std::string& folder) {
    std::unique_ptr<Transport> transport;
    Status status = connect_in_folder(options, folder, transport);
    if (status.ok()) status = transport->finish(kPatience);
    return status.ok() ? "connected" : status.message();
  }
  // Starts a process that claims a rank and does nothing else.
  void start_idle(int rank) {
    start(std::to_string(rank), [&]() -> std::string {
      std::unique_ptr<FolderStore> store;
      Blob there;
      if (!FolderStore::open(folder(), store).ok()) return "no store";
      if (!store->claim("rank-" + std::to_string(rank), entry(), there).ok()) return "no claim";
      pause();
      return "";
    });
  }
  // An entry that has only version and process; ranks ask rank 0 for the rest.
  static Blob entry() {
    Blob bytes(10);
    const std::uint16_t version = 0xffff;
    const std::int64_t process = getpid();
    std::memcpy(bytes.data(), &version, sizeof version);
    std::memcpy(bytes.data() + 2, &process, sizeof process);
    return bytes;
  }

  void expect_joined(const std::vector<int>& ranks) const {
    for (const int rank : ranks) {
      EXPECT_TRUE(becomes_true(
          [&] { return std::filesystem::exists(folder() + "/rank-" + std::to_string(rank)); }));
    }
  }
  void signal(const std::string& name, int number) { kill(running_[name], number); }
  // Waits for the end of the process; returns its text, or its exit code if there is no text.
  std::string said(const std::string& name) {
    const pid_t pid = running_[name];
    if (pid == 0) return "never started";
    int status = 0;
    if (!becomes_true([&] { return waitpid(pid, &status, WNOHANG) == pid; })) return "still runs";
    running_.erase(name);
    std::string text = text_of(files_.path() + "/" + name);
    return text.empty() ? "exit " + std::to_string(WEXITSTATUS(status)) : text;
  }
  std::string said(int rank) { return said(std::to_string(rank)); }
  const std::string& folder() const { return folder_; }
  void expect_nothing_left() const { EXPECT_FALSE(std::filesystem::exists(folder_)); }

 private:
  TemporaryFolder files_;
  std::string folder_ = files_.path() + "/run";
  std::map<std::string, pid_t> running_;
};

TEST_F(StartUpTest, ends_connected) {
  start_ranks({3, 1, 2, 0}, 4);
  for (const int rank : {0, 1, 2, 3}) EXPECT_EQ(said(rank), "connected");
  expect_nothing_left();
}

TEST_F(StartUpTest, names_a_rank_that_is_killed_while_it_connects) {
  start_ranks({0, 1, 2}, 4);
  expect_joined({0, 1, 2});
  signal("1", SIGKILL);
  for (const int rank : {0, 2}) {
    EXPECT_THAT(said(rank), StartsWith("rank 1 was lost while the ranks connected ("));
  }
}

TEST_F(StartUpTest, names_a_rank_that_is_killed_before_it_listens) {
  start_idle(1);
  start_ranks({0, 2}, 3);
  expect_joined({0, 1, 2});
  std::this_thread::sleep_for(20ms);  // some ranks may have seen it alive, some not
  signal("1", SIGKILL);
  for (const int rank : {0, 2}) {
    EXPECT_THAT(said(rank),
                AllOf(StartsWith("rank 1 was lost while the ranks connected (its process "),
                      HasSubstr(" has ended)")));
  }
}

TEST_F(StartUpTest, names_a_rank_that_ended_before_the_others_came) {
  start_idle(1);
  expect_joined({1});
  signal("1", SIGKILL);
  said(1);
  start_ranks({0, 2}, 3);
  for (const int rank : {0, 2}) {
    EXPECT_THAT(said(rank), AllOf(StartsWith("rank 1 was lost"),
                                  HasSubstr("if " + folder() + " is left over, remove it")));
  }
}

TEST_F(StartUpTest, names_a_rank_that_is_stopped_before_it_listens) {
  start_idle(1);
  expect_joined({1});
  signal("1", SIGSTOP);
  for (const int rank : {0, 2}) {
    SocketOptions options = options_of(rank, 3);
    options.connect_limit = 1s;
    start_rank(options);
  }
  for (const int rank : {0, 2}) {
    EXPECT_EQ(said(rank), "rank 1 did not connect within 1 s: stopped by a signal or a debugger");
  }
}

// Ranks 0 and 2 have connected with rank 1 and wait for rank 3, which cannot connect with rank 1.
TEST_F(StartUpTest, names_a_rank_that_is_stopped_between_its_connections) {
  start_ranks({1}, 4);
  for (const int rank : {0, 2}) {
    SocketOptions options = options_of(rank, 4);
    options.connect_limit = 3s;
    start_rank(options);
  }
  expect_joined({0, 1, 2});
  std::this_thread::sleep_for(200ms);  // time to connect
  signal("1", SIGSTOP);
  SocketOptions last = options_of(3, 4);
  last.connect_limit = 3s;
  start_rank(last);
  for (const int rank : {0, 2, 3}) {
    EXPECT_EQ(said(rank), "rank 1 did not connect within 3 s: stopped by a signal or a debugger");
  }
}

TEST_F(StartUpTest, tells_two_processes_of_one_rank_apart) {
  start_ranks({0, 1}, 3);
  expect_joined({0, 1});
  start_rank(options_of(1, 3), "another 1");
  for (const char* name : {"0", "1", "another 1"}) {
    EXPECT_THAT(said(name), StartsWith("rank 1 is claimed by two processes, "));
  }
}

TEST_F(StartUpTest, is_not_disturbed_once_it_is_over) {
  std::vector<std::unique_ptr<Transport>> group(2);
  testing_support::in_threads(2, [&](int rank) {
    EXPECT_TRUE(
        connect_in_folder(options_of(rank, 2), folder(), group[static_cast<std::size_t>(rank)])
            .ok());
  });
  ASSERT_TRUE(group[0] && group[1]);
  const Status status = connect_in_folder(options_of(1, 2), folder(), group[0]);
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_THAT(status.message(), StartsWith("rank 1 is claimed by two processes"));
  testing_support::in_threads(2, [&](int rank) {
    EXPECT_TRUE(group[static_cast<std::size_t>(rank)]->finish(kPatience).ok());
  });
  group.clear();
  expect_nothing_left();
}

struct Mismatch {
  const char* name;
  void (*change)(SocketOptions&);
  std::string said;
};

class MismatchTest : public StartUpTest, public testing::WithParamInterface<Mismatch> {};
INSTANTIATE_TEST_SUITE_P(
    each, MismatchTest,
    testing::Values(
        Mismatch{"program", [](SocketOptions& o) { o.program_hash = 0x9876; },
                 "rank 1 runs program 9876, rank 0 runs program abcd: all ranks must be built from "
                 "the same schedule"},
        Mismatch{"ranks", [](SocketOptions& o) { o.ranks = 4; },
                 "rank 1 has 4 ranks, rank 0 has 3"},
        Mismatch{"microbatches", [](SocketOptions& o) { o.configuration[0].value = "4"; },
                 "rank 1 has microbatches 4, rank 0 has microbatches 8"},
        Mismatch{"seed", [](SocketOptions& o) { o.configuration[1].value = "2"; },
                 "rank 1 has seed 2, rank 0 has seed 1"},
        Mismatch{"one_less", [](SocketOptions& o) { o.configuration.pop_back(); },
                 "rank 1 has no seed, rank 0 has seed 1"},
        Mismatch{"one_more",
                 [](SocketOptions& o) {
                   o.configuration.push_back({"lr", "0.1"});
                 },
                 "rank 1 has lr 0.1, rank 0 has no lr"},
        Mismatch{"several",
                 [](SocketOptions& o) {
                   o.configuration = {{"seed", "2"}, {"microbatches", "4"}};
                 },
                 "rank 1 has seed 2, rank 0 has seed 1; 1 more differ"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_P(MismatchTest, is_refused_by_all_ranks_with_who_has_what) {
  start_ranks({0, 2}, 3);
  SocketOptions other = options_of(1, 3);
  GetParam().change(other);
  start_rank(other);
  for (const int rank : {0, 1, 2}) EXPECT_EQ(said(rank), GetParam().said);
}

TEST_P(MismatchTest, is_told_to_a_rank_that_comes_late) {
  start_ranks({0}, 3);
  SocketOptions other = options_of(1, 3);
  GetParam().change(other);
  start_rank(other);
  EXPECT_EQ(said(0), GetParam().said);
  EXPECT_EQ(said(1), GetParam().said);
  start_ranks({2}, 3);
  EXPECT_EQ(said(2), GetParam().said);
  if (other.ranks == 3) expect_nothing_left();
}

TEST_F(StartUpTest, says_that_there_are_no_descriptors_left) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the leak checker needs descriptors";
#endif
  bool connected = false;
  int failed = 0;
  // The store's reserve takes the first of the `more` descriptors.
  for (int more = 1; more < 40 && !connected; ++more) {
    const std::string of_this_run = folder() + "-" + std::to_string(more);
    start("0", [&] { return connect_and_say(options_of(0, 2), of_this_run); });
    start("1", [&] {
      const int next = dup(0);
      close(next);
      const auto limit = static_cast<rlim_t>(next + more);
      const rlimit descriptors{.rlim_cur = limit, .rlim_max = limit};
      setrlimit(RLIMIT_NOFILE, &descriptors);
      return connect_and_say(options_of(1, 2), of_this_run);
    });
    const std::string text = said(1);
    connected = text == "connected";
    if (connected) {
      EXPECT_EQ(said(0), "connected");
      continue;
    }
    ++failed;
    EXPECT_THAT(text, AllOf(StartsWith("rank 1 cannot "), HasSubstr("Too many open files")))
        << more;
    EXPECT_EQ(said(0), text);
  }
  EXPECT_TRUE(connected);
  EXPECT_GE(failed, 5);
}

// Makes this process root in namespaces of its own; returns false if the system forbids this.
bool own_namespaces() {
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
  std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  return geteuid() == 0;
}

TEST_F(StartUpTest, says_that_the_folder_is_full) {
  for (const std::string limit : {"nr_inodes=1", "nr_inodes=2", "nr_inodes=3"}) {
    start("0", [&]() -> std::string {
      std::filesystem::create_directory(folder());
      if (!own_namespaces() ||
          mount("none", folder().c_str(), "tmpfs", 0, ("mode=0700," + limit).c_str()) != 0) {
        return "skip";
      }
      return connect_and_say(options_of(0, 2));
    });
    const std::string text = said(0);
    if (text == "skip") GTEST_SKIP() << "nothing can be mounted here";
    EXPECT_THAT(text, AllOf(StartsWith("rank 0 cannot "), HasSubstr("No space left on device")))
        << limit;
    std::filesystem::remove(folder());
  }
}

TEST_F(StartUpTest, goes_on_without_inotify) {
  start("all", [&]() -> std::string {
    if (!own_namespaces()) return "skip";
    std::ofstream("/proc/sys/user/max_inotify_instances") << 0;
    std::unique_ptr<FolderStore> store;
    if (!FolderStore::open(folder(), store).ok() || store->watch() >= 0) return "skip";
    std::vector<std::string> texts(3);
    testing_support::in_threads(3, [&](int rank) {
      if (rank == 0) std::this_thread::sleep_for(100ms);
      texts[static_cast<std::size_t>(rank)] = connect_and_say(options_of(rank, 3));
    });
    return texts[0] + ", " + texts[1] + ", " + texts[2];
  });
  const std::string text = said("all");
  if (text == "skip") GTEST_SKIP() << "inotify cannot be taken away here";
  EXPECT_EQ(text, "connected, connected, connected");
}

TEST_F(StartUpTest, takes_the_folder_of_a_run_that_was_killed) {
  start_ranks({0, 1, 2}, 4);
  expect_joined({0, 1, 2});
  for (const char* name : {"0", "1", "2"}) signal(name, SIGSTOP);
  for (const char* name : {"0", "1", "2"}) signal(name, SIGKILL);
  for (const int rank : {0, 1, 2}) said(rank);
  ASSERT_TRUE(std::filesystem::exists(folder() + "/rank-0"));
  // A draft by a process that was killed while it wrote; no process can have this pid.
  std::ofstream(folder() + "/.draft-2147483647-1") << "half";
  start_ranks({0, 1, 2, 3}, 4);
  for (const int rank : {0, 1, 2, 3}) EXPECT_EQ(said(rank), "connected");
  expect_nothing_left();
}

// An earlier run of all ranks left a failure, and the processes that wrote the failure have ended.
TEST_F(StartUpTest, does_not_believe_the_failure_of_a_run_before) {
  start_idle(2);
  expect_joined({2});
  start_ranks({0}, 3);
  SocketOptions other = options_of(1, 3);
  other.configuration[1].value = "2";
  start_rank(other);
  for (const int rank : {0, 1}) EXPECT_EQ(said(rank), "rank 1 has seed 2, rank 0 has seed 1");
  signal("2", SIGKILL);
  said(2);
  ASSERT_TRUE(std::filesystem::exists(folder() + "/failure"));
  start_ranks({0, 1, 2}, 3);
  for (const int rank : {0, 1, 2}) EXPECT_EQ(said(rank), "connected");
  expect_nothing_left();
}

// The processes that waited when the failure was written have stopped waiting.
TEST_F(StartUpTest, does_not_believe_a_failure_that_is_older_than_the_limit) {
  for (const auto age : {0h, 2h}) {
    std::filesystem::create_directory(folder());
    std::filesystem::permissions(folder(), std::filesystem::perms::owner_all);
    const auto written = std::chrono::system_clock::now().time_since_epoch() - age;
    BlobWriter to;
    to.number(static_cast<std::int64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(written).count()));
    to.number(std::int32_t{1});
    to.number(static_cast<std::int32_t>(StatusCode::failed));
    to.text("an old story");
    const Blob failure = to.take();
    std::ofstream(folder() + "/failure", std::ios::binary)
        .write(reinterpret_cast<const char*>(failure.data()),
               static_cast<std::streamsize>(failure.size()));
    start_ranks({0, 1}, 2);
    for (const int rank : {0, 1}) EXPECT_EQ(said(rank), age == 0h ? "an old story" : "connected");
    expect_nothing_left();
  }
}

// Only the process that starts the ranks can report that a rank ended before it joined.
TEST_F(StartUpTest, names_a_rank_that_ended_before_it_joined) {
  start_ranks({0, 2}, 3);
  expect_joined({0, 2});
  std::unique_ptr<FolderStore> store;
  ASSERT_TRUE(FolderStore::open(folder(), store).ok());
  const std::string how = "was ended by SIGKILL";
  BlobWriter to;
  to.bytes(how.data(), how.size());
  ASSERT_TRUE(store->set(ended_key(1), to.take()).ok());
  for (const int rank : {0, 2}) {
    EXPECT_EQ(said(rank), "rank 1 was ended by SIGKILL before it joined the run");
  }
}

// A rank gets SIGTERM while it waits for another rank.
TEST_F(StartUpTest, names_a_rank_that_is_told_to_end) {
  start_ranks({0}, 3);
  start("2", [&] {
    Termination termination;
    SocketOptions options = options_of(2, 3);
    options.termination = &termination;
    return connect_and_say(options);
  });
  expect_joined({0, 2});
  signal("2", SIGTERM);
  for (const int rank : {0, 2}) {
    EXPECT_EQ(said(rank), "rank 2 was told to end by SIGTERM while the ranks connected");
  }
}

// Each rank wakes at most a few times per second; waking every 2 ms, it would wake 1,500 times.
TEST_F(StartUpTest, does_nothing_while_it_waits) {
  constexpr int kRanks = 8;
  testing_support::in_threads(kRanks, [&](int rank) {
    SocketOptions options = options_of(rank + 1, kRanks + 1);
    options.connect_limit = 3s;
    std::unique_ptr<Transport> transport;
    rusage before{};
    rusage after{};
    getrusage(RUSAGE_THREAD, &before);
    EXPECT_EQ(connect_in_folder(options, folder(), transport).code(), StatusCode::timeout);
    getrusage(RUSAGE_THREAD, &after);
    EXPECT_LT(after.ru_nvcsw - before.ru_nvcsw, 500);
  });
}

// Ranks without a folder in their variables meet in a folder named after their parent process.
TEST_F(StartUpTest, finds_the_ranks_that_the_same_process_has_started) {
  for (int run = 0; run < 2; ++run) {
    for (const int rank : {0, 1}) {
      start(std::to_string(rank), [&]() -> std::string {
        for (const char* name : {"RIPELINE_FOLDER", "TORCHELASTIC_RUN_ID", "MASTER_PORT"})
          unsetenv(name);
        setenv("RANK", std::to_string(rank).c_str(), 1);
        setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
        setenv("WORLD_SIZE", "2", 1);
        setenv("LOCAL_WORLD_SIZE", "2", 1);
        // One rank is started by a shell that continues to run.
        const std::string command = std::string(RIPELINE_TOY_RANK) + " bf 2 0 >/dev/null 2>&1";
        const std::string in_shell = rank == 0 ? "exec " + command : command + "; exit $?";
        execl("/bin/sh", "sh", "-c", in_shell.c_str(), nullptr);
        return "no shell";
      });
    }
    for (const int rank : {0, 1}) EXPECT_EQ(said(rank), "exit 0");
  }
}

}  // namespace
}  // namespace ripeline::runtime::network::startup_test
