// Validation accepts what the generator wrote and notices each kind of mistake in it.
#include "validate/validator.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broken_bf.h"
#include "core/executor.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "tests/codegen/goldens/bf.h"
#include "validate/probe/probe.h"

namespace ripeline::simulate {
namespace {

using core::Formula;
using testing::HasSubstr;

spec::Program program_of(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(RIPELINE_SOURCE_DIR "/tests/codegen/goldens/" + name + ".ripe").rdbuf();
  return spec::compile({name, text.str()}).value();
}

core::Probe bf_probe() {
  return {bf::facts, bf::make_arbiter, bf::has_room<Formula>, bf::acquire<Formula>,
          bf::release<Formula>};
}

// bf's arbiter, whose choice is what `choose` says.
class Altered final : public core::Arbiter {
 public:
  explicit Altered(int rank) : rank_(rank), right_(bf::make_arbiter(rank)) {}
  [[nodiscard]] const core::ProgramFacts& facts() const override { return bf::facts; }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] core::Status begin_step(std::int64_t step, int microbatches) override {
    return right_->begin_step(step, microbatches);
  }
  void on_finished(core::Task task, core::Time now) override { right_->on_finished(task, now); }
  void on_arrived(core::Message message, core::Time now) override {
    right_->on_arrived(message, now);
  }
  void ready(core::Engine engine, core::TaskSet& out) const override { right_->ready(engine, out); }
  // Forwards first, whatever the round.
  [[nodiscard]] core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                                    core::Time now) const override {
    core::TaskSet set;
    ready(engine, set);
    const int m = allowed == nullptr ? set.row(2 * rank_).lowest()
                                     : set.row(2 * rank_).lowest_common(allowed->row(2 * rank_));
    if (m < 0) return right_->choose(engine, allowed, now);
    return {.kind = core::Choice::Kind::start, .task = {2 * rank_, m}, .until = {}};
  }
  void started(core::Task task, core::Time now) override { right_->started(task, now); }

 private:
  int rank_;
  std::unique_ptr<core::Arbiter> right_;
};

core::ProgramFacts other_capacity() {
  static constexpr core::PoolFacts kPools[] = {{"activation", "", 0, 0, 4, 5},
                                               {"activation", "", 1, 1, 3, 3},
                                               {"activation", "", 2, 2, 2, 2},
                                               {"activation", "", 3, 3, 1, 1}};
  core::ProgramFacts facts = bf::facts;
  facts.pools = kPools;
  return facts;
}

TEST(Validate, accepts_what_was_generated) {
  const spec::Program program = program_of("bf");
  const Validator validator(program);
  const Validation validation = validator.judge(core::answers(bf_probe(), validator.script()));
  EXPECT_THAT(validation.differences, testing::IsEmpty());
  EXPECT_EQ(validation.formulas, 16) << "a guard of 8 lanes, what 4 acquire and 4 release";
  ASSERT_EQ(validation.sizes.size(), 3U);
  EXPECT_EQ(validation.sizes[2].microbatches, 3);
  EXPECT_TRUE(validation.sizes[2].complete);
  EXPECT_THAT(summary(validation), HasSubstr("26 states with 1 microbatch, 161 states with 2"));
}

TEST(Validate, notices_each_kind_of_mistake) {
  struct Mistake {
    std::string name;
    core::Probe probe;
    std::string expected;
  };
  const core::ProgramFacts facts = other_capacity();
  std::vector<Mistake> mistakes;
  const auto add = [&](const char* name, const char* expected) -> core::Probe& {
    mistakes.push_back({name, bf_probe(), expected});
    return mistakes.back().probe;
  };
  mistakes.reserve(8);
  mistakes.push_back(
      {"a table",
       {facts, bf::make_arbiter, bf::has_room<Formula>, bf::acquire<Formula>, bf::release<Formula>},
       "specified 'pool activation '' 0 0 4', emitted 'pool activation '' 0 0 5'"});
  add("a capacity",
      "2F: may start: emitted (or false (<= (+ h2 1) 3)), specified activation of "
      "stage 2 <= 1; they differ where activation of stage 2 (h2) is 2: true and "
      "false")
      .has_room = broken_bf::has_room<Formula>;
  add("no guard", "0F: may start: emitted true").has_room = [](core::LaneId, const Formula*) {
    return Formula(true);
  };
  add("a truth for a number", "0F: may start: 'h0' is not a formula").has_room =
      [](core::LaneId, const Formula* held) { return held[0]; };
  add("another pool", "0F: what it acquires of activation of stage 0: emitted h0, specified h0 + 1")
      .acquire = [](core::LaneId lane, Formula* held) {
    if (lane == 0) held[1] += 1;
  };
  add("nothing released", "0B: what it releases of activation of stage 0: emitted h0").release =
      [](core::LaneId, Formula*) {};
  add("the choice", "specified ready 0F1 0B0 choose 0B0 then 0B0 0F1").make_arbiter =
      [](int rank) -> std::unique_ptr<core::Arbiter> { return std::make_unique<Altered>(rank); };
  add("what is offered", "after begin 3").make_arbiter =
      [](int rank) -> std::unique_ptr<core::Arbiter> { return broken_bf::make_arbiter(rank); };
  const spec::Program program = program_of("bf");
  const Validator validator(program);
  for (const Mistake& mistake : mistakes) {
    const Validation found = validator.judge(core::answers(mistake.probe, validator.script()));
    EXPECT_THAT(found.differences, testing::Contains(HasSubstr(mistake.expected))) << mistake.name;
  }
}

TEST(Validate, notices_another_program_and_answers_that_are_none) {
  const spec::Program zbv = program_of("zbv");
  const Validator validator(zbv, {.counts = 1});
  EXPECT_FALSE(validator.judge(core::answers(bf_probe(), "")).differences.empty());
  for (const char* answers : {"", "nonsense\n", "guard 0 (<= h0\n", "guard 999999999999 h0\n"}) {
    EXPECT_FALSE(validator.judge(answers).differences.empty()) << answers;
  }
}

// The limit is said, and so is what is left out.
TEST(Walk, says_what_it_leaves_out) {
  const spec::Program program = program_of("zbv");
  const Walk walk = walk_of(program, {.counts = 2, .states_of_rank = 50, .states = 1000});
  ASSERT_EQ(walk.sizes.size(), 2U);
  EXPECT_TRUE(walk.sizes[0].complete);
  EXPECT_FALSE(walk.sizes[1].complete);
  EXPECT_EQ(walk.sizes[1].states, 200);
}

// The header's guard lets a third forward in; the tables of its proof do not.
TEST(Breach, of_a_corrupted_header_stops_the_rank_with_its_state) {
  broken_bf::Arbiter arbiter(2);
  core::OneMember alone;
  core::Ledger ledger(arbiter.facts());
  core::Executor executor({0, 2, 0}, arbiter, alone, ledger);
  ASSERT_TRUE(executor.begin_step(7, 4, {}).ok());
  std::vector<core::Command> commands;
  for (const int m : {0, 1, 2}) ASSERT_TRUE(executor.arrived(7, {5, m}, {}).ok());
  for (const int m : {0, 1}) {
    ASSERT_TRUE(executor.poll({}, commands).ok());
    ASSERT_TRUE(executor.finished({4, m}, {}).ok());
  }
  commands.clear();
  const core::Status status = executor.poll({}, commands);
  EXPECT_EQ(status.code(), core::StatusCode::breach);
  EXPECT_EQ(status.message(),
            "rank 2, step 7: starting 2F2 makes activation of stage 2 3, and at most 2 was proved "
            "or has room; of 4 microbatches 2F started 3, ended 2, 2B started 0, ended 0; held: "
            "activation of stage 2 3");
  for (const core::Command& command : commands) {
    EXPECT_NE(command.kind, core::Command::Kind::start);
  }
}

}  // namespace
}  // namespace ripeline::simulate
