// Tests that the machine replays recorded runs: runs that are unchanged are accepted, and each
// change is found and named.
#include "validate/run_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/print.h"
#include "tests/simulate/runs.h"
#include "tests/support/run_of.h"

namespace ripeline::validate {
namespace {

using core::Time;
using testing::HasSubstr;
using testing_support::compiled_schedule;
using testing_support::TableRun;

constexpr int kMicrobatches = 4;

Time units(double n) { return Time{static_cast<std::int64_t>(n * 1'000'000)}; }

// A simulated run, which tests then change.
class Recorded {
 public:
  explicit Recorded(const std::string& text, const spec::ElaborateOptions& elaborate = {},
                    const simulate::TimingOptions& timing = {})
      : program(compiled_schedule(text, elaborate)), run_(program) {
    const simulate::RunReport report = run_.run(kMicrobatches, timing, &record);
    EXPECT_EQ(report.status.message(), "");
  }

  trace::TaskEvent& task(const std::string& name, std::int64_t step = 0) {
    return *std::find_if(record.tasks.begin(), record.tasks.end(), [&](const auto& e) {
      return e.step == step && core::task_name(facts(), e.task) == name;
    });
  }
  // The message that carries a task's result to a lane.
  trace::MessageEvent& message(const std::string& producer, const std::string& consumer) {
    return *std::find_if(record.messages.begin(), record.messages.end(), [&](const auto& e) {
      const core::EdgeFacts& edge = facts().edges[static_cast<std::size_t>(e.message.edge)];
      return core::task_name(facts(), {edge.producer, e.message.microbatch}) == producer &&
             core::lane_name(facts(), edge.consumer) == consumer;
    });
  }
  void swap(const std::string& one, const std::string& other) {
    std::swap(task(one).task, task(other).task);
  }
  // Appends the same run as a further step, `after` units later.
  void repeat(double after, std::int64_t step) {
    trace::Record more = record;
    std::erase_if(more.tasks, [](const auto& e) { return e.step > 0; });
    std::erase_if(more.messages, [](const auto& e) { return e.step > 0; });
    more.move(units(after));
    for (auto& e : more.tasks) e.step = step;
    for (auto& e : more.messages) e.step = step;
    record.tasks.insert(record.tasks.end(), more.tasks.begin(), more.tasks.end());
    record.messages.insert(record.messages.end(), more.messages.begin(), more.messages.end());
  }
  [[nodiscard]] const core::ProgramFacts& facts() const { return run_.storage.facts(); }
  [[nodiscard]] RunCheck check(bool ended = true) const {
    return check_run(program, testing_support::file_of(facts(), kMicrobatches, record), ended);
  }
  [[nodiscard]] std::string text(bool ended = true) const {
    const trace::File file = testing_support::file_of(facts(), kMicrobatches, record);
    return report_text(program, file, "run.json", check_run(program, file, ended));
  }

  spec::Program program;
  trace::Record record;

 private:
  TableRun run_;
};

spec::ElaborateOptions ranks(int n) {
  spec::ElaborateOptions options;
  options.defines["ranks"] = n;
  return options;
}

TEST(RunCheck, accepts_simulated_runs_of_every_schedule) {
  for (const auto& entry : spec::library()) {
    for (const char* jitter : {"", "J3", "lognormal=1,tails=20:9"}) {
      simulate::TimingOptions timing;
      ASSERT_TRUE(simulate::Jitter::parse(jitter, timing.jitter).ok());
      timing.latency = 0.5;
      const Recorded run(std::string(entry.name), ranks(3), timing);
      EXPECT_EQ(run.check().outcome, RunOutcome::run) << entry.name << '\n' << run.text();
    }
  }
}

// A change to a run of a chain with three ranks, four microbatches and messages of half a unit.
struct Change {
  const char* name;
  std::function<void(Recorded&)> make;
  std::string says;
};
void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

class RunCheckChange : public testing::TestWithParam<Change> {};

Recorded chain() {
  simulate::TimingOptions timing;
  timing.latency = 0.5;
  return Recorded("bf", ranks(3), timing);
}

TEST_P(RunCheckChange, is_found_and_named) {
  Recorded run = chain();
  ASSERT_EQ(run.check().outcome, RunOutcome::run) << run.text();
  GetParam().make(run);
  EXPECT_EQ(run.check().outcome, RunOutcome::refuted);
  EXPECT_THAT(run.text(), HasSubstr(GetParam().says));
}

const Change kChanges[] = {
    {"starts_swapped", [](Recorded& run) { run.swap("2F0", "2B0"); },
     "> rank 2   start 2B0 waits for 2F0, which ends later"},
    {"start_before_arrival",
     [](Recorded& run) { run.message("0F1", "1F").arrived = run.task("1F1").start + units(0.25); },
     "> rank 1   start 1F1 waits for 0F1, whose message arrives later"},
    {"arrival_that_is_missing",
     [](Recorded& run) { run.record.messages.erase(run.record.messages.begin()); },
     "> rank 1   start 1F0 waits for 0F0, whose message does not arrive"},
    {"arrival_twice",
     [](Recorded& run) {
       run.record.messages.push_back(run.message("0F0", "1F"));
       run.record.messages.back().arrived += units(1);
     },
     "> rank 1   arrive 0F0 at 1F has arrived already"},
    {"arrival_at_the_wrong_place",
     [](Recorded& run) { run.message("0F2", "1F").message = run.message("1F2", "2F").message; },
     "> rank 2   arrive 1F2 at 2F waits for the end of 1F2"},
    {"pool_over_capacity",
     [](Recorded& run) {
       for (auto& e : run.record.tasks) {
         if (run.program.lane_name(e.task.lane) == "0B") e.start += units(50), e.end += units(50);
       }
     },
     "> rank 0   start 0F3 waits for room in activation of stage 0: 3 of 3 held"},
    {"two_at_once", [](Recorded& run) { run.task("0F1").end += units(0.5); },
     "> rank 0   start 0F2 waits for the engine, which runs 0F"},
    {"task_twice",
     [](Recorded& run) {
       run.record.tasks.push_back(run.task("2F1"));
       run.record.tasks.back().start += units(100);
       run.record.tasks.back().end += units(100);
     },
     "> rank 2   start 2F1 has started already"},
    {"end_before_start",
     [](Recorded& run) { run.task("1B1").end = run.task("1B1").start - units(1); },
     "end 1B1 ends before it starts"},
    {"task_missing",
     [](Recorded& run) {
       std::erase_if(run.record.tasks, [&](const auto& e) { return &e == &run.task("0F2"); });
     },
     "> rank 1   arrive 0F2 at 1F is of 0F2, which does not run"},
    {"task_missing_of_an_earlier_step",
     [](Recorded& run) {
       run.repeat(100, 1);
       std::erase_if(run.record.tasks, [&](const auto& e) { return &e == &run.task("0B3"); });
     },
     "refuted: step 0. 0B3 of rank 0 does not run, and later steps do."},
    {"step_missing", [](Recorded& run) { run.repeat(100, 2); },
     "refuted: step 2. There is no step 1 in the trace."},
    {"steps_that_overlap", [](Recorded& run) { run.repeat(10, 1); },
     "refuted: step 1. Rank 0 starts 0F0 before it has ended all of step 0."},
    {"ranks_that_wait_for_each_other",
     [](Recorded& run) {
       run.message("1B0", "0B").arrived = units(-2);
       run.message("0F0", "1F").arrived = units(-1);
     },
     "> rank 0   arrive 1B0 at 0B waits for the end of 1B0"},
};
INSTANTIATE_TEST_SUITE_P(, RunCheckChange, testing::ValuesIn(kChanges),
                         [](const auto& change) { return std::string(change.param.name); });

TEST(RunCheck, finds_the_wrong_order) {
  Recorded run("1f1b", ranks(3));
  ASSERT_EQ(run.check().outcome, RunOutcome::run);
  run.swap("0F0", "0F1");
  EXPECT_THAT(run.text(),
              HasSubstr("> rank 0   start 0F1 waits for 0F0, which the order puts first"));
}

constexpr const char* kSlots = R"(
pipeline slots {
  microbatches any;
  stages 2;
  place s on s;
  op F forward { cost 1;  needs F at prev via slots 1; }
  dispatch ready;
}
)";

// On rank 0 each task 0F takes one unit; on rank 1 each task 1F takes three units.
TEST(RunCheck, finds_a_slot_too_many) {
  simulate::TimingOptions timing;
  timing.jitter.slow[1] = 3.0;
  Recorded run(kSlots, {}, timing);
  ASSERT_EQ(run.check().outcome, RunOutcome::run) << run.text();
  // The third message arrives before the start of the task that frees the only slot.
  trace::MessageEvent& second = run.message("0F1", "1F");
  const Time freed = run.task("1F0").start;
  trace::MessageEvent& third = run.message("0F2", "1F");
  third.arrived = second.arrived;
  EXPECT_GE(second.arrived, freed);
  EXPECT_THAT(run.text(),
              HasSubstr("> rank 1   arrive 0F2 at 1F waits for a slot: the slots from 0F "
                        "to 1F, 1 of 1 taken"));
}

// A rank chooses a task, frees the task's slots and reports this; its engine starts the task later.
TEST(RunCheck, counts_a_start_from_when_its_rank_chose_it) {
  simulate::TimingOptions timing;
  timing.jitter.slow[1] = 3.0;
  Recorded run(kSlots, {}, timing);
  trace::TaskEvent& late = run.task("1F0");
  const Time chosen = late.start;
  late.start = run.message("0F1", "1F").arrived + units(0.5);
  EXPECT_THAT(run.text(), HasSubstr("arrive 0F1 at 1F waits for a slot"));
  late.queued = late.start - chosen;
  EXPECT_EQ(run.check().outcome, RunOutcome::run) << run.text();
}

// Messages overtake each other on the link, but the rank holds early messages back for their turn.
TEST(RunCheck, keeps_what_comes_early_over_a_fifo_edge) {
  Recorded run(R"(
pipeline fifo {
  microbatches any;
  stages 2;
  place s on s;
  op F forward { cost 1;  needs F at prev via fifo 4; }
  dispatch ready;
}
)");
  const Time first = run.message("0F0", "1F").arrived;
  for (auto& e : run.record.tasks) {
    if (run.program.lane_name(e.task.lane) == "1F") e.start += units(9), e.end += units(9);
  }
  run.message("0F1", "1F").arrived = first;
  run.message("0F0", "1F").arrived = first + units(2);
  EXPECT_EQ(run.check().outcome, RunOutcome::run) << run.text();
  run.message("0F0", "1F").arrived = first + units(30);
  run.swap("1F0", "1F1");
  EXPECT_THAT(run.text(), HasSubstr("> rank 1   start 1F1 waits for 0F1, whose message waits for "
                                    "0F0, sent before it"));
}

// A sender continues when its rendezvous message may leave; its next message may be faster.
TEST(RunCheck, lets_a_rendezvous_message_be_overtaken) {
  Recorded run(R"(
pipeline meet {
  microbatches any;
  stages 2;
  place s on s;
  op F forward { cost 1;  needs F at prev via rendezvous; }
  op G user "more" when s == 0 { cost 1;  needs F at here; }
  op H user "taker" on copy_in when s == 1 { cost 1;  needs G at (0); }
  order all on r { F * microbatches; G * (r == 0 ? microbatches : 0); H * (r == 1 ? microbatches : 0); }
  dispatch in order all;
}
)");
  ASSERT_EQ(run.check().outcome, RunOutcome::run) << run.text();
  trace::MessageEvent& last = run.message("0F3", "1F");
  last.arrived = run.message("0G1", "1H").arrived + units(0.5);
  run.task("1F3").start = last.arrived;
  run.task("1F3").end = last.arrived + units(1);
  EXPECT_EQ(run.check().outcome, RunOutcome::run) << run.text();
  run.task("1F3").start -= units(0.25);
  EXPECT_THAT(run.text(), HasSubstr("> rank 1   start 1F3 waits for 0F3, whose message arrives "
                                    "later"));
}

// Differences between the clocks of ranks do not matter.
TEST(RunCheck, compares_no_clocks) {
  Recorded run = chain();
  for (auto& e : run.record.tasks) {
    const Time by = units(1000.0 * run.facts().lanes[static_cast<std::size_t>(e.task.lane)].rank);
    e.start -= by, e.end -= by;
  }
  for (auto& e : run.record.messages) {
    const core::EdgeFacts& edge = run.facts().edges[static_cast<std::size_t>(e.message.edge)];
    e.arrived -= units(1000.0 * run.facts().lanes[static_cast<std::size_t>(edge.consumer)].rank);
  }
  EXPECT_EQ(run.check().outcome, RunOutcome::run) << run.text();
}

// Each rank's record ends at a different time, as if its process were killed at that time.
TEST(RunCheck, takes_what_a_killed_run_left_for_a_beginning) {
  Recorded run = chain();
  const trace::Record whole = run.record;
  int beginnings = 0;
  for (int cut = 0; cut < 200; ++cut) {
    run.record = whole;
    const auto is_cut = [&](int rank, Time at) {
      return at > units(1.0 + (cut * (7 + 4 * rank)) % 23);
    };
    std::erase_if(run.record.tasks, [&](const auto& e) {
      return is_cut(run.facts().lanes[static_cast<std::size_t>(e.task.lane)].rank, e.end);
    });
    std::erase_if(run.record.messages, [&](const auto& e) {
      const core::EdgeFacts& edge = run.facts().edges[static_cast<std::size_t>(e.message.edge)];
      return is_cut(run.facts().lanes[static_cast<std::size_t>(edge.consumer)].rank, e.arrived);
    });
    const RunOutcome outcome = run.check(false).outcome;
    EXPECT_NE(outcome, RunOutcome::refuted) << cut << '\n' << run.text(false);
    if (outcome == RunOutcome::beginning) ++beginnings;
    if (outcome != RunOutcome::beginning) continue;
    EXPECT_EQ(run.check(true).outcome, RunOutcome::unknown) << "of a run that ended, all is there";
  }
  EXPECT_GT(beginnings, 5);
}

TEST(RunCheck, says_what_a_trace_leaves_open) {
  Recorded run = chain();
  std::erase_if(run.record.tasks, [&](const auto& e) { return &e == &run.task("0B3"); });
  EXPECT_THAT(run.text(),
              HasSubstr("unknown: Step 0 is cut off, or deadlocked: 0B3 of rank 0 does not "
                        "run."));
  EXPECT_THAT(run.text(false), HasSubstr("the beginning of a run"));
  // All events of a microbatch are missing.
  Recorded fewer = chain();
  std::erase_if(fewer.record.tasks, [](const auto& e) { return e.task.microbatch == 3; });
  std::erase_if(fewer.record.messages, [](const auto& e) { return e.message.microbatch == 3; });
  EXPECT_THAT(fewer.text(), HasSubstr("The trace says 4 microbatches, and no step has so many"));
  // But one step may have fewer microbatches than another step.
  Recorded another = chain();
  another.repeat(-100, -1);
  std::erase_if(another.record.tasks,
                [](const auto& e) { return e.step == 0 && e.task.microbatch == 3; });
  std::erase_if(another.record.messages,
                [](const auto& e) { return e.step == 0 && e.message.microbatch == 3; });
  EXPECT_EQ(another.check().outcome, RunOutcome::run) << another.text();
  EXPECT_THAT(another.text(), HasSubstr("2 whole steps of 4 microbatches, 1 of them of fewer"));
  Recorded none = chain();
  none.record.clear();
  EXPECT_THAT(none.text(), HasSubstr("There is no event in the trace."));
}

TEST(RunCheck, says_that_a_run_stuck) {
  constexpr const char* kStuck = R"(
pipeline v {
  microbatches any;
  stages 4;
  place s on s < 2 ? s : 3 - s;
  op F forward  { needs F at prev;             acquires activation; }
  op B backward { needs F at here, B at next;  releases activation; }
  resource activation per rank { capacity 2; }
  hint f { prefer F, B; }
  dispatch ready by f;
}
)";
  EXPECT_THAT(Recorded(kStuck).text(),
              HasSubstr("unknown: Step 0 deadlocked: where it ends no task may start."));
}

TEST(RunCheck, says_what_the_run_held) {
  EXPECT_THAT(chain().text(), HasSubstr("  peak activation: 3 2 1   capacity: 3 2 1\n"));
}

TEST(RunCheck, refuses_the_trace_of_another_program) {
  const Recorded run = chain();
  const trace::About about(run.facts(), {.microbatches = kMicrobatches});
  EXPECT_EQ(why_not_of(run.program, about), std::nullopt);
  EXPECT_THAT(*why_not_of(compiled_schedule("bf", ranks(4)), about),
              HasSubstr("the trace is of bf of 3 ranks and 3 stages, hash"));
  EXPECT_THAT(*why_not_of(compiled_schedule("1f1b", ranks(3)), about),
              HasSubstr("give the one that ran"));
  spec::ElaborateOptions other = ranks(3);
  other.dispatch = "ready";
  EXPECT_THAT(*why_not_of(compiled_schedule("bf", other), about), HasSubstr("another dispatch"));
  trace::About part(run.facts(), {.microbatches = kMicrobatches});
  part.part = {.rank = 1, .run = 7};
  EXPECT_THAT(*why_not_of(run.program, part), HasSubstr("this is the part of rank 1 alone"));
  const trace::About none(run.facts(), {.microbatches = 0});
  EXPECT_THAT(*why_not_of(run.program, none), HasSubstr("0 microbatches"));
}

}  // namespace
}  // namespace ripeline::validate
