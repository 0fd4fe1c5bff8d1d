// Tests the documents and the log that are written for several inputs.
#include "verify/findings.h"

#include <gtest/gtest.h>

#include "verify/report.h"

namespace ripeline::verify {
namespace {

TEST(Findings, an_error_has_its_line_or_its_option) {
  const spec::Source source{"a.ripe", "pipeline a\n  { }\n"};
  const nlohmann::json errors = diagnostics_json(
      &source, {{.id = "x", .message = "m", .hint = "h", .span = {13, 14}},
                {.id = "input", .message = "n", .hint = "", .span = {}, .option = "-D a"}});
  EXPECT_EQ(errors[0]["line"], 2);
  EXPECT_EQ(errors[0]["column"], 3);
  EXPECT_EQ(errors[1]["option"], "-D a");
  EXPECT_FALSE(errors[1].contains("line"));
  const nlohmann::json document = bad_input_json(Inputs::schedules, "a.csv", nullptr, {});
  EXPECT_EQ(document["schema"], "ripeline.check/2");
  EXPECT_EQ(document["errors"], nlohmann::json::array());
}

TEST(Findings, a_rule_is_made_once_with_the_level_of_its_findings) {
  SarifLog log(Inputs::schedules);
  log.add("-", nullptr, {.id = "unknown", .rule = "text", .level = "warning", .message = "a"});
  log.add("-", nullptr, {.id = "unknown", .rule = "text", .level = "warning", .message = "b"});
  const nlohmann::json run = log.log("1.2.3", 3, nlohmann::json::array())["runs"][0];
  const nlohmann::json driver = run["tool"]["driver"];
  EXPECT_EQ(driver["semanticVersion"], "1.2.3");
  ASSERT_EQ(driver["rules"].size(), 1U);
  EXPECT_EQ(driver["rules"][0]["defaultConfiguration"]["level"], "warning");
  ASSERT_EQ(run["results"].size(), 2U);
  EXPECT_EQ(run["results"][1]["ruleIndex"], 0);
  EXPECT_EQ(run["results"][1]["locations"][0]["logicalLocations"][0]["name"], "stdin");
  EXPECT_EQ(run["invocations"][0]["exitCode"], 3);
}

// The run that a picture shows is the one that `ripeline step --from` replays.
TEST(Findings, the_recorded_run_is_a_refutation_before_other_choices) {
  Verdict verdict = open_verdict();
  EXPECT_FALSE(recorded_run(verdict));
  verdict.obligations[0].other_choices.emplace().microbatches = 2;
  EXPECT_EQ(recorded_run(verdict)->microbatches, 2);
  verdict.obligations[3].counterexample.emplace().microbatches = 5;
  EXPECT_EQ(recorded_run(verdict)->microbatches, 5);
}

}  // namespace
}  // namespace ripeline::verify
