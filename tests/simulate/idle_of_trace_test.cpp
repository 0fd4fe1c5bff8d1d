// Tests that the simulator's causes of idle time can be derived from a trace of tasks and messages.
#include "simulate/idle_of_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/simulate/runs.h"

namespace ripeline::simulate {
namespace {

using core::Time;
using testing_support::compiled_schedule;
using testing_support::TableRun;

std::vector<trace::IdleEvent> sorted(std::vector<trace::IdleEvent> idle) {
  std::sort(idle.begin(), idle.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.rank, a.engine, a.start) < std::tuple(b.rank, b.engine, b.start);
  });
  return idle;
}

TimingOptions late_messages() {
  TimingOptions options;
  options.latency = 0.25;
  EXPECT_EQ(Jitter::parse("tails=10:3,uniform=0.2", options.jitter).message(), "");
  options.seed = 5;
  return options;
}

// These programs run whatever is ready, because a trace does not contain an order.
TEST(NoteIdle, of_a_run_whose_host_takes_no_time_is_what_the_simulator_says) {
  for (const char* name : {"bf", "b_first", "bfw"}) {
    SCOPED_TRACE(name);
    const spec::Program program = compiled_schedule(name);
    TableRun run(program);
    trace::File file;
    ASSERT_TRUE(run.run(9, late_messages(), &file.record, true).status.ok());
    file.about = trace::About(run.storage.facts(), {.microbatches = 9});
    const auto wanted = sorted(std::exchange(file.record.idle, {}));
    ASSERT_FALSE(wanted.empty());
    note_idle(file);
    EXPECT_EQ(sorted(file.record.idle), wanted);
  }
}

// With an order, an engine may wait for the next task of the order while it could run another one.
TEST(NoteIdle, of_an_order_tells_what_is_put_first_from_what_is_not_there) {
  const spec::Program program =
      compiled_schedule("1f1b", {.defines = {{"ranks", 2}}, .dispatch = {}});
  TableRun run(program);
  trace::File file;
  ASSERT_TRUE(run.run(6, late_messages(), &file.record, true).status.ok());
  file.about = trace::About(run.storage.facts(), {.microbatches = 6});
  const auto sum = [&](trace::Cause cause) {
    Time all{0};
    for (const trace::IdleEvent& e : file.record.idle) {
      if (e.cause == cause) all += e.end - e.start;
    }
    return all;
  };
  const Time order = sum(trace::Cause::order);
  file.record.idle.clear();
  note_idle(file);
  EXPECT_EQ(sum(trace::Cause::order), order);
}

// From the moment when a task could have started, waiting is due to the host.
TEST(NoteIdle, counts_a_late_start_as_the_hosts) {
  const spec::Program program =
      compiled_schedule("bf", {.defines = {{"ranks", 1}}, .dispatch = {}});
  TableRun run(program);
  trace::File file;
  ASSERT_TRUE(run.run(3, {}, &file.record, false).status.ok());
  file.about = trace::About(run.storage.facts(), {.microbatches = 3});
  Time late{0};
  for (trace::TaskEvent& e : file.record.tasks) {
    e.start += late;
    e.end += late;
    late += Time{7};
  }
  note_idle(file);
  ASSERT_EQ(file.record.idle.size(), file.record.tasks.size() - 1);
  for (const trace::IdleEvent& e : file.record.idle) {
    EXPECT_EQ(e.cause, trace::Cause::host);
    EXPECT_EQ(e.end - e.start, Time{7});
  }
}

TEST(NoteIdle, leaves_alone_what_says_it_and_steps_that_are_not_whole) {
  const spec::Program program =
      compiled_schedule("bf", {.defines = {{"ranks", 2}}, .dispatch = {}});
  TableRun run(program);
  trace::File file;
  ASSERT_TRUE(run.run(3, {}, &file.record, true).status.ok());
  file.about = trace::About(run.storage.facts(), {.microbatches = 3});
  const trace::Record said = file.record;
  note_idle(file);
  EXPECT_EQ(file.record, said);
  file.record.idle.clear();
  file.record.tasks.pop_back();
  note_idle(file);
  EXPECT_TRUE(file.record.idle.empty());
}

}  // namespace
}  // namespace ripeline::simulate
