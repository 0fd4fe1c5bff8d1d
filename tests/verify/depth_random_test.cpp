// Tests random programs for any number of ranks: if the queries alone, without the safety checks of
// verify_every_depth(), prove every number of ranks, each small number must be proved too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "spec/elaborate.h"
#include "spec/parse.h"
#include "tests/support/random_depth.h"
#include "tests/support/verdicts.h"
#include "verify/depth/agreement.h"
#include "verify/depth/order_depth.h"
#include "verify/depth/ready_depth.h"

namespace ripeline::verify::depth_random_test {
namespace {

using testing_support::find;

constexpr std::uint64_t kPrograms = 75;
constexpr std::uint64_t kShards = 3;  // each shard is a test of every third seed
constexpr int kMostRanks = 6;
constexpr std::uint64_t kSteps = 4'000'000;

struct Counted {
  int programs = 0;  // well-formed programs with a shape that can be read
  int proved = 0;
  int safe = 0;  // programs whose deadlock is proved at each small depth
};

void compare(const spec::ast::Pipeline& tree, const spec::Source& source, Counted& counted) {
  const auto at_depth = [&](int ranks) {
    return spec::elaborate(tree, source, {.defines = {{"ranks", ranks}}, .dispatch = ""});
  };
  const auto sample = at_depth(1);
  if (!sample.ok()) return;
  const auto read = depth::read_shape(tree, {}, sample.value(), kSteps);
  if (!std::holds_alternative<depth::Shape>(read)) return;
  const auto& shape = std::get<depth::Shape>(read);
  if (depth::not_well_formed(shape, kSteps)) return;
  Finding deadlock;
  Finding memory;
  Finding once{.outcome = Outcome::proved};
  if (shape.in_order) {
    depth::OrderDepth judge(shape, kSteps);
    once = judge.once();
    deadlock = judge.deadlock();
    memory = judge.memory().finding;
  } else {
    depth::ReadyDepth judge(shape, kSteps);
    deadlock = judge.deadlock();
    memory = judge.memory().finding;
  }
  ++counted.programs;
  bool safe = true;
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    const auto program = at_depth(ranks);
    if (!program.ok()) {
      // The queries must reject circular needs and negative counts.
      EXPECT_NE(deadlock.outcome, Outcome::proved) << ranks << " ranks: no program";
      return;
    }
    EXPECT_EQ(depth::disagreement(shape, program.value(), kSteps), std::nullopt);
    const Verdict verdict =
        verify(program.value(), {.solver_steps = 10'000'000, .search_states = 20'000});
    const auto check = [&](const Finding& every, const std::string& name) {
      const Obligation& one = find(verdict, name);
      if (every.outcome != Outcome::proved) return;
      EXPECT_EQ(one.outcome, Outcome::proved) << name << " with " << ranks << ": " << one.reason;
    };
    check(deadlock, "deadlock");
    check(memory, "memory");
    check(once, "once");
    safe = safe && find(verdict, "deadlock").outcome == Outcome::proved;
  }
  counted.safe += safe ? 1 : 0;
  counted.proved += deadlock.outcome == Outcome::proved ? 1 : 0;
  if (std::getenv("RIPELINE_SHOW") != nullptr && safe && deadlock.outcome != Outcome::proved) {
    std::cout << "not proved: " << deadlock.reason << "\n" << source.text;
  }
}

class EveryDepthRandom : public testing::TestWithParam<std::uint64_t> {};

TEST_P(EveryDepthRandom, what_is_proved_is_proved_of_each_small_depth) {
  std::uint64_t first = 1;
  std::uint64_t count = kPrograms;
  if (const char* seed = std::getenv("RIPELINE_SEED")) {
    first = std::strtoull(seed, nullptr, 10);
    count = 1;
  }
  if (const char* programs = std::getenv("RIPELINE_PROGRAMS")) {
    count = std::strtoull(programs, nullptr, 10);
  }
  Counted counted;
  for (std::uint64_t i = GetParam(); i < count && !HasFailure(); i += kShards) {
    const std::uint64_t seed = first + i;
    const spec::Source source{"random.ripe", testing_support::random_depth_text(seed)};
    SCOPED_TRACE("RIPELINE_SEED=" + std::to_string(seed) + "\n" + source.text);
    const auto tree = spec::parse(source);
    ASSERT_TRUE(tree.ok()) << spec::render(source, tree.errors());
    compare(tree.value(), source, counted);
  }
  std::cout << "of the shard's random programs " << counted.programs << " were asked; "
            << counted.safe << " are free of deadlock at each small depth, " << counted.proved
            << " proved so for every number of ranks\n";
  if (count >= kPrograms) {  // most safe programs are proved; many programs are unsafe
    EXPECT_GE(counted.proved * 10, counted.safe * 7);
    EXPECT_LE(counted.safe * 10, counted.programs * 9);
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, EveryDepthRandom, testing::Range(std::uint64_t{0}, kShards));

}  // namespace
}  // namespace ripeline::verify::depth_random_test
