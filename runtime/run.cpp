#include "runtime/run.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/run_trace.h"
#include "runtime/termination.h"
#include "runtime/watchdog/call_guard.h"
#include "trace/parts.h"

namespace ripeline::runtime {

using core::Status;
using core::Time;

namespace {

constexpr auto kLastWords = std::chrono::milliseconds(300);

}  // namespace

Run::Run(Transport& transport, RunOptions options)
    : transport_(transport),
      options_(options),
      process_(transport.self(),
               options.layout.value_or(core::Layout{.ranks = transport.processes()}),
               transport.neighbours(), options.limits) {
  if (options_.termination != nullptr)
    options_.termination->call_when_requested([this] { wake(); });
}

Run::~Run() {
  if (trace_ != nullptr && trace_->has_part() && !is_finished_ && self() == 0) {
    std::fprintf(stderr, "ripeline: what ran until then: ripeline show %s\n",
                 trace::parts_folder(trace_->path()).c_str());
  }
  trace_.reset();  // appends its last events to its part
  if (options_.termination != nullptr) options_.termination->call_when_requested(nullptr);
}

Status Run::gather(std::string tag, Blob mine, std::vector<Blob>& all) {
  process_.begin_gather(std::move(tag), std::move(mine), now());
  if (Status s = run_until(nullptr, [this] { return process_.gather_done(); }); !s.ok()) return s;
  all = process_.take_gathered();
  return {};
}

Status Run::fail(Status why) {
  process_.fail(std::move(why), now());
  return run_until(nullptr, [] { return false; });
}

RunTrace* Run::begin_trace(const std::string& path, trace::RunInfo about) {
  if (trace_ != nullptr) return nullptr;
  trace_ = std::make_unique<RunTrace>(path);
  trace_->set_about(std::move(about));
  return trace_.get();
}

Status Run::finish(std::chrono::nanoseconds limit) {
  const bool has_trace = trace_ != nullptr && trace_->has_part();
  if (has_trace) {
    if (Status s = trace_->close(); !s.ok()) return fail(std::move(s));
  }
  if (Status s = wait_for_all(limit, Time::max()); !s.ok()) return s;
  is_finished_ = true;
  return has_trace && self() == 0 ? trace::finish_parts(trace_->path()) : Status();
}

Status Run::leave(std::chrono::nanoseconds limit) {
  const bool has_trace = trace_ != nullptr && trace_->has_part();
  Status written = has_trace ? trace_->close() : Status();
  if (Status s = wait_for_all(limit, now() + limit); !s.ok()) return s;
  is_finished_ = true;
  if (has_trace && written.ok() && self() == 0) written = trace::finish_parts(trace_->path());
  if (!written.ok()) std::fprintf(stderr, "ripeline: %s\n", written.message().c_str());
  return {};
}

Status Run::wait_for_all(std::chrono::nanoseconds limit, Time limit_of_gather) {
  process_.begin_gather("the end of the run", {}, now());
  Status gathered = run_until(
      nullptr, [this] { return process_.gather_done(); }, limit_of_gather);
  if (!gathered.ok()) return gathered;
  (void)process_.take_gathered();
  // Until all processes have finished, one of them may still be lost or report a failure.
  const Time last = now() + limit;
  Status status = finish_until(last);
  while (!status.ok() && !process_.is_failing()) {
    if (now() >= last) return fail(std::move(status));
    receive(Time{0});
    heed_termination();
    process_.poll(now(), actions_);
    send();
    if (!process_.is_failing()) status = finish_until(last);
  }
  return status.ok() ? status : run_until(nullptr, [] { return false; });
}

Status Run::finish_until(Time last) {
  return transport_.finish(std::clamp(last - now(), Time{0}, Time(options_.limits.silence / 8)));
}

Status Run::run_beside(std::function<Status()> work) {
  struct Shared {
    std::mutex mutex;
    Status status;
    bool has_ended = false;
    bool is_left = false;
  };
  const auto shared = std::make_shared<Shared>();
  process_.resume(now());
  std::thread([this, shared, work = std::move(work)] {
    Status status = work();
    const std::scoped_lock lock(shared->mutex);
    shared->status = std::move(status);
    shared->has_ended = true;
    if (!shared->is_left) wake();
  }).detach();
  const Status of_run = run_until(nullptr, [&shared] {
    const std::scoped_lock lock(shared->mutex);
    return shared->has_ended;
  });
  const std::scoped_lock lock(shared->mutex);
  shared->is_left = true;
  if (!of_run.ok() || shared->status.ok()) return of_run;
  if (shared->status.code() != core::StatusCode::lost) return fail(shared->status);
  process_.hindered(shared->status, now());
  return run_until(nullptr, [] { return false; });
}

void Run::guard_calls() {
  if (guard_ != nullptr) return;
  guard_ = std::make_unique<watchdog::CallGuard>(
      process_.layout().name(self()), watchdog::CallGuard::Limits{.call = options_.limits.stall});
}

Status Run::step(protocol::Rank& rank, TaskEngine& engine, std::int64_t step, int microbatches) {
  if (Status s = begin_step(rank, engine, step, microbatches); !s.ok()) return s;
  return run_until(&engine, [&rank] { return rank.step_done(); });
}

Status Run::begin_step(protocol::Rank& rank, TaskEngine& engine, std::int64_t step,
                       int microbatches) {
  if (trace_ != nullptr && trace_->record() == rank.trace()) {
    if (Status s = trace_->begin_step(rank.facts(), microbatches, *this); !s.ok()) {
      return fail(std::move(s));
    }
  }
  if (Status s = rank.begin_step(step, microbatches, now()); !s.ok()) return fail(std::move(s));
  engine.begin_step(step, microbatches);
  process_.attach(rank, now());
  return {};
}

Status Run::run_until(TaskEngine* engine, const std::function<bool()>& done, Time limit) {
  for (;;) {
    if (std::optional<Status> over = turn(engine, done)) return *std::move(over);
    const Time left = limit == Time::max() ? limit : limit - now();
    if (left <= Time{0}) return {core::StatusCode::timeout, "other processes go on"};
    receive(left);
  }
}

std::optional<Status> Run::turn(TaskEngine* engine, const std::function<bool()>& done) {
  heed_termination();
  take_ends(engine);
  process_.poll(now(), actions_);
  if (carry_out(engine)) {
    until_ = Time{0};
    return std::nullopt;
  }
  until_ = std::min(actions_.until, engine == nullptr ? Time::max() : engine->next());
  const bool failed = !process_.outcome().ok();
  if (!failed && (process_.is_failing() || !done())) return std::nullopt;
  process_.detach();
  if (failed) transport_.flush(kLastWords);
  return process_.outcome();
}

void Run::send() {
  for (protocol::Outgoing& out : actions_.sends) {
    Status s = transport_.send(out.to, out.envelope, std::move(out.payload));
    if (!s.ok()) process_.fail(std::move(s), now());
  }
}

bool Run::carry_out(TaskEngine* engine) {
  send();
  if (engine == nullptr) return false;
  for (protocol::Actions::Start& start : actions_.starts) {
    if (start.with) {
      engine->start_pair(std::move(start.call), std::move(*start.with));
    } else {
      engine->start(std::move(start.call));
    }
  }
  return take_ends(engine);
}

bool Run::take_ends(TaskEngine* engine) {
  bool any = false;
  while (engine != nullptr && engine->ended(ended_)) {
    any = true;
    process_.ended(std::move(ended_), now());
    process_.poll_sends(now(), actions_);  // the task's outputs do not wait for the next one
    send();
  }
  return any;
}

std::size_t Run::queued() const {
  std::size_t bytes = 0;
  for (const int process : transport_.neighbours()) bytes += transport_.queued(process);
  return bytes;
}

void Run::receive(std::chrono::nanoseconds most) {
  deliveries_.clear();
  const Time wait = std::clamp(until_ - now(), Time{0}, Time(most));
  Status status = transport_.poll(wait, deliveries_);
  if (!status.ok()) process_.fail(std::move(status), now());
  for (Delivery& delivery : deliveries_) process_.delivered(std::move(delivery), now());
  if (deliveries_.empty() || now() >= next_look_) look_after_peers();
}

void Run::heed_termination() {
  if (options_.termination == nullptr || !options_.termination->requested()) return;
  if (!process_.is_failing()) receive(Time{0});  // a message may tell why this process has to end
  if (!process_.is_failing())
    process_.fail(Termination::status_of(process_.layout().name(self())), now());
}

void Run::look_after_peers() {
  next_look_ = now() + options_.limits.silence / 8;
  for (const int process : transport_.neighbours()) {
    process_.heard(process, transport_.heard(process), now());
  }
}

}  // namespace ripeline::runtime
