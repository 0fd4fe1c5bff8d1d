// Tests warnings as a user meets them: where they are printed, what they change, and their JSON.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace {

using Warnings = CliTest;

constexpr const char* kWarned = R"(pipeline warned {
  microbatches any;
  stages 2;
  place s on s;
  op F forward { needs F at prev; acquires activation; }
  op B backward { needs F at here, B at next; releases activation; }
  resource activation per stage { capacity 2; }
  resource unused per rank { capacity 1; }
  dispatch ready;
}
)";

TEST_F(Warnings, change_neither_verdict_nor_exit_code) {
  write("warned.ripe", kWarned);
  const Outcome verdict = ripeline("verify warned.ripe", "2> warnings.txt");
  EXPECT_EQ(verdict.exit_code, 0);
  EXPECT_TRUE(verdict.out.starts_with("warned.ripe: proved")) << verdict.out;
  EXPECT_EQ(verdict.out.find("warning"), std::string::npos) << verdict.out;
  EXPECT_TRUE(read("warnings.txt").starts_with("warned.ripe:8:12: warning[resource-unused]: "))
      << read("warnings.txt");
  EXPECT_TRUE(
      read("warnings.txt")
          .ends_with("note: 1 warning; with --deny-warnings a warning fails, with exit code 2\n"))
      << read("warnings.txt");
}

TEST_F(Warnings, fail_as_errors_do_where_they_are_denied) {
  write("warned.ripe", kWarned);
  EXPECT_EQ(ripeline("verify bf --deny-warnings").exit_code, 0);
  const Outcome denied = ripeline("verify bf warned.ripe --deny-warnings");
  EXPECT_EQ(denied.exit_code, 2);
  EXPECT_NE(denied.out.find("2 programs: 2 proved, 1 warning\n"), std::string::npos) << denied.out;
  EXPECT_NE(denied.out.find("ripeline: --deny-warnings: 1 warning\n"), std::string::npos)
      << denied.out;
}

TEST_F(Warnings, are_of_every_number_of_ranks_too) {
  std::string text = kWarned;
  text.replace(text.find("microbatches"), 0, "param ranks = 2; ");
  text.replace(text.find("stages 2"), 8, "stages ranks");
  write("warned.ripe", text);
  const Outcome verdict = ripeline("verify warned.ripe -D ranks=any");
  EXPECT_EQ(verdict.exit_code, 0) << verdict.out;
  EXPECT_NE(verdict.out.find("warning[resource-unused]"), std::string::npos) << verdict.out;
}

TEST_F(Warnings, stand_in_the_report_for_machines) {
  write("warned.ripe", kWarned);
  const auto json = nlohmann::json::parse(
      ripeline("verify warned.ripe --format json --deny-warnings", "2> /dev/null").out);
  EXPECT_EQ(json.at("verdict"), "proved");
  ASSERT_EQ(json.at("warnings").size(), 1U);
  const auto& warning = json.at("warnings")[0];
  EXPECT_EQ(warning.at("id"), "resource-unused");
  EXPECT_EQ(warning.at("line"), 8);
  EXPECT_EQ(warning.at("column"), 12);
  EXPECT_FALSE(warning.at("message").get<std::string>().empty());
  EXPECT_FALSE(warning.at("hint").get<std::string>().empty());
  const auto clean = nlohmann::json::parse(ripeline("verify bf --format json", "2> /dev/null").out);
  EXPECT_TRUE(clean.at("warnings").empty());
}

TEST_F(Warnings, stand_in_a_sarif_log_beside_their_line) {
  write("warned.ripe", kWarned);
  const auto log =
      nlohmann::json::parse(ripeline("verify warned.ripe --format sarif", "2> /dev/null").out);
  const auto& run = log.at("runs")[0];
  ASSERT_EQ(run.at("results").size(), 1U);
  const auto& result = run.at("results")[0];
  EXPECT_EQ(result.at("ruleId"), "resource-unused");
  EXPECT_EQ(result.at("level"), "warning");
  EXPECT_EQ(result.at("locations")[0].at("physicalLocation").at("region").at("startLine"), 8);
  const auto& rule =
      run.at("tool").at("driver").at("rules")[result.at("ruleIndex").get<std::size_t>()];
  EXPECT_EQ(rule.at("defaultConfiguration").at("level"), "warning");
}

TEST_F(Warnings, are_printed_where_a_header_is_generated) {
  write("warned.ripe", kWarned);
  const Outcome generated = ripeline("generate warned.ripe --name warned -o warned.h");
  EXPECT_EQ(generated.exit_code, 0) << generated.out;
  EXPECT_NE(generated.out.find("warning[resource-unused]"), std::string::npos) << generated.out;
}

TEST_F(Warnings, are_not_of_a_schedule_that_nobody_wrote_in_the_language) {
  write("schedule.csv", "0F0,0B0\n1F0,1B0\n");
  const Outcome verdict = ripeline("verify schedule.csv --deny-warnings");
  EXPECT_EQ(verdict.exit_code, 0) << verdict.out;
  EXPECT_EQ(verdict.out.find("warning["), std::string::npos) << verdict.out;
}

}  // namespace
