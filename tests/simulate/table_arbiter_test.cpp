// The arbiter that is made at run time offers and chooses what the machine itself does.
#include "simulate/table_arbiter.h"
#include "lower/facts.h"

#include <gtest/gtest.h>

#include "tests/simulate/runs.h"
#include "tests/support/arbiter_walk.h"
#include "tests/support/random_program.h"
#include "validate/probe/probe.h"
#include "validate/walk.h"

namespace ripeline::simulate {
namespace {

// Both through the same random events, at several counts of microbatches.
std::int64_t walk_both(const spec::Program& program, std::uint64_t seed) {
  const core::OwnedFacts storage = lower::facts_of(program);
  std::int64_t states = 0;
  const int least = program.microbatches.min;
  const int most = std::min(program.microbatches.max.value_or(5), 5);
  for (int rank = 0; rank < program.ranks; ++rank) {
    TableArbiter table(program, storage.facts(), rank);
    InterpretedArbiter machine(program, storage.facts(), rank);
    testing_support::ArbiterWalk walk(table, machine, seed);
    for (int m = least; m <= most; ++m) {
      EXPECT_EQ(walk.run(m), "") << program.name << ", rank " << rank << ", seed " << seed;
    }
    states += walk.states();
  }
  return states;
}

TEST(TableArbiter, agrees_with_the_machine_on_the_library) {
  std::int64_t states = 0;
  for (const spec::LibraryEntry& entry : spec::library()) {
    states += walk_both(testing_support::compiled(std::string(entry.name)), 1);
  }
  EXPECT_GT(states, 1'000);
}

TEST(TableArbiter, agrees_with_the_machine_on_random_programs) {
  testing_support::RandomProgramOptions options;
  options.links = options.once = options.before = options.engines = options.shares = true;
  options.keeping = options.pairs = options.hints = true;
  std::int64_t states = 0;
  int programs = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const std::string text = testing_support::random_program_text(seed, options);
    const auto program = spec::compile({"random.ripe", text});
    ASSERT_TRUE(program.ok()) << text;
    if (!program.value().unsupported.empty()) continue;
    states += walk_both(program.value(), seed);
    ++programs;
    if (HasFailure()) FAIL() << text;
  }
  EXPECT_GT(programs, 100);
  EXPECT_GT(states, 10'000);
}

// A followed order from a file binds microbatches.
TEST(TableArbiter, agrees_in_every_state_of_small_programs) {
  for (const char* name : {"bf", "1f1b_hint", "bfw", "bfw_v"}) {
    const spec::Program program = testing_support::compiled(name);
    const Walk walk = walk_of(program, {});
    const core::OwnedFacts storage = lower::facts_of(program);
    const std::string found = core::play(
        [&](int rank) { return std::make_unique<TableArbiter>(program, storage.facts(), rank); },
        walk.script);
    EXPECT_EQ(first_difference(program, walk.script, walk.expected, found), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace ripeline::simulate
