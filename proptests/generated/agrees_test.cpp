// Generated = interpreted, in every state met, for random programs that were generated and compiled
// with this build.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proptests/generated/batch.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "tests/support/arbiter_walk.h"

namespace ripeline::proptests {
namespace {

std::vector<GeneratedProgram> all() {
  std::vector<GeneratedProgram> programs;
  for (const auto& batch : {batch_0(), batch_1(), batch_2(), batch_3()}) {
    programs.insert(programs.end(), batch.begin(), batch.end());
  }
  return programs;
}

// In range: the fewest, the next ones, and one beyond.
std::vector<int> counts_of(const core::ProgramFacts& facts) {
  const int least = facts.min_microbatches;
  const int most = facts.max_microbatches == 0 ? least + 6 : facts.max_microbatches;
  return {least, std::min(least + 1, most), std::min(least + 3, most), most, most + 1};
}

// How often each program and count is walked.
constexpr int kWalks = 3;

std::int64_t walk(const GeneratedProgram& generated) {
  const spec::Result<spec::Program> program = spec::compile({"random.ripe", generated.text});
  EXPECT_TRUE(program.ok());
  EXPECT_EQ(program.value().hash, generated.facts->hash);
  const simulate::FactsStorage storage(program.value(), {});
  std::int64_t states = 0;
  for (int rank = 0; rank < program.value().ranks; ++rank) {
    simulate::InterpretedArbiter interpreted(program.value(), storage.facts(), rank);
    const std::unique_ptr<core::Arbiter> arbiter = generated.make(rank);
    testing_support::ArbiterWalk both(interpreted, *arbiter, generated.seed);
    for (int i = 0; i < kWalks; ++i) {
      for (const int microbatches : counts_of(*generated.facts)) {
        EXPECT_EQ(both.run(microbatches), "")
            << generated.text
            << "\nTo see it again: cmake -DRIPELINE_PROPERTY_SEED=" << RIPELINE_PROPERTY_SEED
            << ", program seed " << generated.seed;
      }
    }
    states += both.states();
  }
  return states;
}

TEST(Generated, arbiters_agree_with_the_interpreter_in_every_state_met) {
  std::int64_t states = 0;
  int proved = 0;
  const std::vector<GeneratedProgram> programs = all();
  for (const GeneratedProgram& program : programs) {
    states += walk(program);
    proved += program.facts->proved ? 1 : 0;
    if (HasFailure()) return;
  }
  std::printf("seed %d: %zu programs, %d of them proved, %lld states\n", RIPELINE_PROPERTY_SEED,
              programs.size(), proved, static_cast<long long>(states));
  EXPECT_GE(programs.size(), 64U);
  EXPECT_GE(proved, 16) << "the generator of programs makes too few that are safe";
}

}  // namespace
}  // namespace ripeline::proptests
