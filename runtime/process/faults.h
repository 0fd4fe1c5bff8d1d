// Faults: who of a run is alive, and whom to blame when it fails.
//
// Sans I/O. A fault is noticed by whoever it concerns: a failure of its own, a neighbour that is
// gone, a neighbour that is silent (no byte and no heartbeat for `silence`), or nothing that
// happens for `stall` although all are alive. Whoever notices one sends its neighbours its report;
// whoever gets the first passes it on and adds its own, so that every report goes to all; of a
// neighbour that is lost later it reports again. When
// everyone who can has answered, or `answers` is over, each process follows the waits of all to the
// same culprit (core/wait_graph.h), so that the first line of what every process says names it.
//
// Times are those of the process's clock. One thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/layout.h"
#include "core/wait_graph.h"
#include "runtime/process/outgoing.h"
#include "runtime/process/report.h"

namespace ripeline::runtime::process {

struct FaultLimits {
  // The longest that a process may give no sign of life.
  std::chrono::nanoseconds silence = std::chrono::seconds(30);
  // The longest that nothing may happen here while all are alive: longer than any task takes.
  std::chrono::nanoseconds stall = std::chrono::minutes(10);
  // The longest wait for what the others report of themselves.
  std::chrono::nanoseconds answers = std::chrono::seconds(2);
};

class Faults {
 public:
  // The neighbours are those it is connected with.
  Faults(int self, const core::Layout& layout, std::vector<int> neighbours, FaultLimits limits);

  // From now on this process waits for something again.
  void resume(core::Time now) { last_event_ = now; }
  // Something has happened here.
  void happened(core::Time now) { last_event_ = now; }
  // The transport, asked at `now`, last had a sign of life from the neighbour at `at`. The
  // neighbour's silence lasts from then to `now`: while nobody asked, it may well have spoken.
  void heard(int process, core::Time at, core::Time now);

  void failed(core::Status why, core::Time now);  // this process
  // This process cannot go on because of others.
  void hindered(core::Status why, core::Time now);
  // The process sent what it must not.
  void refused(int process, const core::Status& why, core::Time now);
  void lost(int process, std::string how, core::Time now);
  // Came from a neighbour, but need not be of it.
  void reported(int from, ProcessReport report, core::Time now);
  // Notices who is silent, and that nothing happens. Returns when to ask again.
  core::Time look(core::Time now);

  [[nodiscard]] bool any() const { return since_.has_value(); }
  // This process has yet to report, which it does once: by tell().
  [[nodiscard]] bool owes_report() const { return any() && !told_; }
  void tell(ProcessReport mine, core::Time now);
  // The reports that neighbours have to be sent now.
  [[nodiscard]] std::vector<Outgoing> take_outgoing(core::Time now);
  // There is nothing more to wait for.
  [[nodiscard]] bool is_settled(core::Time now) const;
  // Why the run has failed, for this process: the culprit first.
  [[nodiscard]] core::Status outcome(const core::ProgramFacts& facts, core::Time now) const;

 private:
  struct Peer {
    bool is_neighbour = false;
    core::Time heard{0};  // a neighbour, or its report
    core::Time asked{0};  // when it was last known whether it was heard
    std::optional<ProcessReport> report = std::nullopt;
    core::Time reported{0};
    bool passed_on = false;    // its report
    std::vector<int> told_by;  // neighbours from which its report came
    std::string lost;          // how; empty: it is not
    bool silent = false;
  };

  void notice(core::Time now);
  void complain(int process, Complaint::Of of, core::Time since, std::string said);
  [[nodiscard]] std::optional<Complaint> worst_complaint(int process) const;
  [[nodiscard]] core::RankState state_of(int process, core::Time now) const;
  [[nodiscard]] core::StatusCode code_of(const core::Blame& blame) const;

  int self_;
  core::Layout layout_;
  std::vector<int> neighbours_;
  FaultLimits limits_;
  std::vector<Peer> peers_;  // by process; the own one too
  core::Time last_event_{0};
  std::optional<core::Time> since_;  // a fault was noticed
  bool told_ = false;
  core::Status own_;                   // this process's own failure, or what it saw
  bool hindered_ = false;              // it is what others did
  std::vector<Complaint> complaints_;  // its own
};

}  // namespace ripeline::runtime::process
