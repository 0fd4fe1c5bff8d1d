#include "runtime/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/print.h"
#include "runtime/network/local.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/toy_run.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing::HasSubstr;
using testing_support::ProvedText;
using testing_support::TellingTransport;
using testing_support::ToyRun;
using namespace std::chrono_literals;

// Each lane runs its tasks in microbatch order, so that the order of sums is fixed.
const char* const kSequential = R"(
pipeline chain {
  param ranks = 3;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward sequential  { needs F at prev;             acquires activation; }
  op B backward sequential { needs F at here, B at next;  releases activation; }
  resource activation per stage { capacity ranks - s; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
}
)";

// A V placement: two stages per rank, and the backward in two halves.
const char* const kV = R"(
pipeline v {
  param ranks = 2;
  microbatches any;
  stages 2 * ranks;
  place s on s < ranks ? s : 2 * ranks - 1 - s;
  op F forward sequential { needs F at prev;  acquires activation leaving chunks - 1 - chunk; }
  op I backward input sequential  { needs F at here, I at next; }
  op W backward weight sequential { needs I at here;  releases activation; }
  resource activation per rank { capacity 2 * ranks; }
  hint bfw { rounds I, F;  fill W; }
  dispatch ready by bfw;
}
)";

TEST(Step, of_a_sequential_program_makes_the_references_gradients) {
  const ProvedText proved(kSequential, 3);
  ToyRun run(proved, {.stages = 3, .width = 5, .seed = 7});
  run.run(4, 9);
  run.expect_reference(4, 9);
  for (int r = 0; r < 3; ++r) EXPECT_EQ(run.rank(r).reports.back().tasks, 18);
}

TEST(Step, of_ranks_with_different_numbers_of_microbatches_fails_at_once_on_all) {
  const ProvedText proved("bf", 3);
  for (const auto& [others, last] : {std::pair{4, 5}, {5, 4}}) {
    ToyRun run(proved, {.stages = 3, .width = 2, .seed = 7});
    auto group = network::make_local_group(3);
    const auto begin = std::chrono::steady_clock::now();
    testing_support::in_threads(3, [&](int r) {
      run.run_one(r, *group[static_cast<std::size_t>(r)], 2, r == 2 ? last : others);
      group[static_cast<std::size_t>(r)].reset();
    });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s) << "no limit was waited for";
    for (int r = 0; r < 3; ++r) {
      EXPECT_THAT(run.rank(r).status.message(),
                  testing::AllOf(HasSubstr("different numbers of microbatches in step 0"),
                                 HasSubstr("rank 1 has " + std::to_string(others)),
                                 HasSubstr("rank 2 has " + std::to_string(last))))
          << "rank " << r;
    }
  }
}

// The widest case also tests messages that are too long to be sent between two tasks.
TEST(Step, with_tasks_in_a_thread_of_their_own_makes_the_references_gradients) {
  std::string pairs = kV;
  pairs.replace(pairs.find("hint bfw"), 0, "pair F, I;  pair F, W;\n  ");
  const struct {
    const char* text;
    int ranks;
    int width;
  } kCases[] = {{kSequential, 3, 5}, {kV, 2, 3}, {pairs.c_str(), 2, 3}, {kSequential, 2, 40'000}};
  for (const auto& [text, ranks, width] : kCases) {
    for (const bool sockets : {false, true}) {
      SCOPED_TRACE(std::string(text) + (sockets ? " over sockets" : ""));
      const ProvedText proved(text, ranks);
      const testing_support::TemporaryFolder folder;
      ToyRun run(proved, {.width = width, .seed = 7});
      run.in_engine_thread = true;
      if (sockets) {
        run.connect = [&](int n) { return testing_support::connect_group(n, folder.path()); };
      }
      run.run(3, 6);
      run.expect_reference(3, 6);
    }
  }
}

TEST(Step, of_a_fixed_order_makes_the_references_gradients) {
  const ProvedText proved("1f1b", 3);
  ToyRun run(proved, {.stages = 3, .width = 5, .seed = 8});
  run.run(2, 7);
  run.expect_reference(2, 7);
}

TEST(Step, runs_a_v_with_a_backward_in_two_halves) {
  const ProvedText proved(kV, 2);
  ToyRun run(proved, {.stages = 4, .width = 3, .seed = 9});
  run.run(3, 6);
  run.expect_reference(3, 6);
}

// A work whose tasks end in run() runs them one after the other, even if a pair may overlap.
TEST(Step, of_pairs_makes_the_references_gradients) {
  std::string text = kV;
  text.replace(text.find("hint bfw"), 0, "pair F, I;  pair F, W;\n  ");
  const ProvedText proved(text, 2);
  ToyRun run(proved, {.stages = 4, .width = 3, .seed = 13});
  run.run(3, 6);
  run.expect_reference(3, 6);
}

// If two tasks start at once, the second must not delay the messages of the first.
TEST(Step, of_pairs_sends_what_the_first_has_made_before_the_second_runs) {
  const ProvedText proved("dualpipe_v", 2);
  ToyRun run(proved, {.stages = 4, .width = 3, .seed = 16});
  trace::Record records[2];
  for (int r = 0; r < 2; ++r) {
    run.rank(r).options.trace = &records[r];
    run.rank(r).before_task = [](const TaskInfo&) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    };
  }
  run.run(1, 8);
  run.expect_reference(1, 8);
  const core::ProgramFacts& facts = proved.facts();
  int checked = 0;
  for (const trace::MessageEvent& message : records[0].messages) {  // sent by rank 1
    const core::LaneId producer =
        facts.edges[static_cast<std::size_t>(message.message.edge)].producer;
    const auto is_producer = [&](const trace::TaskEvent& e) {
      return e.task == core::Task{producer, message.message.microbatch};
    };
    const auto& tasks = records[1].tasks;
    const auto ended = std::find_if(tasks.begin(), tasks.end(), is_producer);
    ASSERT_NE(ended, tasks.end());
    const auto next = ended + 1;
    if (next == tasks.end()) continue;
    ++checked;
    EXPECT_LE(message.sent, next->end - std::chrono::microseconds(300));
  }
  EXPECT_GT(checked, 8);
}

// Runs a forward together with the input gradient of another microbatch.
class Paired final : public Work {
 public:
  explicit Paired(Work& inner) : inner_(inner) {}

  Status begin_step(std::int64_t step, int microbatches) override {
    return inner_.begin_step(step, microbatches);
  }
  Status run(Call& call) override { return inner_.run(call); }
  [[nodiscard]] bool runs_together(const TaskInfo& first, const TaskInfo& second) const override {
    EXPECT_NE(first.op, second.op);
    return first.op != "W" && second.op != "W";
  }
  Status run_pair(Call& first, Call& second) override {
    ++pairs;
    if (pairs == fails_at) return {StatusCode::failed, "no stream is free"};
    Status other = run(second);
    return other.ok() ? run(first) : other;
  }

  int pairs = 0;
  int fails_at = -1;

 private:
  Work& inner_;
};

TEST(Step, of_pairs_that_the_work_makes_one_makes_the_references_gradients) {
  const ProvedText proved("dualpipe_v", 2);
  ToyRun run(proved, {.stages = 4, .width = 3, .seed = 14});
  Paired first(run.rank(0).toy);
  Paired second(run.rank(1).toy);
  run.rank(0).work = &first;
  run.rank(1).work = &second;
  trace::Record record;
  run.rank(1).options.trace = &record;
  run.run(2, 8);
  run.expect_reference(2, 8);
  // On the rank of the last stages, a forward's partner has been ready for a long time.
  EXPECT_GT(second.pairs, 2);
  int together = 0;
  for (std::size_t i = 1; i < record.tasks.size(); ++i) {
    if (record.tasks[i - 1].end == record.tasks[i].end) ++together;
  }
  EXPECT_EQ(together, second.pairs);
}

TEST(Step, names_both_of_a_pair_that_fails) {
  const ProvedText proved("dualpipe_v", 2);
  ToyRun run(proved, {.stages = 4, .width = 3, .seed = 15});
  Paired pairs(run.rank(1).toy);
  pairs.fails_at = 1;
  run.rank(1).work = &pairs;
  run.run(1, 8);
  EXPECT_EQ(run.rank(1).status.code(), StatusCode::failed);
  EXPECT_THAT(run.rank(1).status.message(),
              testing::ContainsRegex("[12]F[0-9] and [12]I[0-9] failed: no stream is free"));
}

// From the second step on, a hint with patience knows how long tasks take.
TEST(Step, of_a_hint_that_waits_makes_the_references_gradients) {
  for (const char* clauses : {"notices;", "forecasts;"}) {
    for (const bool sockets : {false, true}) {
      SCOPED_TRACE(std::string(clauses) + (sockets ? " over sockets" : ""));
      std::string text = kSequential;
      text.replace(text.find("  hint bf"), std::string::npos,
                   "  order fixed on r { let warm = min(ranks - 1 - r, microbatches);\n"
                   "    F * warm;  (F B) * (microbatches - warm);  B * warm; }\n"
                   "  hint waits { follow fixed; " +
                       std::string(clauses) + " }\n  dispatch ready by waits;\n}\n");
      const ProvedText proved(text, 3);
      const testing_support::TemporaryFolder folder;
      ToyRun run(proved, {.stages = 3, .width = 5, .seed = 11});
      if (sockets) {
        run.connect = [&](int n) { return testing_support::connect_group(n, folder.path()); };
      }
      for (int r = 0; r < 3; ++r) {
        run.rank(r).before_task = [](const TaskInfo& info) {
          std::this_thread::sleep_for(std::chrono::microseconds(
              (info.op == "B" ? 700 : 300) + 90 * ((info.microbatch + info.stage) % 4)));
        };
      }
      run.run(3, 8);
      run.expect_reference(3, 8);
    }
  }
}

// Two copies of a model, as in Chimera: stages p .. 2p-1 are those of the copy that goes up.
class TwoCopies final : public Work {
 public:
  explicit TwoCopies(const ToyModel& model) : stages_(model.stages), down_(model), up_(model) {}

  Status begin_step(std::int64_t step, int microbatches) override {
    if (Status s = down_.begin_step(step, microbatches); !s.ok()) return s;
    return up_.begin_step(step, microbatches);
  }
  Status run(Call& call) override {
    const TaskInfo task = call.task;
    call.task.stage = task.stage % stages_;
    call.task.stages = stages_;
    const bool is_down = task.stage < stages_;
    microbatches_of_[is_down ? 0 : 1].insert(task.microbatch);
    Status status = (is_down ? down_ : up_).run(call);
    call.task = task;
    return status;
  }

  const ToyWork& down() const { return down_; }
  const ToyWork& up() const { return up_; }
  const std::set<int>& microbatches_of(int copy) const { return microbatches_of_[copy]; }

 private:
  int stages_;
  ToyWork down_;
  ToyWork up_;
  std::set<int> microbatches_of_[2];
};

// Even microbatches go down the ranks, odd ones up; each microbatch is trained once.
TEST(Step, of_two_copies_of_a_model_makes_the_references_gradients) {
  constexpr int kStages = 4;
  constexpr int kMicrobatches = 7;
  const ToyModel model{.stages = kStages, .width = 4, .seed = 12};
  const ProvedText proved("chimera", kStages);
  ToyRun run(proved, model);
  std::vector<std::unique_ptr<TwoCopies>> copies;
  for (int r = 0; r < kStages; ++r) {
    copies.push_back(std::make_unique<TwoCopies>(model));
    run.rank(r).work = copies.back().get();
  }
  run.run(1, kMicrobatches);
  std::map<int, std::vector<double>> sum;  // by stage
  double loss = 0;
  for (int r = 0; r < kStages; ++r) {
    ASSERT_TRUE(run.rank(r).status.ok()) << run.rank(r).status.message();
    const TwoCopies& both = *copies[static_cast<std::size_t>(r)];
    EXPECT_THAT(both.microbatches_of(0), testing::ElementsAre(0, 2, 4, 6));
    EXPECT_THAT(both.microbatches_of(1), testing::ElementsAre(1, 3, 5));
    for (const ToyWork* copy : {&both.down(), &both.up()}) {
      loss += copy->loss();
      for (const auto& [stage, gradient] : copy->gradients()) {
        std::vector<double>& total = sum[stage];
        total.resize(gradient.size());
        for (std::size_t i = 0; i < gradient.size(); ++i) total[i] += gradient[i];
      }
    }
  }
  const ToyResult reference = reference_gradients(model, 0, kMicrobatches);
  EXPECT_NEAR(loss, reference.loss, 1e-12);
  ASSERT_EQ(sum.size(), reference.gradients.size());
  for (int s = 0; s < kStages; ++s) {
    const std::vector<double>& expected = reference.gradients[static_cast<std::size_t>(s)];
    EXPECT_THAT(sum[s], testing::Pointwise(testing::DoubleNear(1e-12), expected)) << s;
  }
}

TEST(Step, of_one_rank_needs_nobody) {
  const ProvedText proved(kSequential, 1);
  ToyRun run(proved, {.stages = 1, .width = 3, .seed = 1});
  run.run(2, 4);
  run.expect_reference(2, 4);
}

TEST(Step, starts_tasks_in_the_committed_order) {
  const ProvedText proved("1f1b", 2);
  ToyRun run(proved, {});
  run.run(1, 3);
  std::string order;
  for (const core::Task task : run.rank(0).started) {
    const auto op = proved.facts().lanes[static_cast<std::size_t>(task.lane)].op;
    order += std::string(proved.facts().ops[static_cast<std::size_t>(op)].name) +
             std::to_string(task.microbatch) + " ";
  }
  EXPECT_EQ(order, "F0 F1 B0 F2 B1 B2 ");
}

TEST(Step, refuses_a_microbatch_count_that_was_not_proved) {
  const ProvedText proved(kSequential, 1);
  ToyRun run(proved, {});
  run.run(1, 0);
  EXPECT_EQ(run.rank(0).status.code(), StatusCode::invalid);
  EXPECT_THAT(run.rank(0).status.message(), HasSubstr("0 microbatches"));
}

// The toy model with a disturbance before one task.
class Disturbed final : public Work {
 public:
  using Act = std::function<Status()>;
  Disturbed(Work& inner, std::string op, int microbatch, Act act)
      : inner_(inner), op_(std::move(op)), microbatch_(microbatch), act_(std::move(act)) {}

  Status begin_step(std::int64_t step, int microbatches) override {
    return inner_.begin_step(step, microbatches);
  }
  Status run(Call& call) override {
    if (call.task.op == op_ && call.task.microbatch == microbatch_ && call.task.step == 1) {
      if (Status s = act_(); !s.ok()) return s;
    }
    return inner_.run(call);
  }

 private:
  Work& inner_;
  std::string op_;
  int microbatch_;
  Act act_;
};

// The parameter tells whether tasks run in a separate thread and not in their rank's thread.
class StepFailureTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { run_.in_engine_thread = GetParam(); }
  // Before its F2 in step 1, rank 1 of 3 calls `act`.
  void run(Disturbed::Act act, std::chrono::nanoseconds silence = 20s) {
    Disturbed disturbed(run_.rank(1).toy, "F", 2, std::move(act));
    run_.rank(1).work = &disturbed;
    for (const int r : {0, 2}) run_.rank(r).silence = silence;
    run_.run(2, 5);
  }
  const Status& status(int rank) { return run_.rank(rank).status; }

  ProvedText proved_{kSequential, 3};
  ToyRun run_{proved_, {}};
};

INSTANTIATE_TEST_SUITE_P(each, StepFailureTest, testing::Bool(), [](const auto& test) {
  return test.param ? "in_an_engines_thread" : "inline";
});

// Becomes ready when its rank has ended the named task `times` times.
class Awaiting final : public protocol::RankObserver {
 public:
  Awaiting(const core::ProgramFacts& facts, std::string task, int times)
      : facts_(facts), task_(std::move(task)), times_(times) {}
  void arrived(const signals::Data&, core::Time, core::Time) override {}
  void started(core::Task, core::Time) override {}
  void finished(core::Task task, core::Time) override {
    if (core::task_name(facts_, task) == task_ && --times_ == 0) ended_.set_value();
  }
  void polled(core::Time, const core::Executor&, std::span<const core::Command>) override {}
  [[nodiscard]] bool wait() {
    return ended_.get_future().wait_for(60s) == std::future_status::ready;
  }

 private:
  const core::ProgramFacts& facts_;
  std::string task_;
  int times_;
  std::promise<void> ended_;
};

TEST_P(StepFailureTest, of_a_status_is_named_everywhere) {
  Awaiting last(proved_.facts(), "2B1", 2);  // after it, rank 2 waits for rank 1
  run_.rank(2).options.observer = &last;
  run([&] {
    EXPECT_TRUE(last.wait());
    return Status(StatusCode::failed, "the disk is full");
  });
  EXPECT_EQ(status(1).code(), StatusCode::failed);
  EXPECT_THAT(status(1).message(), HasSubstr("1F2 failed: the disk is full"));
  for (const int r : {0, 2}) {
    EXPECT_EQ(status(r).code(), StatusCode::failed);
    EXPECT_THAT(status(r).message(),
                testing::StartsWith("rank 1 failed: 1F2 failed: the disk is full"));
    EXPECT_EQ(run_.rank(r).reports.size(), 1U) << "step 0 went well";
  }
  EXPECT_THAT(status(2).message(), HasSubstr("from rank 1")) << "what it waited for";
}

TEST_P(StepFailureTest, of_an_exception_is_named_everywhere) {
  run([]() -> Status { throw std::runtime_error("a bad shape"); });
  EXPECT_EQ(status(1).code(), StatusCode::failed);
  EXPECT_THAT(status(1).message(), HasSubstr("1F2 failed: a bad shape"));
  EXPECT_THAT(status(0).message(), HasSubstr("a bad shape"));
  EXPECT_THAT(status(2).message(), HasSubstr("a bad shape"));
}

TEST_P(StepFailureTest, of_anything_thrown_is_named) {
  run([]() -> Status { throw 17; });
  EXPECT_THAT(status(1).message(), HasSubstr("1F2 failed: an exception"));
}

// The toy model with other answers to begin_step() and to the question whether pairs overlap.
class Refusing final : public Work {
 public:
  Refusing(Work& inner, std::function<Status()> begin, std::function<bool()> together)
      : inner_(inner), begin_(std::move(begin)), together_(std::move(together)) {}
  Status begin_step(std::int64_t step, int microbatches) override {
    if (step == 1 && begin_) {
      if (Status s = begin_(); !s.ok()) return s;
    }
    return inner_.begin_step(step, microbatches);
  }
  Status run(Call& call) override { return inner_.run(call); }
  [[nodiscard]] bool runs_together(const TaskInfo&, const TaskInfo&) const override {
    return together_ && together_();
  }

 private:
  Work& inner_;
  std::function<Status()> begin_;
  std::function<bool()> together_;
};

TEST_P(StepFailureTest, of_a_step_that_cannot_begin_is_named_everywhere) {
  const std::pair<std::function<Status()>, std::string> kCases[] = {
      {[] { return Status(StatusCode::failed, "no data"); }, "no data"},
      {[]() -> Status { throw std::runtime_error("no disk"); }, "no disk"},
  };
  for (const auto& [begin, what] : kCases) {
    ToyRun run(proved_, {});
    run.in_engine_thread = GetParam();
    Refusing refusing(run.rank(1).toy, begin, nullptr);
    run.rank(1).work = &refusing;
    run.run(2, 5);
    EXPECT_EQ(run.rank(1).status.code(), StatusCode::failed);
    EXPECT_THAT(run.rank(1).status.message(),
                testing::StartsWith("rank 1 failed: it could not begin the step: " + what));
    for (const int r : {0, 2}) {
      EXPECT_EQ(run.rank(r).status.code(), StatusCode::failed);
      EXPECT_THAT(run.rank(r).status.message(),
                  testing::StartsWith("rank 1 failed: it could not begin the step: " + what));
    }
  }
}

TEST_P(StepFailureTest, of_a_question_about_a_pair_is_named_everywhere) {
  const ProvedText proved("dualpipe_v", 2);
  ToyRun run(proved, {.stages = 4, .width = 3, .seed = 15});
  run.in_engine_thread = GetParam();
  Refusing refusing(run.rank(1).toy, nullptr,
                    []() -> bool { throw std::runtime_error("no stream"); });
  run.rank(1).work = &refusing;
  run.run(1, 8);
  EXPECT_EQ(run.rank(1).status.code(), StatusCode::failed);
  EXPECT_THAT(run.rank(1).status.message(), testing::ContainsRegex("and .* failed: no stream"));
  EXPECT_THAT(run.rank(0).status.message(), HasSubstr("no stream"));
}

// Rank 1 is busy until another rank gives up.
TEST_P(StepFailureTest, of_silence_names_who_waits_for_whom) {
  std::promise<void> first;
  std::future<void> gave_up = first.get_future();
  std::once_flag once;
  run_.wrap = [&](Transport& inner) {
    return std::make_unique<TellingTransport>(inner, [&](int, const Envelope& envelope) {
      if (envelope.is<signals::Report>()) std::call_once(once, [&] { first.set_value(); });
    });
  };
  run(
      [&] {
        EXPECT_EQ(gave_up.wait_for(60s), std::future_status::ready) << "nobody gave up";
        return Status();
      },
      300ms);
  for (const int r : {0, 1, 2}) {
    EXPECT_EQ(status(r).code(), StatusCode::timeout);
    // If tasks run in the loop's own thread, a rank can answer its peers only after the task.
    const std::string says = GetParam() ? "rank 1 has been running 1F2 for " : "rank 1 ";
    EXPECT_THAT(status(r).message(), testing::StartsWith(says));
    EXPECT_THAT(status(r).message(), HasSubstr("started 1F2 "));
  }
}

}  // namespace
}  // namespace ripeline::runtime
