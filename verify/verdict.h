// Verdict: what the judge says of a program, obligation by obligation.
//
// Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spec/machine.h"
#include "spec/program.h"
#include "verify/obligation.h"
#include "verify/proved_program.h"

namespace ripeline::verify {

enum class Outcome : std::uint8_t { proved, refuted, unknown };
[[nodiscard]] std::string name_of(Outcome outcome);

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

// A change of the program with which all of it is proved; see optimise/repair.h.
struct ProvedRepair {
  std::string what;     // capacity, leaving, slots, fifo, sequential, assert; two with a +
  std::string text;     // what to write, and where: `capacity ranks - s + 1` for activation
  spec::Span span;      // of what it replaces or stands beside
  std::string program;  // the changed program, in the canonical layout
};

// What a pool never holds more than, whatever the timing, the choices and the count in range.
struct Peak {
  std::int64_t bound = 0;
  bool reached = false;    // some run of some count in range holds as much: no less is a bound
  bool by_states = false;  // it rests on a visit of every state, and not on the memory's method
  bool operator==(const Peak&) const = default;
};

struct Obligation {
  ObligationKind kind = ObligationKind::deadlock;
  Outcome outcome = Outcome::unknown;
  Method method = Method::none;
  double seconds = 0;  // below 0: reports leave it out
  std::string reason;  // of refuted and unknown: one or two sentences
  spec::Span span;     // what the reason is about, if anything
  std::optional<Counterexample> counterexample;
  // Of unknown deadlock or memory: a run that other choices than the dispatch's make.
  std::optional<Counterexample> other_choices;
  // Of Method::states: the microbatch counts of which every state was visited. All other counts
  // in range are proved by counters.
  std::vector<int> counts;
  // Of memory, proved: per resource and instance the proved peak, or nothing if it grows with the
  // microbatches.
  std::map<std::string, std::vector<std::optional<Peak>>> peak;
  // Of refuted, when they were searched: nearest first. verify() leaves them empty.
  std::vector<ProvedRepair> repairs;
  std::string repairs_note;  // why there are none
};

struct Verdict {
  // Refuted if any obligation is, else unknown if any is, else proved.
  Outcome outcome = Outcome::unknown;
  std::vector<Obligation> obligations;  // always the five, as kObligationKinds
  std::vector<std::string> assumptions;
  std::string solver;                   // name and version
  std::optional<ProvedProgram> proved;  // exactly when outcome is proved of one program
  // Of verify_every_depth(): said of every number of ranks from this up.
  std::optional<int> every_rank_from;
};

// With five obligations of which nothing is known, in their order.
[[nodiscard]] Verdict open_verdict();
[[nodiscard]] Obligation& obligation(Verdict& verdict, ObligationKind kind);
[[nodiscard]] const Obligation& obligation(const Verdict& verdict, ObligationKind kind);

}  // namespace ripeline::verify
