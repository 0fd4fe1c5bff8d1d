// Tests ripeline optimise --profile: layers that differ are cut for the least time of a step.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace {

using nlohmann::json;
using Layers = CliTest;

// A profile of layers in which each op costs 1, except that each op of the last layer costs `last`.
std::string profile(int layers, int last, const std::vector<const char*>& ops) {
  json tasks = json::array();
  for (const char* op : ops) {
    tasks.push_back({{"op", op}, {"mean", 1}});
    tasks.push_back({{"op", op}, {"stage", layers - 1}, {"mean", last}});
  }
  return json({{"schema", "ripeline.profile/1"},
               {"unit", "ms"},
               {"links", {{{"latency", 0}}}},
               {"tasks", tasks}})
      .dump();
}

// The number that follows the text `words`, or -1 if the text is missing.
double number_after(const std::string& text, const std::string& words) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(words + " ([0-9.]+)"))) return -1;
  return std::stod(found[1]);
}

// A cut into 1, 1, 3 and 1 layers takes 99; the cut whose costliest stage is cheapest takes 121.
TEST_F(Layers, are_cut_for_the_time_of_the_step) {
  write("layers.json", profile(6, 3, {"F", "I", "W"}));
  const std::string ask =
      "optimise --profile layers.json --ranks 2 -m 8 --placement loop --memory 4 --seconds 3 ";
  const Outcome found = ripeline(ask + "-o best.ripe", kOutputAlone);
  ASSERT_EQ(found.exit_code, 0) << found.out;
  EXPECT_LE(number_after(found.out, "wall"), 99);
  EXPECT_LE(number_after(found.out, "has a wall below"), 99);
  EXPECT_NE(found.out.find("no cut of the layers and no order on this placement with this memory "
                           "has a wall below"),
            std::string::npos)
      << found.out;
  EXPECT_EQ(ripeline("verify best.ripe").exit_code, 0);
  const json j = json::parse(ripeline(ask + "--format json", kOutputAlone).out);
  EXPECT_LE(j["bound"], 99);
  EXPECT_GE(j["cut_bound"], j["bound"]);
}

// There are 61 layers. The last layer has the loss and takes as long as three, so there are 63
// units of work, and the busiest of 16 ranks has at least four units for each op. The cut whose
// costliest stage is cheapest gives a rank five units, and takes at least 480. The machine's speed
// decides how close to 430 the search comes in its time.
TEST_F(Layers, of_a_large_model_leave_no_rank_with_more_than_it_need_have) {
  write("layers.json", profile(61, 3, {"F", "I", "W"}));
  const Outcome found = ripeline(
      "optimise --profile layers.json --ranks 16 -m 32 --placement loop --memory 16 --solver none "
      "--seconds 10",
      kOutputAlone);
  ASSERT_EQ(found.exit_code, 0) << found.out;
  const double makespan = number_after(found.out, "wall");
  EXPECT_LE(makespan, 460) << found.out;
  EXPECT_EQ(makespan - number_after(found.out, "bubble"), 32 * 3 * 4);  // the busiest rank
  const double bound = number_after(found.out, "has a wall below");
  EXPECT_GE(bound, 414);  // in every cut the busiest rank waits before its work or after it
  EXPECT_EQ(found.out.find("optimal: no cut") != std::string::npos, makespan == bound) << found.out;
}

TEST_F(Layers, may_have_whole_backwards) {
  write("layers.json", profile(6, 3, {"F", "B"}));
  const std::string rest = " --ranks 2 -m 8 --memory 4 --seconds 2 -o best.ripe";
  const Outcome found =
      ripeline("optimise --profile layers.json --placement loop" + rest, kOutputAlone);
  ASSERT_EQ(found.exit_code, 0) << found.out;
  EXPECT_EQ(number_after(found.out, "wall") - number_after(found.out, "bubble"), 8 * 2 * 4);
  const std::string text = read("best.ripe");
  EXPECT_NE(text.find("op B backward {"), std::string::npos) << text;
  EXPECT_EQ(text.find("op W"), std::string::npos) << text;
  EXPECT_EQ(ripeline("verify best.ripe").exit_code, 0);
  // On a chain whose backwards take twice as long as forwards, 1F1B is optimal: (m + p - 1) * 3.
  const Outcome even =
      ripeline("optimise --costs F=1,B=2,C=0 --ranks 4 -m 8 --seconds 5 -o b.ripe", kOutputAlone);
  ASSERT_EQ(even.exit_code, 0) << even.out;
  EXPECT_EQ(number_after(even.out, "wall"), (8 + 3) * 3) << even.out;
  EXPECT_NE(even.out.find("costs F=1,B=2,C=0"), std::string::npos) << even.out;
  EXPECT_EQ(
      number_after(ripeline("simulate b.ripe", kOutputAlone).out, R"(wall(?: \(makespan\))?)"), 33);
  const Outcome bytes = ripeline(
      "optimise --costs F=1,B=2,C=0 --ranks 4 -m 8 --seconds 1 --activation 100 --memory 250",
      kOutputAlone);
  EXPECT_EQ(bytes.exit_code, 0) << bytes.out;
}

TEST_F(Layers, with_whole_backwards_have_no_others) {
  write("layers.json", R"({"schema": "ripeline.profile/1", "unit": "ms", "tasks": [
      {"op": "F", "mean": 1}, {"op": "F", "stage": 3, "mean": 1}, {"op": "B", "mean": 1},
      {"op": "W", "stage": 1, "mean": 1}]})");
  const struct {
    const char* flags;
    const char* error;
  } rows[] = {
      {"--profile layers.json --ranks 2",
       "expected what I of stage 0 takes, of all microbatches alike; a whole backward is given as "
       "B, without I and W of any stage"},
      {"--costs F=1,B=2", "or with a whole backward F=24,B=35,C=0.5"},
      {"--costs F=1,B=0,C=0", "or with a whole backward F=24,B=35,C=0.5"},
      {"--costs F=1,B=2,C=0 --activation 100,43 --memory 300", "--activation: expected A: "},
  };
  for (const auto& [flags, error] : rows) {
    const Outcome outcome = ripeline("optimise " + std::string(flags));
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_NE(outcome.out.find(error), std::string::npos) << outcome.out;
  }
}

}  // namespace
