// Timelines as text, and runs side by side.
#include "view/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/view/timelines.h"
#include "view/compare.h"

namespace ripeline::view {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::Drawn;

spec::ElaborateOptions ranks(std::int64_t n) {
  spec::ElaborateOptions options;
  options.defines = {{"ranks", n}};
  return options;
}

TEST(Terminal, shows_each_task_and_its_microbatch) {
  const Drawn run("1f1b", 3, {}, ranks(2));
  EXPECT_EQ(terminal(run.timeline, {.width = 60}),
            "unit    |0        |5        |10  busy\n"
            "rank 0  F0F1....B0--F2B1--..B2--  75%\n"
            "rank 1  ..F0B0--F1B1--F2B2--....  75%\n"
            "F B and the microbatch; . is idle\n"
            "activation, most at once per rank: 2 1\n");
}

TEST(Terminal, shows_the_microbatches_of_lanes_that_have_some) {
  const Drawn run("chimera", 5, {}, ranks(2));
  EXPECT_THAT(terminal(run.timeline, {.width = 60}),
              HasSubstr("\nrank 0  F0F1B1--B0--F2F3B3--B2--F4......B4--  83%\n"
                        "rank 1  F1F0B0--B1--F3F2B2--B3--..F4B4--....  83%\n"));
  EXPECT_FALSE(task_named(run.timeline, "0F1"));
  EXPECT_FALSE(task_named(run.timeline, "2F5"));
  ASSERT_TRUE(task_named(run.timeline, "2F3"));
  EXPECT_EQ(run.timeline.facts().microbatch_of(*task_named(run.timeline, "2F3")), 3);
}

TEST(Terminal, keeps_to_its_width) {
  for (const int width : {40, 80, 200}) {
    const Drawn run("1f1b", 64);
    std::istringstream lines(terminal(run.timeline, {.width = width}));
    std::string line;
    int rows = 0;
    while (std::getline(lines, line)) {
      if (!line.starts_with("rank ") && !line.starts_with("unit")) continue;
      EXPECT_LE(line.size(), static_cast<std::size_t>(width)) << line;
      ++rows;
    }
    EXPECT_EQ(rows, 5);
  }
}

TEST(Terminal, a_part_is_drawn_at_its_own_scale) {
  const Drawn run("1f1b", 64);
  const std::string all = terminal(run.timeline, {.width = 60});
  EXPECT_THAT(all, HasSubstr("--begin and --end"));
  EXPECT_THAT(all, Not(HasSubstr("F9")));
  const auto unit = core::Time{run.timeline.run().unit.nanoseconds};
  const std::string part =
      terminal(run.timeline, {.width = 60, .range = {.begin = 27 * unit, .end = 39 * unit}});
  EXPECT_THAT(part, HasSubstr("F9"));
}

TEST(Terminal, colours_only_when_asked) {
  const Drawn run("1f1b", 3);
  EXPECT_THAT(terminal(run.timeline, {}), Not(HasSubstr("\x1b")));
  const std::string colour = terminal(run.timeline, {.colour = true});
  EXPECT_THAT(colour, HasSubstr("\x1b[48;2;166;212;245;38;2;17;17;17m"));  // F
  EXPECT_THAT(colour, HasSubstr("\x1b[0m"));
}

TEST(Compare, says_when_memory_is_not_equal) {
  const Drawn one("1f1b", 8);
  const Drawn other("gpipe", 8);
  const Drawn hint("bf", 8);
  std::string text;
  ASSERT_TRUE(compare_text({{"1f1b", &one.timeline}, {"gpipe", &other.timeline}}, text).ok());
  EXPECT_THAT(text, HasSubstr("memory is not equal: rank 0 holds at most 4 of activation with "
                              "1f1b, and 8 with gpipe\n"));
  ASSERT_TRUE(compare_text({{"1f1b", &one.timeline}, {"bf", &hint.timeline}}, text).ok());
  EXPECT_THAT(text, HasSubstr("memory is equal, rank by rank\n"));
}

TEST(Compare, figures_are_those_of_the_simulator) {
  const Drawn run("1f1b", 8);
  const Figures got = figures(run.timeline);
  EXPECT_EQ(got.makespan, 33);
  EXPECT_EQ(got.span, run.timeline.in_unit(run.report.span));
  EXPECT_EQ(got.bubble, 9);
  ASSERT_EQ(got.peaks.size(), 1U);
  EXPECT_EQ(got.peaks[0].per_rank, (std::vector<std::int64_t>{4, 3, 2, 1}));
}

TEST(Compare, units_must_be_of_one_length) {
  const Drawn one("1f1b", 2);
  simulate::TimingOptions options;
  options.unit = simulate::unit_named("us");
  const Drawn other("1f1b", 2, options);
  std::string text;
  EXPECT_EQ(compare_text({{"a", &one.timeline}, {"b", &other.timeline}}, text).message(),
            "a counts in unit and b in us");
}

}  // namespace
}  // namespace ripeline::view
