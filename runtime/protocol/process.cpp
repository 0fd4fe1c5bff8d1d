#include "runtime/protocol/process.h"

#include <algorithm>
#include <utility>

namespace ripeline::runtime::protocol {

using core::Status;
using core::StatusCode;
using core::Time;

namespace {

constexpr std::size_t kMostKept = 1 << 20;  // between two steps; no step has so many

std::string text_of(const Payload& payload) {
  const auto* text = reinterpret_cast<const char*>(payload.head.data());
  return {text, payload.head.size()};
}

}  // namespace

Process::Process(int self, const core::Layout& layout, std::vector<int> neighbours,
                 FaultLimits limits)
    : self_(self),
      layout_(layout),
      gathers_(self, layout),
      faults_(self, layout, std::move(neighbours), limits) {}

void Process::attach(Rank& rank, Time now) {
  rank_ = &rank;
  facts_ = &rank.facts();
  faults_.resume(now);
  for (Delivery& delivery : std::exchange(kept_, {})) {
    const int from = delivery.from;
    check_sent(from, give(std::move(delivery), now), now);
  }
}

void Process::begin_gather(std::string tag, Blob mine, Time now) {
  faults_.resume(now);
  if (!is_failing()) check(gathers_.begin(std::move(tag), std::move(mine)), now);
}

void Process::delivered(Delivery delivery, Time now) {
  // A notice does not end a stall, since ranks that wait may still exchange notices.
  if (!delivery.envelope.is<signals::Notice>()) faults_.happened(now);
  if (delivery.from < 0 || delivery.from >= processes() || delivery.from == self_) return;
  const int from = delivery.from;
  check_sent(from, give(std::move(delivery), now), now);
}

Status Process::give(Delivery delivery, Time now) {
  const Signal& signal = delivery.envelope.signal;
  if (std::holds_alternative<signals::Lost>(signal)) {
    faults_.lost(delivery.from, text_of(delivery.payload), now);
    return {};
  }
  if (std::holds_alternative<signals::Report>(signal)) return take_report(delivery, now);
  if (is_failing()) return {};
  if (std::holds_alternative<signals::Carrier>(signal)) {
    return {StatusCode::invalid, layout_.name(delivery.from) + " has a device, and " +
                                     layout_.name(self_) + " has none"};
  }
  if (const auto* const gather = std::get_if<signals::Gather>(&signal)) {
    return gathers_.take(delivery.from, gather->number, delivery.payload);
  }
  if (rank_ != nullptr) return rank_->delivered(std::move(delivery), now);
  if (kept_.size() == kMostKept) {
    return {StatusCode::invalid,
            layout_.name(delivery.from) + " sends and sends: so many messages belong to no step"};
  }
  kept_.push_back(std::move(delivery));
  return {};
}

Status Process::take_report(const Delivery& delivery, Time now) {
  ProcessReport report;
  if (Status s = decode_report(delivery.payload, now, report); !s.ok()) return s;
  const int of = report.process;
  if (of < 0 || of >= processes() || of == self_) {
    return {StatusCode::invalid,
            layout_.name(delivery.from) + " sent a report of process " + std::to_string(of)};
  }
  faults_.reported(delivery.from, std::move(report), now);
  return {};
}

void Process::ended(Ended ended, Time now) {
  faults_.happened(now);
  if (is_failing()) return;
  if (ended.call.task.task.lane < 0) {
    return check({ended.status.code(), "it could not begin the step: " + ended.status.message()},
                 now);
  }
  if (rank_ == nullptr) return;
  Status status = rank_->ended(std::move(ended), now);
  if (status.code() == StatusCode::lost) return hindered(std::move(status), now);
  check(std::move(status), now);
}

void Process::poll(Time now, Actions& actions) {
  actions.sends.clear();
  actions.starts.clear();
  actions.until = Time::max();
  if (!is_failing()) {
    gathers_.take_outgoing(actions.sends);
    if (rank_ != nullptr) check(rank_->poll(now, actions), now);
  }
  poll_faults(now, actions);
}

void Process::poll_faults(Time now, Actions& actions) {
  actions.until = std::min(actions.until, faults_.look(now));
  if (!is_failing()) return;
  actions.starts.clear();
  if (faults_.owes_report()) faults_.publish(report(now), now);
  for (Outgoing& out : faults_.take_outgoing(now)) actions.sends.push_back(std::move(out));
  if (!outcome_.ok() || !faults_.is_settled(now)) return;
  static const core::ProgramFacts kNone{};
  outcome_ = faults_.outcome(facts_ == nullptr ? kNone : *facts_, now);
  if (rank_ != nullptr) rank_->fail(outcome_);
}

ProcessReport Process::report(Time now) const {
  ProcessReport report;
  if (rank_ != nullptr) {
    report.waits = rank_->waits();
    report.last = rank_->last_events(now);
  }
  if (gathers_.is_active() && !gathers_.is_done()) {
    core::Wait wait;
    wait.reason = core::Wait::For::gather;
    wait.on = gathers_.waits_for();
    report.waits.waits.push_back(wait);
  }
  return report;
}

void Process::poll_sends(Time now, Actions& actions) {
  actions.sends.clear();
  if (!is_failing() && rank_ != nullptr) rank_->poll_sends(now, actions);
}

void Process::fail(Status why, Time now) { check(std::move(why), now); }

// An invalid message is the fault of its sender.
void Process::check_sent(int process, Status status, Time now) {
  if (status.code() != StatusCode::invalid) return check(std::move(status), now);
  faults_.refused(process, status, now);
}

void Process::check(Status status, Time now) {
  if (!status.ok()) faults_.failed(std::move(status), now);
}

}  // namespace ripeline::runtime::protocol
