// The outline of a generated header: the parts that the program uses. The header has no others.
//
// The parts of the header are made from the outline (parts.h). Private to codegen/. The program
// must outlive its outline. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"

namespace ripeline::codegen {

// A number for each stage or rank. If all are the same, the number is written where it is used;
// otherwise the header has a table.
struct Numbers {
  std::string table;    // the table's name
  std::string comment;  // the comment above the table
  std::string index;    // [lane.stage] or [lane.rank]
  std::vector<std::int64_t> values = {};
  std::optional<std::int64_t> same = {};
  // The C++ text for the number of `lane`: the number itself, or an element of the table.
  [[nodiscard]] std::string text() const { return same ? std::to_string(*same) : table + index; }
};

// A resource that some op acquires and that has a capacity.
struct BoundedResource {
  int resource = 0;
  std::string name;
  std::string held;    // for example held[kPool_activation + lane.stage]
  int first_pool = 0;  // its pools are consecutive
  Numbers capacity;
};

// The amounts of a bounded resource that tasks of an op acquire, leave free and release.
struct Use {
  const BoundedResource* bounded = nullptr;
  Numbers amount = {};
  Numbers leaving = {};
  Numbers released = {};
};

struct Outline {
  const spec::Program& program;
  std::vector<BoundedResource> bounded;
  std::vector<std::vector<Use>> uses;  // per op
};
[[nodiscard]] Outline outline_of(const spec::Program& program);

// The order that the dispatch commits to, follows or keeps room for; -1 if there is none.
[[nodiscard]] int dispatched_order(const spec::Program& program);
// The text `ops::kF`. A user's name alone could be a macro, so the text always has the prefix `k`.
[[nodiscard]] std::string op_constant(const spec::Program& program, int op);
// The number of stages of each rank.
[[nodiscard]] std::vector<int> chunk_counts(const spec::Program& program);
// The expression with `chunks` replaced by its value, if all ranks have the same value.
[[nodiscard]] spec::Expr with_chunks(const spec::Program& program, const spec::Expr& expr);

}  // namespace ripeline::codegen
