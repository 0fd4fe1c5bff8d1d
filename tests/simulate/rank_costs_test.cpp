// Tests costs of a complete rank: how they are given, how the rank's ops divide them, and that all
// schedules of one model then do the same work.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulate/rank_costs.h"
#include "spec/library.h"
#include "tests/simulate/runs.h"

namespace ripeline::simulate::rank_costs_test {
namespace {

using spec::Rational;
using testing_support::compiled_schedule;
using testing_support::TableRun;

RankCosts costs(const std::string& text) {
  RankCosts result;
  EXPECT_EQ(RankCosts::parse(text, result).message(), "");
  return result;
}

TimingOptions with(const std::string& text) {
  TimingOptions options;
  options.rank_costs = costs(text);
  return options;
}

spec::ElaborateOptions defines(const std::map<std::string, std::int64_t>& values) {
  spec::ElaborateOptions options;
  for (const auto& [name, value] : values) options.defines[name] = value;
  return options;
}

core::Time units(double count) { return core::Time{std::llround(count * 1e6)}; }

TEST(RankCosts, are_read) {
  struct Case {
    const char* text;
    Rational forward, backward, input, weight;
  };
  const std::array cases = {
      Case{"F=1,B=2", {1, 1}, {2, 1}, {1, 1}, {1, 1}},
      Case{"B=3,F=0.5", {1, 2}, {3, 1}, {3, 2}, {3, 2}},
      Case{"F=1,I=1.25,W=0.5", {1, 1}, {7, 4}, {5, 4}, {1, 2}},
      Case{"F=1,B=2,I=1.1,W=1", {1, 1}, {2, 1}, {11, 10}, {1, 1}},
      Case{"F=0,B=0", {0, 1}, {0, 1}, {0, 1}, {0, 1}},
      Case{"F=999999999.999999,B=1", {999999999999999, 1000000}, {1, 1}, {1, 2}, {1, 2}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const RankCosts got = costs(c.text);
    EXPECT_EQ(got.forward, c.forward);
    EXPECT_EQ(got.backward, c.backward);
    EXPECT_EQ(got.backward_input, c.input);
    EXPECT_EQ(got.backward_weight, c.weight);
    EXPECT_EQ(got.text, c.text);
  }
}

TEST(RankCosts, that_do_not_say_all_are_refused) {
  for (const char* text : {"",
                           "F",
                           "F=1",
                           "B=2",
                           "F=1,B=2,",
                           ",F=1,B=2",
                           "F=1,I=1",
                           "F=1,W=1",
                           "I=1,W=1",
                           "F=1,B=2,I=1",
                           "F=1,B=2,B=2",
                           "F=1,B=2,G=1",
                           "f=1,b=2",
                           "F=-1,B=2",
                           "F=1e3,B=2",
                           "F=,B=2",
                           "F=1.,B=2",
                           "F=.5,B=2",
                           "F=1,B=2.0000001",
                           "F=1234567890,B=2",
                           "F=1 ,B=2",
                           "1,2"}) {
    RankCosts result;
    const core::Status status = RankCosts::parse(text, result);
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_TRUE(status.message().starts_with("expected F=COST, ")) << status.message();
  }
}

// The cost of each task in the lane `name`.
Rational cost_of(const spec::Program& program, const std::string& name, const RankCosts& costs,
                 int microbatches) {
  std::vector<spec::Cost> lanes;
  EXPECT_EQ(costs_of_lanes(program, microbatches, costs, lanes).message(), "");
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    if (program.lane_name(lane) == name) return at(lanes, lane).each;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(RankCosts, of_k_stages_each_has_a_kth) {
  struct Case {
    const char* schedule;
    spec::ElaborateOptions options;
    const char* lane;
    Rational cost;
  };
  const std::array cases = {
      Case{"1f1b", {}, "2F", {1, 1}},
      Case{"1f1b", {}, "2B", {2, 1}},
      Case{"zb_h1", {}, "2I", {1, 1}},
      Case{"zb_v", {}, "5F", {1, 2}},
      Case{"zb_v", {}, "5W", {1, 2}},
      Case{"interleaved_1f1b", {}, "7B", {1, 1}},
      Case{"interleaved_1f1b", defines({{"chunks", 3}}), "7F", {1, 3}},
      Case{"interleaved_1f1b", defines({{"chunks", 3}}), "7B", {2, 3}},
      // Each of the two stages has the rank's layers, but only half of the microbatches.
      Case{"chimera", {}, "0F", {1, 1}},
      Case{"chimera", {}, "7B", {2, 1}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.schedule) + " " + c.lane);
    EXPECT_EQ(cost_of(compiled_schedule(c.schedule, c.options), c.lane, costs("F=1,B=2"), 8),
              c.cost);
  }
}

// Rank 0 has a fused backward at one stage and a split one at the other, with the same work.
TEST(RankCosts, stages_may_split_their_backward_or_not) {
  const spec::Program program = compiled_schedule(
      "\npipeline mixed { microbatches any; stages 2; place s on 0;\n"
      "  op F forward { cost 7; needs F at prev; }\n"
      "  op B backward when s == 0 { cost 7; needs F at here, I at next; }\n"
      "  op I backward input when s == 1 { cost 7; needs F at here; }\n"
      "  op W backward weight when s == 1 { cost 7; needs I at here; }\n"
      "  op G reduce once { cost 7; needs F at here of all; }\n"
      "  dispatch ready; }\n");
  const RankCosts given = costs("F=1,I=2,W=4");
  EXPECT_EQ(cost_of(program, "0B", given, 4), (Rational{3, 1}));
  EXPECT_EQ(cost_of(program, "1I", given, 4), (Rational{1, 1}));
  EXPECT_EQ(cost_of(program, "1W", given, 4), (Rational{2, 1}));
  EXPECT_EQ(cost_of(program, "1G", given, 4), (Rational{7, 1})) << "it has its own cost";
}

TEST(RankCosts, every_schedule_of_the_library_does_the_same_work) {
  for (const spec::LibraryEntry& entry : spec::library()) {
    SCOPED_TRACE(entry.name);
    const spec::Program program = compiled_schedule(std::string(entry.name));
    TableRun run(program);
    const RunReport report = run.run(8, with("F=1.5,B=2"));
    ASSERT_TRUE(report.status.ok()) << report.status.message();
    for (const auto& rank : report.ranks) EXPECT_EQ(rank[0].busy, units(8 * 3.5));
  }
}

// The bubble is (p - 1)(F + B) with the costs of a stage, which are smaller by the factor `chunks`.
TEST(RankCosts, more_stages_have_a_smaller_bubble) {
  constexpr int kRanks = 4;
  const auto bubble = [](const std::string& schedule, const spec::ElaborateOptions& options) {
    const spec::Program program = compiled_schedule(schedule, options);
    TableRun run(program);
    const RunReport report = run.run(16, with("F=1.2,B=2.4"));
    EXPECT_EQ(report.work, units(16 * 3.6));
    EXPECT_EQ(report.makespan, report.span);
    return report.bubble();
  };
  EXPECT_EQ(bubble("1f1b", {}), units((kRanks - 1) * 3.6));
  for (const int chunks : {2, 3, 4}) {
    EXPECT_EQ(bubble("interleaved_1f1b", defines({{"chunks", chunks}})),
              units((kRanks - 1) * 3.6 / chunks));
  }
}

// The closed forms are those of docs/library.md; the unit is one forward of all layers of a rank.
TEST(RankCosts, v_placements_have_the_bubbles_of_the_library_page) {
  for (const int p : {3, 4, 5, 6, 8}) {
    const double v_half = p % 2 == 1 ? 7 * (p - 1) / 4.0 : (7 * p - 4) / 4.0;
    const double v_min = (p % 3 == 0 ? 4 * p - 3 : 4 * p - 5) / 2.0;
    struct Case {
      const char* schedule;
      double makespan;
      double span;
    };
    const std::array cases = {
        Case{"zb_h2", p - 1.0, 0},
        Case{"zb_v", (p - 1) / 2.0, 0},
        Case{"dualpipe_v", (p - 1) / 2.0, (p - 1) / 2.0},
        Case{"v_half", v_half, v_half},
        Case{"v_min", v_min, v_min},
    };
    for (const Case& c : cases) {
      SCOPED_TRACE(c.schedule + std::string(" on ") + std::to_string(p));
      const spec::Program program = compiled_schedule(c.schedule, defines({{"ranks", p}}));
      TableRun run(program);
      const RunReport report = run.run(3 * p, with("F=1,B=2"));
      EXPECT_EQ(report.work, units(9.0 * p));
      EXPECT_EQ(report.makespan - report.work, units(c.makespan));
      EXPECT_EQ(report.bubble(), units(c.span));
    }
  }
}

TEST(RankCosts, a_split_backward_takes_as_much_as_a_fused_one) {
  const spec::Program fused = compiled_schedule("1f1b");
  const spec::Program split = compiled_schedule("zb_h1");
  TableRun of_fused(fused);
  TableRun of_split(split);
  for (const char* text : {"F=1,B=2", "F=1,B=3", "F=2,I=3,W=1"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(of_fused.run(8, with(text)).work, of_split.run(8, with(text)).work);
  }
  // The work is larger only if the given costs make a split backward longer.
  EXPECT_EQ(of_fused.run(8, with("F=1,B=2,I=1.25,W=1")).work, units(8 * 3));
  EXPECT_EQ(of_split.run(8, with("F=1,B=2,I=1.25,W=1")).work, units(8 * 3.25));
}

// With other costs, tasks that overlap save the same proportion of their time.
TEST(RankCosts, a_pair_is_as_much_faster_as_its_own_costs_say) {
  const spec::Program program =
      compiled_schedule("dualpipe_v", defines({{"f", 2}, {"i", 2}, {"w", 2}, {"together", 3}}));
  TableRun run(program);
  const core::Time own = run.run(8).makespan;
  EXPECT_EQ(run.run(8, with("F=4,I=4,W=4")).makespan, own);
  EXPECT_EQ(run.run(8, with("F=40,I=40,W=40")).makespan, 10 * own);
}

TEST(RankCosts, and_a_profile_exclude_each_other_only_where_both_cost_tasks) {
  const spec::Program program = compiled_schedule("1f1b");
  TimingOptions options = with("F=1,B=2");
  Profile links;
  ASSERT_TRUE(Profile::parse(R"({"schema": "ripeline.profile/1", "unit": "ms", "tasks": [],
                                 "links": [{"latency": 1}], "messages": []})",
                             links)
                  .ok());
  options.profile = links;
  Timing timing;
  EXPECT_EQ(Timing::make(program, 4, options, timing).message(), "");
  EXPECT_EQ(timing.text(), "costs of a rank F=1,B=2, in ms");
  options.profile->tasks.emplace_back().op = "F";
  EXPECT_EQ(Timing::make(program, 4, options, timing).message(),
            "the profile has costs of tasks, and costs of a rank are given too: leave one of them "
            "out");
}

}  // namespace
}  // namespace ripeline::simulate::rank_costs_test
