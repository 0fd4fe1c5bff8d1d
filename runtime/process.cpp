#include "runtime/process.h"

#include <algorithm>
#include <utility>

#include "runtime/duration.h"
#include "runtime/report.h"

namespace ripeline::runtime {

using core::Status;
using core::StatusCode;
using core::Time;

Process::Process(int self, int processes, ProcessOptions options)
    : self_(self), processes_(processes), options_(options), gathers_(self, processes) {}

void Process::attach(Rank& rank, Time now) {
  rank_ = &rank;
  last_event_ = now;
  for (Delivery& delivery : std::exchange(kept_, {})) {
    check(give(std::move(delivery), now));
  }
}

void Process::begin_gather(std::string tag, Blob mine, Time now) {
  last_event_ = now;
  if (outcome_.ok()) check(gathers_.begin(std::move(tag), std::move(mine)));
}

void Process::delivered(Delivery delivery, Time now) {
  if (!outcome_.ok()) return;
  last_event_ = now;
  check(give(std::move(delivery), now));
}

Status Process::give(Delivery delivery, Time now) {
  const Signal signal = delivery.envelope.signal;
  if (signal == Signal::gather) return gathers_.take(delivery);
  if (signal == Signal::report) return decode_report(delivery);
  if (signal == Signal::lost) {
    return {StatusCode::lost, "rank " + std::to_string(delivery.from) + " was lost (" +
                                  text_of(delivery.payload) + ")"};
  }
  if (rank_ != nullptr) return rank_->delivered(std::move(delivery), now);
  kept_.push_back(std::move(delivery));
  return {};
}

void Process::ended(Ended ended, Time now) {
  if (!outcome_.ok()) return;
  last_event_ = now;
  if (ended.call.task.task.lane < 0) {
    return check({ended.status.code(), "rank " + std::to_string(self_) +
                                           " could not begin the step: " + ended.status.message()});
  }
  if (rank_ != nullptr) check(rank_->ended(std::move(ended), now));
}

void Process::poll(Time now, Actions& actions) {
  actions.sends.clear();
  actions.starts.clear();
  actions.until = Time::max();
  gathers_.take_outgoing(actions.sends);
  if (outcome_.ok() && rank_ != nullptr) check(rank_->poll(now, actions));
  if (is_idle()) {
    const Time silent_at = last_event_ + options_.silence;
    actions.until = std::min(actions.until, silent_at);
    if (now >= silent_at) {
      check({StatusCode::timeout, "rank " + std::to_string(self_) + " saw nothing happen for " +
                                      seconds_text(options_.silence)});
    }
  }
  if (outcome_.ok() || told_) return;
  told_ = true;
  actions.starts.clear();
  for (int process = 0; process < processes_; ++process) {
    if (process != self_) actions.sends.push_back(encode_report(process, outcome_));
  }
}

void Process::poll_sends(Time now, Actions& actions) {
  actions.sends.clear();
  if (outcome_.ok() && rank_ != nullptr) rank_->poll_sends(now, actions);
}

void Process::fail(Status why) { check(std::move(why)); }

void Process::check(Status status) {
  if (status.ok() || !outcome_.ok()) return;
  std::string waiting = rank_ == nullptr ? "" : rank_->executor().waiting();
  if (waiting.ends_with('\n')) waiting.pop_back();
  outcome_ = Status(status.code(), status.message() + (waiting.empty() ? "" : "\n" + waiting));
  if (rank_ != nullptr) rank_->fail(outcome_);
}

}  // namespace ripeline::runtime
