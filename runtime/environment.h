// RankEnvironment: the rank that a process is, from the variables of whatever started it: `ripeline
// launch` and torchrun, Open MPI's and MPICH's mpirun, Slurm's srun (docs/runtime.md). The first in
// this order whose variables are set counts: the inner one, where one starts the other.
//
// The ranks of one host meet in a folder: RIPELINE_FOLDER, which `ripeline launch` sets, or one
// whose name follows from the run's own variables and from the process that started its ranks.
// Those of several hosts meet at a store: at MASTER_ADDR and MASTER_PORT, or where Slurm's
// variables lead to.
#pragma once

#include <string>

#include "core/status.h"

namespace ripeline::runtime {

// Where the ranks of several hosts meet.
struct StorePlace {
  std::string host;  // the host of rank 0, which serves it, unless torchrun's agent does
  int port = 0;
  bool is_of_agent = false;
  std::string attempt = {};  // torchrun's, whose store sees several
};

struct RankEnvironment {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  int local_ranks = 1;
  std::string folder;   // for ranks of one host
  StorePlace store;     // for ranks of several hosts; then the folder is empty
  std::string address;  // numbers: RIPELINE_ADDRESS, by which the others reach this host; or empty
  [[nodiscard]] int default_threads() const;  // cores / ranks on this host, at least 1
};

// Something has started this process as a rank.
[[nodiscard]] bool is_rank();

// Fails by status naming the variable that is missing or malformed.
core::Status read_rank_environment(RankEnvironment& environment);

}  // namespace ripeline::runtime
