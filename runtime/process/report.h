// ProcessReport: what a process says of itself when its run fails.
//
// Whoever notices a fault tells all others so by its own report; each answers with its own, and
// from all of them each finds the same culprit (runtime/process/faults.h, core/wait_graph.h). Plain
// value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/waiting.h"
#include "runtime/payload.h"

namespace ripeline::runtime::process {

// A fault that a process has seen in another one.
struct Complaint {
  enum class Of : std::uint8_t {
    sent,    // it sent what it must not
    lost,    // it cannot be reached any more
    silent,  // it gave no sign of life
  };
  int process = -1;
  Of of = Of::sent;
  core::Time since{0};  // on the clock of whoever has the report
  std::string said;     // for people
};

struct ProcessReport {
  int process = -1;     // the one that reports
  core::Status status;  // why it fails itself; ok: because of others
  std::vector<Complaint> complaints;
  core::RankWaits waits;  // `since` of what runs: on the clock of whoever has the report
  std::string last;       // its last events, for people
};

[[nodiscard]] Payload encode_report(const ProcessReport& report, core::Time now);
// Refuses what is no report. Its ids are not checked: core::fits().
core::Status decode_report(const Payload& payload, core::Time now, ProcessReport& report);

}  // namespace ripeline::runtime::process
