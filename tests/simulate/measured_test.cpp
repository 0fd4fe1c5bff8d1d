// Tests measured costs: the costs measured from a simulated run are exactly the costs of that run.
#include "simulate/measured.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "simulate/timing.h"
#include "tests/simulate/runs.h"

namespace ripeline::simulate {
namespace {

using core::Time;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::compiled_schedule;
using testing_support::TableRun;

// F takes 2, 3 and 4 at stages 0, 1 and 2, and B takes 5; messages go only to adjacent stages.
constexpr const char* kUneven = R"(
pipeline uneven {
  microbatches 1 .. 9;
  stages 3;
  place s on s;
  op F forward { cost s + 2;  needs F at prev; }
  op B backward { cost 5;  needs B at next, F at here; }
  dispatch ready;
}
)";

// The trace file of a run of the program.
trace::File run_of(const char* text, int microbatches, const TimingOptions& options) {
  const spec::Program program = compiled_schedule(text);
  TableRun run(program);
  trace::File file{.about = trace::About(run.storage.facts(), {.microbatches = microbatches}),
                   .record = {}};
  if (options.unit) file.about.run.unit = *options.unit;
  EXPECT_EQ(run.run(microbatches, options, &file.record).status.message(), "");
  return file;
}

TimingOptions in_microseconds(double latency) {
  TimingOptions options;
  options.unit = unit_named("us");
  options.latency = latency;
  return options;
}

using Row = std::tuple<std::string, int, double, double>;
std::vector<Row> rows(const std::vector<Profile::Task>& tasks) {
  std::vector<Row> found;
  for (const Profile::Task& t : tasks) found.emplace_back(t.op, *t.stage, t.mean, t.spread);
  return found;
}
std::vector<Row> rows(const std::vector<Profile::Link>& links) {
  std::vector<Row> found;
  for (const Profile::Link& l : links) {
    found.emplace_back(std::to_string(*l.from), *l.to, l.latency, l.spread);
  }
  return found;
}

// Adds events of step 0, as if the first step allocated memory and so was slow.
void add_slow_first_step(trace::File& file) {
  for (trace::TaskEvent& e : file.record.tasks) e.step = 1;
  for (trace::MessageEvent& e : file.record.messages) e.step = 1;
  file.record.task(0, {0, 0}, Time{0}, Time{90'000'000});
  file.record.message(0, {0, 0}, Time{0}, Time{90'000'000});
}

TEST(Measured, are_the_costs_and_latencies_that_the_run_had) {
  Measurement measurement;
  ASSERT_EQ(measurement.add(run_of(kUneven, 4, in_microseconds(0.5)), 0).message(), "");
  const Profile profile = measurement.result().profile;
  EXPECT_EQ(profile.unit.name, "us");
  EXPECT_THAT(rows(profile.tasks),
              ElementsAre(Row{"F", 0, 2, 0}, Row{"F", 1, 3, 0}, Row{"F", 2, 4, 0},
                          Row{"B", 0, 5, 0}, Row{"B", 1, 5, 0}, Row{"B", 2, 5, 0}));
  EXPECT_THAT(rows(profile.links), ElementsAre(Row{"0", 1, 0.5, 0}, Row{"1", 0, 0.5, 0},
                                               Row{"1", 2, 0.5, 0}, Row{"2", 1, 0.5, 0}));
  EXPECT_TRUE(profile.messages.empty());
}

TEST(Measured, are_the_same_after_text_and_make_the_same_run_again) {
  const trace::File first = run_of(kUneven, 4, in_microseconds(0.5));
  Measurement measurement;
  ASSERT_EQ(measurement.add(first, 0).message(), "");
  const Profile profile = measurement.result().profile;
  Profile again;
  ASSERT_EQ(Profile::parse(profile.to_json(), again).message(), "");
  EXPECT_EQ(again.to_json(), profile.to_json());
  EXPECT_EQ(rows(again.tasks), rows(profile.tasks));
  EXPECT_EQ(rows(again.links), rows(profile.links));
  TimingOptions measured;
  measured.profile = again;
  EXPECT_EQ(run_of(kUneven, 4, measured).record, first.record);
}

TEST(Measured, have_the_deviation_of_a_sample_over_all_traces) {
  TimingOptions plain = in_microseconds(1);
  trace::File one = run_of(kUneven, 1, plain);
  trace::File two = run_of(kUneven, 1, plain);
  for (trace::TaskEvent& e : two.record.tasks) e.end += Time{2'000};
  for (trace::MessageEvent& e : two.record.messages) e.arrived += Time{4'000};
  Measurement measurement;
  ASSERT_EQ(measurement.add(one, 0).message(), "");
  ASSERT_EQ(measurement.add(two, 0).message(), "");
  const Profile profile = measurement.result().profile;
  EXPECT_EQ(profile.tasks.front().mean, 3);  // mean of 2 and 4
  EXPECT_DOUBLE_EQ(profile.tasks.front().spread, std::sqrt(2));
  EXPECT_EQ(profile.links.front().latency, 3);  // mean of 1 and 5
  EXPECT_DOUBLE_EQ(profile.links.front().spread, std::sqrt(8));
}

TEST(Measured, leave_out_the_first_steps) {
  trace::File file = run_of(kUneven, 4, in_microseconds(0.5));
  add_slow_first_step(file);
  Measurement without;
  ASSERT_EQ(without.add(file, 1).message(), "");
  EXPECT_EQ(without.result().profile.tasks.front().mean, 2);
  EXPECT_EQ(without.result().profile.links.front().latency, 0.5);
  Measurement with;
  ASSERT_EQ(with.add(file, 0).message(), "");
  EXPECT_GT(with.result().profile.tasks.front().mean, 1'000);
  Measurement none;
  EXPECT_EQ(none.add(file, 2).message(), "steps in it: 2; with --skip-steps 2, none remains");
}

TEST(Measured, say_what_never_ran_and_have_no_entry_for_it) {
  trace::File file = run_of(kUneven, 2, in_microseconds(0.5));
  const auto& lanes = file.about.facts().lanes;
  std::erase_if(file.record.tasks, [&](const trace::TaskEvent& e) {
    const core::LaneFacts& lane = lanes[static_cast<std::size_t>(e.task.lane)];
    return lane.op == 1 && lane.stage > 0;
  });
  file.record.messages.clear();
  Measurement measurement;
  ASSERT_EQ(measurement.add(file, 0).message(), "");
  const Measured measured = measurement.result();
  EXPECT_THAT(rows(measured.profile.tasks), ElementsAre(Row{"F", 0, 2, 0}, Row{"F", 1, 3, 0},
                                                        Row{"F", 2, 4, 0}, Row{"B", 0, 5, 0}));
  EXPECT_TRUE(measured.profile.links.empty());
  EXPECT_THAT(
      measured.unknown,
      ElementsAre("no task of B ran at stage 1, 2: there it has the program's cost",
                  "no message went from rank 0 to 1, 1 to 0, 1 to 2, 2 to 1: there the latency "
                  "is 0"));
}

TEST(Measured, of_a_message_that_seems_to_arrive_before_it_left_is_no_time) {
  trace::File file = run_of(kUneven, 2, in_microseconds(0.5));
  for (trace::MessageEvent& e : file.record.messages) e.arrived = e.sent - Time{70};
  Measurement measurement;
  ASSERT_EQ(measurement.add(file, 0).message(), "");
  EXPECT_EQ(measurement.result().profile.links.front().latency, 0);
}

TEST(Measured, of_traces_that_do_not_go_together_are_refused) {
  Measurement measurement;
  ASSERT_EQ(measurement.add(run_of(kUneven, 2, in_microseconds(0.5)), 0).message(), "");
  const std::string before = measurement.result().profile.to_json();
  std::string other = kUneven;
  other.replace(other.find("uneven"), 6, "others");
  other.replace(other.find("stages 3"), 8, "stages 2");
  EXPECT_THAT(measurement.add(run_of(other.c_str(), 2, in_microseconds(0.5)), 0).message(),
              HasSubstr("it is of another program, others, than the trace before it: of uneven"));
  trace::File slower = run_of(kUneven, 2, in_microseconds(0.5));
  slower.about.run.unit = *unit_named("s");
  EXPECT_THAT(measurement.add(slower, 0).message(), HasSubstr("its unit is s (1000000000 ns)"));
  trace::File backwards = run_of(kUneven, 2, in_microseconds(0.5));
  backwards.record.tasks.back().end = backwards.record.tasks.back().start - Time{1};
  EXPECT_EQ(measurement.add(backwards, 0).message(), "a task in it ends before it starts");
  trace::File empty = run_of(kUneven, 2, in_microseconds(0.5));
  empty.record.clear();
  EXPECT_EQ(measurement.add(empty, 0).message(), "no task ran in it");
  EXPECT_EQ(measurement.result().profile.to_json(), before);
}

// A trace in which F of stage 2 takes 1, 2, 3, … microseconds in successive steps.
trace::TorchTrace of_pytorch(int rank, std::int64_t first_step, int steps) {
  trace::TorchTrace trace{.rank = rank, .ranks = 2, .marks_steps = true};
  for (int i = 0; i < steps; ++i) {
    trace.tasks.push_back({.op = "F",
                           .stage = 2,
                           .microbatch = 0,
                           .step = first_step + i,
                           .start = Time{100},
                           .end = Time{100 + 1'000 * (i + 1)}});
  }
  return trace;
}

TEST(Measured, of_a_trace_of_pytorch_are_in_microseconds_and_say_what_they_lack) {
  Measurement measurement;
  ASSERT_EQ(measurement.add(of_pytorch(0, 5, 3), 1).message(), "");
  Measured measured = measurement.result();
  EXPECT_EQ(measured.profile.unit.name, "us");
  EXPECT_THAT(rows(measured.profile.tasks), ElementsAre(Row{"F", 2, 2.5, std::sqrt(0.5)}));
  EXPECT_TRUE(measured.profile.links.empty());
  const std::string of_host =
      "costs are times of the host: from a task's first operator to its end";
  const std::string no_latency =
      "traces of PyTorch have no latencies of messages: simulate takes 0, or what --latency says";
  EXPECT_THAT(measured.unknown,
              ElementsAre(of_host, no_latency,
                          "of 2 ranks, 1 has a trace: a stage of which no task is in it has the "
                          "program's cost"));
  ASSERT_EQ(measurement.add(of_pytorch(1, 6, 2), 1).message(), "");
  measured = measurement.result();
  ASSERT_EQ(measured.profile.tasks.size(), 1u);
  EXPECT_DOUBLE_EQ(measured.profile.tasks.front().mean, 7.0 / 3);  // mean of 2, 3 and 2
  EXPECT_DOUBLE_EQ(measured.profile.tasks.front().spread, std::sqrt(1.0 / 3));
  EXPECT_THAT(measured.unknown, ElementsAre(of_host, no_latency));
}

TEST(Measured, of_traces_of_pytorch_that_do_not_go_together_are_refused) {
  Measurement measurement;
  ASSERT_EQ(measurement.add(of_pytorch(0, 5, 3), 1).message(), "");  // in the file: steps 6 and 7
  const std::string before = measurement.result().profile.to_json();
  EXPECT_EQ(measurement.add(of_pytorch(0, 5, 3), 1).message(),
            "it is of rank 0, as a trace before it: one file of each rank was expected");
  EXPECT_EQ(measurement.add(of_pytorch(1, 7, 3), 1).message(),
            "its steps are 8 to 9, and the traces before it have none of them: traces of the same "
            "steps were expected");
  EXPECT_EQ(measurement.add(of_pytorch(1, 5, 2), 2).message(),
            "steps in it: 2; with --skip-steps 2, none remains");
  trace::TorchTrace on_gpu = of_pytorch(1, 5, 3);
  on_gpu.on_gpu = true;
  EXPECT_EQ(measurement.add(on_gpu, 1).message(),
            "its tasks ran on a GPU, and those of the trace before it did not");
  EXPECT_EQ(measurement.add(run_of(kUneven, 2, in_microseconds(0.5)), 0).message(),
            "it is of Ripeline, and the trace before it of PyTorch");
  EXPECT_EQ(measurement.result().profile.to_json(), before);
  Measurement of_ripeline;
  ASSERT_EQ(of_ripeline.add(run_of(kUneven, 2, in_microseconds(0.5)), 0).message(), "");
  EXPECT_EQ(of_ripeline.add(on_gpu, 0).message(),
            "it is of PyTorch, and the trace before it of Ripeline");
  // Without marks the steps of two files have no numbers that could be compared.
  trace::TorchTrace unmarked = of_pytorch(1, 0, 2);
  unmarked.marks_steps = false;
  EXPECT_EQ(measurement.add(unmarked, 0).message(), "");
}

}  // namespace
}  // namespace ripeline::simulate
