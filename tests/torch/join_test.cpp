// Tests join_run: which settings it makes, and which it leaves to the user.
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "runtime/torch/train.h"
#include "tests/runtime/ranks.h"

namespace ripeline::runtime {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::StartsWith;

// A world of one rank; its destructor restores LibTorch's number of threads.
class JoinTest : public testing::Test {
 protected:
  JoinTest() {
    for (const char* name : {"RANK", "LOCAL_RANK"}) setenv(name, "0", 1);
    for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) setenv(name, "1", 1);
    setenv("RIPELINE_FOLDER", folder_.path().c_str(), 1);
    unsetenv("OMP_NUM_THREADS");
  }
  ~JoinTest() override {
    for (const char* name :
         {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "RIPELINE_FOLDER"})
      unsetenv(name);
    if (old_ != nullptr) setenv("OMP_NUM_THREADS", old_text_.c_str(), 1);
    at::set_num_threads(threads_);
  }

  void join() {
    core::ProgramFacts facts;
    facts.ranks = 1;
    std::unique_ptr<Transport> transport;
    const core::Status status = join_run(facts, environment_, transport);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  testing_support::TemporaryFolder folder_;
  RankEnvironment environment_;
  const char* old_ = std::getenv("OMP_NUM_THREADS");
  const std::string old_text_ = old_ == nullptr ? "" : old_;
  const int threads_ = at::get_num_threads();
};

TEST_F(JoinTest, divides_the_cores_by_the_ranks) {
  at::set_num_threads(7);
  join();
  EXPECT_EQ(at::get_num_threads(), environment_.default_threads());
}

TEST_F(JoinTest, leaves_the_number_of_threads_to_the_user) {
  at::set_num_threads(7);  // as if LibTorch had read the variable
  setenv("OMP_NUM_THREADS", "7", 1);
  join();
  EXPECT_EQ(at::get_num_threads(), 7);
}

TEST_F(JoinTest, asks_for_an_address_where_a_host_would_give_its_loopback_address) {
  setenv("WORLD_SIZE", "2", 1);
  setenv("MASTER_ADDR", "localhost", 1);
  setenv("MASTER_PORT", "29500", 1);
  core::ProgramFacts facts;
  facts.ranks = 2;
  std::unique_ptr<Transport> transport;
  const core::Status status = join_run(facts, environment_, transport);
  EXPECT_EQ(status.code(), core::StatusCode::refused);
  EXPECT_THAT(status.message(),
              AllOf(StartsWith("rank 0 cannot say where it listens: this host would reach "
                               "localhost from "),
                    EndsWith("; set RIPELINE_ADDRESS to its address in their network")));
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT"}) unsetenv(name);
}

}  // namespace
}  // namespace ripeline::runtime
