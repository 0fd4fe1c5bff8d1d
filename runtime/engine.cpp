#include "runtime/engine.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "runtime/clock.h"
#include "runtime/watchdog/last_wait.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

// Runs user code: returns its status, or its exception as a status.
template <class Run>
Status guarded(const Run& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return {StatusCode::failed, "out of memory"};
  } catch (const std::exception& e) {
    return {StatusCode::failed, e.what()};
  } catch (...) {
    return {StatusCode::failed, "an exception that is no std::exception"};
  }
}

// The result of a step that could not begin; this result has no task.
Ended refusal(Status status) {
  Ended ended;
  ended.call.task.task.lane = -1;
  ended.status = std::move(status);
  return ended;
}

Ended run(Work& work, const BeforeTask& before_task, Call call) {
  Ended ended{.call = std::move(call), .begin = RankClock::host()};
  ended.status = guarded([&] {
    if (before_task) before_task(ended.call.task);
    return work.run(ended.call);
  });
  if (ended.status.ok()) work.ended(ended.call.task);
  ended.end = RankClock::host();
  return ended;
}

Ended run_pair(Work& work, const BeforeTask& before_task, Call first, Call second) {
  Ended ended{.call = std::move(first), .with = std::move(second), .begin = RankClock::host()};
  ended.status = guarded([&] {
    if (before_task) before_task(ended.call.task);
    if (before_task) before_task(ended.with->task);
    return work.run_pair(ended.call, *ended.with);
  });
  if (ended.status.ok()) {
    work.ended(ended.call.task);
    work.ended(ended.with->task);
  }
  ended.end = RankClock::host();
  return ended;
}

// Asks whether the work can run both tasks at once. If the work throws, both tasks have failed.
Status runs_together(const Work& work, const Call& first, const Call& second, bool& together) {
  return guarded([&] {
    together = work.runs_together(first.task, second.task);
    return Status();
  });
}

}  // namespace

InlineEngine::InlineEngine(Work& work, BeforeTask before_task)
    : work_(work), before_task_(std::move(before_task)) {}

void InlineEngine::begin_step(std::int64_t step, int microbatches) {
  refused_ = guarded([&] { return work_.begin_step(step, microbatches); });
}

void InlineEngine::start(Call call) { starts_.push_back({std::move(call), std::nullopt}); }

void InlineEngine::start_pair(Call first, Call second) {
  starts_.push_back({std::move(first), std::move(second)});
}

bool InlineEngine::ended(Ended& out) {
  if (!refused_.ok()) {
    out = refusal(std::exchange(refused_, {}));
    return true;
  }
  if (starts_.empty()) return false;
  Start next = std::move(starts_.front());
  starts_.pop_front();
  if (!next.with) {
    out = run(work_, before_task_, std::move(next.call));
    return true;
  }
  bool together = false;
  Status asked = runs_together(work_, next.call, *next.with, together);
  if (!asked.ok()) {
    out = {.call = std::move(next.call), .with = std::move(next.with), .status = std::move(asked)};
  } else if (together) {
    out = run_pair(work_, before_task_, std::move(next.call), std::move(*next.with));
  } else {
    // The first task is reported as ended, with its outputs, before the second task runs.
    out = run(work_, before_task_, std::move(next.call));
    starts_.push_front({std::move(*next.with), std::nullopt});
  }
  return true;
}

core::Time InlineEngine::next() const {
  return starts_.empty() && refused_.ok() ? core::Time::max() : core::Time{0};
}

class ThreadEngine::Thread {
 public:
  Thread(Work& work, std::function<void()> wake, BeforeTask before_task)
      : wake_(std::move(wake)), engine_(work, std::move(before_task)), thread_([this] { run(); }) {}
  ~Thread() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_one();
    const std::optional<watchdog::LastWait> last = last_wait();
    thread_.join();
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  struct Step {
    std::int64_t step;
    int microbatches;
  };
  struct Pair {
    Call first;
    Call second;
  };
  using Order = std::variant<Step, Call, Pair>;

  void give(Order order) {
    {
      const std::lock_guard lock(mutex_);
      orders_.push_back(std::move(order));
    }
    changed_.notify_one();
  }

  bool ended(Ended& out) {
    const std::lock_guard lock(mutex_);
    if (ended_.empty()) return false;
    out = std::move(ended_.front());
    ended_.pop_front();
    return true;
  }

 private:
  // Returns a guard for the wait for a running task; nullopt if no task runs.
  std::optional<watchdog::LastWait> last_wait() {
    const std::lock_guard lock(mutex_);
    if (!carries_out_) return std::nullopt;
    return std::optional<watchdog::LastWait>(std::in_place, "the task that runs");
  }

  void carry_out(Order order) {
    if (auto* step = std::get_if<Step>(&order)) {
      engine_.begin_step(step->step, step->microbatches);
    } else if (auto* call = std::get_if<Call>(&order)) {
      engine_.start(std::move(*call));
    } else {
      auto& pair = std::get<Pair>(order);
      engine_.start_pair(std::move(pair.first), std::move(pair.second));
    }
  }

  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !orders_.empty(); });
      if (stop_) return;
      Order order = std::move(orders_.front());
      orders_.pop_front();
      carries_out_ = true;
      lock.unlock();
      carry_out(std::move(order));
      Ended ended;
      while (engine_.ended(ended)) {
        {
          const std::lock_guard guard(mutex_);
          ended_.push_back(std::move(ended));
        }
        wake_();
      }
      lock.lock();
      carries_out_ = false;
    }
  }

  std::function<void()> wake_;
  InlineEngine engine_;  // used by the thread alone
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by the mutex.
  std::deque<Order> orders_;
  std::deque<Ended> ended_;
  bool carries_out_ = false;
  bool stop_ = false;
  std::thread thread_;  // last, since it uses the members above
};

ThreadEngine::ThreadEngine(Work& work, std::function<void()> wake, BeforeTask before_task)
    : work_(work),
      make_([&work, wake = std::move(wake), before_task = std::move(before_task)] {
        return std::make_unique<Thread>(work, wake, before_task);
      }),
      thread_(make_()) {}
ThreadEngine::~ThreadEngine() = default;

void ThreadEngine::begin_step(std::int64_t step, int microbatches) {
  thread_->give(Thread::Step{step, microbatches});
}
void ThreadEngine::start(Call call) {
  if (!work_.runs_beside(call.task)) return thread_->give(std::move(call));
  std::unique_ptr<Thread>& beside = beside_[static_cast<std::size_t>(call.task.engine)];
  if (!beside) beside = make_();
  beside->give(std::move(call));
}
void ThreadEngine::start_pair(Call first, Call second) {
  thread_->give(Thread::Pair{std::move(first), std::move(second)});
}
bool ThreadEngine::ended(Ended& out) {
  return thread_->ended(out) ||
         std::any_of(beside_.begin(), beside_.end(),
                     [&out](const auto& beside) { return beside && beside->ended(out); });
}

}  // namespace ripeline::runtime
