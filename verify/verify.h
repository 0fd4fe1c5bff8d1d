// verify: Program to Verdict.
//
// Five obligations, each proved, refuted or unknown:
//   deadlock     the program does not stick, for every timing, every choice among the tasks that
//                may start and every microbatch count in range
//   collectives  the members of a tensor-parallel group issue the same ones in the same order
//   messages     each has one producer and one consumer, and its link's order and slots suffice
//   memory       no resource exceeds its capacity, no `assert peak` fails
//   once         every task runs exactly once
// Proved holds for any choice among the tasks that may start, hence for every hint and timing.
// Refuted comes with a run that the program's own dispatch makes under some timing, replayed by
// spec/machine.h before it is reported. Unknown is everything else, with the reason; it never
// counts as passed. Limits are counted in solver steps and explored states, never in seconds, so
// that a loaded machine gives the same verdict. Never throws. Thread-safe: no shared state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spec/machine.h"
#include "spec/program.h"
#include "verify/proved_program.h"

namespace ripeline::verify {

enum class Outcome : std::uint8_t { proved, refuted, unknown };
[[nodiscard]] std::string name_of(Outcome outcome);

struct VerifyOptions {
  std::uint64_t solver_steps = 50'000'000;  // Z3's rlimit for each query
  std::uint64_t search_states = 2'000'000;  // states that a search for a run may visit, in all
  // Without: readiness-first, where counters are exact, no run is looked for, and what would be
  // refuted may be unknown. For who asks only whether a program is proved.
  bool find_runs = true;
};

// A task that cannot start at the end of a run, and one reason why.
struct Wait {
  int lane = -1;
  int microbatch = -1;
  spec::Block block;
  std::string text;  // what it waits for, and who has it
  int member = 0;    // of a group; or kAllMembers
};
constexpr int kAllMembers = -1;

// A run: replayed, and shortest first among those found.
struct Counterexample {
  int microbatches = 0;
  bool fewest = false;  // no smaller count in range has one
  std::vector<spec::Event> events;
  std::vector<Wait> waits;  // of deadlock
  int members = 1;          // of each rank; above 1, spec::GroupMachine replays it
};

// A change of the program with which all of it is proved; see verify/repair/repair.h.
struct ProvedRepair {
  std::string what;     // capacity, leaving, slots, fifo, sequential, assert; two with a +
  std::string text;     // what to write, and where: `capacity ranks - s + 1` for activation
  spec::Span span;      // of what it replaces or stands beside
  std::string program;  // the changed program, in the canonical layout
};

struct Obligation {
  std::string name;  // deadlock collectives messages memory once
  Outcome outcome = Outcome::unknown;
  std::string method;  // counters, cuts, graph, tasks, states, structure, ...
  double seconds = 0;  // below 0: reports leave it out
  std::string reason;  // of refuted and unknown: one or two sentences
  spec::Span span;     // what the reason is about, if anything
  std::optional<Counterexample> counterexample;
  // Of unknown deadlock or memory: a run that other choices than the dispatch's make.
  std::optional<Counterexample> other_choices;
  // Of method `states`: the microbatch counts of which every state was visited. All other counts
  // in range are proved by counters.
  std::vector<int> counts;
  // Of memory, proved: per resource and instance the proved peak, or nothing if it grows with the
  // microbatches.
  std::map<std::string, std::vector<std::optional<std::int64_t>>> peak;
  // Of refuted, when they were searched: nearest first. verify() leaves them empty.
  std::vector<ProvedRepair> repairs;
  std::string repairs_note;  // why there are none
};

struct Verdict {
  Outcome outcome =
      Outcome::unknown;  // refuted if any obligation is, else unknown if any is, else proved
  std::vector<Obligation> obligations;  // always the five, in the order above
  std::vector<std::string> assumptions;
  std::string solver;                   // name and version
  std::optional<ProvedProgram> proved;  // exactly when outcome is proved of one program
  std::optional<int> every_rank_from;   // said of every number of ranks from this up (depth.h)
};

[[nodiscard]] Verdict verify(const spec::Program& program, const VerifyOptions& options = {});

}  // namespace ripeline::verify
