// Holders: which lanes hold a pool's room, and which give it back.
//
// What a pool holds is divided into parts: so much, for each microbatch between the start of one
// lane and the end of another lane of its stage. A release is taken to give back what a lane that
// it needs has acquired; elaboration makes sure that there is enough. So no part is ever less than
// nothing, and all parts together are what the pool holds.
//
// An example: F acquires 5, O gives back 3 of it, L acquires 3, and B gives back 5. F holds 3 until
// O ends and 2 until B does, L holds 3 until B ends: 3 (f - o) + 2 (f - b) + 3 (l - b) is what is
// held, 5 f - 3 o + 3 l - 5 b, and each of the three is 0 or more.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/guards.h"
#include "spec/program.h"
#include "verify/ready/linear.h"

namespace ripeline::verify {

struct HeldPart {
  std::int64_t amount = 0;  // per microbatch
  Linear held;
};

// Lanes whose starts alone raise the parts. Whenever one starts, so much of the pool's capacity is
// not held by these parts afterwards: at least free_beside; without the first part, its amount
// more; and so on.
struct Holder {
  std::int64_t free_beside = 0;
  std::vector<HeldPart> parts;  // the earliest given back first
};

// The holders of a pool with a capacity; `held` is what it holds, as Counters::held. There is one
// for each lane that acquires; or one for each stage, with one part, where counts do not say who
// gives back what (lanes of different shares).
[[nodiscard]] std::vector<Holder> holders_of(const spec::Program& program,
                                             const std::vector<spec::Guards>& guards, int pool,
                                             const Linear& held);

}  // namespace ripeline::verify
