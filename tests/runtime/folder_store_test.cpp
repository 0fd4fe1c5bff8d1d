#include "runtime/network/folder_store.h"

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
#include <optional>
#include <thread>

#include "tests/runtime/faults/small_disk.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/store_contract.h"

namespace ripeline::runtime::network {
namespace {

using core::Status;
using core::StatusCode;
using testing::HasSubstr;
using testing_support::blob;
using testing_support::TemporaryFolder;
using namespace std::chrono_literals;

class FolderWorld final : public testing_support::StoreWorld {
 public:
  std::unique_ptr<Store> open() override {
    std::unique_ptr<FolderStore> store;
    const Status status = FolderStore::open(folder_.path(), store);
    EXPECT_TRUE(status.ok()) << status.message();
    return store;
  }

 private:
  TemporaryFolder folder_;
};

using testing_support::StoreContract;
INSTANTIATE_TEST_SUITE_P(folder, StoreContract,
                         testing::Values([]() -> std::unique_ptr<testing_support::StoreWorld> {
                           return std::make_unique<FolderWorld>();
                         }));

class FolderStoreTest : public testing::Test {
 protected:
  std::unique_ptr<FolderStore> open() {
    std::unique_ptr<FolderStore> store;
    const Status status = FolderStore::open(folder_.path(), store);
    EXPECT_TRUE(status.ok()) << status.message();
    return store;
  }
  // The number of files in the folder, without the store's reserve.
  std::size_t files() const {
    const std::filesystem::directory_iterator all(folder_.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all))) - 1;
  }

  TemporaryFolder folder_;
  std::unique_ptr<FolderStore> store_ = open();
};

// The disk has room only for the folder, the reserve and one value.
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
    store.reset();  // frees the store's reserve
    if (!FolderStore::open(folder, store).ok()) _exit(5);
    if (!store->set_if_absent("failure", blob("no room"), there).ok()) _exit(6);
    if (there != blob("no room") || store->set("b", blob("two")).ok()) _exit(7);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "exit code " << WEXITSTATUS(status);
}

TEST_F(FolderStoreTest, leaves_no_drafts) {
  Blob there;
  auto other = open();
  EXPECT_TRUE(store_->set("a", blob("one")).ok());
  EXPECT_TRUE(store_->set_if_absent("a", blob("two"), there).ok());
  EXPECT_TRUE(store_->claim("b", {}, there).ok());
  EXPECT_FALSE(other->claim("b", {}, there).ok());
  other.reset();
  EXPECT_EQ(files(), 2U);
  store_->remove("a");
  store_->remove("b");
  EXPECT_EQ(files(), 0U);
}

TEST_F(FolderStoreTest, never_takes_the_value_of_a_dead_process_for_that_of_its_successor) {
  const auto reader = open();
  std::atomic<bool> is_over = false;
  std::atomic<int> phase = 0;  // odd from before the claim until the claim exists
  std::thread reading([&] {
    std::optional<Blob> value;
    while (!is_over) {
      const int before = phase;
      if (before % 2 == 0 || reader->claim_of("a") != Claim::held) continue;
      EXPECT_TRUE(reader->get("a", value).ok());
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

TEST_F(FolderStoreTest, tells_at_once_that_a_process_was_killed) {
  const pid_t child = fork();
  if (child == 0) {
    std::unique_ptr<FolderStore> store;
    Blob there;
    if (!FolderStore::open(folder_.path(), store).ok() || !store->claim("a", {}, there).ok())
      _exit(1);
    pause();
  }
  EXPECT_TRUE(testing_support::becomes(*store_, "a", Claim::held, Claim::held));
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
  std::optional<Blob> value;
  std::filesystem::create_symlink("/etc/hostname", folder_.path() + "/a");
  EXPECT_EQ(store_->get("a", value).code(), StatusCode::failed);
  std::ofstream(folder_.path() + "/b") << std::string((1 << 20) + 1, 'x');
  const Status status = store_->get("b", value);
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
}  // namespace ripeline::runtime::network
