// Tests `ripeline profile`: what it prints, writes and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <tuple>
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
  EXPECT_EQ(nlohmann::json::parse(again.out)["wall"], nlohmann::json::parse(first.out)["wall"]);
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
  write("chrome.json", R"({"traceEvents": [{"ph": "X", "name": "PP:0F0"}]})");
  write("text.json", "pipeline bf {}\n");
  const std::string expected =
      "; a trace is what simulate, emulate or gpt writes with --trace, or PyTorch's profiler with "
      "export_chrome_trace()\n";
  for (const auto& [file, why] : std::vector<std::pair<std::string, std::string>>{
           {"chrome.json", "it has no otherData: no trace of Ripeline" + expected},
           {"text.json", "no JSON of a trace at byte 1" + expected},
           {"nowhere.json", "cannot be read: No such file or directory\n"}}) {
    const Outcome outcome = ripeline("profile " + file + " -o costs.json");
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "ripeline: " + file + ": " + why);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "costs.json"));
  }
}

// The times in us were derived by hand: each is from a task's first operator to the end of its
// mark, for two microbatches in the second and third step. At stage 0, F takes 110.875, 42.073,
// 171.255 and 67.371; at stage 1, 104.335, 66.018, 179.027 and 122.062. Marks last up to 15 ms.
TEST_F(ProfileCommand, takes_the_files_of_pytorchs_ranks_and_simulate_takes_the_costs) {
  const std::string folder = RIPELINE_SOURCE_DIR "/tests/specimens/torch_profiler/";
  const std::string ranks = folder + "interleaved.rank0.json " + folder + "interleaved.rank1.json ";
  const Outcome written = ripeline("profile " + ranks + "-o costs.json");
  ASSERT_EQ(written.exit_code, 0) << written.out;
  EXPECT_EQ(written.out,
            "note: costs are times of the host: from a task's first operator to its end\n"
            "note: traces of PyTorch have no latencies of messages: simulate takes 0, or what "
            "--latency says\n");
  const auto profile = nlohmann::json::parse(read("costs.json"));
  EXPECT_EQ(profile["unit"], "us");
  EXPECT_TRUE(profile["links"].empty());
  std::vector<std::tuple<std::string, int, double, double>> rows;
  for (const auto& task : profile["tasks"]) {
    rows.emplace_back(task["op"], task["stage"], std::round(task["mean"].get<double>() * 100) / 100,
                      std::round(task["spread"].get<double>() * 100) / 100);
  }
  using Row = decltype(rows)::value_type;
  EXPECT_THAT(rows, testing::ElementsAre(Row{"F", 0, 97.89, 56.56}, Row{"F", 1, 117.86, 47.01},
                                         Row{"F", 2, 106.14, 43.80}, Row{"F", 3, 187.12, 68.45},
                                         Row{"B", 0, 166.24, 46.56}, Row{"B", 1, 171.19, 13.68},
                                         Row{"B", 2, 157.63, 47.61}, Row{"B", 3, 255.45, 114.63}));
  // A single microbatch passes all stages down and back, with one task after another.
  auto without_spread = profile;
  for (auto& task : without_spread["tasks"]) task.erase("spread");
  write("means.json", without_spread.dump());
  const Outcome simulated =
      ripeline("simulate interleaved_1f1b -D ranks=2 -m 1 --format json --profile means.json",
               "2>/dev/null");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.out;
  EXPECT_NEAR(nlohmann::json::parse(simulated.out)["wall"].get<double>(), 1259.52, 0.05);
}

TEST_F(ProfileCommand, refuses_files_of_pytorch_without_costs_or_that_do_not_go_together) {
  const std::string folder = RIPELINE_SOURCE_DIR "/tests/specimens/torch_profiler/";
  const std::string rank0 = folder + "interleaved.rank0.json";
  ASSERT_EQ(ripeline("simulate bf -D ranks=2 -m 2 --trace run.json").exit_code, 0);
  write("rank0.json.gz", "\x1f\x8b\x08");
  for (const auto& [files, why] : std::vector<std::pair<std::string, std::string>>{
           {folder + "gpipe.rank0.json", "name no stage, and the wait for the message is in them"},
           {rank0 + " " + rank0, "it is of rank 0, as a trace before it"},
           {rank0 + " " + folder + "on_a_gpu.json", "its tasks ran on a GPU"},
           {rank0 + " run.json", "it is of Ripeline, and the trace before it of PyTorch"},
           {"rank0.json.gz", "ripeline: rank0.json.gz: it is compressed: unpack it with gunzip"}}) {
    const std::string skip = files.ends_with("run.json") ? " --skip-steps 0" : "";
    const Outcome outcome = ripeline("profile " + files + skip + " -o costs.json");
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.out, HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "costs.json"));
  }
}

TEST_F(ProfileCommand, of_a_run_of_one_step_needs_to_be_told_to_take_it) {
  ASSERT_EQ(ripeline("simulate bf -D ranks=2 -m 2 --trace run.json").exit_code, 0);
  const Outcome outcome = ripeline("profile run.json");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "ripeline: run.json: steps in it: 1; with --skip-steps 1, none remains\n");
}

// Without the warning, a schedule with other ops or stages would look fast at the program's costs.
TEST_F(ProfileCommand, of_other_ops_and_stages_is_said_to_be_so) {
  write("costs.json",
        R"({"schema": "ripeline.profile/1", "unit": "us", "tasks": [
          {"op": "F", "stage": 0, "mean": 100}, {"op": "F", "stage": 1, "mean": 100},
          {"op": "F", "stage": 2, "mean": 100}, {"op": "F", "stage": 3, "mean": 100},
          {"op": "B", "mean": 200}]})");
  const std::string missing =
      "the profile has no cost of I, W: the program's is taken, in the profile's unit";
  const std::string stages = "the profile has costs of stages up to 3, and the program's last is 1";
  const Outcome split = ripeline("simulate zb_v -D ranks=2 -m 4 --profile costs.json");
  EXPECT_NE(split.out.find(missing), std::string::npos) << split.out;
  EXPECT_EQ(split.out.find("stages up to"), std::string::npos) << split.out;
  const Outcome both = ripeline("compare 1f1b zb_v -D ranks=2 -m 4 --profile costs.json");
  EXPECT_NE(both.out.find(missing), std::string::npos) << both.out;
  EXPECT_NE(both.out.find(stages), std::string::npos) << both.out;
  const Outcome whole = ripeline("simulate 1f1b -D ranks=4 -m 4 --profile costs.json");
  EXPECT_EQ(whole.out.find("the profile has"), std::string::npos) << whole.out;
}

TEST_F(ProfileCommand, is_named_where_something_else_is_given_for_a_profile) {
  write("trace.json", R"({"traceEvents": []})");
  const Outcome outcome = ripeline("simulate bf -m 4 --profile trace.json");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.out.find("`ripeline profile` makes a profile of a trace"), std::string::npos)
      << outcome.out;
}

}  // namespace
