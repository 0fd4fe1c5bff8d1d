// `ripeline compare`: one model for schedules of any number of stages, several seeds, params of
// some programs only, and the flags that it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class CompareCommand : public CliTest {
 protected:
  std::string says(const std::string& arguments, int exit_code = 0) {
    const Outcome outcome = ripeline("compare " + arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out;
    return outcome.out;
  }
  json object(const std::string& arguments) {
    return json::parse(ripeline("compare " + arguments + " --format json", "2> /dev/null").out);
  }
};

TEST_F(CompareCommand, gives_all_schedules_one_model) {
  const std::string all = "1f1b gpipe zb_h1 zb_h2 interleaved_1f1b zb_v v_half v_min chimera";
  EXPECT_THAT(says(all + " -m 8"),
              HasSubstr("work differs: the busiest rank computes 24 with 1f1b and 48 with "
                        "interleaved_1f1b; --rank-costs, as --rank-costs F=1,B=2, gives all of "
                        "them one model\n"));
  EXPECT_THAT(says(all + " -m 8 --rank-costs F=1,B=2"), Not(HasSubstr("work differs")));
  const json same = object(all + " -m 8 --rank-costs F=1,B=2");
  EXPECT_EQ(same["equal_work"], true);
  for (const json& run : same["runs"]) EXPECT_EQ(run["work"], 24) << run;
}

TEST_F(CompareCommand, says_how_a_program_gets_the_costs_of_a_trace) {
  const std::string trace = "run.json";
  ripeline("simulate 1f1b -m 8 -D f=3 --trace " + trace);
  EXPECT_THAT(says(trace + " 1f1b -m 8"), HasSubstr("`ripeline profile TRACE -o costs.json`"));
}

// What is drawn for I and W is not what is drawn for B; that is no difference of the schedules.
TEST_F(CompareCommand, says_nothing_of_work_that_was_drawn) {
  EXPECT_THAT(says("1f1b zb_h1 zb_v -m 8 --rank-costs F=1,B=2 --jitter lognormal=1"),
              Not(HasSubstr("work differs")));
}

TEST_F(CompareCommand, runs_several_seeds_with_the_same_draws) {
  const std::string flags = "1f1b bf -m 8 --latency 0.05 --jitter tails=5:20 ";
  double sum = 0;
  double ratios = 1;
  for (const char* seed : {"--seed 7", "--seed 8", "--seed 9"}) {
    const json one = object(flags + seed);
    sum += double{one["runs"][1]["wall"]};
    ratios *= double{one["runs"][1]["gain"]["ratio"]};
    EXPECT_EQ(one["runs"][1]["gain"]["low"], nullptr);
  }
  const json all = object(flags + "--seed 7 --seeds 3");
  EXPECT_EQ(all["seed"], 7);
  EXPECT_EQ(all["seeds"], 3);
  EXPECT_NEAR(double{all["runs"][1]["wall"]}, sum / 3, 1e-9);
  const json& speed = all["runs"][1]["gain"];
  EXPECT_NEAR(double{speed["ratio"]}, std::cbrt(ratios), 1e-9);
  EXPECT_LT(double{speed["low"]}, double{speed["ratio"]});
  EXPECT_GT(double{speed["high"]}, double{speed["ratio"]});
  EXPECT_EQ(all["runs"][0]["gain"]["low"], 1.0);
  EXPECT_THAT(says(flags + "--seed 7 --seeds 3"),
              HasSubstr("times are means of 3 runs each, seeds 7 to 9"));
}

TEST_F(CompareCommand, sets_a_param_in_the_programs_that_have_it) {
  const std::string said = says("1f1b bf zb_h1 -D ranks=2 -D limit=1 -m 4");
  EXPECT_THAT(said, HasSubstr("note: -D limit=1 does not apply to 1f1b, zb_h1: no such param\n"));
  EXPECT_THAT(said, Not(HasSubstr("-D ranks")));
  const json all = object("1f1b bf -D ranks=2 -D limit=1 -m 4");
  EXPECT_EQ(all["runs"][0]["peak"]["activation"], (json{2, 1}));
  EXPECT_EQ(all["runs"][1]["peak"]["activation"], (json{1, 1}));
  EXPECT_THAT(says("1f1b bf -D rank=2 -m 4", 2),
              HasSubstr("-D rank=2: no program here has a param 'rank'. Did you mean ranks?"));
}

TEST_F(CompareCommand, refuses_flags_that_say_nothing) {
  EXPECT_THAT(says("1f1b bf -m 4 --rank-costs F=1", 2),
              HasSubstr("--rank-costs F=1: expected F=COST, the forward of all of a rank's layers, "
                        "and B=COST"));
  EXPECT_THAT(says("1f1b bf -m 4 --rank-costs ''", 2), HasSubstr("expected F=COST"));
  EXPECT_THAT(says("1f1b bf -m 4 --memory 0", 2), HasSubstr("--memory"));
  EXPECT_THAT(says("1f1b bf -m 4 --seeds 0", 2), HasSubstr("--seeds"));
  ASSERT_EQ(ripeline("simulate bf -m 4 --trace run.json").exit_code, 0);
  EXPECT_THAT(says("run.json bf -m 4 --seeds 3", 2),
              HasSubstr("--seeds: expected programs, to run them with several seeds, and run.json "
                        "is a trace"));
  write("bare.ripe",
        "pipeline bare { microbatches any; stages 1; place s on 0;\n"
        "  op F forward { } dispatch ready; }\n");
  EXPECT_THAT(says("bare.ripe -m 4 --memory 3", 2),
              HasSubstr("--memory: nothing here counts activations"));
}

// All commands that run a program take them.
TEST_F(CompareCommand, costs_of_a_rank_are_for_every_command_that_runs) {
  const std::string flags = " -m 8 --rank-costs F=1,B=2";
  EXPECT_THAT(
      ripeline("simulate zb_v" + flags).out,
      HasSubstr("costs of a rank F=1,B=2\n  wall (makespan) 25.5   bubble by wall 1.5 (5.88 %)   "
                "span 24   bubble by span 0 (0.00 %)   utilisation "));
  EXPECT_THAT(ripeline("show zb_v" + flags).out, HasSubstr("rank 3"));
  EXPECT_THAT(ripeline("why zb_v 7F0" + flags).out, HasSubstr("7F0 on rank 0 starts at 3.5"));
  EXPECT_THAT(ripeline("emulate zb_v --unit 2ms" + flags).out, HasSubstr("simulated: wall 25.5"));
  EXPECT_THAT(ripeline("optimise zb_v --orders given -D ranks=2 --seeds 2" + flags).out,
              HasSubstr("zb_v: 2 ranks, 8 microbatches"));
}

}  // namespace
