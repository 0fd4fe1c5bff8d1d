// Who a rank is, from the variables of whatever started it: `ripeline launch` and torchrun, Open
// MPI's and MPICH's mpirun, Slurm's srun (docs/runtime.md). Of those whose variables are there the
// first in this order counts: the inner one, where one starts the other.
//
// The ranks of a run meet in a folder: RIPELINE_FOLDER, which `ripeline launch` sets, or one whose
// name follows from the run's own variables and from the process that started its ranks.
#pragma once

#include <string>

#include "core/status.h"

namespace ripeline::runtime {

struct RankEnvironment {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  int local_ranks = 1;
  std::string folder;
  [[nodiscard]] int default_threads() const;  // cores / ranks on this host, at least 1
};

// Something has started this process as a rank.
[[nodiscard]] bool is_rank();

// Fails by status naming the variable that is missing or malformed.
core::Status read_rank_environment(RankEnvironment& environment);

}  // namespace ripeline::runtime
