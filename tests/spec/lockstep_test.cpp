// Tests that Machine and the oracle visit the same states by the same events.
#include "tests/compare/lockstep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "spec/elaborate.h"
#include "tests/support/random_program.h"

namespace ripeline {
namespace {

using oracle::Choices;

// For one feature: the number of walked programs that have it, and how many of these deadlock.
struct Count {
  int walks = 0;
  int sticking = 0;
};

class LockstepTest : public ::testing::Test {
 protected:
  void walk(const spec::Program& program, int microbatches, Choices choices) {
    constexpr std::size_t kMostStates = 3'000;
    const auto found = compare::walk_in_lockstep(program, microbatches, choices, kMostStates);
    EXPECT_EQ(found.disagreement, "") << microbatches << " microbatches";
    if (!found.complete) return;
    states_ += found.states;
    const auto answer = oracle::explore(program, microbatches, choices, kMostStates);
    EXPECT_EQ(answer.states, found.states);
    auto features = spec::features_of(program);
    if (features.empty()) features.push_back({"none", {}});
    for (const auto& feature : features) {
      ++seen_[feature.construct].walks;
      seen_[feature.construct].sticking += answer.sticks ? 1 : 0;
    }
  }

  std::map<std::string, Count> seen_;
  std::size_t states_ = 0;
};

TEST_F(LockstepTest, random_programs_of_every_feature) {
  constexpr std::uint64_t kPrograms = 2'500;
  for (std::uint64_t seed = 1; seed <= kPrograms && !HasFailure(); ++seed) {
    const std::string text = testing_support::random_program_text(seed, {.max_microbatches = 3,
                                                                         .max_tasks = 12,
                                                                         .links = true,
                                                                         .once = true,
                                                                         .before = true,
                                                                         .engines = true,
                                                                         .keeping = true,
                                                                         .shares = true,
                                                                         .pairs = true,
                                                                         .hints = true});
    SCOPED_TRACE(std::to_string(seed) + "\n" + text);
    const auto program = spec::compile({"random.ripe", text});
    ASSERT_TRUE(program.ok()) << spec::render({"random.ripe", text}, program.errors());
    const int lanes = static_cast<int>(program.value().lanes.size());
    const auto& range = program.value().microbatches;
    const int last = std::min(range.max.value_or(3), std::max(range.min, 12 / lanes));
    for (const Choices choices : {Choices::any, Choices::dispatch}) {
      walk(program.value(), range.min, choices);
      if (last > range.min) walk(program.value(), last, choices);
    }
  }
  for (const char* feature :
       {"none", "once", "engine copy_out", "engine copy_in", "needs of", "needs of all",
        "link rendezvous", "link fifo", "link slots", "channel", "keeping", "on m where", "pair"}) {
    EXPECT_GE(seen_[feature].walks, 50) << feature;
    EXPECT_GE(seen_[feature].sticking, 5) << feature;
    std::cout << feature << ": " << seen_[feature].walks << " walks, " << seen_[feature].sticking
              << " of them can stick\n";
  }
  std::cout << states_ << " states\n";
}

}  // namespace
}  // namespace ripeline
