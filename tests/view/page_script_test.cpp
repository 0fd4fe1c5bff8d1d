// Tests the page's script with Node.js; the tests are skipped if Node.js is not installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/print.h"
#include "tests/view/pages.h"
#include "tests/view/timelines.h"
#include "view/html.h"

namespace ripeline::view {
namespace {

using testing::HasSubstr;
using testing_support::Drawn;
using testing_support::Json;
using testing_support::of_steps;

bool has_node() {
  static const bool has = std::system("node --version >/dev/null 2>&1") == 0;
  return has;
}

std::string run_node(const std::string& script, const std::string& flags = "") {
  std::string path = (std::filesystem::temp_directory_path() / "ripeline-page-XXXXXX").string();
  close(mkstemp(path.data()));
  std::filesystem::rename(path, path + ".js");
  path += ".js";
  std::ofstream(path, std::ios::binary) << script;
  FILE* pipe = popen(("timeout 60 node " + flags + " '" + path + "' 2>&1").c_str(), "r");
  std::array<char, 4096> buffer{};
  std::string out;
  for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    out.append(buffer.data(), n);
  }
  if (pclose(pipe) != 0) ADD_FAILURE() << out;
  std::filesystem::remove(path);
  return out;
}

std::string text_of_file(const std::string& name) {
  std::ifstream file(RIPELINE_SOURCE_DIR "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The result of `script` in a fake browser that has opened the page at `address`.
Json in_page(const std::string& page, const std::string& script, const std::string& address = "") {
  const std::string data =
      testing_support::text_within(page, "<script id=\"data\" type=\"application/json\">");
  const std::string out =
      run_node("const HASH = " + Json(address).dump() + ", DATA = " + Json(data).dump() + ";\n" +
               text_of_file("tests/view/fake_browser.js") +
               testing_support::text_within(page, "</script>\n<script>") +
               "\nconsole.log(JSON.stringify((() => { " + script + " })()));\n");
  const Json json = Json::parse(out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << out;
  return json;
}

class PageScript : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_node()) GTEST_SKIP() << "there is no node here to run the page's script";
  }
};

TEST_F(PageScript, reads_every_task_and_what_it_waited_for) {
  simulate::TimingOptions options;
  options.latency = 0.5;
  ASSERT_TRUE(simulate::Jitter::parse("lognormal=0.3", options.jitter).ok());
  for (const char* schedule : {"bf", "interleaved_1f1b", "bfw", testing_support::kPairs}) {
    SCOPED_TRACE(schedule);
    const Drawn run(schedule, 8, options);
    const Json rows = in_page(html({{schedule, &run.timeline}}), R"js(
      const panel = data.panels[0];
      return panel.rows.map(row => [...row.start.keys()].map(i => {
        const reason = reasonOf(panel, row, i);
        return [nameOf(panel, row.lane[i], row.mb[i]), row.start[i], row.end[i], reason.why,
                reason.why === NOTHING ? '' : nameOf(panel, reason.lane, reason.mb)];
      }));)js");
    ASSERT_EQ(rows.size(), run.timeline.rows().size());
    Reasons reasons(run.timeline);
    const auto name = [&](int box) {
      return core::task_name(run.timeline.facts(), run.timeline.box(box).task);
    };
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const Row& row = run.timeline.rows()[r];
      ASSERT_EQ(rows[r].size(), static_cast<std::size_t>(row.end - row.first));
      for (int id = row.first; id < row.end; ++id) {
        const Box& b = run.timeline.box(id);
        const Reason& reason = reasons.of(id);
        const bool waited = reason.why != Reason::Why::nothing;
        EXPECT_EQ(rows[r][static_cast<std::size_t>(id - row.first)],
                  Json({name(id), b.start.count(), b.end.count(), static_cast<int>(reason.why),
                        waited ? name(reason.box) : ""}));
      }
    }
  }
}

// A text that a user types, with the resulting address and the resulting message.
struct Typed {
  const char* text;
  const char* address;
  const char* says;
};
void expect_found(const std::string& page, const std::vector<Typed>& all) {
  for (const Typed& typed : all) {
    SCOPED_TRACE(typed.text);
    const Json found = in_page(page, "type(" + Json(typed.text).dump() + R"js();
      return [location.hash, said.textContent, said.className];)js");
    EXPECT_EQ(found[0], typed.address);
    EXPECT_THAT(found[1].get<std::string>(), HasSubstr(typed.says));
    EXPECT_EQ(found[2], *typed.address == '\0' ? "error" : "");
  }
}

TEST_F(PageScript, finds_a_task_by_its_name) {
  const Drawn run("1f1b", 8);
  expect_found(
      html({{"1f1b", &run.timeline}}),
      {{"2F0", "#2F0", "2F0  2 - 3 (1 unit) · waited for the message of 1F0 until 2"},
       {" 0b3 ", "#0B3", "0B3  "},
       {"9F0", "", "'9F0' is no task of 1f1b: stages 0 to 3, ops F B, microbatches 0 to 7, as 0F0"},
       {"0F8", "", "'0F8' is no task of 1f1b"},
       {"0W1", "", "'0W1' is no task of 1f1b"},
       {"hello there", "", "expected a stage, an op and a microbatch, as 2F0"},
       {"2:0F0", "", "there is no panel 2: they are 1 to 1"},
       {"0F0@1", "", "there is no step 1: the only one is 0"}});
}

TEST_F(PageScript, finds_a_task_of_a_panel_and_of_a_step) {
  const Drawn run("1f1b", 4);
  const Drawn stuck(testing_support::kStuckChain, 3);
  const Timeline steps = of_steps(run, 3);
  expect_found(html({{"steps", &steps}, {"stuck", &stuck.timeline}}),
               {{"2F0", "#1:2F0@7", "step 7"},
                {"2F0@6", "#1:2F0@6", "step 6"},
                {"2:1F1", "#2:1F1", "1F1  "},
                {"2:0B0", "", "0B0 did not run"},
                {"1:2F0@4", "", "there is no step 4: they are 5 to 7"}});
}

TEST_F(PageScript, finds_the_microbatches_that_a_lane_has) {
  const Drawn run(
      "\npipeline p { microbatches any; stages 2; place s on s;\n"
      "  op F forward { needs F at prev; }\n"
      "  op P on m where m % 3 == 2 { needs F at prev; }\n  dispatch ready; }\n",
      9);
  ASSERT_TRUE(run.status.ok());
  expect_found(html({{"p", &run.timeline}}), {{"1P5", "#1P5", "1P5  "}, {"1P4", "", "is no task"}});
}

TEST_F(PageScript, opens_at_the_task_of_the_address_and_draws_its_chain) {
  const Drawn run("1f1b", 8);
  const std::string page = html({{"1f1b", &run.timeline}});
  const Json found = in_page(page, R"js(return [said.textContent,
      chosen.chain.map(({ row, i }) => nameOf(chosen.panel, row.lane[i], row.mb[i])).join(' '),
      texts().filter(one => one.text === '3B0').length];)js",
                             "#3B0");
  EXPECT_THAT(found[0].get<std::string>(), HasSubstr("3B0  4 - 6"));
  EXPECT_EQ(found[1], "3B0 3F0 2F0 1F0 0F0");
  EXPECT_EQ(found[2], 2);  // in its box and in the flag
  EXPECT_EQ(in_page(page, "return [said.className, field.value];", "#9F9"), Json({"error", "9F9"}));
}

TEST_F(PageScript, goes_to_a_task_that_is_out_of_view_or_too_narrow) {
  spec::ElaborateOptions options;
  options.defines = {{"ranks", 256}};
  const Drawn run("1f1b", 512, {}, options);
  const Json found = in_page(html({{"1f1b", &run.timeline}}), R"js(type('200B500');
      const left = x(chosen.row.start[chosen.i]), right = x(chosen.row.end[chosen.i]), top = chosen.row.y - view.top;
      return [left > LEFT && right < wide(), right - left >= 14, top > chosen.panel.head && top < high() - 10,
              texts().some(one => one.text === '200B500')];)js");
  EXPECT_EQ(found, Json({true, true, true, true}));
}

TEST_F(PageScript, works_by_keyboard) {
  const Drawn run("1f1b", 8);
  EXPECT_EQ(in_page(html({{"1f1b", &run.timeline}}), R"js(
      const at = [], key = k => { press(k); at.push(chosen ? location.hash : '-'); };
      for (const k of ['n', 'n', 'p', 'Escape']) key(k);
      type('1F0'); key('w');
      const scale = view.scale; press('+'); at.push(view.scale > scale); press('0'); at.push(view.scale === scale);
      press('c'); at.push(view.compact); press('c'); at.push(view.compact);
      return at;)js"),
            Json({"#0F0", "#0F1", "#0F0", "-", "#0F0", true, true, true, false}));
}

// A page with a range opens at that range; the key `0` shows the complete run.
TEST_F(PageScript, opens_on_the_range) {
  const Drawn run("1f1b", 8);
  const core::Time unit{run.timeline.run().unit.nanoseconds};
  const std::string page = html({{"1f1b", &run.timeline}}, {.begin = 10 * unit, .end = 20 * unit});
  EXPECT_EQ(in_page(page, R"js(
      const shown = () => [view.from / 1e6, Math.round(((wide() - LEFT) / view.scale) / 1e6)];
      const first = shown();
      press('0');
      return [first, shown()[0]];)js"),
            Json({{10, 10}, 0}));
}

// All rows of 64 ranks fit on a screen; 256 ranks can be scrolled. Rows are thick enough to read.
TEST_F(PageScript, compact_rows_are_thin_and_without_what_is_held) {
  for (const int ranks : {4, 64, 256}) {
    SCOPED_TRACE(ranks);
    spec::ElaborateOptions options;
    options.defines = {{"ranks", ranks}};
    const Drawn run("1f1b", 4, {}, options);
    const Json found = in_page(html({{"1f1b", &run.timeline}}), R"js(
        const lines = () => plan.items.filter(item => item.kind === 'row').map(item => item.h);
        const first = [view.compact, element('compact').attributes['aria-pressed'], data.panels[0].end <= high(), Math.min(...lines()),
                       plan.items.some(item => item.kind === 'curve')];
        element('compact').onclick();
        return [first, [view.compact, Math.min(...lines()), plan.items.some(item => item.kind === 'curve')]];)js");
    if (ranks == 4) {
      EXPECT_EQ(found, Json({{false, "false", true, 22, true}, {true, 15, false}}));
    } else {
      EXPECT_EQ(found[0][0], true);
      EXPECT_EQ(found[0][1], "true");
      EXPECT_EQ(found[0][2], ranks == 64);
      EXPECT_GE(found[0][3], 9);
      EXPECT_EQ(found[0][4], false);
      EXPECT_EQ(found[1], Json({false, 22, true}));
    }
  }
}

// `where` returns the positions at which a text is drawn on the canvas.
TEST_F(PageScript, axis_and_names_of_ranks_stay_in_view) {
  spec::ElaborateOptions options;
  options.defines = {{"ranks", 32}};
  const Drawn run("1f1b", 64, {}, options);
  const Json found = in_page(html({{"1f1b", &run.timeline}}), R"js(
      const where = text => texts().filter(one => one.text === text).map(one => [one.left, one.top]);
      const before = [where('time in unit'), where('rank 30').map(at => at[0])];
      press('End'); press('+'); press('ArrowRight');
      return [before, [where('time in unit'), where('rank 30').map(at => at[0])]];)js");
  EXPECT_EQ(found[0][0], found[1][0]);
  EXPECT_EQ(found[0][1], Json::array());
  EXPECT_EQ(found[1][1], Json({8}));
}

TEST_F(PageScript, marks_the_steps_on_the_axis) {
  const Drawn run("1f1b", 4);
  const Timeline steps = of_steps(run, 3);
  const std::string page = html({{"steps", &steps}});
  EXPECT_EQ(
      in_page(
          page,
          R"js(const marks = () => texts().filter(one => one.text.startsWith('step ')).map(one => one.text);
      const all = marks();
      type('0F0@6');
      for (let k = 0; k < 6; ++k) press('+');
      return [all, marks(), legend().some(text => text.includes('first start of a step'))];)js"),
      Json({{"step 5", "step 6", "step 7"}, {"step 6"}, true}));
  // Not all marks have room for a label; labels are placed from the first mark in view onwards.
  EXPECT_EQ(in_page(page, R"js(
      const panel = { firstStep: 1, steps: [...Array(1000).keys()] };
      return stepMarks(panel, 10.5, 400, 100).map(mark => mark.step);)js"),
            Json({11, 112, 212, 312}));
}

TEST_F(PageScript, legend_says_what_is_aggregated_and_what_colours_mean) {
  simulate::TimingOptions options;
  options.latency = 0.5;
  const Drawn run("bf", 8, options);
  const Json legend = in_page(html({{"bf", &run.timeline}}), "return legend();");
  EXPECT_EQ(legend,
            Json({"F", "B", "idle", "idle: no room", "held, its peak on the left; dashed: capacity",
                  "numbers: microbatches",
                  "where tasks are too narrow to draw: how busy the engine is, by op, full height "
                  "all the time"}));
}

TEST_F(PageScript, draws_a_run_that_deadlocked) {
  const Drawn run(testing_support::kStuckChain, 3);
  const Json texts = in_page(html({{"stuck", &run.timeline, stuck_at_end(run.timeline)}}),
                             "return texts().map(one => one.text).join('|');");
  EXPECT_THAT(texts.get<std::string>(), HasSubstr("0F2 waits for room in activation of stage 0"));
}

}  // namespace
}  // namespace ripeline::view
