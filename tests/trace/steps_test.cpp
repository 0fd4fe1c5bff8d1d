// Tests the steps of a trace: which steps are complete, and how a step is selected.
#include "trace/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulate/runs.h"

namespace ripeline::trace {
namespace {

using core::Time;
using testing::ElementsAre;

// A file of consecutive steps; the i-th step has counts[i] microbatches.
File file_of(const spec::Program& program, const std::vector<int>& counts) {
  testing_support::TableRun run(program);
  File file;
  Time at{0};
  for (std::size_t step = 0; step < counts.size(); ++step) {
    Record record;
    const auto report = run.run(counts[step], {}, &record, true);
    record.move(at);
    at += report.makespan;
    for (TaskEvent e : record.tasks) e.step = std::int64_t(step), file.record.tasks.push_back(e);
    for (MessageEvent e : record.messages) {
      e.step = std::int64_t(step);
      file.record.messages.push_back(e);
    }
    for (IdleEvent e : record.idle) e.step = std::int64_t(step), file.record.idle.push_back(e);
  }
  file.about = About(run.storage.facts(), {.microbatches = 9});
  return file;
}

TEST(Steps, are_whole_if_every_task_of_their_microbatches_ran) {
  const spec::Program program =
      testing_support::compiled_schedule("bf", {.defines = {{"ranks", 2}}, .dispatch = {}});
  File file = file_of(program, {4, 3, 4});
  EXPECT_THAT(steps_of(file), ElementsAre(Step{0, true}, Step{1, true}, Step{2, true}));
  std::erase_if(file.record.tasks, [](const TaskEvent& e) {
    return e.step == 2 && e.task == core::Task{1, 0};
  });
  EXPECT_THAT(steps_of(file), ElementsAre(Step{0, true}, Step{1, true}, Step{2, false}));
  file.record = {};
  EXPECT_TRUE(steps_of(file).empty());
}

TEST(Steps, are_kept_with_all_their_events) {
  const spec::Program program =
      testing_support::compiled_schedule("bf", {.defines = {{"ranks", 2}}, .dispatch = {}});
  File file = file_of(program, {2, 3, 4, 5});
  Record& part = file.record;
  keep_steps(part, {1, 2});
  EXPECT_EQ(part.tasks.size(), std::size_t{2 * 2 * (3 + 4)});
  EXPECT_EQ(part.messages.size(), std::size_t{2 * (3 + 4)});
  EXPECT_FALSE(part.idle.empty());
  for (const IdleEvent& e : part.idle) EXPECT_TRUE(e.step == 1 || e.step == 2);
  EXPECT_THAT(steps_of(file), ElementsAre(Step{1, true}, Step{2, true}));
}

}  // namespace
}  // namespace ripeline::trace
