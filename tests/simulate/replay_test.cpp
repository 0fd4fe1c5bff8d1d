// Tests that a refutation ends in the same way for the machine, for executors with the interpreter
// and for executors with the generated arbiter, all from the JSON that `ripeline verify` writes.
#include "simulate/replay.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "full.h"
#include "greedy.h"
#include "lower/facts.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "tests/support/link_cases.h"
#include "tests/support/replayed_state.h"
#include "tests/support/stuck_arbiters.h"
#include "tests/support/verdicts.h"
#include "verify/report.h"
#include "verify/verify.h"
#include "waits.h"

namespace ripeline::simulate::replay_test {
namespace {

struct Refuted {
  const char* name;
  std::unique_ptr<core::Arbiter> (*make)(int rank);
  std::string waits;  // a part of the text of the state at the end
};
void PrintTo(const Refuted& refuted, std::ostream* out) { *out << refuted.name; }

const Refuted kRefuted[] = {
    {"waits", waits::make_arbiter, "rank 0: 0B1 waits for 0F1 and 1B1 from rank 1"},
    {"greedy", greedy::make_arbiter, "activation of rank 0 held 3"},
    {"full", full::make_arbiter, "whose message waits for a slot: inbox of stage 1, 1 of 1 taken"},
};

class Replays : public testing::TestWithParam<Refuted> {
 protected:
  Replays() {
    const std::string path =
        std::string(RIPELINE_SOURCE_DIR) + "/tests/generated/" + GetParam().name + ".ripe";
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    source_ = {GetParam().name, text.str()};
    program_ = spec::compile(source_).value();
    const verify::Verdict verdict = verify::verify(program_);
    EXPECT_EQ(verdict.outcome, verify::Outcome::refuted);
    json_ = verify::report_json(program_, source_, verdict);
  }

  verify::RecordedRun run() { return verify::read_run(program_, json_.dump()).value(); }
  Replay interpreted(const verify::RecordedRun& run) {
    const core::OwnedFacts storage = lower::facts_of(program_);
    return replay(program_, run, [&](int rank) -> std::unique_ptr<core::Arbiter> {
      return std::make_unique<InterpretedArbiter>(program_, storage.facts(), rank);
    });
  }

  spec::Source source_;
  spec::Program program_;
  nlohmann::json json_;
};

TEST_P(Replays, to_the_same_stuck_state_everywhere) {
  const verify::RecordedRun recorded = run();
  ASSERT_FALSE(recorded.events.empty());
  const spec::Machine machine(program_, recorded.microbatches);
  spec::Machine::State state = machine.initial();
  for (const spec::Event& event : recorded.events) {
    ASSERT_TRUE(machine.is_enabled(state, event, spec::Machine::Chooser::dispatch));
    machine.step(state, event);
  }
  ASSERT_TRUE(machine.stuck(state));

  const Replay slow = interpreted(recorded);
  const Replay fast = replay(program_, recorded, GetParam().make);
  EXPECT_EQ(slow.difference, std::nullopt);
  EXPECT_EQ(fast.difference, std::nullopt);
  EXPECT_TRUE(slow.stuck);
  EXPECT_TRUE(fast.stuck);
  EXPECT_EQ(testing_support::without_orders(fast.state),
            testing_support::without_orders(slow.state));
  EXPECT_NE(fast.state.find(GetParam().waits), std::string::npos) << fast.state;
  for (int pool = 0; pool < static_cast<int>(program_.pools.size()); ++pool) {
    const std::string held =
        program_.pool_name(pool) + " held " + std::to_string(at(state.held, pool)) + "\n";
    EXPECT_NE(fast.state.find(held), std::string::npos) << held << fast.state;
  }
}

TEST_P(Replays, and_says_so_when_the_run_is_another) {
  verify::RecordedRun shorter = run();
  shorter.events.pop_back();
  EXPECT_FALSE(interpreted(shorter).stuck) << "something still runs or is on its way";

  verify::RecordedRun twice = run();
  twice.events.push_back(twice.events.back());
  EXPECT_NE(interpreted(twice).difference, std::nullopt);

  verify::RecordedRun backwards = run();
  std::swap(backwards.events.front(), backwards.events.back());
  EXPECT_NE(replay(program_, backwards, GetParam().make).difference, std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Replay, Replays, testing::ValuesIn(kRefuted),
                         [](const auto& test) { return std::string(test.param.name); });

// In some of these runs a later message takes the slot for which an earlier message waits.
TEST(Replay, of_every_program_of_the_tests_that_sticks_ends_alike_everywhere) {
  const std::vector<testing_support::Sticking> programs = testing_support::sticking_programs();
  const std::vector<testing_support::MakeArbiter> generated = testing_support::stuck_arbiters();
  ASSERT_EQ(generated.size(), programs.size());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    SCOPED_TRACE(programs[i].name);
    const spec::Program program = testing_support::compiled(programs[i].text);
    ASSERT_EQ(program.hash, generated[i](0)->facts().hash);
    const verify::Verdict verdict = verify::verify(program);
    const verify::Obligation& deadlock = testing_support::find(verdict, "deadlock");
    const bool other = programs[i].by_other_choices;
    ASSERT_EQ(deadlock.outcome, other ? verify::Outcome::unknown : verify::Outcome::refuted);
    const auto json = verify::report_json(program, {"test.ripe", programs[i].text}, verdict);
    // A run without events is not written to the JSON; then nothing can start in the first state.
    const verify::Counterexample& example =
        other ? deadlock.other_choices.value() : deadlock.counterexample.value();
    verify::RecordedRun run{.microbatches = example.microbatches, .events = {}};
    if (!example.events.empty()) run = verify::read_run(program, json.dump()).value();
    const auto chooser = other ? spec::Machine::Chooser::any : spec::Machine::Chooser::dispatch;
    const spec::Machine machine(program, run.microbatches);
    spec::Machine::State state = machine.initial();
    for (const spec::Event& event : run.events) {
      ASSERT_TRUE(machine.is_enabled(state, event, chooser)) << machine.describe(event);
      machine.step(state, event);
    }
    EXPECT_TRUE(machine.stuck(state));
    const core::OwnedFacts storage = lower::facts_of(program);
    const auto interpreter = [&](int rank) -> std::unique_ptr<core::Arbiter> {
      return std::make_unique<InterpretedArbiter>(program, storage.facts(), rank);
    };
    const Replay slow = replay(program, run, interpreter, chooser);
    const Replay fast = replay(program, run, generated[i], chooser);
    EXPECT_EQ(slow.difference, std::nullopt);
    EXPECT_EQ(fast.difference, std::nullopt);
    EXPECT_TRUE(slow.stuck) << slow.state;
    EXPECT_TRUE(fast.stuck) << fast.state;
    EXPECT_EQ(testing_support::without_orders(fast.state),
              testing_support::without_orders(slow.state));
    for (int pool = 0; pool < static_cast<int>(program.pools.size()); ++pool) {
      const std::string held =
          program.pool_name(pool) + " held " + std::to_string(at(state.held, pool)) + "\n";
      EXPECT_NE(fast.state.find(held), std::string::npos) << held << fast.state;
    }
  }
}

// The task may start, but the hint would not choose it; only Chooser::any lets the run start it.
TEST(Replay, of_other_choices_needs_to_be_told) {
  const spec::Program program = spec::compile({"two.ripe", R"(
pipeline two {
  microbatches 2;
  stages 1;
  place s on s;
  op F forward { }
  dispatch ready;
}
)"})
                                    .value();
  const core::OwnedFacts storage = lower::facts_of(program);
  const MakeArbiter make = [&](int rank) -> std::unique_ptr<core::Arbiter> {
    return std::make_unique<InterpretedArbiter>(program, storage.facts(), rank);
  };
  const spec::Event start{.what = spec::Event::Do::start, .lane = 0, .microbatch = 1, .edge = -1};
  const verify::RecordedRun run{.microbatches = 2, .events = {start}};
  EXPECT_EQ(replay(program, run, make).difference, "the run starts 0F1, the executor 0F0");
  const Replay any = replay(program, run, make, spec::Machine::Chooser::any);
  EXPECT_EQ(any.difference, std::nullopt);
  EXPECT_FALSE(any.stuck);
}

}  // namespace
}  // namespace ripeline::simulate::replay_test
