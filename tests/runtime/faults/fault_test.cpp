// Injects a fault of every kind into a run of toy_rank, at a drawn moment; inject_faults injects
// any number of faults. Also tests that inject() reports violations.
#include <gtest/gtest.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>

#include "tests/runtime/faults/fault_kinds.h"
#include "tests/runtime/faults/fault_run.h"
#include "tests/runtime/faults/shared_memory.h"

namespace ripeline::faults {
namespace {

std::uint64_t new_seed() {
  const char* given = std::getenv("RIPELINE_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

class FaultTest : public testing::TestWithParam<FaultKind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, FaultTest,
                         testing::ValuesIn(fault_kinds().begin(), fault_kinds().end()),
                         [](const auto& each) { return each.param.name; });

TEST_P(FaultTest, ends_the_run_names_the_culprit_and_leaves_nothing_behind) {
  const std::uint64_t seed = new_seed();
  const FaultReport report = inject(GetParam(), seed);
  if (!report.skipped.empty()) GTEST_SKIP() << report.skipped;
  EXPECT_EQ(report.problem, "") << "RIPELINE_SEED=" << seed << ", after " << report.seconds << " s";
  EXPECT_EQ(report.unnamed, "") << "RIPELINE_SEED=" << seed << ", after " << report.seconds << " s";
}

FaultKind kind_of(std::vector<std::string> in_ranks) {
  return {.name = "", .in_ranks = std::move(in_ranks), .blows = {}, .codes = {0}, .steps = 4};
}

TEST(FaultRunTest, finds_nothing_where_nothing_happens) {
  const FaultReport report = inject(kind_of({}), new_seed());
  EXPECT_EQ(report.problem, "");
  EXPECT_FALSE(report.left || report.hung);
}

TEST(FaultRunTest, sees_what_is_left_in_shared_memory) {
  if (!sees_shared_memory()) GTEST_SKIP() << "nothing can be mounted here";
  const FaultReport report = inject(kind_of({"R:leak@end"}), new_seed());
  EXPECT_TRUE(report.left);
  EXPECT_NE(report.problem.find("/shm/leak"), std::string::npos) << report.problem;
}

TEST(FaultRunTest, sees_another_exit_code_and_what_nobody_said) {
  FaultKind kind = kind_of({"R:exit@5"});
  kind.said = "rank R is made of gold";
  const FaultReport report = inject(kind, new_seed());
  EXPECT_NE(report.problem.find("its exit code is 3\n"), std::string::npos) << report.problem;
  EXPECT_NE(report.problem.find("is made of gold\n"), std::string::npos) << report.problem;
  EXPECT_FALSE(report.left);
}

// The fault kills a rank other than the one that the kind blames.
TEST(FaultRunTest, counts_those_who_do_not_name_the_culprit) {
  FaultKind kind = kind_of({"O:kill@5"});
  kind.has_culprit = true;
  const FaultReport report = inject(kind, new_seed());
  EXPECT_EQ(report.named, 0);
  EXPECT_GE(report.survivors, 1);
  EXPECT_NE(report.unnamed.find(" does not name rank "), std::string::npos) << report.problem;
}

TEST(FaultRunTest, sees_a_segment_that_nobody_can_miss) {
  const auto since = static_cast<long>(std::time(nullptr));
  const int id = shmget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
  ASSERT_GE(id, 0);
  const std::string name = "System V segment " + std::to_string(id) + ",";
  EXPECT_EQ(abandoned_segments(since).find(name), std::string::npos) << "its creator lives";
  shmctl(id, IPC_RMID, nullptr);
  const pid_t child = fork();
  if (child == 0) _exit(shmget(static_cast<key_t>(getppid()), 1, IPC_CREAT | 0600) < 0 ? 1 : 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const int left = shmget(static_cast<key_t>(getpid()), 0, 0600);
  ASSERT_GE(left, 0);
  EXPECT_NE(abandoned_segments(since).find("System V segment " + std::to_string(left) + ","),
            std::string::npos);
  shmctl(left, IPC_RMID, nullptr);
}

}  // namespace
}  // namespace ripeline::faults
