#include "runtime/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing::HasSubstr;

// The variables of a rank; put back as they were at the end.
class EnvironmentTest : public testing::Test {
 protected:
  EnvironmentTest() {
    for (const char* name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
          "TORCHELASTIC_RUN_ID", "RIPELINE_FOLDER", "RIPELINE_TOKEN"}) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      unsetenv(name);
      names_.push_back(name);
    }
  }
  ~EnvironmentTest() override {
    for (const char* name : names_) unsetenv(name);
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }
  static void set(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  }
  void expect_refused(const std::string& message) {
    RankEnvironment environment;
    const Status status = read_rank_environment(environment);
    EXPECT_EQ(status.code(), StatusCode::invalid);
    EXPECT_THAT(status.message(), HasSubstr(message));
  }

 private:
  std::vector<const char*> names_;
  std::map<std::string, std::string> before_;
};

TEST_F(EnvironmentTest, of_the_launcher_says_all) {
  set({{"RANK", "2"},
       {"WORLD_SIZE", "4"},
       {"LOCAL_RANK", "2"},
       {"LOCAL_WORLD_SIZE", "4"},
       {"RIPELINE_FOLDER", "/tmp/run"},
       {"RIPELINE_TOKEN", "fedcba9876543210"}});
  RankEnvironment e;
  ASSERT_TRUE(read_rank_environment(e).ok());
  EXPECT_EQ(e.rank, 2);
  EXPECT_EQ(e.ranks, 4);
  EXPECT_EQ(e.local_rank, 2);
  EXPECT_EQ(e.local_ranks, 4);
  EXPECT_EQ(e.folder, "/tmp/run");
  EXPECT_EQ(e.token, 0xfedcba9876543210U);
  EXPECT_GE(e.default_threads(), 1);
}

TEST_F(EnvironmentTest, of_torchrun_gives_all_ranks_one_folder_and_each_run_its_own) {
  set({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "a"}, {"MASTER_PORT", "29500"}});
  RankEnvironment first;
  ASSERT_TRUE(read_rank_environment(first).ok());
  set({{"RANK", "1"}});
  RankEnvironment second;
  ASSERT_TRUE(read_rank_environment(second).ok());
  EXPECT_EQ(first.folder, second.folder);
  EXPECT_EQ(first.token, second.token);
  set({{"MASTER_PORT", "29501"}});
  RankEnvironment other;
  ASSERT_TRUE(read_rank_environment(other).ok());
  EXPECT_NE(other.folder, first.folder);
  EXPECT_NE(other.token, first.token);
}

TEST_F(EnvironmentTest, names_what_is_missing_or_wrong) {
  expect_refused("WORLD_SIZE is not set; start the ranks with `ripeline launch");
  set({{"WORLD_SIZE", "2"}});
  expect_refused("RANK is not set");
  set({{"RANK", "2"}});
  expect_refused("RANK='2': expected a number from 0 to 1");
  set({{"RANK", "1x"}});
  expect_refused("RANK='1x'");
  set({{"RANK", "1"}, {"LOCAL_WORLD_SIZE", "1"}});
  expect_refused("the socket transport is for one host");
  set({{"LOCAL_WORLD_SIZE", "2"}, {"RIPELINE_FOLDER", "/tmp/run"}});
  expect_refused("RIPELINE_TOKEN is not set");
  set({{"RIPELINE_TOKEN", "xyz"}});
  expect_refused("RIPELINE_TOKEN='xyz'");
}

}  // namespace
}  // namespace ripeline::runtime
