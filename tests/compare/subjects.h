// Subjects: the programs whose verdicts are recorded, always the same ones in the same order.
//
// Random programs take each set of features in turn: none, one of the eight, two of them, and all;
// and, of what every program may have, nothing, one thing and everything. Then come random programs
// for every number of ranks, and the schedules of the library: each with 2, 3 and 4 ranks and with
// its defaults, as written and under every other dispatch that its orders and hints allow, and for
// every number of ranks. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/diagnostics.h"
#include "spec/elaborate.h"

namespace ripeline::compare {

struct Selection {
  std::uint64_t first = 1;         // seed, of both kinds of random programs
  std::uint64_t programs = 5'000;  // random ones
  std::uint64_t depths = 100;      // random ones for every number of ranks
  bool library = true;
  // In each set of features and size, and in the library: one in so many is asked for repairs if it
  // is refuted, and for least capacities if it is proved. It does not depend on verdicts, so that
  // one that changes does not shift what is asked of later programs.
  std::uint64_t repairs = 1;
  std::uint64_t least = 10;
};

struct Subject {
  std::string id;  // seed 17 links,once; library zb_v ranks=3 ready by zb_v
  spec::Source source;
  spec::ElaborateOptions options;
  bool every_depth = false;  // for every number of ranks: `options` does not define it
  bool repairs = false;      // are searched if it is refuted
  bool least = false;        // capacities are asked for if it is proved
};

[[nodiscard]] std::vector<Subject> subjects(const Selection& selection);

}  // namespace ripeline::compare
