// A joint run: all processes of a run, simulated over one queue of events, with faults.
//
// The scenario of a seed first runs without its faults: that run must end well, unless
// spec/machine.h is stuck as well. Then it runs with the faults, at a position drawn from the
// length of the first run. Every run checks all that a Witness sees, and that every process that is
// alive ends within the limits. After a run with a fault, the verdict also lists the processes that
// are named in the first lines of the survivors' reports. docs/testing.md describes the use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/joint/planted_bug.h"
#include "tests/joint/scenario.h"

namespace ripeline::joint {

struct Verdict {
  FaultKind kind = FaultKind::none;
  std::string broken;     // the broken invariant, in words; empty if none is broken
  bool stuck = false;     // the program itself deadlocks, so no fault was injected
  bool happened = false;  // the faults took place before the run was over
  bool ended_well = false;
  int survivors = 0;               // processes that ended because the run failed
  int named = 0;                   // survivors whose first line names a culprit
  bool agreed = true;              // all first lines name the same culprits
  bool blamed_healthy = false;     // a first line names a process that is not involved in the fault
  std::vector<std::string> lines;  // each survivor's first line
  std::int64_t events = 0;
  std::string log;  // if RunOptions asks for it
};

struct RunOptions {
  std::optional<FaultKind> kind = std::nullopt;                // if unset, the seed draws the kind
  std::function<std::unique_ptr<PlantedBug>()> bug = nullptr;  // makes the planted bug; may be null
  bool log = false;
  bool connects_all = false;  // connects every two processes, for every seed
};

[[nodiscard]] Verdict run_seed(std::uint64_t seed, const RunOptions& options = {});

}  // namespace ripeline::joint
