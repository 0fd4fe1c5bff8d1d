// Tests protocols of tensor-parallel groups against spec/group.h. RIPELINE_GROUP_SEEDS is the
// number of runs (default 300), and RIPELINE_GROUP_FROM is the first seed (default 1).
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

#include "spec/elaborate.h"
#include "tests/codegen/goldens/group.h"
#include "tests/codegen/goldens/replicas.h"
#include "tests/joint/group_run.h"
#include "verify/group/conditions.h"

namespace ripeline::joint {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

struct Sum {
  std::int64_t runs = 0;
  std::int64_t stuck = 0;
  std::int64_t events = 0;
  std::int64_t agreements = 0;
  std::int64_t ballots = 0;
  std::int64_t retries = 0;
};

constexpr std::array kKinds = {"intersection", "vote", "leader", "none", "replicas", "both"};
constexpr std::size_t kReplicas = 4;
constexpr std::size_t kBoth = 5;
std::size_t kind_of(const GroupVerdict& verdict) {
  if (verdict.replicas == 1) return static_cast<std::size_t>(verdict.agree);
  return verdict.members == 1 ? kReplicas : kBoth;
}

TEST(GroupRuns, do_what_the_group_machine_allows) {
  const std::uint64_t from = setting("RIPELINE_GROUP_FROM", 1);
  const std::uint64_t seeds = setting("RIPELINE_GROUP_SEEDS", 300);
  std::array<Sum, kKinds.size()> sums;
  for (std::uint64_t seed = from; seed < from + seeds; ++seed) {
    const GroupVerdict verdict = run_group(seed);
    EXPECT_EQ(verdict.broken, "") << "seed " << seed << ", " << verdict.members << " members by "
                                  << name_of(verdict.agree) << ", " << verdict.replicas
                                  << " replicas\n"
                                  << verdict.text;
    Sum& sum = sums[kind_of(verdict)];
    ++sum.runs;
    sum.stuck += verdict.stuck ? 1 : 0;
    sum.events += verdict.events;
    sum.agreements += verdict.agreements;
    sum.ballots += verdict.ballots;
    sum.retries += verdict.retries;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Sum& sum = sums[i];
    std::printf(
        "%-12s %6lld runs, %5lld stuck, %9lld events, %8lld agreements, %8lld ballots, "
        "%7lld retries\n",
        kKinds[i], static_cast<long long>(sum.runs), static_cast<long long>(sum.stuck),
        static_cast<long long>(sum.events), static_cast<long long>(sum.agreements),
        static_cast<long long>(sum.ballots), static_cast<long long>(sum.retries));
    EXPECT_GT(sum.runs, 0) << kKinds[i];
  }
  EXPECT_GT(sums[kReplicas].agreements, 0);
  EXPECT_GT(sums[kBoth].agreements, 0);
}

TEST(GroupRuns, of_one_seed_are_always_the_same) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    EXPECT_EQ(run_group(seed).events, run_group(seed).events) << seed;
    EXPECT_EQ(run_group(seed).ballots, run_group(seed).ballots) << seed;
  }
}

// Expects that runs with generated arbiters end well, as the programs are proved.
void end_with(const std::string& golden,
              const std::function<std::unique_ptr<core::Arbiter>(int rank)>& make_arbiter) {
  const std::string path = RIPELINE_SOURCE_DIR "/tests/codegen/goldens/" + golden + ".ripe";
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  GroupProgram of{spec::compile({path, text.str()}).value(), 1, text.str()};
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    of.microbatches = 1 + static_cast<int>(seed % 6);
    const GroupVerdict verdict = run_group(of, seed, {.make_arbiter = make_arbiter});
    EXPECT_EQ(verdict.broken, "") << golden << ", seed " << seed;
    EXPECT_FALSE(verdict.stuck) << golden << ", seed " << seed;
    EXPECT_GT(verdict.agreements, 0);
  }
}
TEST(GroupRuns, of_generated_arbiters_end) {
  end_with("group", group::make_arbiter);
  end_with("replicas", replicas::make_arbiter);
}

// Shows why the judge proves nothing for hints that depend on another engine: the state of that
// engine differs between members.
void part_by(const std::string& hint) {
  const std::string text =
      "pipeline fills { microbatches 1 .. 4; stages 2; place s on s;\n"
      "  tensor_parallel 2 { agree by intersection; }\n"
      "  op F forward { needs F at prev; collectives 1; }\n"
      "  op O offload on copy_out { needs F at here; }\n"
      "  op B backward { needs F at here, B at next; collectives 1; }\n"
      "  op W backward weight { needs B at here; }\n"
      "  order all on r { (F O) * microbatches;  B * microbatches; }\n"
      "  hint turns { " +
      hint + " }\n  dispatch ready by turns; }\n";
  const GroupProgram of{spec::compile({"turns.ripe", text}).value(), 4, text};
  EXPECT_TRUE(verify::GroupConditions(of.program).turns_that_differ());
  std::uint64_t seed = 1;
  while (seed < 1000 && run_group(of, seed).broken.empty()) ++seed;
  EXPECT_LT(seed, 1000U) << hint;
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
              run_group(of, seed).broken.c_str());
}
TEST(GroupRuns, of_a_hint_that_fills_beside_another_engine_part) { part_by("follow all; fill W;"); }
TEST(GroupRuns, of_rounds_that_another_engine_ends_part) { part_by("rounds B, F; fill O, W;"); }

struct Planted {
  GroupBug bug;
  core::Agree agree;
  bool replicas = false;  // without tensor parallelism
};
void PrintTo(const Planted& planted, std::ostream* out) {
  *out << (planted.replicas ? "replicas" : name_of(planted.agree)) << "_"
       << kGroupBugs[static_cast<std::size_t>(planted.bug)];
}
bool fits(const Planted& planted, const spec::Program& program) {
  if (planted.replicas) {
    return program.data_parallel.replicas > 1 && program.tensor_parallel.members == 1;
  }
  return program.data_parallel.replicas == 1 && program.tensor_parallel.agree == planted.agree;
}

class GroupBugs : public testing::TestWithParam<Planted> {};

TEST_P(GroupBugs, are_found_within_20000_seeds) {
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    const GroupProgram of = draw_group_program(seed);
    if (!fits(GetParam(), of.program)) continue;
    const GroupVerdict verdict = run_group(of, seed, {.bug = GetParam().bug});
    if (verdict.broken.empty()) continue;
    std::printf("%s: seed %llu: %s\n", testing::PrintToString(GetParam()).c_str(),
                static_cast<unsigned long long>(seed), verdict.broken.c_str());
    return;
  }
  FAIL();
}
INSTANTIATE_TEST_SUITE_P(
    Each, GroupBugs,
    testing::Values(Planted{GroupBug::wrong_round, core::Agree::intersection},
                    Planted{GroupBug::wrong_round, core::Agree::vote},
                    Planted{GroupBug::wrong_round, core::Agree::leader},
                    Planted{GroupBug::no_new_attempt, core::Agree::intersection},
                    Planted{GroupBug::no_new_attempt, core::Agree::vote},
                    Planted{GroupBug::no_second_ballot, core::Agree::intersection},
                    Planted{GroupBug::no_second_ballot, core::Agree::vote},
                    Planted{GroupBug::own_choice, core::Agree::intersection},
                    Planted{GroupBug::own_choice, core::Agree::vote},
                    Planted{GroupBug::log_as_it_comes, core::Agree::leader},
                    Planted{GroupBug::log_is_a_hint, core::Agree::leader},
                    Planted{GroupBug::early_is_lost, core::Agree::intersection},
                    Planted{GroupBug::early_is_lost, core::Agree::vote},
                    Planted{GroupBug::early_is_lost, core::Agree::leader},
                    // Rounds of replicas never differ: a reduction ends once all have started it.
                    Planted{GroupBug::no_new_attempt, core::Agree::none, true},
                    Planted{GroupBug::no_second_ballot, core::Agree::none, true},
                    Planted{GroupBug::own_choice, core::Agree::none, true},
                    Planted{GroupBug::early_is_lost, core::Agree::none, true}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace ripeline::joint
