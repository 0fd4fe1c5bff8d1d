#include "runtime/watchdog/call_guard.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "runtime/clock.h"
#include "runtime/duration.h"
#include "runtime/exit_code.h"

namespace ripeline::runtime::watchdog {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

namespace {

// The time between two checks of a guard: short enough to be in time, long enough to cost nothing.
nanoseconds between_looks(const CallGuard::Limits& limits) {
  return std::clamp<nanoseconds>(limits.call / 16, 1ms, 1s);
}

// The state that a thread shows to its guard. Only the thread writes `call` and `count`, and the
// guard reads them: while `count` stays the same, the thread is in the same call.
struct Watched {
  std::atomic<const char*> call{nullptr};  // null if the thread is in no guarded call
  std::atomic<std::uint64_t> count{0};     // how often `call` has changed
  std::shared_ptr<GuardedThreads> threads;
  bool runs_tasks = false;
  std::mutex mutex;
  std::string task;  // guarded by the mutex; empty if there is none

  void enter(const char* name) {
    call.store(name, std::memory_order_relaxed);
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void set_task(std::string name) {
    const std::lock_guard lock(mutex);
    task = std::move(name);
  }
  std::string task_text() {
    const std::lock_guard lock(mutex);
    return task.empty() ? "" : ", " + task;
  }
};

// This thread's own state. The pointer is set to null before the thread's other objects end, since
// some of those make calls.
thread_local Watched* self = nullptr;
thread_local struct ThreadState {
  std::shared_ptr<Watched> watched;
  ~ThreadState() { self = nullptr; }
} thread_state;

}  // namespace

class GuardedThreads {
 public:
  // The guard's record of a thread.
  struct Look {
    std::weak_ptr<Watched> watched;
    std::uint64_t count = 0;
    nanoseconds unchanged{0};
    bool is_reported = false;
  };

  void add(const std::weak_ptr<Watched>& watched) {
    const std::lock_guard lock(mutex_);
    looks_.push_back({.watched = watched});
  }
  template <class Each>
  void each(const Each& look_at) {
    const std::lock_guard lock(mutex_);
    std::erase_if(looks_, [](const Look& look) { return look.watched.expired(); });
    for (Look& look : looks_) {
      if (const std::shared_ptr<Watched> watched = look.watched.lock()) look_at(look, *watched);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<Look> looks_;  // guarded by the mutex
};

namespace {

void watch_this_thread(const std::shared_ptr<GuardedThreads>& threads, bool runs_tasks) {
  thread_state.watched = std::make_shared<Watched>();
  self = thread_state.watched.get();
  self->threads = threads;
  self->runs_tasks = runs_tasks;
  threads->add(thread_state.watched);
}

// How long the thread has been in its present call. Time in which the guard itself did not run, for
// example while the process was stopped, does not count.
nanoseconds look_at(GuardedThreads::Look& look, const Watched& watched, nanoseconds passed) {
  const std::uint64_t count = watched.count.load(std::memory_order_acquire);
  if (count != look.count || watched.call.load(std::memory_order_relaxed) == nullptr) {
    look = {.watched = look.watched, .count = count};
  } else {
    look.unchanged += passed;
  }
  return look.unchanged;
}

}  // namespace

CallGuard::CallGuard(std::string who, const Limits& limits, End end)
    : who_(std::move(who)),
      limits_(limits),
      end_(end ? std::move(end) : [] { _exit(exit_code_of(core::StatusCode::timeout)); }),
      threads_(std::make_shared<GuardedThreads>()),
      thread_([this, every = between_looks(limits)] { watch(every); }) {
  watch_this_thread(threads_, false);
}

CallGuard::~CallGuard() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CallGuard::watch(nanoseconds every) {
  core::Time last = RankClock::host();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, every, [this] { return over_; })) return;
    }
    const core::Time now = RankClock::host();
    const nanoseconds passed = std::min<nanoseconds>(now - std::exchange(last, now), 2 * every);
    bool is_stuck = false;
    threads_->each([&](GuardedThreads::Look& look, Watched& watched) {
      const nanoseconds time = look_at(look, watched, passed);
      const char* const call = watched.call.load(std::memory_order_relaxed);
      if (time < limits_.call || call == nullptr) return;
      const bool ends = !watched.runs_tasks || time >= limits_.call + limits_.orderly;
      if (!ends && std::exchange(look.is_reported, true)) return;
      is_stuck |= ends;
      std::fprintf(stderr, "ripeline: %s%s: %s has not come back for %s%s\n", who_.c_str(),
                   watched.task_text().c_str(), call, seconds_text(time).c_str(),
                   ends ? ": the process ends without it" : "");
    });
    if (is_stuck) return end_();
  }
}

std::shared_ptr<GuardedThreads> guarded_threads() {
  return self == nullptr ? nullptr : self->threads;
}

void join_guarded_threads(const std::shared_ptr<GuardedThreads>& threads) {
  if (threads == nullptr || (self != nullptr && self->threads == threads)) return;
  watch_this_thread(threads, true);
}

GuardedCall::GuardedCall(const char* name) {
  if (self == nullptr) return;
  outer_ = self->call.load(std::memory_order_relaxed);
  self->enter(name);
}
GuardedCall::~GuardedCall() {
  if (self != nullptr) self->enter(outer_);
}

GuardedTask::GuardedTask(std::string name) {
  if (self != nullptr) self->set_task(std::move(name));
}
GuardedTask::~GuardedTask() {
  if (self != nullptr) self->set_task("");
}

}  // namespace ripeline::runtime::watchdog
