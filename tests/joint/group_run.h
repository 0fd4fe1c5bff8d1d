// A group run: the executors of all members of all ranks of all replicas draw events from one bag,
// and are checked against spec/group.h.
//
// A seed draws the program (group_program.h) and the timing: any event that may happen can be next,
// in any order, so that messages, announcements, grants and ballots are delayed and overtake each
// other, and executors are polled late. A task with collectives ends at a member once it has
// started at all members, and a reduction once it has started at all replicas. Two or three steps
// follow one another, with members in different steps. A run checks: all that a GroupWitness sees;
// that ledgers hold what the machine holds; that the run ends, or is stuck where spec::GroupMachine
// is; and that ballots are few.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/arbiter.h"
#include "core/vocabulary/agree.h"
#include "tests/joint/group_bugs.h"
#include "tests/joint/group_program.h"

namespace ripeline::joint {

struct GroupVerdict {
  std::string broken;  // the broken invariant, in words; empty if none is broken
  core::Agree agree = core::Agree::none;
  int members = 1;
  int replicas = 1;
  bool stuck = false;           // the run is deadlocked, and so is GroupMachine
  std::int64_t events = 0;      // events of GroupMachine without agreements, each checked
  std::int64_t agreements = 0;  // agreements of GroupMachine, each checked
  std::int64_t ballots = 0;     // each counted once, whatever the number of its receivers
  std::int64_t retries = 0;     // ballots of a second or later attempt
  std::string text;             // the program
};

struct GroupOptions {
  GroupBug bug = GroupBug::none;
  // Makes a rank's arbiter. If null, the interpreter or TableArbiter is drawn.
  std::function<std::unique_ptr<core::Arbiter>(int rank)> make_arbiter = nullptr;
};

[[nodiscard]] GroupVerdict run_group(const GroupProgram& of, std::uint64_t seed,
                                     const GroupOptions& options = {});
// Runs the program that the seed draws.
[[nodiscard]] GroupVerdict run_group(std::uint64_t seed, GroupBug bug = GroupBug::none);

}  // namespace ripeline::joint
