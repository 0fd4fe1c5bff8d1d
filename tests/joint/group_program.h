// The programs of group runs: library and random programs, with drawn members and collectives, or
// with replicas and reductions.
//
// Programs on which members do not or could not agree are left out: those with pairs, and those
// that are not proved because a startable task may cease to be startable, or members' turns differ
// (verify/group/conditions.h). Many of the others deadlock. Pure functions of the seed.
#pragma once

#include <cstdint>
#include <string>

#include "spec/program.h"

namespace ripeline::joint {

struct GroupProgram {
  spec::Program program;
  int microbatches = 1;
  std::string text;
};

[[nodiscard]] GroupProgram draw_group_program(std::uint64_t seed);

}  // namespace ripeline::joint
