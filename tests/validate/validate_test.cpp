// Tests that validation accepts the generator's output and notices each kind of mistake in it.
#include "validate/validator.h"

#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broken_bf.h"
#include "core/executor.h"
#include "lower/facts.h"
#include "prefer_bf.h"
#include "spec/elaborate.h"
#include "tests/codegen/goldens/bf.h"
#include "tests/codegen/goldens/one_f_one_b.h"
#include "tests/codegen/goldens/valued.h"
#include "validate/probe/probe.h"

namespace ripeline::validate {
namespace {

using testing::HasSubstr;

spec::Program program_of(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(RIPELINE_SOURCE_DIR "/tests/codegen/goldens/" + name + ".ripe").rdbuf();
  return spec::compile({name, text.str()}).value();
}

Probe bf_probe() { return probe_of<bf::Rules>(bf::make_arbiter); }

core::ProgramFacts other_capacity() {
  static constexpr core::PoolFacts kPools[] = {{"activation", "", 0, 0, 4, 5},
                                               {"activation", "", 1, 1, 3, 3},
                                               {"activation", "", 2, 2, 2, 2},
                                               {"activation", "", 3, 3, 1, 1}};
  core::ProgramFacts facts = bf::facts;
  facts.pools = kPools;
  return facts;
}

Validation validated(const std::string& name, const Probe& probe) {
  const spec::Program program = program_of(name);
  const Validator validator(program);
  return validator.judge(answers(probe, validator.questions()));
}

TEST(Validate, accepts_what_was_generated) {
  const Validation validation = validated("bf", bf_probe());
  EXPECT_THAT(validation.differences, testing::IsEmpty());
  EXPECT_EQ(validation.formulas, 16) << "a guard of 8 lanes, what 4 acquire and 4 release";
  EXPECT_THAT(summary(validation), HasSubstr("tables equal; 16 formulas proved equal"));
}

TEST(Validate, asks_for_orders_and_priorities) {
  const Validation ordered =
      validated("one_f_one_b", probe_of<one_f_one_b::Rules>(one_f_one_b::make_arbiter));
  EXPECT_THAT(ordered.differences, testing::IsEmpty());
  EXPECT_THAT(summary(ordered), HasSubstr("; the order the same with "));
  const Validation valued = validated("valued", probe_of<valued::Rules>(valued::make_arbiter));
  EXPECT_THAT(valued.differences, testing::IsEmpty());
  EXPECT_GT(valued.questions.values, 100);
  EXPECT_TRUE(valued.questions.complete);
  EXPECT_THAT(summary(valued), HasSubstr("; priorities the same with 2 .. 5 microbatches: "));
  const spec::Program program = program_of("valued");
  const core::OwnedFacts facts = lower::facts_of(program);
  const Questions few = questions_of(program, facts.facts(), {.counts = 2, .values = 10});
  EXPECT_EQ(few.values, 10);
  EXPECT_FALSE(few.complete);
}

TEST(Validate, notices_each_kind_of_mistake) {
  struct Mistake {
    std::string name;
    std::string program;
    Probe probe;
    std::string expected;
  };
  const core::ProgramFacts facts = other_capacity();
  std::vector<Mistake> mistakes;
  const auto add = [&](const char* name, const char* expected) -> Probe& {
    mistakes.push_back({name, "bf", bf_probe(), expected});
    return mistakes.back().probe;
  };
  mistakes.reserve(16);
  mistakes.push_back({"a table",
                      "bf",
                      {.facts = facts,
                       .makes_arbiters = true,
                       .one_engine = true,
                       .has_room = bf::Rules::has_room<Formula>,
                       .acquire = bf::Rules::acquire<Formula>,
                       .release = bf::Rules::release<Formula>},
                      "specified 'pool activation '' 0 0 4', emitted 'pool activation '' 0 0 5'"});
  add("a capacity",
      "specified 'rule 2F may start where activation of stage 2 <= 1', emitted 'rule 2F may start "
      "where activation of stage 2 <= 2'")
      .has_room = broken_bf::Rules::has_room<Formula>;
  add("no guard", "emitted 'rule 0F may start where true'").has_room =
      [](core::LaneId, const Formula*) { return Formula(true); };
  add("a truth for a number", "emitted 'rule 0F may start where activation of stage 0'").has_room =
      [](core::LaneId, const Formula* held) { return held[0]; };
  add("another pool",
      "specified 'rule 0F starts: activation of stage 0 becomes activation of stage 0 + 1', "
      "emitted 'rule 0F starts: activation of stage 1 becomes activation of stage 1 + 1'")
      .acquire = [](core::LaneId lane, Formula* held) {
    if (lane == 0) held[1] += 1;
  };
  add("the right amount in another pool",
      "emitted 'rule 0F starts: activation of stage 1 becomes activation of stage 0 + 1'")
      .acquire = [](core::LaneId lane, Formula* held) {
    if (lane == 0) held[1] = held[0] + 1;
  };
  add("truths that cancel", "emitted 'rule 0F may start where without meaning'").has_room =
      [](core::LaneId lane, const Formula* held) {
        return bf::Rules::has_room<Formula>(lane, held) &&
               ((held[0] <= 3) + 0) - ((held[1] <= 2) + 0) <= 0;
      };
  add("nothing released",
      "specified 'rule 0B ends: activation of stage 0 becomes activation of stage 0 - 1'")
      .release = [](core::LaneId, Formula*) {};
  add("one engine", "emitted 'kOneEngine is not the facts''").one_engine = false;
  mistakes.push_back({"another class", "bf", probe_of<bf::Rules>(broken_bf::make_arbiter),
                      "emitted 'make_arbiter makes something else'"});
  mistakes.push_back({"one rank", "bf",
                      probe_of<bf::Rules>([](int /*rank*/) { return bf::make_arbiter(0); }),
                      "emitted 'make_arbiter makes something else'"});
  mistakes.push_back({"the places", "bf", probe_of<prefer_bf::Rules>(prefer_bf::make_arbiter),
                      "specified 'dispatch 0 0 0 2', emitted 'dispatch 0 0 0 1'"});
  mistakes.push_back({"the order", "one_f_one_b",
                      probe_of<one_f_one_b::Rules>(one_f_one_b::make_arbiter),
                      "specified 'order 0 1 = 0/0 1/0', emitted 'order 0 1 = 0/0'"});
  mistakes.back().probe.write_order = [](int, int, core::OrderWriter& order) {
    order.add(0, 0);
    return core::Status();
  };
  mistakes.push_back({"the value", "valued", probe_of<valued::Rules>(valued::make_arbiter),
                      "emitted 'value 1 0 2 0:0 = 7'"});
  mistakes.back().probe.value = [](core::Task, const std::int64_t*, int) {
    return std::int64_t{7};
  };
  mistakes.push_back({"another pool's", "valued", probe_of<valued::Rules>(valued::make_arbiter),
                      "specified 'value "});
  mistakes.back().probe.value = [](core::Task task, const std::int64_t* held, int microbatches) {
    const core::LaneFacts& lane = valued::facts.lanes[static_cast<std::size_t>(task.lane)];
    return valued::Rules::priority(task, held, microbatches) + held[1 - lane.rank];
  };
  for (const Mistake& mistake : mistakes) {
    const Validation found = validated(mistake.program, mistake.probe);
    EXPECT_THAT(found.differences, testing::Contains(HasSubstr(mistake.expected))) << mistake.name;
  }
}

TEST(Validate, notices_another_program_and_answers_that_are_none) {
  const spec::Program zbv = program_of("zbv");
  const Validator validator(zbv);
  EXPECT_FALSE(validator.judge(answers(bf_probe(), "")).differences.empty());
  for (const char* answers : {"", "nonsense\n", "rule\n", "rule 0F may start where \n"}) {
    EXPECT_FALSE(validator.judge(answers).differences.empty()) << answers;
  }
}

TEST(Formula, has_one_text_for_all_that_are_equal) {
  const Formula a = Formula::named("a");
  const Formula b = Formula::named("b");
  EXPECT_EQ((b + 2 - a + a - 3).text(), "b - 1");
  EXPECT_EQ((a + b <= b + a).text(), "true");
  EXPECT_EQ((a + a + 1 <= 4 - b).text(), "2 * a + b <= 3");
  EXPECT_EQ((3 <= a && false).text(), "false");
  EXPECT_EQ((false || (b + 1 <= 2 && a <= 3)).text(), "a <= 3 and b <= 1");
  EXPECT_EQ((true || a <= 3).text(), "true");
  EXPECT_EQ((a <= 3 || b <= 1).text(), "(a <= 3 or b <= 1)");
  // Sums of truth values do not cancel, and formulas that contain such sums have no meaning either.
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const Formula& none :
       {a + true <= 3, a && b <= 1, a <= 3 || b, (a <= 3) - (a <= 3), a + (true - Formula(true)),
        a <= 1 && (a <= 3) - (b <= 2) <= 0, a + kMost + 1, a + 1 <= -kMost,
        Formula(0) <= Formula(0) - kMost - 1 - 1}) {
    EXPECT_EQ(none.text(), "without meaning");
  }
  EXPECT_EQ((a - kMost - 1).text(), "a - 9223372036854775808");
}

TEST(Probe, says_which_question_it_does_not_understand) {
  for (const char* question : {"order 0", "order 9 1", "order -1 1", "value 0", "value 99 0 1",
                               "value 0 0 1 9:1", "value 0 0 1 0", "which", "order x 1"}) {
    EXPECT_THAT(answers(bf_probe(), question),
                HasSubstr(std::string("not understood: ") + question + "\n"));
  }
}

// The header's guard admits a third forward, but the tables from the proof do not.
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
}  // namespace ripeline::validate
