#include "runtime/protocol/faults.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/duration.h"

namespace ripeline::runtime::protocol {

using core::Blame;
using core::RankState;
using core::Status;
using core::StatusCode;
using core::Time;

Faults::Faults(int self, const core::Layout& layout, std::vector<int> neighbours,
               FaultLimits limits)
    : self_(self),
      layout_(layout),
      neighbours_(std::move(neighbours)),
      limits_(limits),
      peers_(static_cast<std::size_t>(layout.processes())) {
  for (const int process : neighbours_)
    peers_[static_cast<std::size_t>(process)].is_neighbour = true;
}

void Faults::notice(Time now) {
  if (!since_) since_ = now;
}

void Faults::complain(int process, Complaint::Of of, Time since, std::string text) {
  complaints_.push_back({process, of, since, std::move(text)});
  if (!is_reported_) return;
  Peer& self = peers_[static_cast<std::size_t>(self_)];
  self.report->complaints = complaints_;
  self.passed_on = false;
  self.reported_by.clear();
}

void Faults::heard(int process, Time at, Time now) {
  Peer& peer = peers_[static_cast<std::size_t>(process)];
  peer.heard = std::max(peer.heard, at);
  peer.asked = now;
}

void Faults::refused(int process, const Status& why, Time now) {
  std::string text = why.message();
  const std::string sent = layout_.name(process) + " sent ";
  const std::string self = layout_.name(self_);
  text = text.starts_with(sent) ? "it sent " + self + " " + text.substr(sent.size())
                                : self + " refused what it sent: " + text;
  if (!is_reported_) complain(process, Complaint::Of::sent, now, std::move(text));
  notice(now);
}

void Faults::failed(Status why, Time now) {
  if (own_.ok() && !is_reported_) own_ = std::move(why);
  notice(now);
}

void Faults::hindered(Status why, Time now) {
  hindered_ = own_.ok();
  failed(std::move(why), now);
}

void Faults::lost(int process, std::string how, Time now) {
  Peer& peer = peers_[static_cast<std::size_t>(process)];
  if (peer.report) return;  // its report says why it ended
  peer.lost = how.empty() ? "connection closed" : std::move(how);
  peer.heard = now;
  complain(process, Complaint::Of::lost, now, peer.lost);
  notice(now);
}

void Faults::reported(int from, ProcessReport report, Time now) {
  Peer& peer = peers_[static_cast<std::size_t>(report.process)];
  if (peer.report) {
    const std::size_t known = peer.report->complaints.size();
    if (report.complaints.size() < known) return;
    if (report.complaints.size() == known) {
      peer.reported_by.push_back(from);
      return;
    }
    // The process has new complaints, which may concern what no other process has noticed.
    peer.passed_on = false;
    peer.reported_by.clear();
  }
  peer.reported_by.push_back(from);
  peer.report = std::move(report);
  peer.reported = peer.heard = now;
  notice(now);
}

Time Faults::look(Time now) {
  if (since_) return *since_ + limits_.answers;
  Time next = Time::max();
  for (const int process : neighbours_) {
    Peer& peer = peers_[static_cast<std::size_t>(process)];
    if (peer.heard == Time{0}) peer.heard = peer.asked = now;
    const Time silent_at = peer.heard + limits_.silence;
    peer.silent = peer.asked >= silent_at;
    if (peer.silent) {
      complain(process, Complaint::Of::silent, peer.heard, "");
      notice(now);
    }
    next = std::min(next, std::max(silent_at, now));
  }
  // Checked even while a task runs here: if all ranks run endless tasks, nobody else notices that.
  const Time stalls_at = last_event_ + limits_.stall;
  if (now >= stalls_at && !since_) {
    own_ = {StatusCode::timeout,
            layout_.name(self_) + " saw nothing happen for " + seconds_text(limits_.stall)};
    notice(now);
  }
  return since_ ? *since_ + limits_.answers : std::min(next, stalls_at);
}

void Faults::publish(ProcessReport mine, Time now) {
  // A stall or another's failure that this process noticed is not a failure of its own.
  if (own_.code() != StatusCode::timeout && !hindered_) mine.status = own_;
  mine.complaints = complaints_;
  mine.process = self_;
  reported(self_, std::move(mine), now);
  is_reported_ = true;
}

std::vector<Outgoing> Faults::take_outgoing(Time now) {
  std::vector<Outgoing> all;
  for (Peer& peer : peers_) {
    if (!peer.report || peer.passed_on) continue;
    peer.passed_on = true;
    const Payload payload = encode_report(*peer.report, now);
    for (const int neighbour : neighbours_) {
      const bool has_it =
          neighbour == peer.report->process ||
          std::count(peer.reported_by.begin(), peer.reported_by.end(), neighbour) > 0;
      if (has_it) continue;
      Outgoing& out = all.emplace_back();
      out.to = neighbour;
      out.envelope.signal = signals::Report{};
      out.payload = payload;
    }
  }
  return all;
}

bool Faults::is_settled(Time now) const {
  if (!is_reported_) return false;
  if (now >= *since_ + limits_.answers) return true;
  for (int process = 0; process < static_cast<int>(peers_.size()); ++process) {
    const Peer& peer = peers_[static_cast<std::size_t>(process)];
    if (peer.report || !peer.lost.empty() || peer.silent) continue;
    // A process that another one has called silent or lost is not waited for.
    if (!worst_complaint(process)) return false;
  }
  return true;
}

// The worst complaint of any process about this one; among equally bad ones, the earliest.
std::optional<Complaint> Faults::worst_complaint(int process) const {
  std::optional<Complaint> worst;
  const int processes = static_cast<int>(peers_.size());
  for (int by = 0; by < processes; ++by) {
    const auto& report = peers_[static_cast<std::size_t>(by)].report;
    if (!report) continue;
    for (Complaint c : report->complaints) {
      if (c.process < 0 || c.process >= processes || c.process == by) continue;
      // A process that has reported is alive. So it and the process that lost it have only lost
      // their connection, which counts against the first of the two.
      if (c.of == Complaint::Of::lost && peers_[static_cast<std::size_t>(c.process)].report) {
        const auto [first, second] = std::minmax({by, c.process});
        c.process = first;
        c.text = "it and " + layout_.name(second) + " lost their connection: " + c.text;
      }
      if (c.process != process) continue;
      if (!worst || std::pair(c.of, c.since) < std::pair(worst->of, worst->since)) {
        worst = std::move(c);
      }
    }
  }
  return worst;
}

RankState Faults::state_of(int process, Time now) const {
  const Peer& peer = peers_[static_cast<std::size_t>(process)];
  RankState state;
  if (peer.report && !peer.report->status.ok()) {
    state.is = RankState::Is::failed;
    state.since = peer.reported;
    state.detail = peer.report->status.message();
  } else if (const std::optional<Complaint> worst = worst_complaint(process)) {
    constexpr std::array kIs = {RankState::Is::failed, RankState::Is::lost, RankState::Is::silent};
    state.is = kIs[static_cast<std::size_t>(worst->of)];
    state.since = worst->since;
    state.detail = worst->text;
  } else if (peer.report) {
    state.is = RankState::Is::well;
    state.since = peer.reported;
    state.waits = peer.report->waits;
  } else if (!peer.lost.empty()) {
    state.is = RankState::Is::lost;
    state.since = peer.heard;
    state.detail = peer.lost;
  } else {
    state.is = RankState::Is::silent;
    state.since = peer.is_neighbour ? peer.heard : since_.value_or(now);
    const std::string quiet = "has not answered for " + seconds_text(limits_.answers);
    if (!peer.is_neighbour) {
      state.detail = "it " + quiet;
    } else if (peer.heard + limits_.silence / 2 > now) {
      state.detail = "it is alive, but " + quiet;
    }
  }
  return state;
}

// The status code of the run's failure, the same on all processes.
StatusCode Faults::code_of(const Blame& blame) const {
  switch (blame.why) {
    case Blame::Why::failed: {
      const int process = blame.processes.front();
      const auto& report = peers_[static_cast<std::size_t>(process)].report;
      if (!report || report->status.ok()) return StatusCode::invalid;  // others have refused it
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
  const Blame blame = core::follow_waits(facts, layout_, states, self_);
  std::string text = print_blame(facts, layout_, blame, now);
  for (const int process : blame.processes) {
    const auto& report = peers_[static_cast<std::size_t>(process)].report;
    if (!report || report->last.empty()) continue;
    text += layout_.name(process) + " did last: " + report->last + "\n";
  }
  // This process's own failure comes last, unless the text contains it already.
  if (!own_.ok() && text.find(own_.message()) == std::string::npos) text += own_.message() + "\n";
  if (text.ends_with('\n')) text.pop_back();
  return {code_of(blame), text};
}

}  // namespace ripeline::runtime::protocol
