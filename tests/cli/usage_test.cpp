// Tests command lines that do not parse: a message of one line suggests what the user meant.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/cli/program.h"

namespace {

using Usage = CliTest;

TEST_F(Usage, names_what_was_meant) {
  write("schedule.csv", "0F0,0B0\n1F0,1B0\n");
  for (const auto& [arguments, text] : std::vector<std::pair<std::string, std::string>>{
           {"verfy bf", "there is no command 'verfy'. Did you mean verify?"},
           {"simulat bf -m 2", "there is no command 'simulat'. Did you mean simulate?"},
           {"frobnicate", "there is no command 'frobnicate'; there are: check, "},
           {"verify bf --no-tims", "verify has no flag --no-tims. Did you mean --no-times?"},
           {"verify bf --fromat=json", "verify has no flag --fromat. Did you mean --format?"},
           {"simulate bf -m 2 --lateny 3",
            "simulate has no flag --lateny. Did you mean --latency?"},
           {"check schedule.csv --placment v", "Did you mean --placement?"},
           {"verify bf --zzzzzzzz", "verify has no flag --zzzzzzzz\n"},
           {"--verson", "ripeline has no flag --verson. Did you mean --version?"},
           {"why bf 0F0 1F0", "why takes no '1F0'"},
           {"simulate bf 1f1b", "simulate takes one FILE; `compare` takes several ('1f1b' is one"},
           {"optimise bf 1f1b -m 2", "optimise takes one FILE ('1f1b' is one too many)"},
           {"check schedule.csv -D ranks=4", "check has no flag -D: say `--ranks 4`"},
           {"check -Dmicrobatches=4 schedule.csv", "say `--microbatches 4`"},
           {"check schedule.csv -D f=4", "check has no flag -D\n"},
           {"verify bf -x", "verify has no flag -x\n"},
           {"verify bf -D rank=8", "Did you mean ranks?"},
           {"simulate schedule.csv -D c=2", "params here: f, b."},
           {"verify 1f1", "Did you mean 1f1b?"},
           {"library bff", "Did you mean bf?"},
           {"verify schedul.csv", "Did you mean schedule.csv?"},
           {"verify bf --least activaton", "Did you mean activation?"},
           {"verify bf --dispatch 'ready by bff'", "Did you mean bf?"},
           {"compare bf -m 2 --cost F=1", "compare has no flag --cost. Did you mean --rank-costs?"},
           {"library megatron --num-virtual-stages 2",
            "Did you mean --num-virtual-stages-per-pipeline-rank?"}}) {
    const Outcome outcome = ripeline(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_NE(outcome.out.find(text), std::string::npos) << arguments << '\n' << outcome.out;
  }
}

TEST_F(Usage, says_which_number_a_flag_expects) {
  write("schedule.csv", "0F0,0B0\n1F0,1B0\n");
  for (const auto& [arguments, text] : std::vector<std::pair<std::string, std::string>>{
           {"check schedule.csv --memory 0",
            "--memory 0: expected microbatches that a rank has room for, a number above 0"},
           {"check schedule.csv --stage-memory 2.5",
            "--stage-memory: expected an integer of 1 or more, and found"},
           {"check schedule.csv --ranks x",
            "--ranks: expected an integer of 1 or more, and found 'x'"},
           {"check schedule.csv --ranks 3000000000",
            "--ranks: expected an integer from 1 to 2147483647, and found '3000000000'"},
           {"compare bf -m 2 --memory 0",
            "--memory 0: expected microbatches of all of a rank's layers that it has room for, a "
            "number above 0"},
           {"compare bf -m 2 --seeds 0",
            "--seeds: expected an integer from 1 to 1000000, and found"},
           {"simulate bf -m 2 --latency -1",
            "--latency: expected a number of 0 or more, and found"},
           {"simulate bf -m 2 --bandwidth inf",
            "--bandwidth: expected a number above 0, and found"},
           {"simulate bf -m 2 --seed 1.5",
            "--seed: expected an integer from 0 to 9223372036854775807, and found '1.5'"},
           {"verify bf --steps x",
            "--steps: expected an integer from 0 to 9223372036854775807, and found 'x'"},
           {"optimise --ranks 0", "--ranks: expected an integer from 1 to 1024, and found '0'"},
           {"optimise --seconds -1", "--seconds: expected a number of 0 or more, and found '-1'"},
           {"optimise --seed -1",
            "--seed: expected an integer from 0 to 9223372036854775807, and"}}) {
    const Outcome outcome = ripeline(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_NE(outcome.out.find(text), std::string::npos) << arguments << '\n' << outcome.out;
    EXPECT_LT(outcome.out.size(), 330u) << outcome.out;
  }
}

// Memory has two units: each command's help names its own, and the commands with the other one.
TEST_F(Usage, says_in_which_unit_memory_is) {
  const auto help = [&](const std::string& command) {
    std::string text = ripeline(command + " --help").out;
    std::string joined;  // without line breaks and columns
    for (const char c : text) {
      const bool blank = c == ' ' || c == '\n';
      if (!blank || (!joined.empty() && joined.back() != ' ')) joined += blank ? ' ' : c;
    }
    return joined;
  };
  EXPECT_NE(help("compare").find("microbatches of all of its layers"), std::string::npos);
  EXPECT_NE(help("optimise").find("microbatches that a rank may hold in all of its layers"),
            std::string::npos);
  EXPECT_NE(help("check").find("a stage's room, in activations of that stage"), std::string::npos);
  EXPECT_NE(help("check").find("as for `compare` and `optimise`"), std::string::npos);
}

TEST_F(Usage, says_the_range_of_a_number_that_does_not_fit_and_cuts_it) {
  const std::string number(300, '9');
  for (const auto& [arguments, range] : std::vector<std::pair<std::string, std::string>>{
           {"verify bf -D ranks=", "-9223372036854775808 to 9223372036854775807"},
           {"verify bf -m ", "1 to 1000000000"},
           {"simulate bf -m 2 --seed ", "from 0 to 9223372036854775807"},
           {"verify bf --steps ", "from 0 to 9223372036854775807"},
           {"show bf --width ", "from 20 to 10000"}}) {
    const Outcome outcome = ripeline(arguments + number);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_NE(outcome.out.find("999999999999… (300 characters)"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find(range), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find(number.substr(0, 60)), std::string::npos) << outcome.out;
  }
  const Outcome flag = ripeline("verify bf --" + std::string(300, 'x'));
  EXPECT_EQ(flag.exit_code, 2);
  EXPECT_LT(flag.out.size(), 200u) << flag.out;
  // The arguments of a program after `--` are not checked.
  EXPECT_EQ(ripeline("launch -n 1 -- echo --size " + number).exit_code, 0);
}

// A long number in the text of a program is cut as well.
TEST_F(Usage, of_a_program_with_a_long_number_stays_short) {
  write("long.ripe", "pipeline p { param ranks = " + std::string(300, '9') + "; }\n");
  const Outcome outcome = ripeline("verify long.ripe");
  EXPECT_EQ(outcome.exit_code, 2);
  const std::string first = outcome.out.substr(0, outcome.out.find('\n'));
  EXPECT_LT(first.size(), 160u) << first;
}

}  // namespace
