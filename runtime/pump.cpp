#include "runtime/pump.h"

#include <algorithm>
#include <utility>

namespace ripeline::runtime {

using core::Status;

namespace {

// How long the helper waits for messages before it looks whether the task still runs; the caller
// wakes it in any case.
constexpr std::chrono::milliseconds kHelp{20};
// How long it waits before it looks whether the last bytes have left, of which nothing tells it.
constexpr std::chrono::microseconds kSends{200};

}  // namespace

bool Pump::Engine::ended(Ended& out) {
  if (ends.empty()) return false;
  out = std::move(ends.front());
  ends.pop_front();
  return true;
}

Pump::Pump(Run& run, std::chrono::microseconds patience)
    : run_(run), patience_(patience), helper_([this] { help(); }) {}

Pump::~Pump() {
  running_ = 0;
  if (helping_) run_.wake();
  {
    const std::lock_guard lock(parked_);
    stop_ = true;
  }
  changed_.notify_one();
  helper_.join();
}

Status Pump::begin(protocol::Rank& rank, std::int64_t step, int microbatches) {
  {
    const std::lock_guard lock(mutex_);
    rank_ = &rank;
    over_.reset();
    engine_.starts.clear();
    engine_.ends.clear();
    if (Status s = run_.begin_step(rank, engine_, step, microbatches); !s.ok()) {
      outcome_ = s;
      return s;
    }
  }
  {
    const std::lock_guard lock(parked_);
    in_step_ = true;
  }
  changed_.notify_one();
  return {};
}

Pump::Next Pump::next(Call& call, std::chrono::nanoseconds slice) {
  const std::lock_guard lock(mutex_);
  const core::Time until = run_.now() + slice;
  for (;;) {
    if (turn()) {
      stop_helper();
      outcome_ = *over_;
      return Next::over;
    }
    if (!engine_.starts.empty()) break;
    const core::Time now = run_.now();
    if (now >= until) return Next::nothing;
    run_.receive(only_sends() ? std::min<std::chrono::nanoseconds>(until - now, kSends)
                              : until - now);
  }
  call = std::move(engine_.starts.front());
  engine_.starts.pop_front();
  began_ = run_.now();
  running_ = ++tasks_;
  return Next::task;
}

void Pump::end(Call call, Status status) {
  const core::Time now = run_.now();
  // If the helper does not see that the task has ended, this sees that the helper waits.
  running_ = 0;
  if (helping_) run_.wake();
  const std::lock_guard lock(mutex_);
  engine_.ends.push_back(
      {.call = std::move(call), .begin = began_, .end = now, .status = std::move(status)});
}

Status Pump::fail(Status why) {
  running_ = 0;
  if (helping_) run_.wake();
  const std::lock_guard lock(mutex_);
  if (!over_) over_ = run_.fail(std::move(why));
  stop_helper();
  outcome_ = *over_;
  return outcome_;
}

bool Pump::turn() {
  if (!over_)
    over_ = run_.turn(&engine_, [this] { return rank_->step_done() && run_.queued() == 0; });
  return over_.has_value();
}

void Pump::stop_helper() {
  const std::lock_guard lock(parked_);
  in_step_ = false;
}

void Pump::help() {
  std::int64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(parked_);
      changed_.wait(lock, [this] { return stop_ || in_step_; });
      if (stop_) return;
    }
    // No task tells the helper that it begins, since that would take longer than a short task does.
    std::this_thread::sleep_for(patience_);
    const std::int64_t task = running_;
    if (task != 0 && task == seen) help_with(task);
    seen = task;
  }
}

void Pump::help_with(std::int64_t task) {
  const std::lock_guard lock(mutex_);
  helping_ = true;
  while (running_ == task && !turn()) {
    ++helped_;
    if (running_ == task) run_.receive(kHelp);
  }
  helping_ = false;
}

}  // namespace ripeline::runtime
