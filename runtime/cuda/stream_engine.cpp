#include "runtime/cuda/stream_engine.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/print.h"
#include "runtime/clock.h"
#include "runtime/watchdog/call_guard.h"
#include "runtime/watchdog/last_wait.h"

namespace ripeline::runtime::cuda {

using core::Status;
using core::Time;

namespace {

std::size_t at(core::Engine engine) { return static_cast<std::size_t>(engine); }

}  // namespace

// The work that the enqueuing thread calls. It records events around each task's own work.
class StreamEngine::Launcher final : public Work {
 public:
  Launcher(Work& work, const core::ProgramFacts& facts, const EngineStreams& streams)
      : work_(work), facts_(facts), streams_(streams) {
    device_status_ = status_of(cudaGetDevice(&device_), "say which device is current");
  }

  // Relates the device's clock to the host's. This also waits for the device's last step to end.
  Status begin_step(std::int64_t step, int microbatches) override {
    if (!device_status_.ok()) return device_status_;
    if (Status s = enter(); !s.ok()) return s;
    first_thread_ = std::this_thread::get_id();
    for (auto it = streams_.begin(); it != streams_.end(); ++it) {
      if (*it == nullptr || std::find(streams_.begin(), it, *it) != it) continue;
      if (Status s = tie(*it); !s.ok()) return s;
    }
    const watchdog::GuardedCall call("the beginning of the step");
    return work_.begin_step(step, microbatches);
  }

  Status run(Call& call) override {
    return around(call.task, [&] { return work_.run(call); });
  }
  bool runs_beside(const TaskInfo& task) const override { return work_.runs_beside(task); }
  bool runs_together(const TaskInfo& first, const TaskInfo& second) const override {
    return work_.runs_together(first, second);
  }
  Status run_pair(Call& first, Call& second) override {
    return around(first.task, [&] { return work_.run_pair(first, second); });
  }
  // Does nothing, since the task is only enqueued; tell_end() tells the work when it has ended.
  void ended(const TaskInfo& /*task*/) override {}
  // Tells the work that a task has ended on the device. Called from the loop's thread.
  void tell_end(const Ended& ended) {
    const watchdog::GuardedTask task(core::task_name(facts_, ended.call.task.task));
    const watchdog::GuardedCall call("the work, which is told the end,");
    work_.ended(ended.call.task);
    if (ended.with) work_.ended(ended.with->task);
  }

  // Waits for all that has been enqueued, and ignores failures of the device.
  void wait() const {
    for (cudaStream_t stream : streams_) {
      const watchdog::GuardedCall call("cudaStreamSynchronize");
      if (stream != nullptr) cudaStreamSynchronize(stream);
    }
  }

  [[nodiscard]] core::Engine engine_of(const TaskInfo& task) const {
    return facts_.lanes[static_cast<std::size_t>(task.task.lane)].engine;
  }
  // Takes the events of a task that run() has enqueued. Called from the loop's thread.
  void take_events(core::Task task, Launched& launched) {
    const std::lock_guard lock(mutex_);
    auto node = enqueued_.extract({task.lane, task.microbatch});
    if (node.empty()) return;
    launched.begin = std::move(node.mapped().begin);
    launched.end = std::move(node.mapped().end);
  }
  void give_back(Event event) {
    if (event.get() == nullptr) return;
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(event));
  }
  // The time at which the device reached the event, on the host's clock.
  Status time_of(core::Engine engine, const Event& event, Time& time) {
    const std::lock_guard lock(mutex_);
    const Tie& tie = ties_[streams_[at(engine)]];
    const watchdog::GuardedCall call("cudaEventElapsedTime");
    float ms = 0;
    if (Status s = status_of(cudaEventElapsedTime(&ms, tie.event.get(), event.get()),
                             "say when an event was reached");
        !s.ok()) {
      return s;
    }
    time = tie.host + Time(static_cast<Time::rep>(static_cast<double>(ms) * 1e6));
    return {};
  }

 private:
  struct Tie {
    Event event;
    Time host{0};
  };
  struct Around {
    Event begin;
    Event end;
  };

  // To be called first in each thread that enqueues.
  Status enter() {
    watchdog::join_guarded_threads(guarded_);
    const watchdog::GuardedCall call("cudaSetDevice");
    return status_of(cudaSetDevice(device_), "use a device");
  }

  Status tie(cudaStream_t stream) {
    Event event;
    if (Status s = take(event); !s.ok()) return s;
    if (Status s = event.record(stream); !s.ok()) return s;
    const watchdog::GuardedCall call("cudaEventSynchronize");
    if (Status s = status_of(cudaEventSynchronize(event.get()), "wait for an event"); !s.ok()) {
      return s;
    }
    const Time now = RankClock::host();
    const std::lock_guard lock(mutex_);
    Tie& tie = ties_[stream];
    if (tie.event.get() != nullptr) spare_.push_back(std::move(tie.event));
    tie = {std::move(event), now};
    return {};
  }

  template <class Enqueue>
  Status around(const TaskInfo& task, const Enqueue& enqueue) {
    cudaStream_t stream = streams_[at(engine_of(task))];
    if (stream == nullptr) {
      return {core::StatusCode::refused, "no stream was given for the engine `" +
                                             std::string(core::name_of(engine_of(task))) + "`"};
    }
    if (Status s = enter(); !s.ok()) return s;
    const watchdog::GuardedTask guarded(core::task_name(facts_, task.task));
    Around events;
    if (Status s = take(events.begin); !s.ok()) return s;
    if (Status s = take(events.end); !s.ok()) return s;
    if (Status s = events.begin.record(stream); !s.ok()) return s;
    if (Status s = guard(enqueue); !s.ok()) return s;
    if (Status s = events.end.record(stream); !s.ok()) return s;
    const std::lock_guard lock(mutex_);
    enqueued_[{task.task.lane, task.task.microbatch}] = std::move(events);
    return {};
  }

  // In the first thread, guards the entire task. In other threads a task may wait without limit for
  // other processes, so there only the GuardedCalls that the task makes are watched.
  template <class Enqueue>
  Status guard(const Enqueue& enqueue) const {
    if (first_thread_ != std::this_thread::get_id()) return enqueue();
    const watchdog::GuardedCall call("what the stage runs");
    return enqueue();
  }

  Status take(Event& event) {
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        event = std::move(spare_.back());
        spare_.pop_back();
        return {};
      }
    }
    return Event::make(event);
  }

  Work& work_;
  const core::ProgramFacts& facts_;
  const EngineStreams streams_;
  const std::shared_ptr<watchdog::GuardedThreads> guarded_ =
      watchdog::guarded_threads();  // the threads of the loop's guard
  std::atomic<std::thread::id> first_thread_;
  int device_ = 0;
  Status device_status_;
  std::mutex mutex_;
  // Guarded by the mutex.
  std::map<std::pair<core::LaneId, std::int32_t>, Around> enqueued_;  // by task
  std::map<cudaStream_t, Tie> ties_;
  std::vector<Event> spare_;
};

StreamEngine::StreamEngine(Work& work, const core::ProgramFacts& facts,
                           const EngineStreams& streams, std::function<void()> wake,
                           BeforeTask before_task)
    : launcher_(std::make_unique<Launcher>(work, facts, streams)),
      thread_(std::make_unique<ThreadEngine>(*launcher_, std::move(wake), std::move(before_task))) {
}

StreamEngine::~StreamEngine() {
  thread_.reset();
  // Waits even after a failed task, since the task may have enqueued a part of its work.
  const watchdog::LastWait last("what the GPU was given");
  launcher_->wait();
}

void StreamEngine::begin_step(std::int64_t step, int microbatches) {
  thread_->begin_step(step, microbatches);
}

void StreamEngine::start(Call call) {
  ++started_;
  thread_->start(std::move(call));
}

void StreamEngine::start_pair(Call first, Call second) {
  started_ += 2;
  thread_->start_pair(std::move(first), std::move(second));
}

void StreamEngine::collect() {
  Ended ended;
  while (thread_->ended(ended)) {
    if (!ended.status.ok()) {
      if (ended.call.task.task.lane >= 0) started_ -= ended.with ? 2 : 1;
      failed_.push_back(std::move(ended));
      continue;
    }
    Launched launched{.ended = std::move(ended), .begin = {}, .end = {}};
    launcher_->take_events(launched.ended.call.task.task, launched);
    launched_[at(launcher_->engine_of(launched.ended.call.task))].push_back(std::move(launched));
  }
}

bool StreamEngine::look(Launched& launched) {
  bool reached = false;
  Ended& ended = launched.ended;
  ended.status = launched.end.query(reached);
  if (!ended.status.ok()) return true;
  if (!reached) return false;
  const core::Engine engine = launcher_->engine_of(ended.call.task);
  ended.status = launcher_->time_of(engine, launched.begin, ended.begin);
  if (ended.status.ok()) ended.status = launcher_->time_of(engine, launched.end, ended.end);
  // The host is late to see the event that ties the clocks, so times may be late by that delay.
  ended.end = std::min(ended.end, RankClock::host());
  ended.begin = std::min(ended.begin, ended.end);
  launcher_->give_back(std::move(launched.begin));
  launcher_->give_back(std::move(launched.end));
  if (ended.status.ok()) launcher_->tell_end(ended);
  return true;
}

bool StreamEngine::ended(Ended& out) {
  collect();
  if (!failed_.empty()) {
    out = std::move(failed_.front());
    failed_.pop_front();
    return true;
  }
  for (std::deque<Launched>& of_stream : launched_) {
    if (of_stream.empty() || !look(of_stream.front())) continue;
    out = std::move(of_stream.front().ended);
    of_stream.pop_front();
    started_ -= out.with ? 2 : 1;
    return true;
  }
  return false;
}

Time StreamEngine::next() const { return started_ > 0 ? Time{0} : Time::max(); }

}  // namespace ripeline::runtime::cuda
