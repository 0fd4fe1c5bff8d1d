// A group run: the executors of all members of all ranks of all replicas over one bag of events,
// held to spec/group.h.
//
// A seed draws the program (group_program.h) and what timing decides: any event that may happen is
// the next, whatever came before, so that messages, announcements, grants and ballots are delayed
// and overtake each other, and executors are asked late. A task with collectives ends at a member
// once it has started at all, and a reduction once it has started at all replicas. Two or three
// steps follow one another, and members are in different ones. What is checked: what a GroupWitness
// sees; that ledgers hold what the machine holds; that the run ends, or is stuck where
// spec::GroupMachine is; that ballots are few.
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
  std::string broken;  // the invariant, in words; empty: none is
  core::Agree agree = core::Agree::none;
  int members = 1;
  int replicas = 1;
  bool stuck = false;           // as GroupMachine is
  std::int64_t events = 0;      // GroupMachine's, each checked; without agreements
  std::int64_t agreements = 0;  // GroupMachine's, each checked
  std::int64_t ballots = 0;     // to how many others does not count
  std::int64_t retries = 0;     // ballots of a second or later attempt
  std::string text;             // the program
};

struct GroupOptions {
  GroupBug bug = GroupBug::none;
  // Null: the interpreter or TableArbiter.
  std::function<std::unique_ptr<core::Arbiter>(int rank)> make_arbiter = nullptr;
};

[[nodiscard]] GroupVerdict run_group(const GroupProgram& of, std::uint64_t seed,
                                     const GroupOptions& options = {});
// Runs the seed's program.
[[nodiscard]] GroupVerdict run_group(std::uint64_t seed, GroupBug bug = GroupBug::none);

}  // namespace ripeline::joint
