// Tests ranks as processes, each with its own context on the one device; threads would share one
// context. The processes are new programs, since a process that has used CUDA must not fork.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/cuda/nccl/load_nccl.h"
#include "tests/cuda/device_run.h"
#include "tests/cuda/programs.h"
#include "tests/runtime/ranks.h"

namespace ripeline::runtime::cuda {
namespace {

using testing_support::DeviceRun;
using testing_support::DeviceRunOptions;
using testing_support::kSequentialChain;
using testing_support::kSplitV;
using testing_support::ProvedText;
using testing_support::TemporaryFolder;

constexpr int kSteps = 4;
constexpr int kMicrobatches = 7;
constexpr int kNoIpc = 77;

// The main program of the rank that the environment names; if it names none, the test is skipped.
TEST(DeviceProcesses, DISABLED_rank) {
  const char* const rank = std::getenv("RIPELINE_TEST_RANK");
  const char* const folder = std::getenv("RIPELINE_TEST_FOLDER");
  const char* const program = std::getenv("RIPELINE_TEST_PROGRAM");
  if (rank == nullptr || folder == nullptr || program == nullptr) GTEST_SKIP() << "of no run";
  const int self = std::atoi(rank);
  DeviceRunOptions options;
  options.varies = true;
  const core::Status status = read_carrier(options.carrier);
  ASSERT_TRUE(status.ok()) << status.message();
  options.nccl = [](int) {
    const NcclLibrary* nccl = nullptr;
    const core::Status loaded = load_nccl(nccl);
    EXPECT_TRUE(loaded.ok()) << loaded.message();
    return nccl;
  };
  if (options.carrier != CarrierKind::nccl) options.nccl = nullptr;
  const ProvedText proved(*program == 'v' ? kSplitV : kSequentialChain, 2);
  DeviceRun run(proved, 21, options);
  ASSERT_TRUE(run.status().ok()) << run.status().message();
  run.run_one(self, folder, kSteps, kMicrobatches);
  const core::Status& end = run.toys().rank(self).status;
  ASSERT_TRUE(end.ok()) << end.message();
  EXPECT_FALSE(run.differs(kSteps, kMicrobatches));
  EXPECT_EQ(run.taken(), 0U);
  std::printf("rank %d: %s\n", self, run.carriers(self).c_str());
  if (!HasFailure() && run.carriers(self).find("staged") != std::string::npos) std::exit(kNoIpc);
}

// Runs two ranks; returns their exit codes.
std::vector<int> run_two(const std::string& program, const char* carrier) {
  const TemporaryFolder folder;
  setenv("RIPELINE_TEST_FOLDER", (folder.path() + "/run").c_str(), 1);
  setenv("RIPELINE_TEST_PROGRAM", program.c_str(), 1);
  setenv("RIPELINE_CARRIER", carrier, 1);
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    setenv("RIPELINE_TEST_RANK", std::to_string(rank).c_str(), 1);
    std::string name = "/proc/self/exe";
    std::string filter = "--gtest_filter=DeviceProcesses.DISABLED_rank";
    std::string disabled = "--gtest_also_run_disabled_tests";
    char* words[] = {name.data(), filter.data(), disabled.data(), nullptr};
    pid_t process = -1;
    EXPECT_EQ(posix_spawn(&process, name.c_str(), nullptr, nullptr, words, environ), 0);
    ranks.push_back(process);
  }
  std::vector<int> codes;
  for (const pid_t rank : ranks) {
    int status = 0;
    EXPECT_EQ(waitpid(rank, &status, 0), rank);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  for (const char* name : {"RIPELINE_TEST_FOLDER", "RIPELINE_TEST_PROGRAM", "RIPELINE_CARRIER",
                           "RIPELINE_TEST_RANK"}) {
    unsetenv(name);
  }
  return codes;
}

class DeviceProcessesTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const core::Status status = use_device(0);
    if (status.code() == core::StatusCode::refused) GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status.message();
  }
};

TEST_P(DeviceProcessesTest, train_through_the_host) {
  EXPECT_EQ(run_two(GetParam(), "staged"), (std::vector<int>{kNoIpc, kNoIpc}));
}

// The ranks open each other's memory if possible. If not, both report it, and results are right.
TEST_P(DeviceProcessesTest, train_from_memory_to_memory) {
  const std::vector<int> codes = run_two(GetParam(), "");
  if (codes == std::vector<int>{kNoIpc, kNoIpc}) GTEST_SKIP() << "went through the host";
  EXPECT_EQ(codes, (std::vector<int>{0, 0}));
}

// Both ranks use the one GPU. For NCCL they claim to be on different hosts.
TEST_P(DeviceProcessesTest, train_by_nccl) {
#ifdef RIPELINE_FAKE_DEVICE
  GTEST_SKIP() << "a fake device is none for NCCL";
#else
  const NcclLibrary* nccl = nullptr;
  if (const core::Status loaded = load_nccl(nccl); !loaded.ok()) GTEST_SKIP() << loaded.message();
  EXPECT_EQ(run_two(GetParam(), "nccl"), (std::vector<int>{0, 0}));
#endif
}

INSTANTIATE_TEST_SUITE_P(Of, DeviceProcessesTest, testing::Values("v", "chain"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace ripeline::runtime::cuda
