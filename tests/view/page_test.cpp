// Tests the HTML page by reading its content; tests/view/page_script_test.cpp runs its script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/view/pages.h"
#include "tests/view/timelines.h"
#include "view/html.h"
#include "view/run_facts.h"

namespace ripeline::view {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::count_of;
using testing_support::data_of;
using testing_support::Drawn;
using testing_support::Json;
using testing_support::of_steps;

// Decodes the page's data independently of the page's script.
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

TEST(Page, tells_idle_time_by_cause_where_the_cause_has_a_tint) {
  simulate::TimingOptions options;
  options.latency = 0.5;
  const Drawn run("bf", 8, options);
  const Json panel = data_of(html({{"bf", &run.timeline}})).at("panels").at(0);
  const auto tick = panel.at("tick").get<std::int64_t>();
  std::int64_t found = 0;
  for (const Json& row : panel.at("rows")) {
    Reader reader(row.at("idle").get<std::string>());
    while (!reader.done()) {
      reader.number();
      const std::int64_t length = reader.number() * tick;
      if (panel.at("causes").at(static_cast<std::size_t>(reader.number())).at("name") == "no room")
        found += length;
    }
  }
  std::int64_t expected = 0;
  for (const Row& row : run.timeline.rows()) {
    for (const trace::IdleEvent& idle : run.timeline.idle_of(row)) {
      if (idle.cause == trace::Cause::room) expected += (idle.end - idle.start).count();
    }
  }
  EXPECT_GT(expected, 0);
  EXPECT_EQ(found, expected);
}

std::string header_of(const std::string& page) {
  const std::size_t at = page.find("<div id=\"facts\">");
  return page.substr(at, page.find("<noscript>", at) - at);
}

TEST(Page, has_a_header_of_what_ran_and_how) {
  simulate::TimingOptions options;
  options.latency = 0.5;
  options.seed = 7;
  ASSERT_TRUE(simulate::Jitter::parse("lognormal=0.3,tails=2:5", options.jitter).ok());
  const Drawn run("interleaved_1f1b", 8, options);
  const std::vector<RunFact> facts = run_facts({"some.ripe", &run.timeline});
  std::map<std::string, std::string> by_name;
  std::string names;
  for (const RunFact& fact : facts) {
    by_name[fact.name] = fact.value;
    names += fact.name + "; ";
  }
  EXPECT_EQ(
      names,
      "program; ranks; params; dispatch; microbatches; wall; bubble by wall; peak activation; "
      "times; unit; ");
  EXPECT_EQ(by_name["program"], "interleaved_1f1b");
  EXPECT_EQ(by_name["params"], "b=2 chunks=2 f=1 ranks=4");
  EXPECT_EQ(by_name["dispatch"], "in order interleaved");
  EXPECT_EQ(by_name["microbatches"], "8");
  EXPECT_THAT(by_name["bubble by wall"], testing::MatchesRegex("[0-9.]+ \\([0-9.]+ %\\)"));
  EXPECT_THAT(by_name["peak activation"],
              testing::MatchesRegex("[0-9]+\\.\\.[0-9]+ activations of a stage"));
  EXPECT_EQ(by_name["times"],
            "simulated: costs of the program, latency 0.5, jitter lognormal=0.3,tails=2:5, drawn "
            "with seed 7");
  const std::string page = header_of(html({{"some.ripe", &run.timeline}}));
  for (const RunFact& fact : facts) {
    EXPECT_THAT(page, HasSubstr("<dt>" + fact.name + "</dt><dd>" + fact.value + "</dd>"));
  }
  EXPECT_THAT(page, Not(HasSubstr("<table>")));
}

TEST(Page, has_the_span_where_it_is_shorter_than_the_wall) {
  const Drawn run("zb_v", 8);
  const std::string page = header_of(html({{"zb_v", &run.timeline}}));
  EXPECT_THAT(page, HasSubstr("<dt>bubble by span</dt><dd>0 (0.00 %)</dd>"));
}

// A fact that all panels share appears once; any other fact has a column, with `-` where missing.
TEST(Page, has_a_line_in_the_header_for_each_panel) {
  const Drawn one("1f1b", 4);
  const Drawn other(testing_support::kStuckChain, 2);
  const std::string page =
      header_of(html({{"one & all", &one.timeline}, {"other", &other.timeline}}));
  EXPECT_THAT(page, HasSubstr("<dt>unit</dt><dd>unit</dd>"));
  EXPECT_THAT(page, HasSubstr("<tr><th></th><th>panel</th><th>program</th><th>ranks</th>"
                              "<th>params</th><th>dispatch</th><th>microbatches</th>"
                              "<th>wall</th><th>bubble by wall</th><th>peak activation</th></tr>"));
  EXPECT_THAT(page, HasSubstr("<tr><td>1</td><td>one &amp; all</td><td>one_f_one_b</td><td>4</td>"
                              "<td>b=2 f=1 ranks=4</td><td>in order one_f_one_b</td>"));
  EXPECT_THAT(page, HasSubstr("<tr><td>2</td><td>other</td><td>stuck</td><td>2</td>"
                              "<td>-</td><td>ready</td>"));
}

TEST(Page, knows_where_each_step_starts) {
  const Drawn run("1f1b", 4);
  const Timeline steps = of_steps(run, 3);
  const Json panel = data_of(html({{"steps", &steps}})).at("panels").at(0);
  EXPECT_EQ(panel.at("firstStep"), 5);
  const std::int64_t length = (run.timeline.end() - run.timeline.begin()).count();
  EXPECT_EQ(panel.at("steps"), Json({0, length, 2 * length}));
  EXPECT_THAT(header_of(html({{"steps", &steps}})), HasSubstr("<dt>steps</dt><dd>5 to 7</dd>"));
}

TEST(Page, opens_compact_from_64_ranks_on) {
  const auto is_compact = [](int ranks) {
    spec::ElaborateOptions options;
    options.defines = {{"ranks", ranks}};
    const Drawn small("1f1b", 1);
    const Drawn run("1f1b", 2, {}, options);
    return data_of(html({{"small", &small.timeline}, {"large", &run.timeline}})).at("compact");
  };
  EXPECT_EQ(is_compact(63), false);
  EXPECT_EQ(is_compact(64), true);
}

TEST(Page, says_without_a_script_what_is_missing) {
  const Drawn run("1f1b", 2);
  const std::string page = html({{"1f1b", &run.timeline}});
  const std::size_t at = page.find("<noscript>");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(page.substr(at, page.find("</noscript>") - at), HasSubstr("JavaScript"));
  // The tools need the script, so they are hidden at first.
  EXPECT_THAT(page, HasSubstr("<span id=\"tools\" hidden>"));
}

// The page's script looks for these elements by id.
TEST(Page, has_each_element_that_its_script_uses) {
  const Drawn run("1f1b", 2);
  const std::string page = html({{"1f1b", &run.timeline}});
  const std::string asks = "getElementById('";
  std::size_t asked = 0;
  for (std::size_t at = page.find(asks); at != std::string::npos; at = page.find(asks, at + 1)) {
    const std::size_t name = at + asks.size();
    const std::string id = page.substr(name, page.find('\'', name) - name);
    EXPECT_EQ(testing_support::count_of(page, " id=\"" + id + "\""), 1U) << id;
    ++asked;
  }
  EXPECT_GT(asked, 5U);
}

}  // namespace
}  // namespace ripeline::view
