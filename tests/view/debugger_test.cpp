// Tests each command of the debugger, and who waits for whom in a deadlocked run.
#include "view/debugger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/view/timelines.h"

namespace ripeline::view {
namespace {

using testing::HasSubstr;
using testing_support::Drawn;

simulate::TimingOptions latency(double value) {
  simulate::TimingOptions options;
  options.latency = value;
  return options;
}

TEST(Debugger, shows_what_is_ready_held_and_on_its_way) {
  const Drawn run("bf", 8, latency(0.5));
  Debugger debugger(run.timeline, {});
  EXPECT_EQ(debugger.run("idle 1"),
            "rank 1 is idle from 4.5 to 10.5: no room; then 1B0, which waited for the message of "
            "2B0\n"
            "rank 1 is idle; nothing is ready\n"
            "    1F3 has its needs, and activation of stage 1 has too little room, 3 of 3 held\n"
            "    activation of stage 1: 3 of 3 held\n"
            "messages on their way: 1F2 to 2F (arrives at 5)\n");
  EXPECT_THAT(debugger.run("to 2B1"),
              HasSubstr("rank 2 is idle; ready: 2B1\n    activation of stage 2: 2 of 2 held\n"
                        "next: at 11 2B1 starts on rank 2\n"));
  EXPECT_THAT(debugger.run("f"), HasSubstr("rank 2 runs 2B1 since 11; nothing is ready\n"));
}

TEST(Debugger, back_is_where_forward_came_from) {
  const Drawn run("bf", 4, latency(0.5));
  Debugger debugger(run.timeline, {});
  debugger.run("forward 9");
  const std::string here = debugger.run("show");
  for (const char* n : {"1", "3", "5"}) {
    debugger.run(std::string("forward ") + n);
    EXPECT_NE(debugger.run("show"), here);
    debugger.run(std::string("backward ") + n);
    EXPECT_EQ(debugger.run("show"), here);
  }
}

TEST(Debugger, asks_the_adviser_with_what_the_rank_has_seen) {
  const Drawn run("1f1b", 2);
  std::vector<core::SeenEvent> last;
  Debugger debugger(run.timeline,
                    [&](int rank, core::Engine, const std::vector<core::SeenEvent>& seen) {
                      if (rank == 1) last = seen;
                      return "advice for rank " + std::to_string(rank);
                    });
  EXPECT_THAT(debugger.run("to 1F0"), HasSubstr("advice for rank 1"));
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(static_cast<int>(last[0].what), static_cast<int>(core::SeenEvent::What::arrived));
}

TEST(Debugger, says_what_is_wrong_with_a_command) {
  const Drawn run("1f1b", 2);
  Debugger debugger(run.timeline, {});
  const std::array cases = {
      std::pair{"dance", "'dance' is no command; help lists them\n"},
      std::pair{"to 9F0", "'9F0' is no task of this run\n"},
      std::pair{"to 0F2", "'0F2' is no task of this run\n"},
      std::pair{"idle 4", "'4' is no rank of this run\n"},
      std::pair{"forward -1", "'-1' is no number of events\n"},
      std::pair{"rank x", "'x' is no rank of this run\n"},
  };
  for (const auto& [command, answer] : cases) EXPECT_EQ(debugger.run(command), answer);
  EXPECT_FALSE(debugger.done());
  EXPECT_EQ(debugger.run("quit"), "");
  EXPECT_TRUE(debugger.done());
}

TEST(Debugger, walks_every_event_to_the_end) {
  const Drawn run("bfw", 4, latency(0.25));
  Debugger debugger(run.timeline, {});
  const std::size_t events = 2 * run.timeline.boxes().size() + run.timeline.messages().size();
  EXPECT_THAT(debugger.run("forward 1000000"),
              HasSubstr("event " + std::to_string(events) + " of " + std::to_string(events)));
  EXPECT_THAT(debugger.run("show"), HasSubstr("the run ends here\n"));
}

std::vector<std::string> waits(const Drawn& run, std::size_t& circle) {
  const Stuck stuck = stuck_at_end(run.timeline);
  circle = stuck.circle;
  std::vector<std::string> lines;
  for (const StuckTask& w : stuck.waits) {
    const auto& lane = run.timeline.facts().lanes[static_cast<std::size_t>(w.task.lane)];
    lines.push_back(std::to_string(lane.stage) +
                    std::string(run.timeline.facts().ops[static_cast<std::size_t>(lane.op)].name) +
                    std::to_string(w.task.microbatch) + " for " + w.text);
  }
  return lines;
}

TEST(Stuck, names_the_circle_first) {
  const Drawn run(testing_support::kStuckChain, 3);
  std::size_t circle = 0;
  EXPECT_THAT(waits(run, circle),
              testing::ElementsAre("0F2 for room in activation of stage 0: 2 of 2 held",
                                   "0B0 for 0F2", "1F2 for 0F2", "1B0 for 1F2"));
  EXPECT_EQ(circle, 2U);
}

// The room would be freed by tasks of the microbatch that took it, whatever its index in a lane.
TEST(Stuck, names_who_frees_what_a_share_has_taken) {
  const Drawn run(
      "\npipeline p { microbatches 2; stages 1; place s on s; op A { acquires a; }\n"
      "op X once { needs A at here of all; }\n"
      "op E on m where m % 2 == 0 { needs A at here, X at here of all; releases a; }\n"
      "op O on m where m % 2 == 1 { needs A at here; releases a; }\n"
      "resource a per stage { capacity 1; } hint h { prefer A; } dispatch ready by h; }",
      2);
  std::size_t circle = 0;
  waits(run, circle);
  EXPECT_EQ(circle, 3U);  // 0A1 waits for 0E0, 0E0 for 0X0, 0X0 for 0A1; 0O1 would free nothing
}

TEST(Stuck, a_run_that_ended_is_not) { EXPECT_FALSE(stuck_at_end(Drawn("bf", 4).timeline).any()); }

TEST(Timelines, refuse_what_cannot_be) {
  const Drawn run("1f1b", 2);
  testing_support::TableRun again(run.program);
  const auto refused = [&](const std::function<void(trace::Record&)>& change) {
    trace::File file;
    file.about = trace::About(again.storage.facts(), {.microbatches = 2});
    file.record.tasks = run.timeline.boxes();
    change(file.record);
    Timeline timeline;
    return Timeline::make(std::move(file), timeline).message();
  };
  EXPECT_EQ(refused([](trace::Record&) {}), "");
  EXPECT_EQ(refused([](trace::Record& r) { r.tasks.push_back(r.tasks.back()); }),
            "3B1 starts before 3B1 ends, on one engine");
  EXPECT_EQ(refused([](trace::Record& r) {
              r.tasks.front().start = core::Time{2};
              r.tasks.front().end = core::Time{1};
            }),
            "0F0 ends before it starts");
}

}  // namespace
}  // namespace ripeline::view
