// Tests `ripeline compare`: one model for schedules with any number of stages, several seeds,
// params that only some programs have, and the flags that it refuses.
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

// Draws for I and W differ from those for B, but this is not a difference between the schedules.
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

TEST_F(CompareCommand, takes_the_ranks_of_a_csv) {
  ASSERT_EQ(ripeline("export 1f1b -D ranks=8 -m 8 -o eight.csv").exit_code, 0);
  const std::string costs = " --rank-costs F=1,B=2";
  for (const char* files : {"eight.csv zb_v", "zb_v eight.csv"}) {
    EXPECT_THAT(says(files + costs),
                HasSubstr("note: all are run with 8 ranks, the only number of eight.csv\n"));
    const json all = object(files + costs);
    for (const json& run : all["runs"]) EXPECT_EQ(run["ranks"], 8);
    EXPECT_EQ(all["equal_size"], true);
    EXPECT_EQ(all["equal_work"], true);
  }
  EXPECT_EQ(object("eight.csv zb_v" + costs)["runs"][1]["wall"],
            object("zb_v -D ranks=8 -m 8" + costs)["runs"][0]["wall"]);
}

// Speeds are compared only for the same work.
TEST_F(CompareCommand, says_on_the_line_what_is_not_alike) {
  ASSERT_EQ(ripeline("export 1f1b -D ranks=8 -m 8 -o eight.csv").exit_code, 0);
  const std::string said = says("eight.csv zb_v 1f1b -D ranks=4 --rank-costs F=1,B=2");
  EXPECT_THAT(said, HasSubstr("note: the numbers of ranks differ: eight.csv 8, zb_v 4, 1f1b 4\n"));
  EXPECT_THAT(said, testing::ContainsRegex("zb_v[^\n]* 4 ranks, not 8 "));
  const json ranks = object("eight.csv zb_v -D ranks=4 --rank-costs F=1,B=2");
  EXPECT_EQ(ranks["equal_size"], false);
  EXPECT_EQ(ranks["equal_work"], false);
  EXPECT_EQ(ranks["runs"][1]["gain"], nullptr);
  ASSERT_EQ(ripeline("export 1f1b -D ranks=4 -m 8 -o more.csv").exit_code, 0);
  ASSERT_EQ(ripeline("export 1f1b -D ranks=4 -m 5 -o fewer.csv").exit_code, 0);
  EXPECT_THAT(says("more.csv fewer.csv"),
              testing::ContainsRegex("fewer.csv[^\n]* 5 microbatches, not 8 "));
  EXPECT_THAT(says("1f1b zb_v -m 8"), testing::ContainsRegex("zb_v[^\n]* x[0-9.]+, other work "));
  EXPECT_THAT(says("1f1b zb_v -m 8 --rank-costs F=1,B=2"), Not(HasSubstr("other work")));
}

TEST_F(CompareCommand, refuses_a_number_of_ranks_that_a_program_cannot_have) {
  write("even.ripe",
        "pipeline even { param ranks = 4; microbatches any; stages 4; place s on s;\n"
        "  op F forward { needs F at prev; } op B backward { needs F at here, B at next; }\n"
        "  dispatch ready; }\n");
  ASSERT_EQ(ripeline("export 1f1b -D ranks=8 -m 8 -o eight.csv").exit_code, 0);
  EXPECT_THAT(says("eight.csv even.ripe", 2),
              HasSubstr("even.ripe is no program of 8 ranks, which is the number of eight.csv; -D "
                        "ranks=N sets another"));
}

// The ratio refers to the first run that ended.
TEST_F(CompareCommand, takes_no_deadlock_for_a_baseline) {
  write("stuck.csv", "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  ASSERT_EQ(ripeline("export 1f1b -D ranks=2 -m 2 -o good.csv").exit_code, 0);
  const std::string said = says("stuck.csv good.csv gpipe", 1);
  EXPECT_THAT(said, HasSubstr("against good.csv"));
  EXPECT_THAT(said, testing::ContainsRegex("stuck.csv[^\n]* deadlocks "));
  EXPECT_THAT(said, testing::ContainsRegex("good.csv[^\n]* x1.000 "));
  EXPECT_THAT(said, HasSubstr("stuck.csv deadlocked: its figures are of what ran\n"));
  const Outcome outcome =
      ripeline("compare stuck.csv good.csv gpipe --format json", "2> /dev/null");
  const json all = json::parse(outcome.out);
  EXPECT_EQ(all["baseline"], 1);
  EXPECT_EQ(all["runs"][0]["gain"], nullptr);
  EXPECT_EQ(all["runs"][1]["gain"]["ratio"], 1.0);
  const json none = json::parse(ripeline("compare stuck.csv --format json", "2> /dev/null").out);
  EXPECT_EQ(none["baseline"], nullptr);
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

// All commands that run a program take the costs of a rank.
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
