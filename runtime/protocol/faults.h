// Faults: which processes of a run are alive, and which of them to blame when the run fails.
//
// Sans I/O. A process notices a fault that concerns it: its own failure, a neighbour that is gone
// or silent (no byte and no heartbeat for `silence`), or that nothing happens for `stall` although
// all are alive. Such a process sends a report to its neighbours. A process that gets a first
// report passes it on and adds its own, so that every report reaches all processes. It reports
// again when it loses a neighbour later. When all that can answer have answered, or `answers` is
// over, each process follows the waits of all processes to the same culprit (core/wait_graph.h). So
// the first line of every process's message names it.
//
// Times are on the process's clock. One thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/layout.h"
#include "core/wait_graph.h"
#include "runtime/protocol/outgoing.h"
#include "runtime/protocol/report.h"

namespace ripeline::runtime::protocol {

struct FaultLimits {
  // The longest that a process may give no sign of life.
  std::chrono::nanoseconds silence = std::chrono::seconds(30);
  // The longest that nothing may happen here while all are alive; must exceed the time of any task.
  std::chrono::nanoseconds stall = std::chrono::minutes(10);
  // The longest wait for the reports of the other processes.
  std::chrono::nanoseconds answers = std::chrono::seconds(2);
};

class Faults {
 public:
  // `neighbours` are the processes that this one is connected with.
  Faults(int self, const core::Layout& layout, std::vector<int> neighbours, FaultLimits limits);

  // Called when this process begins to wait for something again; a stall counts from `now`.
  void resume(core::Time now) { last_event_ = now; }
  // Notes that something has happened here; a stall counts from `now`.
  void happened(core::Time now) { last_event_ = now; }
  // Notes that, at `now`, the transport has had no sign of life from the neighbour since `at`.
  // look() counts silence only until `now`, since later signs are not known before the next call.
  void heard(int process, core::Time at, core::Time now);

  void failed(core::Status why, core::Time now);  // called when this process itself has failed
  // Called when this process cannot continue because of other processes.
  void hindered(core::Status why, core::Time now);
  // Called when `process` has sent something that it must not send.
  void refused(int process, const core::Status& why, core::Time now);
  void lost(int process, std::string how, core::Time now);
  // Notes a report that came from the neighbour `from`, but may be that of another process.
  void reported(int from, ProcessReport report, core::Time now);
  // Notices silent neighbours and stalls. Returns when to call it again.
  core::Time look(core::Time now);

  [[nodiscard]] bool any() const { return since_.has_value(); }
  // Whether this process has yet to report, by one call of publish().
  [[nodiscard]] bool owes_report() const { return any() && !is_reported_; }
  void publish(ProcessReport mine, core::Time now);
  // The reports that have to be sent to neighbours now.
  [[nodiscard]] std::vector<Outgoing> take_outgoing(core::Time now);
  // Whether this process has no more reports to wait for.
  [[nodiscard]] bool is_settled(core::Time now) const;
  // Why the run has failed, as this process sees it; the culprit comes first.
  [[nodiscard]] core::Status outcome(const core::ProgramFacts& facts, core::Time now) const;

 private:
  struct Peer {
    bool is_neighbour = false;
    core::Time heard{0};  // when the peer, or its report, was last heard
    core::Time asked{0};  // when the transport was last asked
    std::optional<ProcessReport> report = std::nullopt;
    core::Time reported{0};
    bool passed_on = false;        // whether the peer's report was passed on
    std::vector<int> reported_by;  // the neighbours from which it came
    std::string lost;              // how the peer was lost; empty if it was not
    bool silent = false;
  };

  void notice(core::Time now);
  void complain(int process, Complaint::Of of, core::Time since, std::string text);
  [[nodiscard]] std::optional<Complaint> worst_complaint(int process) const;
  [[nodiscard]] core::RankState state_of(int process, core::Time now) const;
  [[nodiscard]] core::StatusCode code_of(const core::Blame& blame) const;

  int self_;
  core::Layout layout_;
  std::vector<int> neighbours_;
  FaultLimits limits_;
  std::vector<Peer> peers_;  // by process, including this one
  core::Time last_event_{0};
  std::optional<core::Time> since_;  // when a fault was first noticed
  bool is_reported_ = false;
  core::Status own_;                   // this process's own failure, or what it noticed
  bool hindered_ = false;              // own_ is due to other processes
  std::vector<Complaint> complaints_;  // about other processes
};

}  // namespace ripeline::runtime::protocol
