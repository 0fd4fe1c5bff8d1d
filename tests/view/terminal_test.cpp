// Tests timelines as text.
#include "view/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/view/timelines.h"

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

}  // namespace
}  // namespace ripeline::view
