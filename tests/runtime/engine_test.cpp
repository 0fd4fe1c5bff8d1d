// Tests both engines: what they have in common, and what the engine with its own thread adds.
#include "runtime/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/clock.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing::ElementsAre;
using namespace std::chrono_literals;

// Records each call; the test decides what a call does.
class Noting final : public Work {
 public:
  Status begin_step(std::int64_t step, int microbatches) override {
    note("step " + std::to_string(step) + " of " + std::to_string(microbatches));
    return on_begin ? on_begin() : Status();
  }
  Status run(Call& call) override {
    note("run " + std::to_string(call.task.microbatch));
    call.give({.head = {static_cast<std::byte>(call.task.microbatch)}, .parts = {}});
    return on_run ? on_run(call.task.microbatch) : Status();
  }
  [[nodiscard]] bool runs_together(const TaskInfo&, const TaskInfo&) const override {
    return together ? together() : false;
  }
  Status run_pair(Call& first, Call& second) override {
    note("pair " + std::to_string(first.task.microbatch) + " " +
         std::to_string(second.task.microbatch));
    return on_pair ? on_pair() : Work::run_pair(first, second);
  }

  std::vector<std::string> notes;
  std::vector<std::thread::id> threads;
  std::function<Status()> on_begin;
  std::function<Status(int)> on_run;
  std::function<bool()> together;
  std::function<Status()> on_pair;

 private:
  void note(std::string what) {
    notes.push_back(std::move(what));
    threads.push_back(std::this_thread::get_id());
  }
};

Call call(int microbatch) {
  Call c;
  c.task = {.op = "F", .microbatch = microbatch, .task = {2, microbatch}};
  c.outputs.emplace_back();
  return c;
}

// The parameter is whether the engine has a thread of its own.
class EngineTest : public testing::TestWithParam<bool> {
 protected:
  void make(BeforeTask before_task = nullptr) {
    if (GetParam()) {
      engine_ = std::make_unique<ThreadEngine>(
          work_, [this] { wake(); }, std::move(before_task));
    } else {
      engine_ = std::make_unique<InlineEngine>(work_, std::move(before_task));
    }
  }
  // Waits to be woken, as the loop of a run does, unless the engine asks to be polled at once.
  Ended next() {
    Ended ended;
    const auto limit = std::chrono::steady_clock::now() + 60s;
    while (!engine_->ended(ended)) {
      if (std::chrono::steady_clock::now() > limit) {
        ADD_FAILURE() << "nothing has ended";
        break;
      }
      if (engine_->next() == core::Time{0}) continue;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, 60s, [this] { return woken_; });
      woken_ = false;
    }
    return ended;
  }
  std::string failure() { return next().status.message(); }

  Noting work_;
  std::unique_ptr<TaskEngine> engine_;  // destroyed first, since its thread uses the other members

 private:
  void wake() {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_one();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;

 protected:
  void TearDown() override { engine_.reset(); }
};

INSTANTIATE_TEST_SUITE_P(each, EngineTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "thread" : "inline"; });

TEST_P(EngineTest, runs_tasks_in_the_order_in_which_they_were_given) {
  make();
  EXPECT_EQ(engine_->next(), core::Time::max()) << "there is nothing to ask for";
  const core::Time before = RankClock::host();
  engine_->begin_step(4, 3);
  for (const int m : {0, 1, 2}) engine_->start(call(m));
  core::Time last = before;
  for (const int m : {0, 1, 2}) {
    const Ended ended = next();
    EXPECT_EQ(ended.status.message(), "");
    EXPECT_EQ(ended.call.task.microbatch, m);
    EXPECT_EQ(ended.call.task.task, (core::Task{2, m}));
    EXPECT_EQ(ended.call.outputs.at(0).payload.head, Blob{static_cast<std::byte>(m)});
    EXPECT_FALSE(ended.with);
    EXPECT_LE(last, ended.begin);
    EXPECT_LE(ended.begin, ended.end);
    last = ended.end;
  }
  EXPECT_LE(last, RankClock::host());
  Ended none;
  EXPECT_FALSE(engine_->ended(none));
  EXPECT_THAT(work_.notes, ElementsAre("step 4 of 3", "run 0", "run 1", "run 2"));
  for (const std::thread::id thread : work_.threads) {
    EXPECT_EQ(thread, work_.threads[0]) << "one thread for its life";
    EXPECT_EQ(thread == std::this_thread::get_id(), !GetParam());
  }
}

TEST_P(EngineTest, calls_before_task_in_the_tasks_thread_and_counts_it) {
  std::vector<std::pair<int, std::thread::id>> told;
  make([&](const TaskInfo& task) {
    told.emplace_back(task.microbatch, std::this_thread::get_id());
    std::this_thread::sleep_for(3ms);
  });
  engine_->begin_step(0, 2);
  engine_->start(call(0));
  const Ended ended = next();
  EXPECT_GE(ended.end - ended.begin, 3ms);
  work_.together = [] { return true; };
  work_.on_pair = [] { return Status(); };
  engine_->start_pair(call(1), call(2));
  EXPECT_GE(next().end - ended.end, 6ms);
  EXPECT_THAT(told, ElementsAre(std::pair(0, work_.threads[0]), std::pair(1, work_.threads[0]),
                                std::pair(2, work_.threads[0])));
}

TEST_P(EngineTest, says_how_a_task_failed_and_goes_on) {
  make();
  work_.on_run = [](int m) -> Status {
    if (m == 0) return {StatusCode::timeout, "too slow"};
    if (m == 1) throw std::runtime_error("a bad shape");
    if (m == 2) throw std::bad_alloc();
    if (m == 3) throw 17;
    return {};
  };
  engine_->begin_step(0, 5);
  for (const int m : {0, 1, 2, 3, 4}) engine_->start(call(m));
  const Ended first = next();
  EXPECT_EQ(first.status.code(), StatusCode::timeout);
  EXPECT_EQ(first.status.message(), "too slow");
  EXPECT_EQ(first.call.task.task, (core::Task{2, 0})) << "whose failure it is";
  EXPECT_EQ(failure(), "a bad shape");
  EXPECT_EQ(failure(), "out of memory");
  EXPECT_EQ(failure(), "an exception that is no std::exception");
  EXPECT_EQ(failure(), "");
}

TEST_P(EngineTest, says_how_what_comes_before_a_task_failed) {
  make([](const TaskInfo&) { throw std::runtime_error("no sleep"); });
  engine_->begin_step(0, 1);
  engine_->start(call(0));
  EXPECT_EQ(failure(), "no sleep");
  EXPECT_THAT(work_.notes, ElementsAre("step 0 of 1"));
}

TEST_P(EngineTest, says_why_a_step_could_not_begin_before_any_task) {
  make();
  for (const bool throws : {false, true}) {
    work_.on_begin = [throws]() -> Status {
      if (throws) throw std::runtime_error("no data");
      return {StatusCode::refused, "no data"};
    };
    engine_->begin_step(0, 1);
    engine_->start(call(0));
    const Ended refused = next();
    EXPECT_EQ(refused.call.task.task.lane, -1);
    EXPECT_EQ(refused.status.code(), throws ? StatusCode::failed : StatusCode::refused);
    EXPECT_EQ(refused.status.message(), "no data");
    EXPECT_EQ(next().call.task.task.lane, 2);
  }
}

TEST_P(EngineTest, runs_a_pair_one_after_the_other_unless_the_work_has_something_for_both) {
  make();
  engine_->begin_step(0, 2);
  engine_->start_pair(call(0), call(1));
  engine_->start(call(2));
  for (const int m : {0, 1, 2}) {
    const Ended ended = next();
    EXPECT_EQ(ended.call.task.microbatch, m);
    EXPECT_FALSE(ended.with);
  }
  work_.together = [] { return true; };
  work_.on_pair = [] { return Status(); };
  engine_->start_pair(call(3), call(4));
  const Ended both = next();
  EXPECT_EQ(both.status.message(), "");
  EXPECT_EQ(both.call.task.microbatch, 3);
  ASSERT_TRUE(both.with);
  EXPECT_EQ(both.with->task.microbatch, 4);
  EXPECT_THAT(work_.notes, ElementsAre("step 0 of 2", "run 0", "run 1", "run 2", "pair 3 4"));
}

TEST_P(EngineTest, says_how_a_pair_failed) {
  make();
  engine_->begin_step(0, 2);
  work_.together = [] { return true; };
  engine_->start_pair(call(0), call(1));
  EXPECT_EQ(failure(), "this work runs no two tasks together");
  work_.on_pair = []() -> Status { throw std::runtime_error("no stream is free"); };
  engine_->start_pair(call(2), call(3));
  EXPECT_EQ(failure(), "no stream is free");
  work_.together = []() -> bool { throw std::runtime_error("no idea"); };
  engine_->start_pair(call(4), call(5));
  const Ended asked = next();
  EXPECT_EQ(asked.status.message(), "no idea");
  ASSERT_TRUE(asked.with) << "both have failed";
  EXPECT_EQ(asked.with->task.microbatch, 5);
}

// Each task waits until `size` tasks run at the same time.
class Meeting final : public Work {
 public:
  explicit Meeting(int size) : size_(size) {}
  Status begin_step(std::int64_t, int) override { return {}; }
  Status run(Call& call) override {
    std::unique_lock lock(mutex_);
    threads[call.task.microbatch] = std::this_thread::get_id();
    ++here_;
    changed_.notify_all();
    return changed_.wait_for(lock, 60s, [this] { return here_ >= size_; })
               ? Status()
               : Status(StatusCode::timeout, "the others do not run");
  }
  [[nodiscard]] bool runs_beside(const TaskInfo& task) const override {
    return task.engine != core::Engine::compute;
  }
  std::map<int, std::thread::id> threads;  // by microbatch

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int here_ = 0;
};

TEST(ThreadEngine, runs_what_may_run_beside_in_a_thread_of_each_engine) {
  Meeting work(3);
  ThreadEngine engine(work, [] {});
  engine.begin_step(0, 4);
  const auto start = [&engine](int microbatch, core::Engine on) {
    Call one = call(microbatch);
    one.task.engine = on;
    engine.start(std::move(one));
  };
  start(0, core::Engine::copy_out);
  start(1, core::Engine::copy_in);
  start(2, core::Engine::compute);
  start(3, core::Engine::copy_out);
  const auto limit = std::chrono::steady_clock::now() + 60s;
  for (int left = 4; left > 0 && std::chrono::steady_clock::now() < limit;) {
    Ended ended;
    if (!engine.ended(ended)) {
      std::this_thread::sleep_for(1ms);
      continue;
    }
    EXPECT_EQ(ended.status.message(), "");
    --left;
  }
  ASSERT_EQ(work.threads.size(), 4U);
  EXPECT_NE(work.threads[0], work.threads[1]);
  EXPECT_NE(work.threads[0], work.threads[2]);
  EXPECT_NE(work.threads[1], work.threads[2]);
  EXPECT_EQ(work.threads[0], work.threads[3]);
}

TEST(ThreadEngine, lets_its_loop_go_on_while_a_task_runs) {
  Noting work;
  std::promise<void> go;
  std::future<void> gone = go.get_future();
  work.on_run = [&](int) {
    EXPECT_EQ(gone.wait_for(60s), std::future_status::ready);
    return Status();
  };
  std::atomic<int> wakes = 0;
  ThreadEngine engine(work, [&] { ++wakes; });
  engine.begin_step(0, 1);
  engine.start(call(0));
  Ended ended;
  EXPECT_FALSE(engine.ended(ended));
  EXPECT_EQ(engine.next(), core::Time::max()) << "it wakes the loop";
  go.set_value();
  const auto limit = std::chrono::steady_clock::now() + 60s;
  while (wakes == 0 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  EXPECT_TRUE(engine.ended(ended)) << "it is there when the loop is woken";
}

TEST(ThreadEngine, ends_with_the_task_that_runs_and_starts_no_other) {
  Noting work;
  std::promise<void> begin;
  std::atomic<bool> ended = false;
  work.on_run = [&](int) {
    begin.set_value();
    std::this_thread::sleep_for(50ms);
    ended = true;
    return Status();
  };
  {
    ThreadEngine engine(work, [] {});
    engine.begin_step(0, 3);
    for (const int m : {0, 1, 2}) engine.start(call(m));
    ASSERT_EQ(begin.get_future().wait_for(60s), std::future_status::ready);
  }
  EXPECT_TRUE(ended) << "it is waited for";
  EXPECT_THAT(work.notes, ElementsAre("step 0 of 3", "run 0"));
}

}  // namespace
}  // namespace ripeline::runtime
