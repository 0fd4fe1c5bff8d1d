// Tests that simulated runs keep their invariants and reveal planted bugs (docs/testing.md).
#include "tests/joint/joint_run.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/joint/planted_bugs.h"
#include "tests/joint/tally.h"

namespace ripeline::joint {
namespace {

std::string how_to_replay(std::uint64_t seed, FaultKind kind) {
  return "simulate_runs --replay " + std::to_string(seed) + " --kinds " +
         std::string(name_of(kind));
}

// The end of the run's log, which a failing test prints.
std::string log_of(std::uint64_t seed, FaultKind kind) {
  constexpr std::size_t kMost = 8000;
  const std::string log = run_seed(seed, {.kind = kind, .log = true}).log;
  return log.size() < kMost ? log : "…" + log.substr(log.size() - kMost);
}

// Each instance runs a quarter of the seeds.
class Quarter : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Quarter, of_2000_runs_keeps_every_invariant_and_names_the_culprit) {
  Tally tally;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::uint64_t seed = 1 + GetParam() * 500 + i;
    const Verdict verdict = run_seed(seed);
    tally.add(verdict);
    EXPECT_EQ(verdict.broken, "") << how_to_replay(seed, verdict.kind) << "\n"
                                  << log_of(seed, verdict.kind);
  }
  EXPECT_GE(tally.named(), 0.99) << tally.table();
  for (std::size_t kind = 1; kind < kFaultKinds.size(); ++kind) {
    EXPECT_GT(tally.happened(static_cast<FaultKind>(kind)), 0) << kFaultKinds[kind];
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, Quarter, testing::Range<std::uint64_t>(0, 4));

TEST(JointRun, of_one_seed_is_always_the_same) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    EXPECT_EQ(run_seed(seed, {.log = true}).log, run_seed(seed, {.log = true}).log) << seed;
  }
}

// A seed that has revealed a defect.
struct Shown {
  std::uint64_t seed;
  FaultKind kind;
  const char* what;
  bool connects_all = true;
};

TEST(JointRun, shows_no_defect_again) {
  constexpr Shown kShown[] = {
      {295, FaultKind::none, "a notice of another program failed the run"},
      {1, FaultKind::none, "calls that had ended kept their inputs"},
      {105, FaultKind::slow, "peers were called silent after a long pause"},
      {11, FaultKind::kill, "at the end of the run the messenger was blamed"},
      {31, FaultKind::stop, "at the end of the run nobody answered"},
      {16, FaultKind::cut, "others did not learn who had lost whom"},
      {8719, FaultKind::endless, "notices that went round hid that nothing happened"},
      {694, FaultKind::endless, "a rank that was a step behind was blamed"},
      {340, FaultKind::pause, "a step that had begun was told to another program"},
      {334, FaultKind::endless, "two steps' beginnings overtook each other"},
      {1821, FaultKind::slow, "a rank that had ended was missed", false},
      {6914, FaultKind::apart, "a rank without tasks was too far ahead", false},
  };
  for (const Shown& shown : kShown) {
    const Verdict verdict =
        run_seed(shown.seed, {.kind = shown.kind, .connects_all = shown.connects_all});
    EXPECT_EQ(verdict.broken, "") << shown.what << "\n" << how_to_replay(shown.seed, shown.kind);
    EXPECT_EQ(verdict.named, verdict.survivors)
        << shown.what << "\n"
        << report_of(verdict) << how_to_replay(shown.seed, shown.kind);
  }
}

class PlantedBugs : public testing::TestWithParam<NamedBug> {};

TEST_P(PlantedBugs, are_found_within_10000_seeds) {
  const auto found = first_seed_that_finds(GetParam(), 1, 10'000);
  ASSERT_TRUE(found) << GetParam().name;
  std::printf("%s: after %llu seeds: %s\n", std::string(GetParam().name).c_str(),
              static_cast<unsigned long long>(found->seed),
              found->how.substr(0, found->how.find('\n')).c_str());
}
INSTANTIATE_TEST_SUITE_P(Each, PlantedBugs, testing::ValuesIn(planted_bugs()), [](const auto& bug) {
  std::string name(bug.param.name);
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace ripeline::joint
