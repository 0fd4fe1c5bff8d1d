// Tests tasks that overlap on the virtual clock: their ends, busy times, and records.
#include "simulate/overlap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "core/print.h"
#include "tests/simulate/runs.h"

namespace ripeline::simulate {
namespace {

using core::Time;
using testing_support::compiled_schedule;
using testing_support::TableRun;

Time units(double n) { return Time{std::llround(n * 1'000'000)}; }

struct Ran {
  RunReport report;
  std::map<std::string, std::pair<Time, Time>> tasks;  // start and end by name, such as 0F0
};

Ran run(const std::string& ops, int microbatches, const TimingOptions& options = {}) {
  const spec::Program program = compiled_schedule(
      "\npipeline p { microbatches any; stages 1; place s on s;\n" + ops + "\ndispatch ready; }");
  TableRun table(program);
  trace::Record record;
  Ran ran{.report = table.run(microbatches, options, &record, true), .tasks = {}};
  EXPECT_EQ(ran.report.status.message(), "");
  for (const trace::TaskEvent& e : record.tasks) {
    ran.tasks[core::task_name(table.storage.facts(), e.task)] = {e.start, e.end};
  }
  return ran;
}

std::pair<Time, Time> during(double from, double to) { return {units(from), units(to)}; }

TEST(Overlap, a_pair_that_starts_together_ends_together) {
  Ran ran = run("op F { cost 2; } op B { cost 3; } pair F, B { cost 4; }", 2);
  EXPECT_EQ(ran.tasks["0F0"], during(0, 4));
  EXPECT_EQ(ran.tasks["0B0"], during(0, 4));
  EXPECT_EQ(ran.tasks["0F1"], during(4, 8));
  EXPECT_EQ(ran.report.makespan, units(8));
  EXPECT_EQ(ran.report.ranks[0][0].busy, units(8)) << "never more than the time that passes";
}

TEST(Overlap, without_a_cost_takes_what_both_take_one_after_the_other) {
  Ran ran = run("op F { cost 2; } op B { cost 3; } pair B, F;", 1);
  EXPECT_EQ(ran.tasks["0F0"], during(0, 5));
  EXPECT_EQ(ran.tasks["0B0"], during(0, 5));
}

// C ends at 1 on another engine. Half of F is done by then; the other half takes twice as long.
TEST(Overlap, moves_the_end_of_what_runs_when_another_starts) {
  Ran ran =
      run("op F { cost 2; } op C on copy_in { } op B { cost 3; needs C at here; } "
          "pair F, B { cost 4; }",
          1);
  EXPECT_EQ(ran.tasks["0F0"], during(0, 3));
  EXPECT_EQ(ran.tasks["0B0"], during(1, 4.5));
  EXPECT_EQ(ran.report.ranks[0][0].busy, units(4.5));
  EXPECT_EQ(ran.report.ranks[0][0].tasks, 2);
}

// The second pair changes the end of F again: W starts beside F when I has ended.
TEST(Overlap, of_two_pairs_one_after_the_other) {
  Ran ran =
      run("op F { cost 6; } op I { cost 1; } op W { cost 1; needs I at here; } "
          "pair F, I { cost 6; } pair F, W { cost 6; }",
          1);
  EXPECT_EQ(ran.tasks["0I0"], during(0, 6));
  EXPECT_EQ(ran.tasks["0F0"], during(0, 6));
  EXPECT_EQ(ran.tasks["0W0"], during(6, 7)) << "alone: F ended with I";
  ran =
      run("op F { cost 6; } op I { cost 1; } op W { cost 1; needs I at here; } "
          "pair F, I; pair F, W;",
          1);
  // F and I share the engine until 7, when both of them end.
  EXPECT_EQ(ran.tasks["0F0"], during(0, 7));
  EXPECT_EQ(ran.tasks["0W0"], during(7, 8));
}

TEST(Overlap, is_of_two_tasks_and_of_no_third) {
  Ran ran = run("op F { } op B { } op G { } pair F, B { cost 1; } pair B, G { cost 1; }", 1);
  EXPECT_EQ(ran.tasks["0F0"], during(0, 1));
  EXPECT_EQ(ran.tasks["0B0"], during(0, 1));
  EXPECT_EQ(ran.tasks["0G0"], during(1, 2));
}

TEST(Overlap, that_the_clock_cannot_count_is_refused) {
  const spec::Program program = compiled_schedule(
      "\npipeline p { microbatches any; stages 1; place s on s; op F { cost 1 / 1000000; } op B { "
      "cost "
      "1000000000000; } pair F, B; dispatch ready; }");
  Timing timing;
  const core::Status made = Timing::make(program, 4, {}, timing);
  EXPECT_EQ(made.code(), core::StatusCode::invalid);
}

}  // namespace
}  // namespace ripeline::simulate
