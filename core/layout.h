// Layout: the numbers of the processes of a run, without gaps.
//
// The members of a rank have adjacent numbers, the ranks of a replica follow each other in order,
// and so do the replicas. A plain value.
#pragma once

#include <string>

#include "core/facts.h"
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
  // The process of `rank` in the same replica and with the same member number as `process`.
  [[nodiscard]] int of_rank(int process, int rank) const {
    Coordinates c = at(process);
    c.rank = rank;
    return this->process(c);
  }
  // True if each rank is one process.
  [[nodiscard]] bool is_flat() const { return replicas == 1 && members == 1; }
  // A name: `rank 3` or, if ranks have several processes, `process 7 (rank 3, member 1)`. `process`
  // may be any number.
  [[nodiscard]] std::string name(int process) const;

  // The layout as text: `4 ranks`, `4 ranks of 2 members each`.
  [[nodiscard]] std::string text() const;

  bool operator==(const Layout&) const = default;
};

// The layout of all the processes that train the program together.
[[nodiscard]] inline Layout layout_of(const ProgramFacts& facts) {
  return {.replicas = facts.replicas, .ranks = facts.ranks, .members = facts.members};
}

}  // namespace ripeline::core
