// The faults that are injected into runs of toy_rank, as one table: what goes wrong in the ranks,
// what is done to the run from outside and when, and what must hold afterwards.
//
// Of every fault it must hold that the launcher ends within a minute and that no process, socket
// or folder of the run is left. A new kind is a new row; what a rank can do by itself is in
// toy_rank_main/toy_faults.h.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace ripeline::faults {

enum class Target {
  rank,   // the drawn one, R
  other,  // another one, O
  launcher,
  guard,  // the launcher's
  named,  // launcher and ranks, found by the program's name in their command lines
};

enum class Moment {
  starting,  // up to 50 ms after the target, or the launcher if it is not seen, was started
  running,   // up to 100 ms after all ranks have run a step
};

// A signal from outside.
struct Blow {
  Moment moment = Moment::running;
  Target target = Target::launcher;
  int signal = 0;
};

enum class World {
  usual,
  unread,           // standard output is a pipe that nobody reads
  nohup,            // SIGHUP is ignored
  few_descriptors,  // too few for the ranks
};

struct FaultKind {
  const char* name;
  // Arguments of toy_rank; R is the drawn rank, N the drawn task.
  std::vector<std::string> in_ranks;
  std::vector<Blow> blows;
  // Codes with which the launcher may end; minus a signal that ends it.
  std::vector<int> codes;
  // A line that must be there; R and O are ranks. Empty: none.
  std::string said = {};
  World world = World::usual;
  // The run has few steps, so that the fault meets its end; else it lasts until the fault ends it.
  bool is_short = false;
  // R alone is to blame, so the other ranks should name it.
  bool has_culprit = false;
};

inline std::ostream& operator<<(std::ostream& out, const FaultKind& kind) {
  return out << kind.name;
}

std::span<const FaultKind> fault_kinds();

}  // namespace ripeline::faults
