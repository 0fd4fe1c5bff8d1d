// Tests an SVG of a run: the requested range, tasks without labels, the shades of chunks, and that
// arrows cross no task.
#include "view/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/view/timelines.h"
#include "view/palette.h"

namespace ripeline::view {
namespace {

using core::Time;
using testing::HasSubstr;
using testing::Not;
using testing_support::Drawn;

Drawn drawn(const std::string& schedule, int ranks, int microbatches) {
  spec::ElaborateOptions options;
  options.defines = {{"ranks", ranks}};
  return Drawn(schedule, microbatches, {}, options);
}

// The numbers that the pattern captures, one for each match.
std::vector<double> numbers_in(const std::string& text, const std::string& pattern) {
  std::vector<double> found;
  const std::regex regex(pattern);
  for (auto it = std::sregex_iterator(text.begin(), text.end(), regex);
       it != std::sregex_iterator(); ++it) {
    found.push_back(std::stod((*it)[1]));
  }
  return found;
}

TEST(Svg, is_as_wide_as_it_is_told) {
  const Drawn run("bf", 8);
  for (const int width : {320, 672, 1200, 3000}) {
    const std::string text = svg({{"bf", &run.timeline}}, {.width = width});
    const std::string as_text = std::to_string(width);
    EXPECT_THAT(text, HasSubstr("width=\"" + as_text + "\" height="));
    // Everything is inside the picture; texts are measured in the widest font that they may have.
    for (const double x : numbers_in(text, R"re( x="([0-9.]+)")re")) EXPECT_LE(x, width);
    const std::regex label(R"re(<text x="([0-9.]+)" y="[0-9.]+" class="small">([^<]*)<)re");
    for (auto it = std::sregex_iterator(text.begin(), text.end(), label);
         it != std::sregex_iterator(); ++it) {
      EXPECT_LE(std::stod((*it)[1]) + 6.0 * static_cast<double>((*it)[2].length()), width * 1.02)
          << (*it)[2];
    }
  }
}

TEST(Svg, shows_the_range_alone) {
  const Drawn run("1f1b", 8);
  const Time unit{run.timeline.run().unit.nanoseconds};
  const std::string all = svg({{"1f1b", &run.timeline}});
  EXPECT_THAT(all, Not(HasSubstr("shown: ")));
  const std::string part =
      svg({{"1f1b", &run.timeline}}, {.range = {.begin = 10 * unit, .end = 20 * unit}});
  EXPECT_THAT(part, HasSubstr(">shown: 10 to 20 of 33<"));
  EXPECT_THAT(part, Not(HasSubstr("<title>0F0 ")));  // it runs from 0 to 1
  EXPECT_THAT(part, Not(HasSubstr("<title>0B7 ")));  // it runs from 31 to 33
  // The picture has the tasks that run in the range, and labels for times on the longer axis.
  std::size_t expected = 0;
  for (const Box& b : run.timeline.boxes()) expected += b.end > 10 * unit && b.start < 20 * unit;
  EXPECT_EQ(numbers_in(part, R"re(<title>([0-9])[FB])re").size(), expected);
  for (const char* mark : {">10<", ">20<"}) EXPECT_THAT(part, HasSubstr(mark));
  EXPECT_THAT(part, Not(HasSubstr(">21</text>\n<line")));
  // Tasks that are only partly in the range are cut at its edge.
  const std::vector<double> left = numbers_in(part, R"re(<rect x="([0-9.]+)")re");
  const double plot = numbers_in(part, R"re(<rect x="([0-9.]+)"[^>]* class="idle")re").front();
  EXPECT_EQ(std::count_if(left.begin(), left.end(), [&](double x) { return x == plot; }) > 4, true);
  for (const double x : numbers_in(part, R"re(<rect x="([0-9.]+)"[^>]*height="22")re")) {
    EXPECT_GE(x, plot);
  }
}

// Tasks before the range have acquired and released; the picture starts with the amount held then.
TEST(Svg, shows_what_is_held_at_the_begin_of_the_range) {
  const Drawn run("1f1b", 8);
  const Time unit{run.timeline.run().unit.nanoseconds};
  // The last backwards of ranks 0 to 3 end at 33, 31, 29 and 27; at 30, ranks 2 and 3 hold nothing.
  const std::string part =
      svg({{"1f1b", &run.timeline}}, {.range = {.begin = 30 * unit, .end = 33 * unit}});
  const std::regex curve(R"re(d="M[0-9.]+ ([0-9.]+)H[0-9.]+V([0-9.]+))re");
  std::vector<bool> holds;
  for (auto it = std::sregex_iterator(part.begin(), part.end(), curve);
       it != std::sregex_iterator(); ++it) {
    holds.push_back(std::stod((*it)[2]) < std::stod((*it)[1]));
  }
  EXPECT_EQ(holds, (std::vector<bool>{true, true, false, false}));
}

TEST(Svg, leaves_out_numbers_that_do_not_fit_and_says_so) {
  const Drawn few("1f1b", 8);
  EXPECT_THAT(svg({{"few", &few.timeline}}), HasSubstr(">numbers are microbatches<"));
  const Drawn many = drawn("1f1b", 8, 64);
  const std::string text = svg({{"many", &many.timeline}});
  EXPECT_THAT(text, HasSubstr(">numbers are microbatches, left out where they do not fit<"));
  EXPECT_THAT(text, Not(HasSubstr("too narrow to be seen")));
  EXPECT_THAT(text, HasSubstr("<title>3B63 "));
}

TEST(Svg, draws_how_busy_an_engine_is_where_tasks_are_too_narrow_and_says_so) {
  const Drawn run = drawn("1f1b", 8, 512);
  const std::string text = svg({{"1f1b", &run.timeline}});
  EXPECT_THAT(text, HasSubstr(">tasks too narrow to be seen: each colour is as high as its share"));
  EXPECT_THAT(text, Not(HasSubstr("numbers")));
  EXPECT_THAT(text, Not(HasSubstr("<title>0F")));
  // In this part of the run the tasks are wide enough.
  const Time unit{run.timeline.run().unit.nanoseconds};
  const std::string part = svg({{"1f1b", &run.timeline}}, {.range = {.end = 40 * unit}});
  EXPECT_THAT(part, Not(HasSubstr("too narrow to be seen")));
  EXPECT_THAT(part, HasSubstr("<title>0F0 "));
}

TEST(Svg, draws_chunks_in_shades_and_says_so) {
  const Drawn one("1f1b", 4);
  EXPECT_THAT(svg({{"one", &one.timeline}}), Not(HasSubstr("chunk")));
  const Drawn two("zb_v", 4);
  const std::string text = svg({{"two", &two.timeline}});
  EXPECT_THAT(text, HasSubstr(">dark is chunk 0, light is chunk 1<"));
  const Palette palette(two.timeline.facts());
  ASSERT_EQ(palette.size(), 6U);
  for (std::size_t shade = 0; shade < palette.size(); ++shade) {
    EXPECT_THAT(text, HasSubstr("<g class=\"box\" fill=\"" + hex(palette[shade]) + "\">"));
  }
  // Chunks are marked only if there are more than two.
  EXPECT_TRUE(numbers_in(text, R"re(<rect x="([0-9.]+)"[^>]*height="2"/>)re").empty());
  spec::ElaborateOptions options;
  options.defines = {{"chunks", 4}};
  const Drawn four("interleaved_1f1b", 4, {}, options);
  const std::string marked = svg({{"four", &four.timeline}});
  EXPECT_THAT(marked, HasSubstr("by the mark below: chunks 0 to 3<"));
  EXPECT_EQ(numbers_in(marked, R"re(<rect x="([0-9.]+)"[^>]*height="2"/>)re").size(),
            four.timeline.boxes().size());
}

TEST(Svg, begins_with_what_the_run_was_and_came_to) {
  const Drawn run("1f1b", 8);
  const std::string text = svg({{"a title", &run.timeline}});
  for (const char* fact : {">program one_f_one_b<", ">ranks 4<", ">microbatches 8<", ">wall 33<",
                           ">bubble by wall 9 (27.27 %)<", ">peak activation 1..4<"}) {
    EXPECT_THAT(text, HasSubstr(fact));
  }
}

struct Line {
  double x1, y1, x2, y2;
};
struct Frame {
  double x, y, width, height;
  // Whether the line crosses the inside of the frame; kEdge allows for the rounding of numbers.
  [[nodiscard]] bool is_met_by(const Line& line) const {
    constexpr double kEdge = 0.1;
    return std::max(line.x1, line.x2) > x + kEdge &&
           std::min(line.x1, line.x2) < x + width - kEdge &&
           std::max(line.y1, line.y2) > y + kEdge &&
           std::min(line.y1, line.y2) < y + height - kEdge;
  }
};

// The lines of each arrow, read from paths that have only M, H and V.
std::vector<std::vector<Line>> arrows_of(const std::string& text) {
  std::vector<std::vector<Line>> arrows;
  const std::regex wait(R"re(class="wait" d="M([0-9.]+) ([0-9.]+)([^"]*)")re");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), wait); it != std::sregex_iterator();
       ++it) {
    double x = std::stod((*it)[1]);
    double y = std::stod((*it)[2]);
    std::istringstream rest((*it)[3]);
    arrows.emplace_back();
    char way = 0;
    double to = 0;
    while (rest >> way >> to) {
      const Line line{x, y, way == 'H' ? to : x, way == 'V' ? to : y};
      arrows.back().push_back(line);
      x = line.x2;
      y = line.y2;
    }
  }
  return arrows;
}

std::vector<Frame> stuck_of(const std::string& text) {
  std::vector<Frame> frames;
  const std::regex rect(
      R"re(<rect x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)" class="stuck")re");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), rect); it != std::sregex_iterator();
       ++it) {
    frames.push_back(
        {std::stod((*it)[1]), std::stod((*it)[2]), std::stod((*it)[3]), std::stod((*it)[4])});
  }
  return frames;
}

void expect_arrows_pass_by(const std::string& text, std::size_t arrows) {
  const auto found = arrows_of(text);
  const auto frames = stuck_of(text);
  EXPECT_EQ(found.size(), arrows);
  for (const std::vector<Line>& arrow : found) {
    ASSERT_GE(arrow.size(), 3U);
    for (const Line& line : arrow) {
      for (const Frame& frame : frames) EXPECT_FALSE(frame.is_met_by(line));
    }
  }
  // No two arrows run up or down at the same position on one track.
  for (std::size_t a = 0; a < found.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const Line& one = found[a][1];
      const Line& other = found[b][1];
      if (one.x1 != one.x2 || other.x1 != other.x2 || one.x1 != other.x1) continue;
      EXPECT_TRUE(std::max(one.y1, one.y2) < std::min(other.y1, other.y2) ||
                  std::max(other.y1, other.y2) < std::min(one.y1, one.y2));
    }
  }
}

TEST(Svg, arrows_of_a_deadlock_cross_no_task) {
  const Drawn run(testing_support::kStuckChain, 3);
  const std::string text = svg({{"stuck", &run.timeline, stuck_at_end(run.timeline)}});
  expect_arrows_pass_by(text, 2);
  // Random cycles of waits among any tasks, in any order; programs hardly ever have such cycles.
  const Drawn many = drawn("zb_v", 8, 8);
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(round);
    Stuck stuck;
    stuck.circle = 2 + random() % 14;
    for (std::size_t i = 0; i < stuck.circle; ++i) {
      const auto lane = static_cast<core::LaneId>(random() % many.timeline.facts().lanes.size());
      stuck.waits.push_back({{lane, static_cast<int>(i)}, "another", {}});
    }
    expect_arrows_pass_by(svg({{"stuck", &many.timeline, stuck}}), stuck.circle);
  }
}

// If the range ends before the deadlock, only the text about the deadlock is shown.
TEST(Svg, shows_what_a_run_sticks_at_only_where_it_ends) {
  const Drawn run(testing_support::kStuckChain, 3);
  const Time unit{run.timeline.run().unit.nanoseconds};
  const std::string text =
      svg({{"stuck", &run.timeline, stuck_at_end(run.timeline)}}, {.range = {.end = 1 * unit}});
  EXPECT_TRUE(stuck_of(text).empty());
  EXPECT_THAT(text, HasSubstr("0F2 waits for room in activation of stage 0: 2 of 2 held"));
}

}  // namespace
}  // namespace ripeline::view
