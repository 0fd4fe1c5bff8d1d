// ProcessReport: the report of a process on itself when its run fails.
//
// A process that notices a fault sends its report to all others. Each answers with its own report,
// and from all reports each finds the same culprit (runtime/protocol/faults.h, core/wait_graph.h).
// Plain value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/waiting.h"
#include "runtime/payload.h"

namespace ripeline::runtime::protocol {

// A fault that a process has noticed in another process.
struct Complaint {
  enum class Of : std::uint8_t {
    sent,    // the other process sent something invalid
    lost,    // the other process cannot be reached any more
    silent,  // the other process gave no sign of life
  };
  int process = -1;
  Of of = Of::sent;
  core::Time since{0};  // on the clock of the report's holder
  std::string text;     // for people
};

struct ProcessReport {
  int process = -1;     // the process that reports
  core::Status status;  // its own failure; ok if only others failed
  std::vector<Complaint> complaints;
  core::RankWaits waits;  // `since` of running tasks is on the clock of the report's holder
  std::string last;       // its last events, for people
};

[[nodiscard]] Payload encode_report(const ProcessReport& report, core::Time now);
// Refuses malformed reports. It does not check ids; core::fits() does.
core::Status decode_report(const Payload& payload, core::Time now, ProcessReport& report);

}  // namespace ripeline::runtime::protocol
