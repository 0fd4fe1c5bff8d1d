// Tests pictures by what their SVG contains.
#include "view/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

#include "tests/view/timelines.h"
#include "view/svg.h"

namespace ripeline::view::picture_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::Drawn;

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

// Whether every element that opens is closed, in order.
bool well_formed(const std::string& svg) {
  std::vector<std::string> open;
  const std::regex tag(R"(<(/?)([a-zA-Z]+)[^<>]*?(/?)>)");
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), tag); it != std::sregex_iterator();
       ++it) {
    if ((*it)[1].length() > 0) {
      if (open.empty() || open.back() != (*it)[2]) return false;
      open.pop_back();
    } else if ((*it)[3].length() == 0) {
      open.push_back((*it)[2]);
    }
  }
  return open.empty();
}

TEST(Svg, draws_each_task_with_its_microbatch) {
  const Drawn run("1f1b", 3);
  const std::string text = svg({{"1f1b", &run.timeline}});
  EXPECT_TRUE(well_formed(text));
  EXPECT_EQ(count_of(text, "<title>2F1 "), 1U);
  EXPECT_EQ(count_of(text, "<title>0B2 "), 1U);
  // Four ranks run F and B of three microbatches; each row shows three numbers for each op.
  std::size_t titles = 0;
  for (const char* op : {"F", "B"}) {
    for (int s = 0; s < 4; ++s) titles += count_of(text, "<title>" + std::to_string(s) + op);
  }
  EXPECT_EQ(titles, 24U);
  EXPECT_EQ(count_of(text, ">2</text>"), 8U + count_of(text, "text-anchor=\"middle\">2</text>"));
  EXPECT_THAT(text, HasSubstr(">activation 3<"));
  EXPECT_THAT(text, Not(HasSubstr("http://www.w3.org/1999")));
}

// Expects the bytes that are recorded; with RIPELINE_ACCEPT=1, writes them instead.
void expect_golden(const std::string& name, const std::string& schedule) {
  spec::ElaborateOptions options;
  options.defines = {{"ranks", 2}};
  const Drawn run(schedule, 3, {}, options);
  const std::string text = svg({{name, &run.timeline}}, {.width = 600});
  const std::string path = RIPELINE_SOURCE_DIR "/tests/view/goldens/" + name + ".svg";
  if (std::getenv("RIPELINE_ACCEPT") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST(Svg, is_the_golden_one) { expect_golden("1f1b", "1f1b"); }
TEST(Svg, of_tasks_at_once_is_the_golden_one) { expect_golden("pairs", testing_support::kPairs); }

TEST(Svg, two_tasks_at_once_share_the_height) {
  const Drawn run(testing_support::kPairs, 8);
  const std::string text = svg({{"pairs", &run.timeline}});
  EXPECT_TRUE(well_formed(text));
  EXPECT_THAT(text, HasSubstr(">two tasks at once share the height<"));
  EXPECT_THAT(text, HasSubstr("<title>1B2 14.25 - 16.6562, beside 1F4 1F5</title></path>"));
  EXPECT_THAT(text, Not(HasSubstr("rank 1 beside")));
  // The sum of the shares of many tasks is no higher than the engine's row.
  const Drawn many(testing_support::kPairs, 3000);
  const std::string shares = svg({{"pairs", &many.timeline}});
  EXPECT_EQ(count_of(shares, "<title>"), 0U);
  const std::regex bin(R"(M([0-9.]+) ([0-9.]+)h2v-([0-9.e-]+)h)");
  std::map<std::string, double> heights;
  double highest = 0;
  for (auto it = std::sregex_iterator(shares.begin(), shares.end(), bin);
       it != std::sregex_iterator(); ++it) {
    // Only the shares of the last rank count, since no other rank is below it.
    if (std::stod((*it)[2]) < 195) continue;
    highest = std::max(highest, heights[(*it)[1]] += std::stod((*it)[3]));
  }
  EXPECT_GT(highest, 25);
  EXPECT_LT(highest, 32.2);
}

TEST(Svg, panels_share_one_axis) {
  const Drawn fast("1f1b", 2);
  const Drawn slow("1f1b", 8);
  const std::string alone = svg({{"fast", &fast.timeline}});
  const std::string both = svg({{"fast", &fast.timeline}, {"slow", &slow.timeline}});
  EXPECT_EQ(count_of(both, "class=\"title\""), 2U);
  // The shorter and the longer run are drawn with lengths in proportion to their times.
  const std::regex end(
      R"re(x="([0-9.]+)" y="[0-9.]+" width="([0-9.]+)" height="22"><title>0B1 )re");
  std::smatch in_alone;
  std::smatch in_both;
  ASSERT_TRUE(std::regex_search(alone, in_alone, end));
  ASSERT_TRUE(std::regex_search(both, in_both, end));
  const double share =
      fast.timeline.in_unit(fast.timeline.end()) / slow.timeline.in_unit(slow.timeline.end());
  EXPECT_NEAR(std::stod(in_both[2]) / std::stod(in_alone[2]), share, 0.01);
}

TEST(Svg, many_tasks_are_drawn_together) {
  const Drawn run("1f1b", 2000);
  const std::string text = svg({{"1f1b", &run.timeline}});
  EXPECT_EQ(count_of(text, "<title>"), 0U);
  EXPECT_LT(text.size(), 400'000U);
  EXPECT_THAT(text, HasSubstr("<path fill=\"#a8320b\""));
}

TEST(Svg, draws_the_circle_of_a_stuck_run) {
  const Drawn run(testing_support::kStuckChain, 3);
  ASSERT_TRUE(run.report.stuck);
  const Stuck stuck = stuck_at_end(run.timeline);
  const std::string text = svg({{"stuck", &run.timeline, stuck}});
  EXPECT_TRUE(well_formed(text));
  EXPECT_EQ(count_of(text, "class=\"stuck\""), 2U);
  EXPECT_EQ(count_of(text, "class=\"wait\""), 2U);
  EXPECT_THAT(text, HasSubstr("0F2 waits for room in activation of stage 0: 2 of 2 held"));
}

TEST(Svg, names_are_escaped) {
  const Drawn run("1f1b", 1);
  const std::string text = svg({{"<b> & \"c\"", &run.timeline}});
  EXPECT_TRUE(well_formed(text));
  EXPECT_THAT(text, HasSubstr("&lt;b&gt; &amp; &quot;c&quot;"));
}

TEST(Axis, steps_are_round) {
  EXPECT_DOUBLE_EQ(axis_step(33, 10), 5);
  EXPECT_DOUBLE_EQ(axis_step(100, 10), 10);
  EXPECT_DOUBLE_EQ(axis_step(0.07, 7), 0.01);
  EXPECT_DOUBLE_EQ(axis_step(1200, 10), 200);
  EXPECT_DOUBLE_EQ(axis_step(0, 10), 0);
}

}  // namespace
}  // namespace ripeline::view::picture_test
