// Tests that memory has one meaning: all commands report the same memory for the same schedule, in
// a unit that they name; flags take units; a schedule that fits some memory also fits more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class Memory : public CliTest {
 protected:
  json object(const std::string& arguments, int exit_code = 0) {
    const Outcome outcome = ripeline(arguments + " --format json", "2> /dev/null");
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments << '\n' << outcome.out;
    return json::parse(outcome.out);
  }
  std::string text(const std::string& arguments, int exit_code = 0) {
    const Outcome outcome = ripeline(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments << '\n' << outcome.out;
    return outcome.out;
  }
};

// The proved peaks of the order's ranks.
json proved_peak(const json& verified) {
  for (const json& obligation : verified["obligations"]) {
    if (obligation["name"] == "memory") return obligation["peak"];
  }
  return {};
}

TEST_F(Memory, of_a_schedule_is_the_same_in_every_command) {
  const std::vector<std::pair<std::string, int>> schedules = {
      {"1f1b", 1}, {"zb_h1", 1}, {"interleaved_1f1b", 2}, {"zb_v", 2}, {"v_min", 2}};
  for (const auto& [name, chunks] : schedules) {
    for (const int microbatches : {4, 8}) {
      SCOPED_TRACE(fmt::format("{} {}", name, microbatches));
      text(fmt::format("export {} -D ranks=4 -m {} -o order.csv", name, microbatches));
      const json checked = object("check order.csv");
      const json simulated = object("simulate order.csv");
      const json compared = object("compare order.csv")["runs"][0];
      const json optimised = object("optimise order.csv --solver none --seconds 0", 0);
      EXPECT_EQ(checked["peak"], simulated["peak"]);
      EXPECT_EQ(compared["peak"], simulated["peak"]);
      EXPECT_EQ(proved_peak(object("verify order.csv")), simulated["peak"]);
      EXPECT_EQ(checked["peak_microbatches"], compared["peak_microbatches"]);
      EXPECT_TRUE(optimised["peak"].contains("activation"));
      const std::vector<int> held = simulated["peak"]["activation"];
      for (std::size_t rank = 0; rank < held.size(); ++rank) {
        EXPECT_EQ(double{checked["peak_microbatches"]["activation"][rank]} * chunks, held[rank]);
        EXPECT_LE(double{checked["peak_microbatches"]["activation"][rank]}, microbatches);
      }
      const std::string unit = chunks == 1 ? "" : " activations of a stage";
      const std::string all = fmt::format("{}", fmt::join(held, " "));
      EXPECT_THAT(text("verify order.csv"), HasSubstr("  peak activation: " + all + unit + "\n"));
      EXPECT_THAT(text("show order.csv"),
                  HasSubstr("activation, most at once per rank: " + all + unit + "\n"));
      EXPECT_THAT(text("check order.csv"),
                  HasSubstr((chunks == 1 ? "peak per rank, microbatches in flight: "
                                         : "peak per rank, activations of a stage: ") +
                            all + "\n"));
      text("simulate order.csv --picture order.svg");
      const auto [least, most] = std::minmax_element(held.begin(), held.end());
      const std::string range =
          *least == *most ? fmt::format("{}", *most) : fmt::format("{}..{}", *least, *most);
      EXPECT_THAT(read("order.svg"), HasSubstr("peak activation " + range + unit + "<"));
    }
  }
}

// A rank has 4000 MB. A microbatch takes 1900 MB in all layers of a rank, on average five layers.
TEST_F(Memory, that_optimise_reports_is_what_its_file_has) {
  write("layers.json", [] {
    json tasks = json::array();
    for (int layer = 0; layer < 10; ++layer) {
      for (const char* op : {"F", "I", "W"}) {
        tasks.push_back({{"op", op}, {"stage", layer}, {"mean", 1 + layer % 3}});
      }
    }
    return json{{"schema", "ripeline.profile/1"},
                {"unit", "ms"},
                {"links", {{{"latency", 0.1}}}},
                {"tasks", tasks}}
        .dump();
  }());
  const std::string ask =
      "optimise --profile layers.json --ranks 2 -m 6 --solver none --seconds 0.2 --placement v "
      "--memory 4GB --activation 1.9GB,0.3GB -o best.ripe";
  const std::string said = text(ask);
  const std::string program = read("best.ripe");
  EXPECT_THAT(said, HasSubstr(" of 4000 MB of activation\n"));
  EXPECT_THAT(program, HasSubstr("capacity 4000;"));
  EXPECT_THAT(program, HasSubstr("unit \"MB\";"));
  const json proved = proved_peak(object("verify best.ripe"));
  const std::vector<int> held = proved["activation"];
  EXPECT_THAT(said, HasSubstr(fmt::format("a rank holds at most {} of 4000 MB of activation",
                                          *std::max_element(held.begin(), held.end()))));
  EXPECT_THAT(text("verify best.ripe"),
              HasSubstr(fmt::format("  peak activation: {} MB\n", fmt::join(held, " "))));
  // The search runs again, and may find another order this time.
  const json optimised = object(ask);
  EXPECT_EQ(optimised["peak"], object("simulate best.ripe")["peak"]);
  EXPECT_EQ(optimised["peak"], proved_peak(object("verify best.ripe")));
}

TEST_F(Memory, in_the_program_s_amounts_is_also_told_as_the_flag_counts) {
  EXPECT_THAT(text("optimise --ranks 3 -m 6 --memory 2 --placement v --solver none --seconds 0.2"),
              HasSubstr("a rank holds at most 4 of 4 activation (2 of 2 as --memory counts)"));
  EXPECT_THAT(text("optimise --ranks 3 -m 6 --memory 2 --solver none --seconds 0.2"),
              HasSubstr("a rank holds at most 2 of 2 activation\n"));
}

TEST_F(Memory, of_a_flag_has_one_meaning) {
  text("export zb_v -D ranks=4 -m 8 -o zb_v.csv");
  EXPECT_EQ(object("check zb_v.csv --memory 4")["verdict"], "proved");
  const json over = object("check zb_v.csv --memory 3.5", 1);
  EXPECT_EQ(over["findings"][0]["message"],
            "rank 0 then holds 8 activations of a stage, of at most 7, which are 3.5 microbatches "
            "of its 2 stages");
  EXPECT_EQ(object("compare zb_v.csv --memory 4")["runs"][0]["fits"], true);
  EXPECT_EQ(object("compare zb_v.csv --memory 3.5")["runs"][0]["fits"], false);
  const std::string optimise = "optimise --ranks 4 -m 8 --placement v --solver none --memory ";
  for (const json& held : object(optimise + "3.5 --seconds 0.2")["peak"]["activation"]) {
    EXPECT_LE(int{held}, 7);
  }
  for (const char* wrong : {"0", "x", "-1", "2ms"}) {
    EXPECT_THAT(text(fmt::format("check zb_v.csv --memory={}", wrong), 2), HasSubstr("--memory"));
    EXPECT_THAT(text(fmt::format("compare zb_v --memory={}", wrong), 2), HasSubstr("--memory"));
    EXPECT_THAT(text(optimise + wrong, 2), HasSubstr("--memory"));
  }
  EXPECT_THAT(text("check zb_v.csv --memory 24GB", 2), HasSubstr("has no bytes"));
  EXPECT_THAT(text(optimise + "24GB", 2), HasSubstr("--activation 1.9GB,0.3GB"));
  EXPECT_THAT(text(optimise + "24 --activation 1.9GB,0.3GB", 2), HasSubstr("expected bytes"));
}

TEST_F(Memory, in_bytes_is_compared_in_bytes) {
  write("bytes.ripe",
        "pipeline bytes { microbatches any; stages 2; place s on s;\n"
        "  op F forward { needs F at prev; acquires memory 100; }\n"
        "  op B backward { needs F at here, B at next; releases memory 100; }\n"
        "  resource memory per rank { unit \"MiB\"; capacity 1000; }\n"
        "  order one on r { (F B) * microbatches; } dispatch in order one; }\n");
  const std::string said = text("compare bytes.ripe 1f1b -m 4 --memory 0.05GB");
  EXPECT_THAT(said, HasSubstr("100 MiB over 0.05GB"));
  EXPECT_THAT(said, HasSubstr("--memory 0.05GB says nothing of 1f1b: expected a resource whose "
                              "unit is one of bytes, as GB or MiB\n"));
  EXPECT_THAT(text("compare bytes.ripe 1f1b -m 4 --memory 2"),
              HasSubstr("--memory 2 says nothing of bytes.ripe: expected a resource without a "
                        "unit, of which a task acquires 1\n"));
  EXPECT_EQ(object("compare bytes.ripe -m 4 --memory 0.2GB")["runs"][0]["fits"], true);
}

TEST_F(Memory, times_of_flags_take_units) {
  const auto makespan = [&](const std::string& flags) {
    return object("simulate 1f1b -m 8 " + flags)["wall"];
  };
  EXPECT_EQ(makespan("--unit ms --latency 600us"), makespan("--unit ms --latency 0.6"));
  EXPECT_EQ(makespan("--rank-costs F=1ms,B=2000us --latency 0.6ms"), makespan("--latency 0.6"));
  EXPECT_EQ(object("simulate 1f1b -m 4 --rank-costs F=1ms,B=2ms")["unit"], "ms");
  EXPECT_EQ(makespan("--latency 0.1 --bandwidth 1GB/s --bytes 2MB"),
            makespan("--latency 0.1 --bandwidth 1e9 --bytes 2000000"));
  // The latency is a number above 0 and below the least normal number.
  EXPECT_EQ(makespan("--latency 1e-320"), makespan("--latency 0"));
  EXPECT_THAT(text("simulate 1f1b -m 4 --latency 0.6ms", 2),
              HasSubstr("--latency 0.6ms: the costs have no unit; --unit ms says"));
  EXPECT_THAT(text("simulate 1f1b -m 4 --latency 2GB", 2),
              HasSubstr("--latency: expected a number of 0 or more, and found '2GB'"));
  EXPECT_THAT(text("simulate 1f1b -m 4 --rank-costs F=1ms,B=2", 2),
              HasSubstr("--rank-costs: expected a unit of time behind each cost, or behind none"));
  const std::string model = "optimise --ranks 2 -m 4 --solver none --costs ";
  const json with = object(model + "24ms,23ms,12000us,500us");
  EXPECT_EQ(with["wall"], object(model + "24,23,12,0.5")["wall"]);
  EXPECT_EQ(with["unit"], "ms");
}

// The search gets few seconds and no solver, so with more memory it often finds a worse order.
TEST_F(Memory, curves_never_rise) {
  std::mt19937 random(36);
  const auto drawn = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  const char* const placements[] = {"chain", "v", "loop", "any"};
  for (int model = 0; model < 12; ++model) {
    const int ranks = drawn(3, 8);
    const std::string ask = fmt::format(
        "optimise --ranks {} -m {} --costs {},{},{},{} --memory {}..{} --placement {} --objective "
        "{} --solver none --seconds 0.02 --seed {}",
        ranks, drawn(ranks, 3 * ranks), drawn(5, 30), drawn(5, 30), drawn(5, 30), drawn(0, 4), 2,
        2 + drawn(3, 6), placements[drawn(0, 3)], drawn(0, 1) == 0 ? "wall" : "span", model);
    SCOPED_TRACE(ask);
    const json curve = object(ask);
    const std::string objective = curve["objective"];
    double best = 1e18;
    double bound = 1e18;
    for (const json& point : curve["points"]) {
      if (!point.contains(objective)) continue;
      EXPECT_LE(double{point[objective]}, best);
      EXPECT_LE(double{point["bound"]}, bound);
      EXPECT_LE(double{point["bound"]}, double{point[objective]});
      best = point[objective];
      bound = point["bound"];
    }
    EXPECT_LT(best, 1e18);
  }
}

TEST_F(Memory, of_a_curve_may_be_in_bytes) {
  const json curve = object(
      "optimise --ranks 2 -m 4 --memory 4GB..8GB --activation 2GB,0.5GB --solver none --seconds "
      "0.1");
  EXPECT_EQ(curve["memory_unit"], "GB");
  ASSERT_EQ(curve["points"].size(), 3U);
  EXPECT_EQ(curve["points"][1]["memory"], 6.0);
  EXPECT_EQ(object("optimise --ranks 2 -m 4 --memory 1..2 --solver none")["memory_unit"],
            "microbatches");
}

}  // namespace
