// Tests the named reasons for waits: if the cause is removed, the wait disappears.
#include "view/reasons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "tests/view/timelines.h"
#include "view/explain.h"

namespace ripeline::view::reasons_test {
namespace {

using core::Time;
using testing_support::Drawn;
using Why = Reason::Why;

simulate::TimingOptions with(double latency, const std::string& jitter = "", double control = 0) {
  simulate::TimingOptions options;
  options.latency = latency;
  options.control = control;
  EXPECT_EQ(simulate::Jitter::parse(jitter, options.jitter).message(), "");
  return options;
}

std::string chain(const std::string& capacity, const std::string& link = "") {
  return "\npipeline chain { param ranks = 3; microbatches any; stages ranks; place s on s;\n"
         "  op F forward { cost 1; needs F at prev" +
         link +
         "; acquires activation; }\n"
         "  op B backward { cost 2; needs F at here, B at next; releases activation; }\n"
         "  resource activation per stage { capacity " +
         capacity +
         "; }\n"
         "  hint bf { rounds B, F; } dispatch ready by bf; }\n";
}

std::string order(const std::string& link) {
  return "\npipeline o { microbatches 4; stages 2; place s on s;\n"
         "  op F forward { cost 1; needs F at prev" +
         link +
         "; }\n"
         "  op B backward { cost 3; needs F at here, B at next; }\n"
         "  order all on r { F * microbatches; B * microbatches; }\n"
         "  order split on r { (F B) * (r == 1 ? microbatches : 0); F * (r == 1 ? 0 : "
         "microbatches);"
         " B * (r == 1 ? 0 : microbatches); }\n"
         "  dispatch in order split; }\n";
}

// A run with a wait, and the same run without the named cause. In the second run the task starts as
// soon as all else is ready, or earlier.
struct Case {
  const char* what;
  Drawn run;
  const char* task;
  Why why;
  const char* other;  // the task whose end, message or room is the cause
  Drawn without;
};

TEST(Reasons, taking_the_cause_away_ends_the_wait) {
  const std::array cases = {
      Case{"a slow message",
           {chain("ranks - s"), 4, with(5)},
           "1F0",
           Why::message,
           "0F0",
           {chain("ranks - s"), 4, with(0)}},
      Case{"room", {chain("1"), 4, with(0)}, "0F1", Why::room, "0B0", {chain("2"), 4, with(0)}},
      Case{"room further on",
           {chain("ranks - s"), 6, with(1)},
           "1F2",
           Why::room,
           "1B0",
           {chain("ranks - s + 1"), 6, with(1)}},
      Case{"a slow rank",
           {chain("8"), 4, with(0, "slow=0:4")},
           "2F1",
           Why::message,
           "1F1",
           {chain("8"), 4, with(0)}},
      Case{"an engine that hands over",
           {order(" via rendezvous"), 4},
           "0F3",
           Why::handover,
           "0F2",
           {order(""), 4}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    ASSERT_TRUE(c.run.status.ok() && c.without.status.ok()) << c.run.status.message();
    ASSERT_FALSE(c.run.report.stuck) << c.run.report.waiting;
    Reasons reasons(c.run.timeline);
    const Reason& reason = reasons.of(c.run.box(c.task));
    EXPECT_EQ(static_cast<int>(reason.why), static_cast<int>(c.why));
    EXPECT_EQ(reason.box, c.run.box(c.other));
    EXPECT_EQ(reason.at, c.run.start(c.task));
    EXPECT_LT(reason.rest, reason.at) << "another cause came at the same time";
    EXPECT_LT(c.without.start(c.task), c.run.start(c.task));
    if (c.run.idle_before(c.task) > Time{0}) {
      EXPECT_LT(c.without.idle_before(c.task), c.run.idle_before(c.task));
    }
  }
}

TEST(Reasons, a_message_that_waits_for_a_slot_names_who_freed_it) {
  const std::string link = " via slots 1";
  const Drawn run(chain("8", link), 6, with(0, "slow=1:6"));
  ASSERT_TRUE(run.status.ok());
  ASSERT_FALSE(run.report.stuck);
  Reasons reasons(run.timeline);
  bool any = false;
  for (int m = 1; m < 6; ++m) {
    const int box = run.box("1F" + std::to_string(m));
    for (const Link& step : chain_to(run.timeline, reasons, box)) {
      if (step.kind != Link::Kind::slot) continue;
      any = true;
      ASSERT_GE(step.by, 0);
      const Box& by = run.timeline.box(step.by);
      EXPECT_EQ(
          core::LaneId{run.timeline.facts().edges[static_cast<std::size_t>(step.edge)].consumer},
          by.task.lane);
    }
    // If a message waited for a slot, the chain passes through the start that freed the slot.
    const trace::MessageEvent* message = nullptr;
    for (const trace::MessageEvent& e : run.timeline.messages()) {
      if (e.message.microbatch == m &&
          run.timeline.facts().edges[static_cast<std::size_t>(e.message.edge)].consumer ==
              run.timeline.box(box).task.lane) {
        message = &e;
      }
    }
    ASSERT_NE(message, nullptr);
    any = any || message->sent > run.timeline.box(run.box("0F" + std::to_string(m))).end;
  }
  EXPECT_TRUE(any) << "no message waited: the test shows nothing";
}

std::string patient(const std::string& dispatch) {
  std::string text = "\n" + std::string(*spec::library_text("1f1b"));
  const std::string committed = "dispatch in order one_f_one_b;";
  text.replace(
      text.find(committed), committed.size(),
      "hint rn { follow one_f_one_b; notices; patience 0.2; } dispatch ready by " + dispatch + ";");
  return text;
}

// Only the hint causes this wait; without the hint the task starts when all that it needs is ready.
TEST(Reasons, a_task_whose_engine_is_held_names_the_hint) {
  simulate::TimingOptions options = with(0.1, "lognormal=1");
  options.seed = 2;
  const Drawn run(patient("rn"), 8, options);
  const Drawn without(patient("one_f_one_b"), 8, options);
  ASSERT_TRUE(run.status.ok() && without.status.ok()) << run.status.message();
  Reasons reasons(run.timeline);
  const int box = run.box("2B2");
  const Reason& reason = reasons.of(box);
  ASSERT_LT(reason.at, run.start("2B2")) << "nothing was held: the test shows nothing";
  EXPECT_EQ(held_before(run.timeline, box), run.start("2B2") - reason.at);
  EXPECT_EQ(without.start("2B2"), reason.at);
  const std::vector<Link> chain = chain_to(run.timeline, reasons, box);
  EXPECT_EQ(static_cast<int>(chain.at(chain.size() - 2).kind), static_cast<int>(Link::Kind::held));
  EXPECT_NE(explain(run.timeline, reasons, box).find("held by its hint"), std::string::npos);
}

TEST(Reasons, chains_have_no_gaps) {
  for (const char* schedule : {"1f1b", "gpipe", "bfw", "interleaved_1f1b", "bf"}) {
    SCOPED_TRACE(schedule);
    const Drawn run(schedule, 8, with(0.125));
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    Reasons reasons(run.timeline);
    for (int box = 0; box < static_cast<int>(run.timeline.boxes().size()); ++box) {
      Time at = run.timeline.begin();
      for (const Link& link : chain_to(run.timeline, reasons, box)) {
        ASSERT_EQ(link.start, at) << core::Time{link.start}.count();
        EXPECT_NE(static_cast<int>(link.kind), static_cast<int>(Link::Kind::started));
        at = link.end;
      }
      ASSERT_EQ(at, run.timeline.box(box).end);
    }
  }
}

TEST(Reasons, the_text_names_the_cause_and_what_the_time_was_spent_on) {
  const Drawn run(chain("1"), 2, with(1));
  Reasons reasons(run.timeline);
  EXPECT_EQ(explain(run.timeline, reasons, run.box("0F1")),
            "0F1 on rank 0 starts at 13 and ends at 14\n"
            "it waited for room in activation of stage 0, which 0B0 gave back until 13\n"
            "\n"
            "the chain to it, from the start\n"
            "of 14: tasks 10, messages on their way 4\n"
            "     0 - 1     rank 0   0F0      waited for nothing\n"
            "     1 - 2     rank 0   message of 0F0 to 1F on its way\n"
            "     2 - 3     rank 1   1F0      waited for the message of 0F0\n"
            "     3 - 4     rank 1   message of 1F0 to 2F on its way\n"
            "     4 - 7     rank 2   2F0 2B0  waited for the message of 1F0\n"
            "     7 - 8     rank 2   message of 2B0 to 1B on its way\n"
            "     8 - 10    rank 1   1B0      waited for the message of 2B0\n"
            "    10 - 11    rank 1   message of 1B0 to 0B on its way\n"
            "    11 - 14    rank 0   0B0 0F1  waited for the message of 1B0\n");
}

// A long chain is shown in few lines, but nothing is lost: the lines add up to the chain's parts.
TEST(Reasons, a_long_chain_is_a_few_lines) {
  const Drawn run("1f1b", 300, with(0.125));
  Reasons reasons(run.timeline);
  const std::string text = explain(run.timeline, reasons, run.box("0B299"));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 100);
  EXPECT_THAT(text, testing::ContainsRegex("… [0-9]+ more: tasks [0-9.]+"));
  EXPECT_THAT(text, testing::ContainsRegex("rank 0 +0B299 +waited for")) << "the end is listed";
  const Drawn small("1f1b", 6, with(0.125));
  Reasons of_small(small.timeline);
  EXPECT_EQ(explain(small.timeline, of_small, small.box("0B5")).find("…"), std::string::npos);
}

// The text has the total time of each engine by cause; these times equal the simulator's.
TEST(Reasons, of_a_run_say_where_the_time_of_each_rank_went) {
  const Drawn run(chain("1"), 2, with(1));
  Reasons reasons(run.timeline);
  const std::string text = explain_all(run.timeline, reasons);
  EXPECT_TRUE(
      text.starts_with("26 unit from the first start to the last end; of that, by rank (each line "
                       "adds up to it):\n"))
      << text;
}

}  // namespace
}  // namespace ripeline::view::reasons_test
