// Generated and interpreted arbiters agree in every state that random walks reach, for random
// programs whose arbiters were generated and compiled with this build.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lower/facts.h"
#include "proptests/generated/batch.h"
#include "simulate/interpreter.h"
#include "simulate/replay.h"
#include "spec/elaborate.h"
#include "tests/support/arbiter_walk.h"
#include "tests/support/replayed_state.h"
#include "validate/validator.h"
#include "verify/report.h"
#include "verify/verify.h"

namespace ripeline::proptests {
namespace {

std::vector<GeneratedProgram> all() {
  std::vector<GeneratedProgram> programs;
  for (const auto& batch : {batch_0(), batch_1(), batch_2(), batch_3()}) {
    for (const GeneratedProgram& program : batch) programs.push_back(program);
  }
  return programs;
}

// The least count, some above it, the greatest, and one above the greatest.
std::vector<int> counts_of(const core::ProgramFacts& facts) {
  const int least = facts.min_microbatches;
  const int most = facts.max_microbatches == 0 ? least + 6 : facts.max_microbatches;
  return {least, std::min(least + 1, most), std::min(least + 3, most), most, most + 1};
}

// The number of walks for each program and count.
constexpr int kWalks = 3;

std::int64_t walk(const GeneratedProgram& generated) {
  const spec::Result<spec::Program> program = spec::compile({"random.ripe", generated.text});
  EXPECT_TRUE(program.ok());
  EXPECT_EQ(program.value().hash, generated.probe.facts.hash);
  const core::OwnedFacts storage = lower::facts_of(program.value());
  std::int64_t states = 0;
  for (int rank = 0; rank < program.value().ranks; ++rank) {
    simulate::InterpretedArbiter interpreted(program.value(), storage.facts(), rank);
    const std::unique_ptr<core::Arbiter> arbiter = generated.make_arbiter(rank);
    testing_support::ArbiterWalk both(interpreted, *arbiter, generated.seed);
    for (int i = 0; i < kWalks; ++i) {
      for (const int microbatches : counts_of(generated.probe.facts)) {
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
    proved += program.probe.facts.proved ? 1 : 0;
    if (HasFailure()) return;
  }
  std::printf("seed %d: %zu programs, %d of them proved, %lld states\n", RIPELINE_PROPERTY_SEED,
              programs.size(), proved, static_cast<long long>(states));
  EXPECT_GE(programs.size(), 64U);
  EXPECT_GE(proved, 16) << "the generator of programs makes too few that are safe";
}

TEST(Generated, headers_are_valid_tables_formulas_orders_and_priorities) {
  std::int64_t formulas = 0;
  std::int64_t places = 0;
  std::int64_t values = 0;
  for (const GeneratedProgram& generated : all()) {
    const spec::Program program = spec::compile({"random.ripe", generated.text}).value();
    const validate::Validator validator(program);
    const validate::Validation validation =
        validator.judge(validate::answers(generated.probe, validator.questions()));
    ASSERT_EQ(validation.differences, std::vector<std::string>{})
        << generated.text << "\nprogram seed " << generated.seed;
    formulas += validation.formulas;
    places += validation.questions.places;
    values += validation.questions.values;
  }
  std::printf("%lld formulas, %lld places, %lld values\n", static_cast<long long>(formulas),
              static_cast<long long>(places), static_cast<long long>(values));
  EXPECT_GT(formulas, 500);
  EXPECT_GT(places, 500);
  EXPECT_GT(values, 0);
}

TEST(Generated, arbiters_of_refuted_programs_replay_the_run) {
  int replayed = 0;
  for (const GeneratedProgram& generated : all()) {
    if (generated.probe.facts.proved) continue;
    const spec::Source source{"random.ripe", generated.text};
    const spec::Program program = spec::compile(source).value();
    const verify::Verdict verdict =
        verify::verify(program, {.solver_steps = 5'000'000, .search_states = 100'000});
    const auto& deadlock = verdict.obligations.front();
    if (!deadlock.counterexample || deadlock.counterexample->events.empty()) continue;
    const auto json = verify::report_json(program, source, verdict);
    const verify::RecordedRun run = verify::read_run(program, json.dump()).value();
    const core::OwnedFacts storage = lower::facts_of(program);
    const simulate::Replay slow =
        simulate::replay(program, run, [&](int rank) -> std::unique_ptr<core::Arbiter> {
          return std::make_unique<simulate::InterpretedArbiter>(program, storage.facts(), rank);
        });
    const simulate::Replay fast = simulate::replay(program, run, generated.make_arbiter);
    EXPECT_EQ(fast.difference, std::nullopt) << generated.text;
    EXPECT_EQ(slow.difference, std::nullopt) << generated.text;
    EXPECT_TRUE(fast.stuck) << generated.text << fast.state;
    EXPECT_TRUE(slow.stuck);
    EXPECT_EQ(testing_support::without_orders(fast.state),
              testing_support::without_orders(slow.state))
        << generated.text;
    ++replayed;
  }
  std::printf("%d refutations replayed\n", replayed);
  EXPECT_GT(replayed, 0);
}

}  // namespace
}  // namespace ripeline::proptests
