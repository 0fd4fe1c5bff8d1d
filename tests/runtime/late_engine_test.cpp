// Tests tasks whose end another thread reports some time after they have run, in random order, as
// for tasks of a device. The toy model's gradients equal those of one process, and the recorded
// tasks are a run of the program, both for its interpreter and for its meaning (spec/machine.h).
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/clock.h"
#include "tests/runtime/toy_run.h"
#include "tests/support/environment_number.h"

namespace ripeline::runtime {
namespace {

using namespace std::chrono_literals;
using testing_support::number_of;
using testing_support::ProvedText;
using testing_support::ToyRun;
using Clock = std::chrono::steady_clock;

// Runs a task at once, in the loop's thread; a second thread reports later that the task has ended.
class LateEngine final : public TaskEngine {
 public:
  LateEngine(Work& work, std::uint64_t seed, std::function<void()> wake)
      : work_(work), draw_(seed), wake_(std::move(wake)), thread_([this] { tell(); }) {}
  ~LateEngine() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  LateEngine(const LateEngine&) = delete;
  LateEngine& operator=(const LateEngine&) = delete;

  void begin_step(std::int64_t step, int microbatches) override {
    ASSERT_TRUE(work_.begin_step(step, microbatches).ok());
  }
  void start(Call call) override {
    Ended ended{.call = std::move(call), .begin = RankClock::host()};
    ended.status = work_.run(ended.call);
    give(std::move(ended));
  }
  // Either of the two tasks may end first.
  void start_pair(Call first, Call second) override {
    start(std::move(first));
    start(std::move(second));
  }
  bool ended(Ended& out) override {
    const std::lock_guard lock(mutex_);
    if (over_.empty()) return false;
    out = std::move(over_.back());
    over_.pop_back();
    return true;
  }

 private:
  void give(Ended ended) {
    // Most tasks end soon; some of them delay the tasks that need them for a long time.
    const auto most = std::chrono::microseconds(draw_() % 8 == 0 ? 2000 : 200);
    const auto late = most * static_cast<int>(draw_() % 100) / 100;
    {
      const std::lock_guard lock(mutex_);
      waiting_.emplace(Clock::now() + late, std::move(ended));
    }
    changed_.notify_one();
  }

  void tell() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      if (waiting_.empty()) {
        changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
        continue;
      }
      const auto first = waiting_.begin();
      if (Clock::now() < first->first) {
        changed_.wait_until(lock, first->first);
        continue;
      }
      first->second.end = RankClock::host();
      over_.push_back(std::move(first->second));
      waiting_.erase(first);
      lock.unlock();
      wake_();
      lock.lock();
    }
  }

  Work& work_;
  std::mt19937_64 draw_;
  std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // The mutex guards these two members.
  std::multimap<Clock::time_point, Ended> waiting_;  // by the time at which they are reported
  std::vector<Ended> over_;
  bool stop_ = false;
  std::thread thread_;  // last, because it uses all other members
};

// A program in which tasks of three engines run at once, and a rank has two stages.
const char* const kCopying = R"(
pipeline copying {
  param ranks = 2;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward sequential  { needs F at prev via fifo 2;  acquires activation;  acquires pinned; }
  op O offload sequential on copy_out { needs F at here;  releases activation; }
  op L reload sequential on copy_in   { needs O at here, B at next via fifo 2;
                             acquires activation leaving 1; }
  op B backward sequential { needs L at here, B at next via fifo 2;
                             releases activation;  releases pinned; }
  resource activation per stage { capacity 3; }
  resource pinned per stage { capacity 8; }
  hint bf { prefer B, F; }
  dispatch ready by bf;
}
)";

const char* const kChain = R"(
pipeline chain {
  param ranks = 3;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward sequential  { needs F at prev via fifo 2;             acquires activation; }
  op B backward sequential { needs F at here, B at next via fifo 1;  releases activation; }
  resource activation per stage { capacity ranks - s; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
}
)";

TEST(LateEngine, tasks_that_end_at_random_are_a_run_of_the_program) {
  struct Subject {
    std::string text;
    int ranks;
  };
  const std::vector<Subject> subjects = {{kCopying, 2}, {kChain, 3}, {"zb_v", 2}, {"zb_h2", 3}};
  std::vector<std::unique_ptr<ProvedText>> proved;
  for (const Subject& subject : subjects) {
    proved.push_back(std::make_unique<ProvedText>(subject.text, subject.ranks));
  }
  const std::uint64_t first = number_of("RIPELINE_LATE_SEED", 1);
  const std::uint64_t runs = number_of("RIPELINE_LATE_RUNS", 200);
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    SCOPED_TRACE("RIPELINE_LATE_SEED=" + std::to_string(seed) + " RIPELINE_LATE_RUNS=1");
    std::mt19937_64 draw(seed);
    const std::size_t which = draw() % subjects.size();
    const int microbatches = 1 + static_cast<int>(draw() % 8);
    ToyRun run(*proved[which], {.stages = proved[which]->facts().stages, .seed = seed});
    run.make_engine = [&run, seed](int rank, runtime::Run& of) {
      const std::uint64_t of_rank = seed * 64 + static_cast<std::uint64_t>(rank);
      return std::make_unique<LateEngine>(*run.rank(rank).work, of_rank, [&of] { of.wake(); });
    };
    run.run(2, microbatches);
    run.expect_reference(2, microbatches);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace ripeline::runtime
