// The faults that are injected into runs of toy_rank, as one table: what goes wrong in the ranks,
// what is done to the run from outside and when, and what must hold afterwards.
//
// Of every fault it must hold that the launcher ends within a minute and that nothing of the run is
// left: no process, socket, folder or shared memory. A new kind is a new row; what a rank can do by
// itself is in toy_rank_main/toy_faults.h. inject_faults makes each kind 20 times in 1,000 faults
// as long as there are at most 50.
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
  named,  // launcher, guard and ranks, found by the program's name in their command lines
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
  little_memory,    // a rank limits its own, which it cannot under a sanitizer
  full_disk,        // FILES is on a disk with too few inodes, or too little space, for what comes
  full_folder,      // and so is the run's folder
};

struct FaultKind {
  const char* name;
  // Arguments of toy_rank; R is the drawn rank, O another one, N the drawn task; FILES is a folder
  // in which there are old files.
  std::vector<std::string> in_ranks;
  std::vector<Blow> blows;
  // Codes with which the launcher may end; minus a signal that ends it.
  std::vector<int> codes;
  // A line that must be there; R and O are ranks. Empty: none.
  std::string said = {};
  World world = World::usual;
  // The run's steps; 0: it lasts until the fault ends it.
  int steps = 0;
  // R alone is to blame: the other ranks must name it.
  bool has_culprit = false;
  // Files in FILES, N a rank, of which R's, or all on a full disk, must stay as they are.
  std::string old_files = {};
};

inline std::ostream& operator<<(std::ostream& out, const FaultKind& kind) {
  return out << kind.name;
}

std::span<const FaultKind> fault_kinds();

}  // namespace ripeline::faults
