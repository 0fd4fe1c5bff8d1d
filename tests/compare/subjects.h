// Subjects: the programs whose verdicts are recorded, always the same ones in the same order.
//
// Random programs take each set of features in turn (none, a single feature, two, all), and each
// set of the constructs that any program may have (none, a single one, all). After them come random
// programs for every number of ranks, and the library's schedules: each with 2, 3 and 4 ranks and
// with its defaults, as written and under every other dispatch that its orders and hints allow, and
// for every number of ranks. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/diagnostics.h"
#include "spec/elaborate.h"

namespace ripeline::compare {

struct Selection {
  std::uint64_t first = 1;         // the first seed of both kinds of random programs
  std::uint64_t programs = 5'000;  // the number of random programs
  std::uint64_t depths = 100;      // the number of random programs for every number of ranks
  bool library = true;
  // In each set of features and size, and in the library, every `repairs`-th program gets repairs
  // if it is refuted, and every `least`-th program gets least capacities if it is proved. The
  // choice does not depend on verdicts: if a verdict changes, the same later programs are chosen.
  std::uint64_t repairs = 1;
  std::uint64_t least = 10;
};

struct Subject {
  std::string id;  // such as `seed 17 links,once` or `library zb_v ranks=3 ready by zb_v`
  spec::Source source;
  spec::ElaborateOptions options;
  bool every_depth = false;  // judged for every number of ranks, which `options` leaves undefined
  bool repairs = false;      // repairs are searched if it is refuted
  bool least = false;        // least capacities are searched if it is proved
};

[[nodiscard]] std::vector<Subject> subjects(const Selection& selection);

}  // namespace ripeline::compare
