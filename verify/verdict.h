// Verdict: the result of judging a program, obligation by obligation.
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

// A task that cannot start at the end of a run, with one of the reasons.
struct BlockedTask {
  int lane = -1;
  int microbatch = -1;
  spec::Block block;
  std::string text;  // completes "2F0 waits for …", with the holder
  int member = 0;    // the group's member; or kAllMembers
};
constexpr int kAllMembers = -1;

// A run that was replayed. If several runs were found, this is the shortest.
struct Counterexample {
  int microbatches = 0;
  bool fewest = false;  // no smaller count in range has such a run
  std::vector<spec::Event> events;
  std::vector<BlockedTask> waits;  // for deadlock only
  int members = 1;                 // per rank; if above 1, spec::GroupMachine replays the run
};

// A change that makes the whole program proved; see optimise/repair.h.
struct ProvedRepair {
  std::string what;     // capacity, leaving, slots, fifo, sequential, assert; two joined by +
  std::string text;     // the code to write, and where: `capacity ranks - s + 1` for activation
  spec::Span span;      // the code that `text` replaces or is put beside
  std::string program;  // the changed program, in the canonical layout
};

// The bound that a pool never exceeds, for any timing, any choices and any count in range.
struct Peak {
  std::int64_t bound = 0;
  bool reached = false;    // some run with a count in range holds this amount
  bool by_states = false;  // shown by a visit of every state, not by memory's method
  bool operator==(const Peak&) const = default;
};

struct Obligation {
  ObligationKind kind = ObligationKind::deadlock;
  Outcome outcome = Outcome::unknown;
  Method method = Method::none;
  double seconds = 0;  // if below 0, reports omit it
  std::string reason;  // for refuted and unknown: one or two sentences
  spec::Span span;     // the code that the reason is about, if any
  std::optional<Counterexample> counterexample;
  // For an unknown obligation: a run made by choices that differ from the dispatch's.
  std::optional<Counterexample> other_choices;
  // If the method is `states` and counters were used before: the microbatch counts whose states
  // were all visited. Counters prove all other counts in range.
  std::vector<int> counts;
  // For proved memory: by resource and instance the proved peak, or nullopt if the peak grows with
  // the microbatches.
  std::map<std::string, std::vector<std::optional<Peak>>> peak;
  // Repairs of a refuted or unknown obligation, the nearest first; verify() itself finds none.
  std::vector<ProvedRepair> repairs;
  std::string repairs_note;  // the reason if there are no repairs
};

struct Verdict {
  // Refuted if any obligation is refuted, else unknown if any is unknown, else proved.
  Outcome outcome = Outcome::unknown;
  std::vector<Obligation> obligations;  // always the five, as kObligationKinds
  std::vector<std::string> assumptions;
  std::string solver;                   // name and version
  std::optional<ProvedProgram> proved;  // present exactly if the outcome is proved of one program
  // Set by verify_every_depth(): the verdict is about every number of ranks from this number up.
  std::optional<int> every_rank_from;
};

// A verdict whose five obligations, in their order, are all unknown.
[[nodiscard]] Verdict open_verdict();
[[nodiscard]] Obligation& obligation(Verdict& verdict, ObligationKind kind);
[[nodiscard]] const Obligation& obligation(const Verdict& verdict, ObligationKind kind);

}  // namespace ripeline::verify
