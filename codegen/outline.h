// The outline of a generated header: what the program uses, so that the header has nothing else.
//
// The parts of the header are made from the outline by one source each: tables.h, dispatch_text.h,
// admission.h, order_text.h and priority_text.h; generate.cpp has their sequence. Private to
// codegen/. The program must outlive its outline. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "spec/program.h"

namespace ripeline::codegen {

// The room that an op needs in a resource with a capacity. The numbers are by stage; a number that
// is the same at all stages of the op is written into the guard, others into tables.
struct Room {
  int resource = 0;
  std::vector<std::int64_t> amount;
  std::vector<std::int64_t> leaving;
};

// The amounts of a bounded resource that an op releases, by stage.
struct ReleaseTable {
  int resource = 0;
  std::vector<std::int64_t> amount;
};

// A resource that some op acquires and that has a capacity.
struct BoundedResource {
  int resource = 0;
  int first_pool = 0;                  // its pools are consecutive
  std::vector<std::int64_t> capacity;  // by stage or rank
};

struct Outline {
  const spec::Program& program;
  std::vector<BoundedResource> bounded;
  std::vector<std::vector<Room>> rooms;            // per op
  std::vector<std::vector<ReleaseTable>> givings;  // per op
  // By op and resource that the op acquires or releases: F_activation, all different.
  std::map<std::pair<int, int>, std::string> pair_names;
};
[[nodiscard]] Outline outline_of(const spec::Program& program);

// The number, if it is the same at all stages where `op` is.
[[nodiscard]] std::optional<std::int64_t> same_at(const Outline& outline, int op,
                                                  const std::vector<std::int64_t>& by_stage);
[[nodiscard]] std::optional<std::int64_t> same(const std::vector<std::int64_t>& values);

// The table's name for a number that differs by stage; `what` is kAmount, kLeaving or kRelease.
[[nodiscard]] std::string number_table(const Outline& outline, const char* what, int op,
                                       int resource);

// The order that the dispatch commits to, follows or keeps room for; -1: none.
[[nodiscard]] int dispatched_order(const spec::Program& program);
// The text ops::kF: a user's name never stands alone, since any header may define it as a macro.
[[nodiscard]] std::string op_constant(const spec::Program& program, int op);

}  // namespace ripeline::codegen
