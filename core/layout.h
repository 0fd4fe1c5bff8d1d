// Layout: who is who among the processes of a run, numbered without gaps.
//
// The members of a rank stand next to each other, then the ranks of a replica, then the replicas.
// Plain value.
#pragma once

#include "core/task.h"

namespace ripeline::core {

struct Layout {
  int replicas = 1;
  int ranks = 1;
  int members = 1;

  [[nodiscard]] int processes() const { return replicas * ranks * members; }
  [[nodiscard]] int process(Coordinates c) const {
    return (c.replica * ranks + c.rank) * members + c.member;
  }
  [[nodiscard]] Coordinates at(int process) const {
    return {.replica = process / (ranks * members),
            .rank = process / members % ranks,
            .member = process % members};
  }
};

}  // namespace ripeline::core
