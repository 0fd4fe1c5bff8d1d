// Tests that TableArbiter, which is made at run time, offers and chooses the same tasks as Machine.
#include "simulate/table_arbiter.h"
#include "lower/facts.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "tests/simulate/runs.h"
#include "tests/support/arbiter_walk.h"
#include "tests/support/random_program.h"
#include "tests/support/state_walk.h"

namespace ripeline::simulate::table_arbiter_test {
namespace {

using testing_support::WalkedStates;

std::string read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Leads both arbiters through the same random events, for several numbers of microbatches.
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
    states += walk_both(testing_support::compiled_schedule(std::string(entry.name)), 1);
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

WalkedStates walk_every_state(const spec::Program& program) {
  const core::OwnedFacts storage = lower::facts_of(program);
  return testing_support::walk_states(program, [&](int rank) {
    return std::make_unique<TableArbiter>(program, storage.facts(), rank);
  });
}

// The programs use every rule of dispatches; for each, at least one microbatch count is visited.
TEST(TableArbiter, agrees_in_every_state_of_small_programs) {
  for (const spec::LibraryEntry& entry : spec::library()) {
    const spec::Program program = testing_support::compiled_schedule(std::string(entry.name));
    const WalkedStates walked = walk_every_state(program);
    EXPECT_EQ(walked.difference, "") << entry.name;
    EXPECT_GE(walked.states, 50) << entry.name;
  }
  for (const char* name : {"by_rank", "file_hint", "file_order", "kept", "turns", "uneven",
                           "valued", "zbv", "replicas"}) {
    const std::string folder = RIPELINE_SOURCE_DIR "/tests/codegen/goldens/";
    spec::ElaborateOptions options;
    options.read_file = [&](const std::string& file) { return read(folder + file); };
    const auto program = spec::compile({name, read(folder + name + ".ripe")}, options);
    ASSERT_TRUE(program.ok()) << name;
    const WalkedStates walked = walk_every_state(program.value());
    EXPECT_EQ(walked.difference, "") << name;
    EXPECT_GE(walked.states, 50) << name;
  }
  for (const char* name : {"beside", "engines", "followed", "forecasting", "full", "learning",
                           "meet", "patient", "turning", "valuing", "waits"}) {
    const auto program = spec::compile(
        {name, read(RIPELINE_SOURCE_DIR "/tests/generated/" + (name + std::string(".ripe")))});
    ASSERT_TRUE(program.ok()) << name;
    const WalkedStates walked = walk_every_state(program.value());
    EXPECT_EQ(walked.difference, "") << name;
    EXPECT_GE(walked.states, 20) << name;
  }
}

// The walk notices an arbiter that always prefers forwards, whatever the hint's round.
TEST(StateWalk, notices_another_choice_and_says_what_it_leaves_out) {
  const spec::Program program = testing_support::compiled_schedule("bf");
  const spec::Program other = testing_support::compiled_schedule("1f1b_hint");
  const core::OwnedFacts storage = lower::facts_of(other);
  const WalkedStates walked = testing_support::walk_states(program, [&](int rank) {
    return std::make_unique<TableArbiter>(other, storage.facts(), rank);
  });
  EXPECT_NE(walked.difference.find("microbatches, after"), std::string::npos) << walked.difference;
  const core::OwnedFacts own = lower::facts_of(program);
  const WalkedStates few = testing_support::walk_states(
      program, [&](int rank) { return std::make_unique<TableArbiter>(program, own.facts(), rank); },
      {.counts = 4, .states_of_rank = 30, .states = 1000});
  EXPECT_EQ(few.difference, "");
  EXPECT_LT(few.complete, 4);
}

}  // namespace
}  // namespace ripeline::simulate::table_arbiter_test
