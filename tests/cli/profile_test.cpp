// `ripeline profile`: what it prints and writes, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace {

using ProfileCommand = CliTest;
using testing::HasSubstr;

TEST_F(ProfileCommand, gives_back_the_costs_of_a_simulated_run_and_simulate_takes_them) {
  const std::string run = "simulate zb_h1 -D ranks=3 -m 6 --format json ";
  const Outcome first = ripeline(run + "--unit us --latency 0.25 --trace run.json", "2>/dev/null");
  ASSERT_EQ(first.exit_code, 0);
  const Outcome printed = ripeline("profile run.json --skip-steps 0", "2>/dev/null");
  ASSERT_EQ(printed.exit_code, 0);
  const auto profile = nlohmann::json::parse(printed.out);
  EXPECT_EQ(profile["unit"], "us");
  EXPECT_EQ(profile["tasks"].size(), 9u);  // F, I and W at three stages
  EXPECT_EQ(profile["links"].size(), 4u);
  for (const auto& link : profile["links"]) EXPECT_EQ(link["latency"], 0.25);
  const Outcome written = ripeline("profile run.json --skip-steps 0 -o costs.json");
  EXPECT_EQ(written.exit_code, 0);
  EXPECT_EQ(read("costs.json"), printed.out);
  EXPECT_THAT(written.out, HasSubstr("note: a trace has no sizes of messages"));
  const Outcome again = ripeline(run + "--profile costs.json", "2>/dev/null");
  ASSERT_EQ(again.exit_code, 0) << again.out;
  EXPECT_EQ(nlohmann::json::parse(again.out)["makespan"],
            nlohmann::json::parse(first.out)["makespan"]);
}

TEST_F(ProfileCommand, of_an_emulated_run_has_no_less_than_its_tasks_took) {
  ASSERT_EQ(ripeline("emulate bf -D ranks=2 -m 4 --unit ms --trace run.json").exit_code, 0);
  const Outcome printed = ripeline("profile run.json run.json --skip-steps 0", "2>/dev/null");
  ASSERT_EQ(printed.exit_code, 0);
  const auto profile = nlohmann::json::parse(printed.out);
  EXPECT_EQ(profile["unit"], "ms");
  ASSERT_EQ(profile["tasks"].size(), 4u);
  for (const auto& task : profile["tasks"]) {
    EXPECT_GE(task["mean"], task["op"] == "F" ? 1 : 2) << task;
    EXPECT_LT(task["mean"], 1'000) << task;
  }
}

TEST_F(ProfileCommand, says_what_is_no_trace_and_what_was_expected_once) {
  write("kineto.json", R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "PP:0F0"}]})");
  write("text.json", "pipeline bf {}\n");
  const std::string expected = "; a trace is what simulate, emulate or gpt writes with --trace\n";
  for (const auto& [file, why] : std::vector<std::pair<std::string, std::string>>{
           {"kineto.json", "it has no otherData: no trace of Ripeline" + expected},
           {"text.json", "no JSON of a trace at byte 1" + expected},
           {"nowhere.json", "cannot be read: No such file or directory\n"}}) {
    const Outcome outcome = ripeline("profile " + file + " -o costs.json");
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "ripeline: " + file + ": " + why);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "costs.json"));
  }
}

TEST_F(ProfileCommand, of_a_run_of_one_step_needs_to_be_told_to_take_it) {
  ASSERT_EQ(ripeline("simulate bf -D ranks=2 -m 2 --trace run.json").exit_code, 0);
  const Outcome outcome = ripeline("profile run.json");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "ripeline: run.json: steps in it: 1; with --skip-steps 1, none remains\n");
}

}  // namespace
