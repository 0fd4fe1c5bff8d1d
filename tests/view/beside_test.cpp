// Tests tasks that overlap on one engine: rows, idle and busy times, and the reasons for waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "core/print.h"
#include "lower/facts.h"
#include "tests/view/timelines.h"
#include "view/compare.h"
#include "view/debugger.h"
#include "view/explain.h"
#include "view/terminal.h"

namespace ripeline::view::beside_test {
namespace {

using core::Time;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing_support::Drawn;
using testing_support::kPairs;
using Why = Reason::Why;

struct Ran {
  const char* task;
  int start;
  int end;
};

// One rank with the pairs F and B, F and W, D and F, and B and D.
struct Made {
  explicit Made(const std::vector<Ran>& tasks)
      : program(testing_support::compiled_schedule(
            "\npipeline p { microbatches any; stages 1; place s on s;\n"
            "  op F forward { } op B backward { needs F at here; } op W { } op D { }\n"
            "  pair F, B; pair F, W; pair D, F; pair B, D; dispatch ready; }\n")),
        storage(lower::facts_of(program)) {
    const trace::RunInfo run{.microbatches = 4, .unit = {"ns", 1}};
    Timeline names;
    trace::File file;
    file.about = trace::About(storage.facts(), run);
    EXPECT_TRUE(Timeline::make(std::move(file), names).ok());
    file = {};
    file.about = trace::About(storage.facts(), run);
    for (const Ran& t : tasks) {
      file.record.task(0, *task_named(names, t.task), Time{t.start}, Time{t.end});
    }
    status = Timeline::make(std::move(file), timeline);
  }
  [[nodiscard]] int box(const std::string& task) const {
    return timeline.find(0, *task_named(timeline, task));
  }
  [[nodiscard]] std::string name(int box) const {
    return box < 0 ? "none" : core::task_name(timeline.facts(), timeline.box(box).task);
  }
  [[nodiscard]] std::vector<std::string> names(const Row& row) const {
    std::vector<std::string> names;
    for (int id = row.first; id < row.end; ++id) names.push_back(name(id));
    return names;
  }

  spec::Program program;
  core::OwnedFacts storage;
  Timeline timeline;
  core::Status status;
};

// B0 overlaps F1 and F2. Nothing runs from 10 to 12. B2 and F3 start together, B2 first.
const std::vector<Ran> kSome = {{"0F0", 0, 2},  {"0B0", 2, 6},   {"0F1", 3, 5},  {"0F2", 5, 8},
                                {"0B1", 8, 10}, {"0B2", 12, 14}, {"0F3", 12, 13}};

TEST(Beside, tasks_at_once_are_in_two_rows) {
  const Made made(kSome);
  ASSERT_TRUE(made.status.ok()) << made.status.message();
  const auto& rows = made.timeline.rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(name_of(rows[0]), "rank 0");
  EXPECT_EQ(name_of(rows[1]), "rank 0 beside");
  EXPECT_THAT(made.names(rows[0]), ElementsAre("0F0", "0B0", "0B1", "0B2"));
  EXPECT_THAT(made.names(rows[1]), ElementsAre("0F1", "0F2", "0F3"));
  EXPECT_EQ(names_beside(made.timeline, made.box("0B0")), "0F1 0F2");
  EXPECT_EQ(names_beside(made.timeline, made.box("0F2")), "0B0");
  EXPECT_EQ(names_beside(made.timeline, made.box("0B1")), "");
}

TEST(Beside, an_engine_is_idle_where_it_runs_nothing) {
  const Made made(kSome);
  ASSERT_TRUE(made.status.ok()) << made.status.message();
  const Timeline& t = made.timeline;
  for (const Row& row : t.rows()) {
    const auto idle = t.idle_of(row);
    ASSERT_EQ(idle.size(), 1U);
    EXPECT_EQ(idle[0].start, Time{10});
    EXPECT_EQ(idle[0].end, Time{12});
    EXPECT_EQ(idle[0].next, t.box(made.box("0B2")).task);
    EXPECT_EQ(t.busy(row, t.begin(), t.end()), Time{12});
    EXPECT_EQ(t.busy(row, Time{4}, Time{13}), Time{7});
  }
  for (const Ran& ran : kSome) {
    EXPECT_EQ(t.idle_before(made.box(ran.task)), Time{ran.start == 12 ? 2 : 0}) << ran.task;
  }
}

TEST(Beside, what_a_task_could_not_run_beside_is_before_it) {
  const Made made(kSome);
  ASSERT_TRUE(made.status.ok()) << made.status.message();
  const auto before = [&](const char* task) {
    return made.name(made.timeline.before(made.box(task)));
  };
  EXPECT_EQ(before("0F0"), "none");
  EXPECT_EQ(before("0B0"), "none");  // it could have started beside 0F0
  EXPECT_EQ(before("0F1"), "0F0");
  EXPECT_EQ(before("0F2"), "0F1");
  EXPECT_EQ(before("0B1"), "0B0");  // after the end of 0B0 it could have started beside 0F2
  EXPECT_EQ(before("0F3"), "0F2");
  EXPECT_EQ(before("0B2"), "0B1");
  // When two tasks run at once, neither of them allows a third to start.
  const Made full({{"0F0", 0, 4}, {"0B0", 1, 3}, {"0D0", 5, 6}, {"0F1", 6, 7}});
  EXPECT_EQ(full.name(full.timeline.before(full.box("0D0"))), "0B0");
  EXPECT_EQ(full.name(full.timeline.last_ended(full.box("0D0"))), "0F0");
  EXPECT_EQ(full.name(full.timeline.before(full.box("0F1"))), "0F0");
}

TEST(Beside, what_an_engine_cannot_run_at_once_is_refused) {
  struct Case {
    std::vector<Ran> tasks;
    const char* message;
  };
  const std::array cases = {
      Case{{{"0F0", 0, 4}, {"0B0", 1, 2}, {"0W0", 2, 4}}, ""},
      Case{{{"0F0", 0, 4}, {"0B0", 0, 4}, {"0B1", 4, 4}}, ""},
      Case{{{"0F0", 0, 2}, {"0F1", 1, 3}}, "0F1 starts before 0F0 ends, on one engine"},
      Case{{{"0B0", 0, 2}, {"0W0", 1, 3}}, "0W0 starts before 0B0 ends, on one engine"},
      // B and W may each overlap F0, but not each other.
      Case{{{"0B0", 0, 4}, {"0F0", 1, 3}, {"0W0", 3, 5}},
           "0W0 starts before 0B0 ends, on one engine"},
      Case{{{"0F0", 0, 4}, {"0B0", 1, 3}, {"0W0", 2, 4}},
           "0W0 starts before 0B0 ends, on one engine"},
      Case{{{"0F0", 0, 4}, {"0B0", 1, 4}, {"0B1", 3, 5}},
           "0B1 starts before 0B0 ends, on one engine"},
  };
  for (const Case& c : cases) EXPECT_EQ(Made(c.tasks).status.message(), c.message);
}

simulate::TimingOptions with(double latency, const std::string& jitter = "") {
  simulate::TimingOptions options;
  options.latency = latency;
  EXPECT_EQ(simulate::Jitter::parse(jitter, options.jitter).message(), "");
  return options;
}

TEST(Beside, a_task_waits_for_its_engine_or_for_the_one_before_it_in_its_order) {
  const Drawn run(kPairs, 8);
  ASSERT_TRUE(run.status.ok()) << run.status.message();
  Reasons reasons(run.timeline);
  const auto expect = [&](const char* task, Why why, const char* other, const char* since) {
    const Reason& reason = reasons.of(run.box(task));
    EXPECT_EQ(static_cast<int>(reason.why), static_cast<int>(why)) << task;
    EXPECT_EQ(reason.box, run.box(other)) << task;
    EXPECT_EQ(text_of(run.timeline, reason.rest), since) << task;
    EXPECT_EQ(reason.at, run.start(task)) << task;
  };
  expect("0F4", Why::turn, "0B0", "4");       // ready when 0F3 ended, but 0B0 is first in the order
  expect("0B1", Why::engine, "0B0", "13.5");  // overlapped 0F4
  // 1B1 ran until 13.5 and is a pair with 1F4, so the engine did not delay 1F4 after 1F3's end.
  expect("1F4", Why::message, "0F4", "11.5");
  EXPECT_THAT(explain(run.timeline, reasons, run.box("0F4")),
              HasSubstr("0F4 on rank 0 starts at 11.5 and ends at 14, beside 0B0\n"
                        "it waited for the start of 0B0 until 11.5; its engine was idle for 7.5\n"
                        "all else was there at 4\n"));
}

// 0P0 and 0B3 end together; until the message of 0P0 is taken, the engine starts nothing.
TEST(Beside, either_of_two_may_hand_over) {
  const Drawn run(
      "\npipeline h { microbatches any; stages 2; place s on s;\n"
      "  op F forward { cost 1; needs F at prev; }\n"
      "  op B backward { cost 1; needs F at here, B at next; }\n"
      "  op P { cost 1; needs P at prev via rendezvous; }\n"
      "  pair P, B; order all on r { F * microbatches; B * microbatches; P * microbatches; }\n"
      "  dispatch in order all; }\n",
      4, with(3));
  ASSERT_TRUE(run.status.ok()) << run.status.message();
  ASSERT_FALSE(run.report.stuck) << run.report.waiting;
  Reasons reasons(run.timeline);
  EXPECT_EQ(names_beside(run.timeline, run.box("0P0")), "0B3");
  const Reason& reason = reasons.of(run.box("0P1"));
  EXPECT_EQ(static_cast<int>(reason.why), static_cast<int>(Why::handover));
  EXPECT_EQ(reason.box, run.box("0P0"));
  EXPECT_EQ(reason.at, run.start("0P1"));
}

TEST(Beside, chains_have_no_gaps_and_nothing_unexplained) {
  for (const auto& options : {with(0), with(0.25), with(0.1, "lognormal=0.4")}) {
    const Drawn run(kPairs, 12, options);
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    Reasons reasons(run.timeline);
    bool any = false;
    for (int box = 0; box < static_cast<int>(run.timeline.boxes().size()); ++box) {
      any = any || reasons.of(box).why == Why::turn;
      Time at = run.timeline.begin();
      for (const Link& link : chain_to(run.timeline, reasons, box)) {
        ASSERT_EQ(link.start, at) << core::task_name(run.timeline.facts(),
                                                     run.timeline.box(box).task);
        EXPECT_NE(static_cast<int>(link.kind), static_cast<int>(Link::Kind::started));
        at = link.end;
      }
      ASSERT_EQ(at, run.timeline.box(box).end);
    }
    EXPECT_TRUE(any) << "no task waited for its turn: the test shows less";
  }
}

TEST(Beside, the_terminal_has_a_line_for_those_that_started_beside_another) {
  spec::ElaborateOptions options;
  options.defines = {{"ranks", 2}};
  const Drawn run(kPairs, 4, {}, options);
  EXPECT_EQ(terminal(run.timeline, {.width = 70}),
            "unit           |0        |5        |10        busy\n"
            "rank 0         F0F1.....B0---B1---.B2--..B3--  74%\n"
            "rank 0 beside           F2---F3---\n"
            "rank 1         ..F0B0---B1--.F2B2--  B3--....  76%\n"
            "rank 1 beside      F1---          F3-\n"
            "F B and the microbatch; . is idle\n"
            "activation, most at once per rank: 3 2\n");
  const Drawn many(kPairs, 500);
  std::istringstream lines(terminal(many.timeline, {.width = 60}));
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("rank ")) continue;
    EXPECT_LE(line.size(), 60U) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 8);
}

TEST(Compare, work_is_not_counted_twice) {
  for (const auto& options : {with(0), with(0.1, "lognormal=0.4")}) {
    const Drawn run(kPairs, 8, options);
    Time work{0};
    for (const auto& engines : run.report.ranks) work = std::max(work, engines[0].busy);
    const Figures got = figures(run.timeline);
    EXPECT_EQ(got.work, run.timeline.in_unit(work));
    EXPECT_EQ(got.span, run.timeline.in_unit(run.report.span));
    for (const Row& row : run.timeline.rows()) {
      const auto rank = static_cast<std::size_t>(row.rank);
      EXPECT_EQ(run.timeline.busy(row, run.timeline.begin(), run.timeline.end()),
                run.report.ranks[rank][0].busy);
    }
  }
}

TEST(Debugger, shows_both_tasks_of_an_engine) {
  const Drawn run(kPairs, 8);
  std::string asked;
  Debugger debugger(run.timeline, [&](int, core::Engine, const std::vector<core::SeenEvent>&) {
    return "advice";
  });
  // 1F4 starts at 14, and 1B2 starts beside it.
  const std::string one = debugger.run("to 1B2");
  EXPECT_THAT(one, HasSubstr("rank 1 runs 1F4 since 14; ready: 1B2\n    advice\n"));
  const std::string two = debugger.run("forward");
  EXPECT_THAT(two, HasSubstr("rank 1 runs 1F4 since 14 and 1B2 since 14.25; nothing is ready\n"));
  EXPECT_THAT(two, Not(HasSubstr("advice")));
  EXPECT_THAT(two, Not(HasSubstr("rank 1 beside")));
}

}  // namespace
}  // namespace ripeline::view::beside_test
