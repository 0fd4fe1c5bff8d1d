// A joint run: all the processes of a run, simulated over one queue of events, with their faults.
//
// What a seed stands for is run without its faults first: that run must end well, unless
// spec/machine.h is stuck as well. Then again with them, at a place drawn of the first one's
// length. What is checked, always: what a Witness sees; that every process that is alive ends
// within the limits. Of a run with a fault: whom the first lines name. docs/testing.md says how to
// use it.
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
  std::string broken;     // the invariant, in words; empty: none is
  bool stuck = false;     // the program itself sticks: no fault was injected
  bool happened = false;  // the faults took place before the run was over
  bool ended_well = false;
  int survivors = 0;               // processes that ended because the run failed
  int named = 0;                   // survivors whose first line names a culprit
  bool agreed = true;              // all first lines name the same
  bool blamed_healthy = false;     // a first line names a process that has no part in it
  std::vector<std::string> lines;  // each survivor's first line
  std::int64_t events = 0;
  std::string log;  // if asked for
};

struct RunOptions {
  std::optional<FaultKind> kind = std::nullopt;                // else what the seed stands for
  std::function<std::unique_ptr<PlantedBug>()> bug = nullptr;  // else none
  bool log = false;
  bool connects_all = false;  // each process with each, whatever the seed stands for
};

[[nodiscard]] Verdict run_seed(std::uint64_t seed, const RunOptions& options = {});

}  // namespace ripeline::joint
