#include "runtime/folder_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/runtime/faults/small_disk.h"
#include "tests/runtime/ranks.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing::HasSubstr;
using testing_support::TemporaryFolder;
using namespace std::chrono_literals;

Blob blob(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

class FolderStoreTest : public testing::Test {
 protected:
  std::unique_ptr<FolderStore> open() {
    std::unique_ptr<FolderStore> store;
    const Status status = FolderStore::open(folder_.path(), store);
    EXPECT_TRUE(status.ok()) << status.message();
    return store;
  }
  // But for what the store has in reserve.
  std::size_t files() const {
    const std::filesystem::directory_iterator all(folder_.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all))) - 1;
  }

  TemporaryFolder folder_;
  std::unique_ptr<FolderStore> store_ = open();
};

// The disk has room for its folder, the reserve and one value.
TEST_F(FolderStoreTest, keeps_room_for_one_last_thing) {
  if (!faults::may_have_own_mounts()) GTEST_SKIP() << "nothing can be mounted here";
  const pid_t child = fork();
  if (child == 0) {
    const std::string folder = folder_.path();
    if (!faults::take_own_mounts() ||
        mount("none", folder.c_str(), "tmpfs", 0, "mode=0700,nr_inodes=3") != 0)
      _exit(1);
    std::unique_ptr<FolderStore> store;
    Blob there;
    if (!FolderStore::open(folder, store).ok() || !store->set("a", blob("one")).ok()) _exit(2);
    if (store->set("b", blob("two")).ok()) _exit(3);
    if (!store->set_if_absent("a", blob("two"), there).ok() || there != blob("one")) _exit(4);
    store.reset();  // gives back what it had in reserve
    if (!FolderStore::open(folder, store).ok()) _exit(5);
    if (!store->set_if_absent("failure", blob("no room"), there).ok()) _exit(6);
    if (there != blob("no room") || store->set("b", blob("two")).ok()) _exit(7);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "exit code " << WEXITSTATUS(status);
}

TEST_F(FolderStoreTest, gives_what_was_set_last) {
  Blob value;
  EXPECT_EQ(store_->get("a", 0ns, value).code(), StatusCode::timeout);
  const std::string large(10'000, 'x');
  for (const std::string& text : {std::string("one"), large, std::string()}) {
    EXPECT_TRUE(store_->set("a", blob(text)).ok());
    EXPECT_TRUE(open()->get("a", 0ns, value).ok());
    EXPECT_EQ(value, blob(text));
  }
  store_->remove("a");
  EXPECT_EQ(store_->get("a", 0ns, value).code(), StatusCode::timeout);
  EXPECT_EQ(files(), 0U) << "no drafts are left";
}

TEST_F(FolderStoreTest, keeps_the_first_of_several) {
  Blob there;
  EXPECT_TRUE(store_->set_if_absent("a", blob("first"), there).ok());
  EXPECT_EQ(there, blob("first"));
  EXPECT_TRUE(open()->set_if_absent("a", blob("second"), there).ok());
  EXPECT_EQ(there, blob("first"));
  EXPECT_EQ(files(), 1U);
}

TEST_F(FolderStoreTest, waits_until_a_value_comes) {
  std::thread later([this] {
    std::this_thread::sleep_for(50ms);
    EXPECT_TRUE(open()->set("a", blob("here")).ok());
  });
  Blob value;
  EXPECT_TRUE(store_->get("a", 60s, value).ok());
  EXPECT_EQ(value, blob("here"));
  later.join();
  const Status status = store_->get("b", 20ms, value);
  EXPECT_EQ(status.code(), StatusCode::timeout);
  EXPECT_THAT(status.message(), HasSubstr("/b: did not come within 0.02 s"));
}

TEST_F(FolderStoreTest, gives_a_claim_to_one_at_a_time) {
  Blob there;
  auto other = open();
  EXPECT_EQ(store_->claim_of("a"), Claim::none);
  EXPECT_TRUE(store_->claim("a", blob("mine"), there).ok());
  EXPECT_EQ(store_->claim_of("a"), Claim::held);
  EXPECT_EQ(other->claim_of("a"), Claim::held);
  EXPECT_EQ(other->claim("a", blob("theirs"), there).code(), StatusCode::refused);
  EXPECT_EQ(there, blob("mine"));
  store_->release("a");
  EXPECT_EQ(other->claim_of("a"), Claim::abandoned);
  EXPECT_TRUE(other->claim("a", blob("theirs"), there).ok());
  EXPECT_EQ(store_->claim_of("a"), Claim::held);
  other->remove("a");
  EXPECT_EQ(store_->claim_of("a"), Claim::none);
  other.reset();
  EXPECT_EQ(files(), 0U);
}

TEST_F(FolderStoreTest, gives_an_abandoned_claim_to_one_of_many) {
  Blob there;
  EXPECT_TRUE(store_->claim("a", blob("dead"), there).ok());
  store_->release("a");
  constexpr int kMany = 8;
  std::vector<std::unique_ptr<FolderStore>> stores;
  for (int i = 0; i < kMany; ++i) stores.push_back(open());
  std::atomic<int> held = 0;
  testing_support::in_threads(kMany, [&](int i) {
    Blob mine;
    held += stores[static_cast<std::size_t>(i)]->claim("a", blob(std::to_string(i)), mine).ok();
  });
  EXPECT_EQ(held, 1);
  EXPECT_EQ(store_->claim_of("a"), Claim::held);
}

TEST_F(FolderStoreTest, never_takes_the_value_of_a_dead_process_for_that_of_its_successor) {
  const auto reader = open();
  std::atomic<bool> is_over = false;
  std::atomic<int> phase = 0;  // odd: from before the claim until it is there
  std::thread reading([&] {
    Blob value;
    while (!is_over) {
      const int before = phase;
      if (before % 2 == 0 || reader->claim_of("a") != Claim::held) continue;
      EXPECT_TRUE(reader->get("a", 0ns, value).ok());
      if (phase == before) {
        EXPECT_EQ(value, blob("living"));
      }
    }
  });
  Blob there;
  for (int round = 0; round < 150; ++round) {
    EXPECT_TRUE(store_->set("a", blob("dead")).ok());
    ++phase;
    EXPECT_TRUE(store_->claim("a", blob("living"), there).ok());
    ++phase;
    store_->release("a");
  }
  is_over = true;
  reading.join();
}

TEST_F(FolderStoreTest, tells_the_end_of_a_process_that_was_killed) {
  const pid_t child = fork();
  if (child == 0) {
    std::unique_ptr<FolderStore> store;
    Blob there;
    if (!FolderStore::open(folder_.path(), store).ok() || !store->claim("a", {}, there).ok())
      _exit(1);
    pause();
  }
  Blob value;
  EXPECT_TRUE(store_->get("a", 60s, value).ok());
  EXPECT_EQ(store_->claim_of("a"), Claim::held);
  const int watching = store_->watch();
  kill(child, SIGKILL);
  if (watching >= 0) {
    pollfd event = {.fd = watching, .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&event, 1, 60'000), 1) << "nothing tells that it has ended";
    close(watching);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(store_->claim_of("a"), Claim::abandoned);
}

TEST_F(FolderStoreTest, refuses_a_link_and_what_is_too_long) {
  Blob value;
  std::filesystem::create_symlink("/etc/hostname", folder_.path() + "/a");
  EXPECT_EQ(store_->get("a", 0ns, value).code(), StatusCode::failed);
  std::ofstream(folder_.path() + "/b") << std::string((1 << 20) + 1, 'x');
  const Status status = store_->get("b", 0ns, value);
  EXPECT_EQ(status.code(), StatusCode::invalid);
  EXPECT_THAT(status.message(), HasSubstr("longer than 1048576 bytes"));
}

TEST_F(FolderStoreTest, removes_its_folder_when_it_is_empty) {
  EXPECT_TRUE(store_->set("a", {}).ok());
  open();
  EXPECT_TRUE(std::filesystem::exists(folder_.path()));
  store_->remove("a");
  store_.reset();
  EXPECT_FALSE(std::filesystem::exists(folder_.path()));
}

}  // namespace
}  // namespace ripeline::runtime
