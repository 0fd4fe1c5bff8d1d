// Holders: which lanes hold room in a pool, and which lanes give it back.
//
// What a pool holds is divided into parts: an amount for each microbatch between the start of one
// lane and the end of another lane of its stage. A release is taken to give back the amount
// acquired by a lane that it needs; elaboration makes sure that there is enough. So no part is ever
// negative, and all parts together are what the pool holds.
//
// An example: F acquires 5, O gives back 3 of it, L acquires 3, and B gives back 5. F holds 3 until
// O ends and 2 until B does; L holds 3 until B ends. The pool holds 3 (f - o) + 2 (f - b) + 3 (l -
// b), which is 5 f - 3 o + 3 l - 5 b, and each of the three parts is 0 or more.
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

// Lanes whose starts alone raise the parts. Just after such a start, at least `free_beside` of the
// pool's capacity is not held by these parts; without the first part, at least that and its amount;
// and so on.
struct Holder {
  std::int64_t free_beside = 0;
  std::vector<HeldPart> parts;  // in the order in which they are given back
};

// The holders of a pool with a capacity; `held` is the amount it holds, as in Counters::held. There
// is a holder for each lane that acquires; or one for each stage, with one part, if counts do not
// tell which lane gives back what (lanes of different shares).
[[nodiscard]] std::vector<Holder> holders_of(const spec::Program& program,
                                             const std::vector<spec::Guards>& guards, int pool,
                                             const Linear& held);

}  // namespace ripeline::verify
