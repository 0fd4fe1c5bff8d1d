// Pictures: what an SVG and a page hold, read back.
#include "view/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/view/timelines.h"
#include "view/html.h"
#include "view/svg.h"

namespace ripeline::view {
namespace {

using core::Time;
using testing::HasSubstr;
using testing::Not;
using testing_support::Drawn;
using Json = nlohmann::json;

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

// Every element that opens closes, in order.
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
  // Four ranks' F and B of three microbatches, and three numbers of each on every row.
  std::size_t titles = 0;
  for (const char* op : {"F", "B"}) {
    for (int s = 0; s < 4; ++s) titles += count_of(text, "<title>" + std::to_string(s) + op);
  }
  EXPECT_EQ(titles, 24U);
  EXPECT_EQ(count_of(text, ">2</text>"), 8U + count_of(text, "text-anchor=\"middle\">2</text>"));
  EXPECT_THAT(text, HasSubstr(">activation 3<"));
  EXPECT_THAT(text, Not(HasSubstr("http://www.w3.org/1999")));
}

// The same bytes as last time; RIPELINE_ACCEPT=1 writes them instead.
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
  // What is drawn of many is no higher than the engine.
  const Drawn many(testing_support::kPairs, 3000);
  const std::string shares = svg({{"pairs", &many.timeline}});
  EXPECT_EQ(count_of(shares, "<title>"), 0U);
  const std::regex bin(R"(M([0-9.]+) ([0-9.]+)h2v-([0-9.e-]+)h)");
  std::map<std::string, double> heights;
  double highest = 0;
  for (auto it = std::sregex_iterator(shares.begin(), shares.end(), bin);
       it != std::sregex_iterator(); ++it) {
    // The last rank's: it has no other below it.
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
  // The shorter run is as long as its share of the longer one.
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

// What the page's script does, once more.
class Reader {
 public:
  explicit Reader(const std::string& base64) {
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::uint32_t bits = 0;
    int have = 0;
    for (const char c : base64) {
      if (c == '=') break;
      bits = bits << 6U | static_cast<std::uint32_t>(digits.find(c));
      have += 6;
      if (have >= 8) bytes_ += static_cast<char>(bits >> static_cast<unsigned>(have -= 8) & 255U);
    }
  }
  std::int64_t number() {
    std::int64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.at(at_++));
      value |= static_cast<std::int64_t>(byte & 127U) << shift;
      if (byte < 128) return value;
    }
  }
  std::int64_t signed_number() {
    const std::int64_t n = number();
    return n % 2 != 0 ? -(n + 1) / 2 : n / 2;
  }
  [[nodiscard]] bool done() const { return at_ == bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

Json data_of(const std::string& page) {
  const std::string open = "<script id=\"data\" type=\"application/json\">";
  const std::size_t at = page.find(open) + open.size();
  return Json::parse(page.substr(at, page.find("</script>", at) - at));
}

void expect_row(const Drawn& run, const Json& panel, const Row& row, const Json& data) {
  Reader reader(data.at("data").get<std::string>());
  Reasons reasons(run.timeline);
  const auto tick = panel.at("tick").get<std::int64_t>();
  std::map<std::int64_t, std::int64_t> last;
  std::int64_t time = 0;
  for (int id = row.first; id < row.end; ++id) {
    const Box& b = run.timeline.box(id);
    const Reason& reason = reasons.of(id);
    EXPECT_EQ(time += reader.number() * tick, b.start.count());
    EXPECT_EQ(time += reader.number() * tick, b.end.count());
    const std::int64_t lane = data.at("firstLane").get<int>() + reader.number();
    EXPECT_EQ(lane, b.task.lane);
    const std::int64_t m = (last.count(lane) > 0 ? last[lane] : -1) + 1 + reader.signed_number();
    EXPECT_EQ(last[lane] = m, b.task.microbatch);
    EXPECT_EQ(reader.signed_number(), 0);
    const std::int64_t why = reader.number();
    EXPECT_EQ(why % 7, static_cast<int>(reason.why));
    if (reason.why == Reason::Why::room) {
      EXPECT_EQ(why / 7, reason.pool + 1);
    }
    if (why % 7 > (data.contains("half") ? 0 : 1)) {
      EXPECT_EQ(reader.number(), run.timeline.box(reason.box).task.lane);
      EXPECT_EQ(m + reader.signed_number(), run.timeline.box(reason.box).task.microbatch);
    }
    if (why % 7 > 0) {
      EXPECT_EQ(b.start.count() - reader.number() * tick, reason.at.count());
    }
  }
  EXPECT_TRUE(reader.done());
}

TEST(Page, holds_every_task_and_what_it_waited_for) {
  simulate::TimingOptions options;
  options.latency = 0.5;
  ASSERT_TRUE(simulate::Jitter::parse("lognormal=0.3", options.jitter).ok());
  for (const char* schedule : {"bf", "interleaved_1f1b", "bfw", testing_support::kPairs}) {
    SCOPED_TRACE(schedule);
    const Drawn run(schedule, 8, options);
    ASSERT_TRUE(run.status.ok());
    const Json panel = data_of(html({{schedule, &run.timeline}})).at("panels").at(0);
    ASSERT_EQ(panel.at("rows").size(), run.timeline.rows().size());
    for (std::size_t i = 0; i < run.timeline.rows().size(); ++i) {
      const Row& row = run.timeline.rows()[i];
      const Json& data = panel.at("rows").at(i);
      expect_row(run, panel, row, data);
      ASSERT_EQ(data.contains("half"), run.timeline.rows_of_engine(row).size() > 1);
      if (data.contains("half")) {
        EXPECT_EQ(data.at("half"), row.second ? 1 : 0);
      }
    }
  }
}

TEST(Page, needs_nothing_beside_it) {
  const Drawn run("bf", 4);
  const std::string page = html({{"</script><script>alert(1)", &run.timeline}});
  for (const char* outside : {"http:", "https:", "src=", "href=", "import ", "fetch("}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_EQ(count_of(page, "<script"), 2U);
  EXPECT_EQ(count_of(page, "</script>"), 2U);
}

TEST(Page, times_count_in_their_greatest_common_tick) {
  const Drawn run("1f1b", 4);
  EXPECT_EQ(data_of(html({{"1f1b", &run.timeline}})).at("panels").at(0).at("tick"), 1'000'000);
}

TEST(Axis, steps_are_round) {
  EXPECT_DOUBLE_EQ(axis_step(33, 10), 5);
  EXPECT_DOUBLE_EQ(axis_step(100, 10), 10);
  EXPECT_DOUBLE_EQ(axis_step(0.07, 7), 0.01);
  EXPECT_DOUBLE_EQ(axis_step(1200, 10), 200);
  EXPECT_DOUBLE_EQ(axis_step(0, 10), 0);
}

}  // namespace
}  // namespace ripeline::view
