// Tests runs side by side: the figures of each, notes on these figures, and when notes appear.
#include "view/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/view/timelines.h"

namespace ripeline::view {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::Drawn;

// Options with the costs F=1,B=2 for all layers of a rank.
simulate::TimingOptions one_model() {
  simulate::TimingOptions options;
  simulate::RankCosts costs;
  EXPECT_TRUE(simulate::RankCosts::parse("F=1,B=2", costs).ok());
  options.rank_costs = costs;
  return options;
}

Compared of(const std::string& title, const Drawn& run) {
  EXPECT_TRUE(run.status.ok()) << run.status.message();
  return {.title = title,
          .program = std::string(run.timeline.facts().name),
          .unit = run.timeline.run().unit,
          .ranks = run.timeline.facts().ranks,
          .microbatches = run.timeline.run().microbatches,
          .figures = figures(run.timeline),
          .speed = Speed{}};
}

std::string text_of(const std::vector<Compared>& all, const CompareOptions& options = {}) {
  std::string text;
  EXPECT_EQ(compare_text(all, options, text).message(), "");
  return text;
}

TEST(Compare, says_when_memory_is_not_equal) {
  const Compared one = of("1f1b", Drawn("1f1b", 8));
  EXPECT_THAT(text_of({one, of("gpipe", Drawn("gpipe", 8))}),
              HasSubstr("memory is not equal: rank 0 holds at most 4 of activation with "
                        "1f1b, and 8 with gpipe\n"));
  EXPECT_THAT(text_of({one, of("bf", Drawn("bf", 8))}),
              HasSubstr("memory is equal, rank by rank\n"));
}

TEST(Compare, figures_are_those_of_the_simulator) {
  const Drawn run("1f1b", 8);
  const Figures got = figures(run.timeline);
  EXPECT_EQ(got.makespan, 33);
  EXPECT_EQ(got.span, run.timeline.in_unit(run.report.span));
  EXPECT_EQ(got.work, 24);
  EXPECT_EQ(got.span_bubble, 9);
  EXPECT_EQ(got.makespan_bubble, 9);
  ASSERT_EQ(got.peaks.size(), 1U);
  EXPECT_EQ(got.peaks[0].per_rank, (std::vector<std::int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(got.peaks[0].microbatches, (std::vector<double>{4, 3, 2, 1}));
}

TEST(Compare, units_must_be_of_one_length) {
  simulate::TimingOptions options;
  options.unit = simulate::unit_named("us");
  std::string text;
  EXPECT_EQ(compare_text({of("a", Drawn("1f1b", 2)), of("b", Drawn("1f1b", 2, options))}, {}, text)
                .message(),
            "a counts in unit and b in us");
}

// 8 activations of single ZB-V stages equal 4 of all layers of a rank, as 1F1B's rank 0 holds.
TEST(Compare, memory_counts_all_layers_of_a_rank) {
  const Compared zb_h1 = of("zb_h1", Drawn("zb_h1", 8, one_model()));
  const Compared zb_v = of("zb_v", Drawn("zb_v", 8, one_model()));
  EXPECT_EQ(zb_v.figures.peaks[0].per_rank, (std::vector<std::int64_t>{8, 8, 8, 8}));
  EXPECT_EQ(zb_v.figures.peaks[0].microbatches, (std::vector<double>{4, 4, 4, 4}));
  const std::string text = text_of({zb_h1, zb_v});
  EXPECT_THAT(text, HasSubstr("memory is equal, rank by rank\n"));
  EXPECT_THAT(text,
              HasSubstr("peaks: in activations of a stage; in microbatches: in those of all of "
                        "a rank's layers, so that of K stages on a rank one of a stage counts "
                        "1/K\n"));
  EXPECT_THAT(text_of({zb_h1}), Not(HasSubstr("peaks: in")));
  // Each of the two stages on a rank of Chimera is as large as a complete rank of the others, but
  // has only half of the microbatches.
  const Compared chimera = of("chimera", Drawn("chimera", 8));
  EXPECT_EQ(chimera.figures.peaks[0].microbatches, (std::vector<double>{3, 4, 4, 3}));
}

// Only activations are divided by the number of stages; they are acquired singly and have no unit.
TEST(Compare, amounts_are_not_divided) {
  const Drawn run(
      "\npipeline bytes { microbatches any; stages 2; place s on 0;\n"
      "  op F forward { needs F at prev; acquires memory 100; acquires room 3;\n"
      "                acquires activation; }\n"
      "  op B backward { needs F at here, B at next; releases memory 100; releases room 3;\n"
      "                releases activation; }\n"
      "  resource memory per rank { unit \"MiB\"; capacity 1000; }\n"
      "  resource room per rank { capacity 30; }\n"
      "  resource activation per rank { capacity 10; }\n"
      "  hint h { prefer B, F; } dispatch ready by h; }\n",
      4);
  const Figures got = of("bytes", run).figures;
  ASSERT_EQ(got.peaks.size(), 3U);
  EXPECT_EQ(got.peaks[0].per_rank[0], 500);
  EXPECT_EQ(got.peaks[0].unit, "MiB");
  EXPECT_FALSE(got.peaks[0].activations());
  EXPECT_EQ(got.peaks[1].per_rank[0], 15);
  EXPECT_EQ(got.peaks[1].unit, "");
  EXPECT_EQ(got.peaks[2].per_rank[0], 5);
  EXPECT_EQ(got.peaks[2].microbatches[0], 2.5);
}

TEST(Compare, marks_what_holds_more_than_there_is_room_for) {
  const std::vector<Compared> all = {of("1f1b", Drawn("1f1b", 8, one_model())),
                                     of("gpipe", Drawn("gpipe", 8, one_model())),
                                     of("zb_v", Drawn("zb_v", 8, one_model()))};
  const std::string text = text_of(all, {.memory = MemoryLimit{.amount = 4, .text = "4"}});
  EXPECT_THAT(text, HasSubstr(" 1..4\n"));
  EXPECT_THAT(text, HasSubstr(" 8 over 4\n"));
  EXPECT_THAT(text, HasSubstr(" 4\n"));
  const auto json = compare_json(all, {.memory = MemoryLimit{.amount = 4, .text = "4"}});
  EXPECT_EQ(json["runs"][0]["fits"], true);
  EXPECT_EQ(json["runs"][1]["fits"], false);
  EXPECT_EQ(json["runs"][2]["fits"], true);
  EXPECT_FALSE(compare_json(all, {})["runs"][0].contains("fits"));
}

TEST(Compare, says_when_work_differs) {
  const Drawn own("zb_v", 8);
  const Drawn same("zb_v", 8, one_model());
  const Compared first = of("1f1b", Drawn("1f1b", 8));
  EXPECT_THAT(text_of({first, of("zb_v", own)}, {.same_work = "give costs"}),
              HasSubstr("work differs: the busiest rank computes 24 with 1f1b and 48 with zb_v; "
                        "give costs\n"));
  EXPECT_THAT(text_of({first, of("zb_v", own)}), HasSubstr("48 with zb_v\n"));
  EXPECT_THAT(text_of({first, of("zb_v", same)}), Not(HasSubstr("work differs")));
  const auto equal_work = [](const std::vector<Compared>& all) {
    return bool{compare_json(all, {})["equal_work"]};
  };
  EXPECT_FALSE(equal_work({first, of("zb_v", own)}));
  EXPECT_TRUE(equal_work({first, of("zb_v", same)}));
}

// The work of two runs may differ because it is drawn, but the means of their costs may not.
TEST(Compare, work_that_was_drawn_or_measured_may_differ_a_little) {
  Compared a = of("a", Drawn("1f1b", 8));
  Compared b = a;
  b.figures.work = 1.04 * a.figures.work;
  EXPECT_THAT(text_of({a, b}), Not(HasSubstr("work differs")));
  b.figures.work = 1.06 * a.figures.work;
  EXPECT_THAT(text_of({a, b}), HasSubstr("work differs"));
  a.work = b.work = 24;
  EXPECT_THAT(text_of({a, b}), Not(HasSubstr("work differs")));
  b.work = 24.01;
  EXPECT_THAT(text_of({a, b}), HasSubstr("work differs"));
}

// The spans of ZB-H2 contain no idle time, but its makespan contains the idle time of 3 forwards.
TEST(Compare, explains_a_wall_that_is_longer_than_the_span) {
  const Compared zb_h2 = of("zb_h2", Drawn("zb_h2", 8, one_model()));
  EXPECT_EQ(zb_h2.figures.span_bubble, 0);
  EXPECT_EQ(zb_h2.figures.makespan_bubble, 3);
  const Compared fixed = of("1f1b", Drawn("1f1b", 8));
  const std::string text = text_of({fixed, zb_h2});
  EXPECT_THAT(text, HasSubstr("3 (11.11 %)"));
  EXPECT_THAT(text, HasSubstr("0 (0.00 %)"));
  EXPECT_THAT(text, HasSubstr("\nthe wall is longer than the span with zb_h2: "));
  EXPECT_THAT(text_of({fixed}), Not(HasSubstr("the wall is longer")));
}

TEST(Compare, averages_times_and_takes_the_most_that_was_held) {
  Figures a = figures(Drawn("1f1b", 8).timeline);
  Figures b = figures(Drawn("1f1b", 8).timeline);
  b.makespan = 35;
  b.makespan_bubble = 11;
  a.peaks[0].per_rank = b.peaks[0].per_rank = {4, 3, 2, 1};
  b.peaks[0].per_rank[3] = 2;
  b.peaks[0].microbatches[3] = 2;
  const Figures mean = average({a, b});
  EXPECT_EQ(mean.makespan, 34);
  EXPECT_EQ(mean.makespan_bubble, 10);
  EXPECT_EQ(mean.span, 33);
  EXPECT_EQ(mean.peaks[0].per_rank, (std::vector<std::int64_t>{4, 3, 2, 2}));
  EXPECT_EQ(mean.peaks[0].microbatches, (std::vector<double>{4, 3, 2, 2}));
  EXPECT_EQ(average({a}).makespan, a.makespan);
}

TEST(Compare, of_several_runs_says_how_sure_it_is) {
  Compared one = of("1f1b", Drawn("1f1b", 8));
  one.speed = Speed{.ratio = 1.5, .low = 1.25, .high = 1.75};
  const std::string text = text_of({one}, {.runs = 20, .seed = 5});
  EXPECT_THAT(text, HasSubstr("x1.500 (1.250 to 1.750)"));
  EXPECT_THAT(text, HasSubstr("times are means of 20 runs each, seeds 5 to 24; "));
  EXPECT_THAT(text_of({one}), Not(HasSubstr("means of")));
  const auto json = compare_json({one}, {.runs = 20, .seed = 5});
  EXPECT_EQ(json["seed"], 5);
  EXPECT_EQ(json["seeds"], 20);
  EXPECT_EQ(json["runs"][0]["gain"]["low"], 1.25);
}

TEST(Compare, json_keeps_its_fields) {
  const Compared zb_v = of("zb_v", Drawn("zb_v", 8, one_model()));
  const auto json = compare_json({zb_v}, {});
  EXPECT_EQ(json["schema"], "ripeline.compare/2");
  EXPECT_EQ(json["equal_memory"], true);
  const auto& run = json["runs"][0];
  EXPECT_EQ(run["title"], "zb_v");
  EXPECT_EQ(run["wall"], 25.5);
  EXPECT_EQ(run["span"], 24);
  EXPECT_EQ(run["work"], 24);
  EXPECT_EQ(run["span_bubble"], 0);
  EXPECT_EQ(run["span_bubble_rate"], 0.0);
  EXPECT_EQ(run["wall_bubble"], 1.5);
  EXPECT_EQ(run["wall_bubble_rate"], 1.5 / 25.5);
  EXPECT_EQ(run["peak"]["activation"], (std::vector<int>{8, 8, 8, 8}));
  EXPECT_EQ(run["peak_microbatches"]["activation"], (std::vector<int>{4, 4, 4, 4}));
  EXPECT_EQ(run["gain"]["low"], nullptr);
}

}  // namespace
}  // namespace ripeline::view
