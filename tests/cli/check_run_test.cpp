// Tests `ripeline check-run`: its input, its exit codes and its JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace {

using testing::HasSubstr;

class CheckRun : public CliTest {
 protected:
  // Copies run.json without the lines that contain `what`.
  void write_without(const std::string& what, const std::string& name) {
    std::ifstream in(folder_ / "run.json");
    std::ofstream out(folder_ / name);
    for (std::string line; std::getline(in, line);) {
      if (line.find(what) == std::string::npos) out << line << '\n';
    }
  }
};

TEST_F(CheckRun, of_simulated_and_emulated_runs_of_programs_with_links_of_every_kind) {
  const char* programs[] = {"bf -D ranks=3", "1f1b -D ranks=3", "zb_h2 -D ranks=2",
                            "v -D ranks=2",  "zb_v -D ranks=2", "fc -D ranks=3"};
  for (const std::string program : programs) {
    if (ripeline("verify " + program).exit_code != 0) continue;
    ASSERT_EQ(ripeline("simulate " + program + " -m 6 --jitter J3 --trace run.json").exit_code, 0);
    const Outcome simulated = ripeline("check-run run.json --program " + program);
    EXPECT_EQ(simulated.exit_code, 0) << simulated.out;
    for (const char* how : {"", " --processes"}) {
      const Outcome ran = ripeline("emulate " + program + " -m 6 --unit us --trace run.json" + how);
      ASSERT_EQ(ran.exit_code, 0) << ran.out;
      const Outcome emulated = ripeline("check-run run.json --program " + program);
      EXPECT_EQ(emulated.exit_code, 0) << emulated.out;
      EXPECT_THAT(emulated.out, HasSubstr("  emulated: 1 whole step of 6 microbatches"));
    }
  }
}

TEST_F(CheckRun, says_what_is_wrong_and_where_it_begins) {
  ASSERT_EQ(ripeline("simulate bf -D ranks=2 -m 2 --verify --trace run.json").exit_code, 0);
  write_without("\"0F0 arrives\"", "changed.json");
  const Outcome text = ripeline("check-run changed.json --program bf -D ranks=2");
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.out, HasSubstr("> rank 1   start 1F0 waits for 0F0, whose message does not "
                                  "arrive"));
  const Outcome said =
      ripeline("check-run changed.json --program bf -D ranks=2 --format json", "2> /dev/null");
  EXPECT_EQ(said.exit_code, 1);
  const auto json = nlohmann::json::parse(said.out);
  EXPECT_EQ(json["schema"], "ripeline.check-run/2");
  EXPECT_EQ(json["verdict"], "refuted");
  EXPECT_EQ(json["step"], 0);
  ASSERT_EQ(json["blocked"].size(), 2U);
  EXPECT_EQ(json["blocked"][0]["event"], "start 1F0");
  EXPECT_EQ(json["blocked"][0]["cause"], true);
  EXPECT_EQ(json["blocked"][1]["cause"], false);
  EXPECT_EQ(json["pools"]["activation"][0]["proved"], 2);
}

TEST_F(CheckRun, of_what_is_missing_at_the_end_is_unknown) {
  ASSERT_EQ(ripeline("simulate bf -D ranks=2 -m 2 --trace run.json").exit_code, 0);
  write_without("\"name\":\"0B1\"", "changed.json");
  const Outcome said =
      ripeline("check-run changed.json --program bf -D ranks=2 --format json", "2> /dev/null");
  EXPECT_EQ(said.exit_code, 3);
  const auto json = nlohmann::json::parse(said.out);
  EXPECT_EQ(json["verdict"], "unknown");
  EXPECT_EQ(json["reason"], "Step 0 is cut off, or deadlocked: 0B1 of rank 0 does not run.");
}

TEST_F(CheckRun, refuses_what_does_not_fit) {
  ASSERT_EQ(ripeline("simulate bf -D ranks=2 -m 2 --trace run.json").exit_code, 0);
  std::ofstream(folder_ / "none.json") << "{}";
  const struct {
    const char* arguments;
    const char* says;
  } kRefused[] = {
      {"check-run run.json --program bf -D ranks=3",
       "run.json: the trace is of bf of 2 ranks and 2 stages, hash "},
      {"check-run run.json --program 1f1b -D ranks=2", "give the one that ran"},
      {"check-run run.json --program bf -D ranks=2 --dispatch ready", "another dispatch"},
      {"check-run none.json --program bf", "none.json: it has no otherData"},
      {"check-run nowhere.json --program bf", "nowhere.json: cannot be read"},
      {"check-run run.json --program nobody", "nobody: there is no file"},
      {"check-run run.json", "--program is required"},
  };
  for (const auto& [arguments, says] : kRefused) {
    const Outcome said = ripeline(arguments);
    EXPECT_EQ(said.exit_code, 2) << arguments;
    EXPECT_THAT(said.out, HasSubstr(says)) << arguments;
  }
}

}  // namespace
