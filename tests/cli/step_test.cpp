// Tests traces of several steps: which of them a command uses, and its output for a long step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "tests/cli/program.h"
#include "tests/simulate/runs.h"
#include "trace/write.h"

namespace {

namespace trace = ripeline::trace;
using ripeline::core::Time;
using testing::HasSubstr;
using testing::Not;

class StepFlag : public CliTest {
 protected:
  // Writes a trace as training does: `steps` equal steps, in which each task starts `late` later
  // and ends `late` earlier than in the run. The last step lacks `missing` tasks.
  void write(int steps, int microbatches, Time late = Time{0}, std::size_t missing = 0) {
    const auto program = ripeline::testing_support::compiled_schedule("bf");
    ripeline::testing_support::TableRun run(program);
    trace::Record one;
    ripeline::simulate::TimingOptions options;
    options.clock = 1'000'000;
    options.latency = 0.25;
    const auto report = run.run(microbatches, options, &one);
    const trace::About about(run.storage.facts(), {.microbatches = microbatches});
    trace::Writer writer((folder_ / path_).string(), about);
    for (int step = 0; step < steps; ++step) {
      trace::Record record = one;
      for (auto& e : record.tasks) e.step = step, e.end -= late, e.start += late;
      for (auto& e : record.messages) e.step = step;
      record.move(report.makespan * step);
      if (step == steps - 1) record.tasks.resize(record.tasks.size() - missing);
      writer.add(record);
    }
    ASSERT_EQ(writer.finish().message(), "");
  }

  std::string out(const std::string& arguments) { return ripeline(arguments, "2>/dev/null").out; }
  std::string err(const std::string& arguments) {
    return ripeline(arguments, "2>&1 >/dev/null").out;
  }

  const std::string path_ = "t.json";  // in the test's folder
};

TEST_F(StepFlag, without_it_the_last_whole_step_is_looked_at_and_a_note_says_so) {
  write(10, 4);
  for (const char* command : {"show ", "why ", "compare ", "step </dev/null "}) {
    EXPECT_EQ(ripeline(command + path_).exit_code, 0) << command;
    EXPECT_EQ(err(command + path_), "note: t.json: step 9 of 0..9; --step says which\n") << command;
  }
  EXPECT_THAT(out("why " + path_), HasSubstr("t.json, step 9: "));
  write(10, 4, Time{0}, 3);
  EXPECT_THAT(err("show " + path_), HasSubstr("step 8 of 0..9"));
  write(1, 4);
  EXPECT_EQ(err("show " + path_), "");
}

TEST_F(StepFlag, of_compare_may_be_given_several_times) {
  write(10, 4);
  const std::string two = out("compare t.json --step 3 --step 5..6");
  EXPECT_THAT(two, testing::ContainsRegex("\nt\\.json, step 3 .*\nt\\.json, steps 5\\.\\.6 "));
  EXPECT_EQ(err("compare t.json --step 3 --step 5..6"), "");
  EXPECT_THAT(out("compare bf t.json -m 4 --step 3 --step 4"),
              testing::ContainsRegex("\nbf .*\nt\\.json, step 3 .*\nt\\.json, step 4 "));
  EXPECT_THAT(err("compare t.json --step 3 --step 77"), HasSubstr("t.json: there is no step 77"));
  const auto of_no_trace = ripeline("compare bf --step 3");
  EXPECT_EQ(of_no_trace.exit_code, 2);
  EXPECT_THAT(of_no_trace.out, HasSubstr("--step: none of these is a trace"));
}

TEST_F(StepFlag, takes_a_step_or_a_range) {
  write(10, 4);
  EXPECT_EQ(err("show t.json --step 3"), "");
  const std::string one = out("show t.json --step 3");
  EXPECT_THAT(one, Not(HasSubstr("step")));
  EXPECT_EQ(one, out("show t.json --step 4")) << "the steps are alike";
  EXPECT_THAT(out("show t.json --step 3..5 --width 150"),
              testing::ContainsRegex("step +\\|3 +\\|4 +\\|5"));
  EXPECT_EQ(ripeline("show t.json --step 3..5 --picture p.svg").exit_code, 0);
  std::ifstream picture(folder_ / "p.svg");
  const std::string svg(std::istreambuf_iterator<char>(picture), {});
  for (const char* has : {">step 3<", ">step 4<", ">step 5<", ", steps 3..5<"}) {
    EXPECT_THAT(svg, HasSubstr(has));
  }
  EXPECT_THAT(svg, Not(HasSubstr(">step 6<")));
  EXPECT_THAT(out("compare --step 2 t.json t.json"), HasSubstr("t.json, step 2"));
}

// The picture shows where a step lost time to the host.
TEST_F(StepFlag, of_a_picture_tells_the_time_of_the_host_from_missing_inputs) {
  write(3, 4, Time{200'000});
  ASSERT_EQ(ripeline("show t.json --step 1 --picture p.svg").exit_code, 0);
  ASSERT_EQ(ripeline("show t.json --step 1 --picture p.html").exit_code, 0);
  std::ifstream picture(folder_ / "p.svg");
  const std::string svg(std::istreambuf_iterator<char>(picture), {});
  for (const char* has : {">idle: no input", ">idle: host busy<", ": host busy</title>"}) {
    EXPECT_THAT(svg, HasSubstr(has));
  }
  std::ifstream page(folder_ / "p.html");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(page), {}), HasSubstr("host busy"));
}

TEST_F(StepFlag, that_is_not_there_is_an_error_with_what_there_is) {
  write(3, 2);
  const struct {
    std::string arguments;
    const char* says;
  } kCases[] = {
      {"show " + path_ + " --step 3", "t.json: there is no step 3: it has steps 0..2"},
      {"why " + path_ + " --step 1..7", "there is no step 7: it has steps 0..2"},
      {"show bf --step 1", "bf: there is no step 1: it has step 0 alone"},
      {"show " + path_ + " --step x", "'x': expected the number of a step, as 3, or a range"},
      {"show " + path_ + " --step 2..1", "2..1: the first number is the smaller one"},
      {"step " + path_ + " --step 0..1", "one step is walked, so give its number, as --step 1"},
  };
  for (const auto& [arguments, says] : kCases) {
    const Outcome outcome = ripeline(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.out, HasSubstr(says)) << arguments;
  }
}

TEST_F(StepFlag, the_debugger_goes_to_a_step) {
  write(3, 2);
  std::ofstream(folder_ / "commands") << "step 1\nto 1F1\nstep 7\nstep x\nrank 0\n";
  const Outcome outcome = ripeline("step t.json --step 0 < commands");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("> step 1\nevent 0 of "));
  EXPECT_THAT(outcome.out, HasSubstr("next: at 2.25 1F1 starts on rank 1"))
      << "times count from the step's beginning";
  EXPECT_THAT(outcome.out, HasSubstr("it stays at t.json, step 1\n"));
  EXPECT_THAT(outcome.out, HasSubstr("there is no step 7: it has steps 0..2"));
  EXPECT_THAT(outcome.out, HasSubstr("'x' is no number of a step"));
}

// Hundreds of short waits for the host, and hundreds of tasks, still give only few lines.
TEST_F(StepFlag, why_of_a_long_step_is_short_and_begins_with_what_each_rank_spent) {
  write(2, 400, Time{1'000});
  const Outcome outcome = ripeline("why " + path_);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_LT(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 70) << outcome.out;
  EXPECT_THAT(outcome.out, testing::ContainsRegex("tasks +no input +.*host busy +before +after"));
  EXPECT_THAT(outcome.out, HasSubstr("rank 3"));
  EXPECT_THAT(outcome.out, HasSubstr("ends last; the chain to it, from the start\nof "));
  EXPECT_THAT(outcome.out,
              testing::ContainsRegex("… [0-9]+ waits of under [0-9.]+, [0-9.]+ together"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("… [0-9]+ more: tasks [0-9.]+"));
}

// The parts of each line of the table add up to the whole time.
TEST_F(StepFlag, what_a_rank_spent_adds_up) {
  write(2, 6, Time{1'000});
  const std::string said = out("why t.json --step 0..1");
  const double whole = std::stod(said.substr(said.find(": ") + 2));
  for (int rank = 0; rank < 4; ++rank) {
    const std::size_t at = said.find("\n  rank " + std::to_string(rank) + " ");
    ASSERT_NE(at, std::string::npos);
    std::istringstream line(said.substr(at + 9, said.find('\n', at + 1) - at - 9));
    double sum = 0;
    for (double part = 0; line >> part;) sum += part;
    EXPECT_NEAR(sum, whole, 0.01 * whole) << said;
  }
}

}  // namespace
