// Tests the solver: known optima, windows of orders, and everything that can go wrong with its
// process. Tests of optima are skipped if OR-tools is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "optimise/bounds/task_graph.h"
#include "optimise/model.h"
#include "optimise/solver/solver.h"
#include "simulate/timing.h"
#include "tests/optimise/every_order.h"
#include "tests/simulate/runs.h"
#include "tests/support/temporary_folder.h"

namespace ripeline::optimise {
namespace {

using Status = SolveAnswer::Status;
using testing::HasSubstr;

// A step with a split backward; costs and latency are in units of kUnit.
struct Step {
  int ranks = 4;
  int microbatches = 8;
  int forward = 1;
  int input = 1;
  int weight = 1;
  int latency = 0;
  int capacity = 4;
  bool is_v = false;    // two stages per rank, which share a pool
  int takes = 1;        // units of the pool that a forward acquires
  int input_gives = 0;  // units of these that I releases; W releases the rest
};

std::string text_of(const Step& step) {
  return fmt::format(
      R"(
pipeline step {{
  microbatches any;
  stages {};
  place s on {};
  op F forward {{ cost {}; needs F at prev; acquires room {}; }}
  op I backward input {{ cost {}; needs F at here, I at next; {} }}
  op W backward weight {{ cost {}; needs I at here; releases room {}; }}
  resource room per rank {{ capacity {}; }}
  dispatch ready;
}}
)",
      step.is_v ? 2 * step.ranks : step.ranks,
      step.is_v ? fmt::format("s < {0} ? s : 2 * {0} - 1 - s", step.ranks) : "s", step.forward,
      step.takes, step.input,
      step.input_gives > 0 ? fmt::format("releases room {};", step.input_gives) : "", step.weight,
      step.takes - step.input_gives, step.capacity);
}

Model model_of(const spec::Program& program, int microbatches,
               const simulate::TimingOptions& times) {
  simulate::Timing timing;
  EXPECT_TRUE(simulate::Timing::make(program, microbatches, times, timing).ok());
  TaskGraph graph;
  EXPECT_TRUE(TaskGraph::make(program, microbatches, timing, graph).ok());
  return Model::of(program, microbatches, timing, graph);
}

Model model_of(const Step& step) {
  simulate::TimingOptions times;
  times.latency = step.latency;
  return model_of(testing_support::compiled_schedule(text_of(step)), step.microbatches, times);
}

const Time kUnit = simulate::plain_unit().nanoseconds;

// The makespan, or the span if `is_span`, in units; nullopt if the order is not legal.
std::optional<Time> measured(const Model& model, const Rows& rows, bool is_span) {
  const auto starts = starts_of(model, rows);
  if (!starts) return std::nullopt;
  Time most = 0;
  for (int m = 0; m < size_of(rows); ++m) {
    std::optional<Time> begin;
    for (const int lane : at(model.machines, m).lanes) {
      const Model::Lane& of = at(model.lanes, lane);
      for (int task = of.first; task < of.first + of.tasks; ++task) {
        if (is_span) begin = std::min(begin.value_or(at(*starts, task)), at(*starts, task));
      }
    }
    for (const int lane : at(model.machines, m).lanes) {
      const int last = at(model.lanes, lane).first + at(model.lanes, lane).tasks - 1;
      most = std::max(most, at(*starts, last) + at(model.takes, last) - begin.value_or(0));
    }
  }
  return most / kUnit;
}
std::optional<Time> makespan_of_rows(const Model& model, const Rows& rows) {
  return measured(model, rows, false);
}
std::optional<Time> span_of(const Model& model, const Rows& rows) {
  return measured(model, rows, true);
}

// A machine's lanes, sorted by the earliest time at which they can begin; on a chain F, I and W.
std::vector<int> lanes_of(const Model& model, int machine) {
  std::vector<int> lanes = at(model.machines, machine).lanes;
  std::sort(lanes.begin(), lanes.end(), [&](int a, int b) {
    return at(model.heads, at(model.lanes, a).first) < at(model.heads, at(model.lanes, b).first);
  });
  return lanes;
}

// 1F1B of a chain, within the memory; each weight gradient directly follows its input gradient.
Rows one_f_one_b(const Model& model, const Step& step) {
  Rows rows;
  for (int rank = 0; rank < step.ranks; ++rank) {
    const std::vector<int> lanes = lanes_of(model, rank);
    const int warm = std::min({step.ranks - rank, step.capacity / step.takes, step.microbatches});
    std::vector<int> row(static_cast<std::size_t>(warm), lanes[0]);
    for (int k = 0; k < step.microbatches; ++k) {
      row.insert(row.end(), {lanes[1], lanes[2]});
      if (warm + k < step.microbatches) row.push_back(lanes[0]);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// An order that runs one microbatch after another.
Rows one_by_one(const Model& model) {
  Rows rows;
  for (int m = 0; m < size_of(model.machines); ++m) {
    const std::vector<int> lanes = lanes_of(model, m);
    rows.emplace_back();
    for (int k = 0; k < at(model.lanes, lanes.front()).tasks; ++k) {
      rows.back().insert(rows.back().end(), lanes.begin(), lanes.end());
    }
  }
  return rows;
}

bool runs(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string word;
  while (stat >> word && word.back() != ')') continue;
  return stat >> word && word != "Z";
}

class SolverTest : public testing::Test {
 protected:
  void SetUp() override { setenv("RIPELINE_SOLVER", RIPELINE_SOLVER_PROGRAM, 1); }
  void TearDown() override {
    unsetenv("RIPELINE_SOLVER");
    unsetenv("RIPELINE_ORTOOLS");
  }

  // Replaces ripeline-solver by a shell script.
  void use_script(const std::string& text) {
    const std::string file = folder_.path() + "/solver_double";
    std::ofstream(file) << "#!/bin/sh\n" << text << '\n';
    chmod(file.c_str(), 0755);
    setenv("RIPELINE_SOLVER", file.c_str(), 1);
  }

  // Solves with two threads and enough time.
  static SolveAnswer solved(SolveRequest request) {
    request.workers = 2;
    if (request.seconds == 10) request.seconds = 100;
    return solve(request);
  }

  const testing_support::TemporaryFolder folder_;
};

#define SKIP_WITHOUT_SOLVER(answer)                                       \
  if ((answer).status == Status::unavailable &&                           \
      (answer).why.find("OR-tools was not found") != std::string::npos) { \
    GTEST_SKIP() << (answer).why;                                         \
  }                                                                       \
  ASSERT_NE((answer).status, Status::unavailable) << (answer).why

void expect_optimum(const Step& step, Time bubble, const SolveAnswer& answer, const Model& model) {
  const Time makespan =
      bubble + step.microbatches * (step.is_v ? 2 : 1) * (step.forward + step.input + step.weight);
  EXPECT_EQ(answer.status, Status::optimal);
  ASSERT_TRUE(answer.rows);
  EXPECT_EQ(makespan_of_rows(model, *answer.rows), makespan);
  EXPECT_EQ(answer.bound, makespan * kUnit);
}

TEST_F(SolverTest, finds_the_known_optima_of_chains) {
  struct Row {
    Step step;
    Time bubble;
  };
  for (const auto& [step, bubble] :
       {Row{{4, 8, 1, 1, 1, 0, 2}, 17}, Row{{4, 8, 1, 1, 1, 0, 5}, 3},
        Row{{8, 16, 24, 23, 12, 1, 7}, 332}, Row{{8, 16, 24, 23, 12, 1, 15}, 175}}) {
    const Model model = model_of(step);
    for (const bool is_hinted : {false, true}) {
      const Rows rows = one_f_one_b(model, step);
      const SolveAnswer answer =
          solved({.model = model, .hint = is_hinted ? &rows : nullptr, .scale = kUnit});
      SKIP_WITHOUT_SOLVER(answer);
      expect_optimum(step, bubble, answer, model);
    }
  }
}

TEST_F(SolverTest, gives_room_back_in_parts) {
  const Time bubbles[] = {117, 75, 75, 75, 75};
  for (int activations = 4; activations <= 8; ++activations) {
    const Step step{4, 12, 24, 23, 12, 1, 100 * activations, false, 100, 57};
    const Model model = model_of(step);
    const Rows rows = one_f_one_b(model, step);
    const SolveAnswer answer = solved({.model = model, .hint = &rows, .scale = kUnit});
    SKIP_WITHOUT_SOLVER(answer);
    expect_optimum(step, bubbles[activations - 4], answer, model);
  }
}

TEST_F(SolverTest, knows_pools_of_several_stages) {
  const Step step{4, 8, 12, 11, 6, 1, 6, true};
  const Model model = model_of(step);
  const Rows rows = one_by_one(model);
  // Uses one thread, since several threads would look for better orders and take a minute to prove.
  const SolveAnswer answer =
      solve({.model = model, .hint = &rows, .scale = kUnit, .seconds = 8, .workers = 1});
  SKIP_WITHOUT_SOLVER(answer);
  if (answer.status == Status::optimal) return expect_optimum(step, 103, answer, model);
  const Time optimum = 103 + 8 * 2 * 29;
  EXPECT_LE(answer.bound, optimum * kUnit);
  ASSERT_TRUE(answer.rows);
  EXPECT_GE(makespan_of_rows(model, *answer.rows), optimum);
  EXPECT_LT(makespan_of_rows(model, *answer.rows), makespan_of_rows(model, rows));
}

// The expected makespan is found by visiting all orders.
TEST_F(SolverTest, agrees_with_every_order_of_small_steps) {
  std::mt19937 random(1);
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int k = 0; k < 40; ++k) {
    Step step;
    step.is_v = k % 2 == 1;
    step.ranks = draw(1, step.is_v ? 2 : 3);
    step.microbatches = draw(1, step.is_v ? 3 : 5);
    step.forward = draw(1, 4);
    step.input = draw(1, 4);
    step.weight = draw(1, 4);
    step.latency = draw(0, 2);
    step.takes = draw(1, 3);
    step.input_gives = draw(0, step.takes - 1);
    step.capacity = step.takes * (step.is_v ? 2 : 1) + draw(0, 3 * step.takes);
    const auto expected =
        testing_support::least_makespan({.v = step.is_v,
                                         .ranks = step.ranks,
                                         .microbatches = step.microbatches,
                                         .forward = step.forward,
                                         .input = step.input,
                                         .weight = step.weight,
                                         .latency = step.latency,
                                         .memory = step.capacity,
                                         .activation = step.takes,
                                         .after_input = step.takes - step.input_gives});
    ASSERT_TRUE(expected);
    const Model model = model_of(step);
    const SolveAnswer answer = solved({.model = model, .scale = kUnit});
    SKIP_WITHOUT_SOLVER(answer);
    EXPECT_EQ(answer.status, Status::optimal);
    EXPECT_EQ(answer.bound, *expected * kUnit) << text_of(step);
    ASSERT_TRUE(answer.rows) << text_of(step);
    EXPECT_EQ(makespan_of_rows(model, *answer.rows), *expected) << text_of(step);
  }
}

TEST_F(SolverTest, says_that_there_is_no_order) {
  const Model model = model_of({2, 4, 1, 1, 1, 0, 1, true});
  const SolveAnswer answer = solved({.model = model, .scale = kUnit});
  SKIP_WITHOUT_SOLVER(answer);
  EXPECT_EQ(answer.status, Status::infeasible);
}

TEST_F(SolverTest, measures_spans) {
  for (const auto& [capacity, bubble] : {std::pair(5, 2), std::pair(6, 1), std::pair(7, 0)}) {
    const Step step{4, 8, 1, 1, 1, 0, capacity};
    const Model model = model_of(step);
    const Rows rows = one_f_one_b(model, step);
    const SolveAnswer answer =
        solved({.model = model, .objective = Objective::span, .hint = &rows, .scale = kUnit});
    SKIP_WITHOUT_SOLVER(answer);
    EXPECT_EQ(answer.status, Status::optimal);
    ASSERT_TRUE(answer.rows);
    EXPECT_EQ(span_of(model, *answer.rows), 24 + bubble);
    // Starts at fractions of a unit could lower the span, but by less than one unit.
    EXPECT_EQ(answer.bound, (24 + bubble - 1) * kUnit + 1);
  }
}

TEST_F(SolverTest, bounds_with_times_that_are_rounded_down) {
  const Step step{4, 8, 24, 23, 12, 1, 4};
  const Model model = model_of(step);
  const Rows rows = one_f_one_b(model, step);
  const Time makespan = (8 * 59 + 117) * kUnit;
  for (const Time unit : {2, 5, 7, 60}) {
    SolveRequest request{.model = model, .hint = &rows, .scale = unit * kUnit, .rounds_down = true};
    const SolveAnswer down = solved(request);
    SKIP_WITHOUT_SOLVER(down);
    ASSERT_TRUE(down.bound);
    EXPECT_LE(*down.bound, makespan);
    EXPECT_GE(*down.bound, unit == 60 ? 0 : makespan / 100 * (unit == 2 ? 95 : 80));
    request.bound = makespan - 1;
    EXPECT_EQ(solved(request).bound, makespan - 1) << "which was known";
    request.rounds_down = false;
    const SolveAnswer nearest = solved(request);
    EXPECT_FALSE(nearest.bound);
    ASSERT_TRUE(nearest.rows);
    EXPECT_GE(makespan_of_rows(model, *nearest.rows), makespan / kUnit);
  }
}

TEST_F(SolverTest, moves_the_tasks_of_a_window_alone) {
  for (const bool is_v : {false, true}) {
    const Step step{4, is_v ? 8 : 24, 24, 23, 12, 1, is_v ? 8 : 3, is_v};
    const Model model = model_of(step);
    Rows rows = is_v ? one_by_one(model) : one_f_one_b(model, step);
    const Time before = *makespan_of_rows(model, rows);
    Time last = before;
    for (int k = 0; k < 6; ++k) {
      const std::vector<Time> starts = *starts_of(model, rows);
      const Time from = last * k / 8;
      const SolveRequest request{
          .model = model,
          .hint = &rows,
          .is_free = tasks_within(model, starts, from * kUnit, (from + last / 4) * kUnit),
          .scale = kUnit};
      const SolveAnswer answer = solved(request);
      SKIP_WITHOUT_SOLVER(answer);
      EXPECT_EQ(answer.status, Status::optimal);
      EXPECT_FALSE(answer.bound) << "which would be one of the window";
      ASSERT_TRUE(answer.rows);
      const auto makespan = makespan_of_rows(model, *answer.rows);
      ASSERT_TRUE(makespan);
      EXPECT_LE(*makespan, last);
      for (int m = 0; m < size_of(rows); ++m) {
        std::vector<int> next(model.lanes.size(), 0);
        for (int place = 0; place < size_of(at(rows, m)); ++place) {
          const int lane = at(at(rows, m), place);
          const int task = at(model.lanes, lane).first + at(next, lane)++;
          if (!request.is_free[static_cast<std::size_t>(task)]) {
            EXPECT_EQ(at(at(*answer.rows, m), place), lane);
          }
        }
      }
      rows = *answer.rows;
      last = *makespan;
    }
    EXPECT_LT(last, before);
  }
}

TEST_F(SolverTest, refuses_an_order_that_is_not_legal) {
  const Step step{2, 4, 1, 1, 1, 0, 2};
  const Model model = model_of(step);
  Rows rows = one_f_one_b(model, {2, 4, 1, 1, 1, 0, 4});
  rows.front() = {0, 0, 0, 1, 2, 1, 2, 0, 1, 2, 1, 2};  // with three activations at a time
  const SolveAnswer answer = solved({.model = model, .hint = &rows, .scale = kUnit});
  EXPECT_EQ(answer.status, Status::unavailable);
  EXPECT_THAT(answer.why, HasSubstr("the order to begin with is not legal"));
}

TEST_F(SolverTest, answers_with_its_best_when_it_is_stopped) {
  const Step step{8, 64, 18546, 18097, 9321, 762, 6};
  const Model model = model_of(step);
  const Rows rows = one_f_one_b(model, step);
  SolveAnswer answer;
  // On a busy machine the solver may find its first order later.
  for (std::chrono::seconds time{2}; time.count() <= 64; time *= 2) {
    const auto begin = std::chrono::steady_clock::now();
    answer =
        solved({.model = model, .hint = &rows, .scale = 772 * kUnit, .seconds = 200, .go_on = [&] {
                  return std::chrono::steady_clock::now() - begin < time;
                }});
    SKIP_WITHOUT_SOLVER(answer);
    if (answer.status != Status::unknown) break;
  }
  EXPECT_LT(answer.seconds, 100);
  EXPECT_EQ(answer.status, Status::feasible);
  ASSERT_TRUE(answer.rows);
  EXPECT_LE(makespan_of_rows(model, *answer.rows), makespan_of_rows(model, rows));
}

TEST_F(SolverTest, ends_with_its_caller) {
  const Step step{8, 64, 18546, 18097, 9321, 762, 6};
  const Model model = model_of(step);
  {
    const SolveAnswer answer = solve({.model = model, .seconds = .01});
    SKIP_WITHOUT_SOLVER(answer);
  }
  const std::string file = folder_.path() + "/solver_pid";
  use_script(fmt::format("echo $$ > {0}.new; mv {0}.new {0}; exec {1} $PPID", file,
                         RIPELINE_SOLVER_PROGRAM));
  const pid_t caller = fork();
  if (caller == 0) {
    (void)solve({.model = model, .seconds = 200});
    _exit(0);
  }
  pid_t solver = 0;
  for (int k = 0; k < 1000 && solver == 0; ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::ifstream(file) >> solver;
  }
  ASSERT_GT(solver, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // until the solver is running
  EXPECT_TRUE(runs(solver));
  kill(caller, SIGKILL);
  waitpid(caller, nullptr, 0);
  for (int k = 0; k < 1000 && runs(solver); ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_FALSE(runs(solver));
}

TEST_F(SolverTest, says_what_is_missing) {
  const Model model = model_of({2, 4, 1, 1, 1, 0, 2});
  setenv("RIPELINE_ORTOOLS", "/no/such/folder", 1);
  SolveAnswer answer = solve({.model = model, .scale = kUnit});
  EXPECT_EQ(answer.status, Status::unavailable);
  EXPECT_FALSE(answer.rows);
  EXPECT_THAT(answer.why, HasSubstr("OR-tools was not found: /no/such/folder/libortools.so.9"));
  EXPECT_THAT(answer.why, HasSubstr("setup/setup.sh installs it"));
  setenv("RIPELINE_SOLVER", "/no/such/program", 1);
  answer = solve({.model = model, .scale = kUnit});
  EXPECT_EQ(answer.status, Status::unavailable);
  EXPECT_THAT(answer.why, HasSubstr("ripeline-solver cannot be started (/no/such/program: No such "
                                    "file or directory)"));
  unsetenv("RIPELINE_SOLVER");
  EXPECT_THAT(solve({.model = model, .scale = kUnit}).why,
              testing::AnyOf(HasSubstr("/ripeline-solver: No such file"), testing::IsEmpty(),
                             HasSubstr("OR-tools was not found")));
}

// However the process fails, the caller learns how it failed, and continues.
TEST_F(SolverTest, survives_whatever_its_process_does) {
  // The request does not fit into the buffer of a pipe.
  const Model model = model_of({8, 64, 24, 23, 12, 1, 8});
  struct Row {
    std::string script;
    std::string why;
  };
  for (const auto& [script, why] : {
           Row{"yes garbage | head -c 300000", "answer cannot be read"},
           Row{"cat > /dev/null", "answer cannot be read"},
           Row{"exit 0", "answer cannot be read"},
           Row{"exec yes < /dev/null", "answer is too long"},
           Row{"kill -SEGV $$", "ended by signal 11 (Segmentation fault)"},
           Row{"cat > /dev/null; kill -ABRT $$", "ended by signal 6 (Aborted)"},
           Row{"echo the disk is full >&2; exit 4", "the disk is full"},
           Row{"exit 4", "ended with exit code 4"},
           Row{"trap '' TERM; sleep 1000 & echo $! > " + folder_.path() + "/sleeper; wait",
               "gave no answer in 0.1 s and was ended"},
           Row{"exec > /dev/null 2>&1; exec sleep 1000", "gave no answer in 0.1 s and was ended"},
       }) {
    use_script(script);
    const SolveAnswer answer = solve({.model = model, .scale = kUnit, .seconds = .1});
    EXPECT_EQ(answer.status, Status::unavailable) << script;
    EXPECT_FALSE(answer.rows) << script;
    EXPECT_THAT(answer.why, HasSubstr(why)) << script;
    EXPECT_LT(answer.seconds, 60) << script;
  }
  pid_t sleeper = 0;
  std::ifstream(folder_.path() + "/sleeper") >> sleeper;
  ASSERT_GT(sleeper, 0);
  for (int k = 0; k < 500 && runs(sleeper); ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_FALSE(runs(sleeper)) << "what the process had started";
}

TEST_F(SolverTest, believes_no_answer) {
  const spec::Program program = testing_support::compiled_schedule(R"(
pipeline two {
  microbatches 1;
  stages 1;
  place s on 0;
  op A forward { cost 2; }
  op B backward { cost 2; }
  dispatch ready;
}
)");
  const Model model = model_of(program, 1, {});
  const Rows rows = {{0, 1}};
  struct Row {
    std::string message;  // the status; the two starts and the makespan; the bound
    std::string why;
  };
  for (const auto& [message, why] : {
           Row{R"(\010\004\022\003\000\002\004)", ""},
           Row{R"(\010\002\022\003\002\000\004)", ""},
           Row{R"(\010\004\022\003\000\001\004)", "variables 0 and 1 overlap"},
           Row{R"(\010\004\022\003\000\011\004)", "variable 1 is 9, outside 0 .. 4"},
           Row{R"(\010\004\022\003\000\002\003)",
               "variable 2 is 3, which is too early or too late"},
           Row{R"(\010\004\022\002\000\002)", "2 values for 3 variables"},
           Row{R"(\010\004)", "0 values for 3 variables"},
           Row{R"(\010\002\022\003\000\002\004\041\000\000\000\000\000\000\044\100)",
               "its bound is above what it found"},  // the bound 10 is above the wall
           Row{R"(\010\003)", "it says that there is no order"},
           Row{R"(\010\001)", "OR-tools does not accept the problem"},
           Row{R"(\010\007)", "answer cannot be read"},
           Row{R"(\010\004\022\377)", "answer cannot be read"},
       }) {
    const auto length = std::count(message.begin(), message.end(), '\\');
    use_script(fmt::format(R"(cat > /dev/null; printf '\{:03o}\000\000\000\000\000\000\000{}')",
                           length, message));
    const SolveAnswer answer = solve({.model = model, .hint = &rows, .scale = kUnit});
    if (why.empty()) {
      EXPECT_NE(answer.status, Status::unavailable) << answer.why;
      EXPECT_TRUE(answer.rows);
      continue;
    }
    EXPECT_EQ(answer.status, Status::unavailable) << why;
    EXPECT_FALSE(answer.rows) << why;
    EXPECT_FALSE(answer.bound) << why;
    EXPECT_THAT(answer.why, HasSubstr(why));
  }
}

}  // namespace
}  // namespace ripeline::optimise
