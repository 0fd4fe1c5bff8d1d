// ProcessReport: what a process says of itself when its run fails.
//
// Whoever notices a fault tells all others so by its own report; each answers with its own, and
// from all of them each finds the same culprit (runtime/faults.h, core/wait_graph.h). Plain value.
#pragma once

#include <string>

#include "core/status.h"
#include "core/waiting.h"
#include "runtime/payload.h"

namespace ripeline::runtime {

struct ProcessReport {
  // Of a peer, by who has to do with it: others cannot see it.
  struct Accusation {
    int process = -1;      // -1: none
    bool is_lost = false;  // else it sent what it may not
    std::string why;
  };
  core::Status status;  // why it fails itself; ok: because of others
  Accusation accusation;
  core::RankWaits waits;  // `since` of what runs: on the clock of whoever has the report
  std::string last;       // its last events, for people
};

[[nodiscard]] Payload encode_report(const ProcessReport& report, core::Time now);
// Refuses what is no report. Its ids are not checked: core::fits().
core::Status decode_report(const Payload& payload, core::Time now, ProcessReport& report);

}  // namespace ripeline::runtime
