// The faults that are injected into runs of toy_rank, as one table: the faults in the ranks; the
// signals that the run gets from outside, with their moments; and what must hold afterwards.
//
// After every fault the launcher must end within a minute, and nothing of the run may be left: no
// process, socket, folder or shared memory. A new kind is a new row; toy_rank_main/toy_faults.h has
// the faults that a rank itself causes. inject_faults injects each kind 20 times in 1,000 faults as
// long as there are at most 50 kinds.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace ripeline::faults {

enum class Target {
  rank,   // the drawn rank, R
  other,  // another rank, O
  launcher,
  guard,  // the launcher's guard
  named,  // all processes with the program's name in their command lines: launcher, guard, ranks
};

enum class Moment {
  starting,  // up to 50 ms after the start of the target rank; for other targets, of the launcher
  running,   // up to 100 ms after all ranks have completed a step
};

// A signal that is sent to the run from outside.
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
  little_memory,    // a rank limits its own memory, which is impossible under a sanitizer
  full_disk,        // FILES is on a disk with too few inodes or too little space for the new files
  full_folder,      // the run's folder is on a disk with too few inodes
};

struct FaultKind {
  const char* name;
  // Arguments of toy_rank. R is the drawn rank, O another rank, N the drawn task, and FILES a
  // folder with old files.
  std::vector<std::string> in_ranks;
  std::vector<Blow> blows;
  // The permitted exit codes of the launcher; -N if signal N ended it.
  std::vector<int> codes;
  // A line that the output must contain, where R and O are ranks. If empty, no line is required.
  std::string said = {};
  World world = World::usual;
  // The number of steps of the run; if 0, the run lasts until the fault ends it.
  int steps = 0;
  // Rank R alone is to blame, so the other ranks must name it.
  bool has_culprit = false;
  // The name of each rank N's old file in FILES. R's must not change; on a full disk, no file may.
  std::string old_files = {};
};

inline std::ostream& operator<<(std::ostream& out, const FaultKind& kind) {
  return out << kind.name;
}

std::span<const FaultKind> fault_kinds();

}  // namespace ripeline::faults
