// Holders: which lanes hold room in a pool, and which lanes release it.
//
// A pool holds several parts. A part is an amount for each microbatch between the start of one lane
// and the end of another lane of its stage. A release is assigned to amounts that were acquired by
// lanes that the releasing lane needs; elaboration makes sure that these suffice. So no part is
// ever negative, and the parts add up to what the pool holds.
//
// An example: F acquires 5, O releases 3 of these, L acquires 3, and B releases 5. F holds 3 until
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

// A set of lanes whose starts alone raise the parts. Just after such a start, at least
// `free_beside` of the pool's capacity is free beside these parts; beside the parts without the
// first one, that part's amount is free in addition; and so on.
struct Holder {
  std::int64_t free_beside = 0;
  std::vector<HeldPart> parts;  // in the order in which they are released
};

// The holders of a pool with a capacity; `held` is the pool's amount, as in Counters::held. Each
// lane that acquires has one. If lanes have different shares, counts may not tell which lane
// releases an amount; then each stage has one holder, with one part.
[[nodiscard]] std::vector<Holder> holders_of(const spec::Program& program,
                                             const std::vector<spec::Guards>& guards, int pool,
                                             const Linear& held);

}  // namespace ripeline::verify
