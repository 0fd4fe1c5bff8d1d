#include "runtime/faults.h"

#include <algorithm>
#include <utility>

#include "runtime/duration.h"

namespace ripeline::runtime {

using core::Blame;
using core::RankState;
using core::Status;
using core::StatusCode;
using core::Time;

Faults::Faults(int self, int processes, FaultLimits limits)
    : self_(self), limits_(limits), peers_(static_cast<std::size_t>(processes)) {}

void Faults::notice(Time now) {
  if (!since_) since_ = now;
}

void Faults::heard(int process, Time at) {
  Peer& peer = peers_[static_cast<std::size_t>(process)];
  peer.heard = std::max(peer.heard, at);
}

void Faults::failed(Status why, Time now) {
  if (own_.ok() && !told_) own_ = std::move(why);
  notice(now);
}

void Faults::lost(int process, std::string how, Time now) {
  const Peer& peer = peers_[static_cast<std::size_t>(process)];
  if (peer.report) return;  // it has said why
  if (how.empty()) how = "connection closed";
  if (accusation_.process < 0) accusation_ = {process, true, how};
  accuse({process, true, std::move(how)}, now);
  notice(now);
}

void Faults::refused(int process, std::string why, Time now) {
  if (accusation_.process < 0) accusation_ = {process, false, why};
  accuse({process, false, std::move(why)}, now);
  notice(now);
}

void Faults::accuse(const ProcessReport::Accusation& accusation, Time now) {
  if (accusation.process < 0 || accusation.process >= static_cast<int>(peers_.size())) return;
  Peer& peer = peers_[static_cast<std::size_t>(accusation.process)];
  std::string& of = accusation.is_lost ? peer.lost : peer.accused;
  if (!of.empty()) return;
  of = accusation.why.empty() ? "for no reason given" : accusation.why;
  peer.heard = now;
}

void Faults::reported(int process, ProcessReport report, Time now) {
  Peer& peer = peers_[static_cast<std::size_t>(process)];
  if (peer.report) return;
  peer.report = std::move(report);
  peer.reported = peer.heard = now;
  accuse(peer.report->accusation, now);
  notice(now);
}

Time Faults::look(Time now, bool is_running) {
  if (since_) return *since_ + limits_.answers;
  Time next = Time::max();
  for (int process = 0; process < static_cast<int>(peers_.size()); ++process) {
    Peer& peer = peers_[static_cast<std::size_t>(process)];
    if (process == self_) continue;
    if (peer.heard == Time{0}) peer.heard = now;
    const Time silent_at = peer.heard + limits_.silence;
    peer.silent = now >= silent_at;
    if (peer.silent) notice(now);
    next = std::min(next, silent_at);
  }
  if (!is_running) {
    const Time stalls_at = last_event_ + limits_.stall;
    if (now >= stalls_at && !since_) {
      own_ = {StatusCode::timeout, "rank " + std::to_string(self_) + " saw nothing happen for " +
                                       seconds_text(limits_.stall)};
      notice(now);
    }
    next = std::min(next, stalls_at);
  }
  return since_ ? *since_ + limits_.answers : next;
}

std::vector<Outgoing> Faults::tell(ProcessReport mine, Time now) {
  told_ = true;
  // That nothing happens here, or that a peer is silent, is no failure of this process.
  if (own_.code() != StatusCode::timeout) mine.status = own_;
  mine.accusation = accusation_;
  const Payload payload = encode_report(mine, now);
  reported(self_, std::move(mine), now);
  std::vector<Outgoing> all;
  for (int process = 0; process < static_cast<int>(peers_.size()); ++process) {
    if (process == self_) continue;
    Outgoing& out = all.emplace_back();
    out.to = process;
    out.envelope.message = {-1, -1};
    out.envelope.signal = Signal::report;
    out.payload = payload;
  }
  return all;
}

bool Faults::is_settled(Time now) const {
  if (!told_) return false;
  if (now >= *since_ + limits_.answers) return true;
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    return peer.report.has_value() || !peer.lost.empty() || peer.silent;
  });
}

RankState Faults::state_of(int process, Time now) const {
  const Peer& peer = peers_[static_cast<std::size_t>(process)];
  RankState state;
  if (peer.report && !peer.report->status.ok()) {
    state.is = RankState::Is::failed;
    state.since = peer.reported;
    state.said = peer.report->status.message();
  } else if (!peer.accused.empty()) {
    state.is = RankState::Is::failed;
    state.since = peer.heard;
    state.said = peer.accused;
  } else if (peer.report && peer.lost.empty()) {
    state.is = RankState::Is::well;
    state.waits = peer.report->waits;
  } else if (!peer.lost.empty()) {
    state.is = RankState::Is::lost;
    state.since = peer.heard;
    state.said = peer.lost;
  } else {
    state.is = RankState::Is::silent;
    state.since = peer.heard;
    if (peer.heard + limits_.silence / 2 > now) {
      state.said = "it is alive, but has not answered for " + seconds_text(limits_.answers);
    }
  }
  return state;
}

// The same for all.
StatusCode Faults::code_of(const Blame& blame) const {
  switch (blame.why) {
    case Blame::Why::failed: {
      const int process = blame.ranks.front();
      const auto& report = peers_[static_cast<std::size_t>(process)].report;
      if (!report || report->status.ok()) return StatusCode::invalid;  // it is accused
      return report->status.code();
    }
    case Blame::Why::lost:
      return StatusCode::lost;
    case Blame::Why::nobody:
      return own_.ok() ? StatusCode::lost : own_.code();
    case Blame::Why::silent:
    case Blame::Why::runs:
    case Blame::Why::owes:
    case Blame::Why::starts:
    case Blame::Why::circle:
      break;
  }
  return StatusCode::timeout;
}

Status Faults::outcome(const core::ProgramFacts& facts, Time now) const {
  std::vector<RankState> states;
  for (int process = 0; process < static_cast<int>(peers_.size()); ++process) {
    states.push_back(state_of(process, now));
  }
  const Blame blame = core::follow_waits(facts, states, self_);
  std::string text = print_blame(facts, blame, now);
  for (const int process : blame.ranks) {
    const auto& report = peers_[static_cast<std::size_t>(process)].report;
    if (!report || report->last.empty()) continue;
    text += "rank " + std::to_string(process) + " did last: " + report->last + "\n";
  }
  // What was seen here first, where the first line does not say it.
  if (!own_.ok() && text.find(own_.message()) == std::string::npos) text += own_.message() + "\n";
  if (text.ends_with('\n')) text.pop_back();
  return {code_of(blame), text};
}

}  // namespace ripeline::runtime
