// The programs of group runs: of the library and random, with members and collectives drawn, and
// with replicas and reductions.
//
// Left out is what members do not agree on, or could not: pairs, and what the judge has doubts of
// because what may start may cease to, or because members' turns differ
// (verify/group/conditions.h). Many of the others stick. Pure functions of the seed.
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
