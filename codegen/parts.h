// The parts of a generated header. Private to codegen/; see generate.cpp for how they follow one
// another.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/facts.h"
#include "spec/program.h"

namespace ripeline::codegen {

// What an op acquires of a resource that has a capacity. The numbers are by stage; those that are
// the same wherever the op is are written into the guard, the others into tables.
struct Room {
  int resource = 0;
  std::vector<std::int64_t> amount;
  std::vector<std::int64_t> leaving;
};

// What an op releases of a bounded resource, by stage.
struct Giving {
  int resource = 0;
  std::vector<std::int64_t> amount;
};

// A resource that some op acquires and that has a capacity.
struct Bounded {
  int resource = 0;
  int first_pool = 0;                  // its pools follow one another
  std::vector<std::int64_t> capacity;  // by stage or rank
};

// What the program uses, so that nothing else is written.
struct Outline {
  const spec::Program& program;
  int chunks = 1;       // the most stages on one rank
  bool gaps = false;    // some rank lacks an op at some chunk
  bool uneven = false;  // some lane has not one task for each microbatch
  bool rendezvous = false;
  bool engines = false;  // core::Engines is needed: for a copy engine, a rendezvous or a pair
  std::vector<Bounded> bounded;
  std::vector<std::vector<Room>> rooms;      // per op
  std::vector<std::vector<Giving>> givings;  // per op
  // F_activation, of an op and a resource that it takes or gives; no two are the same.
  std::map<std::pair<int, int>, std::string> pair_names;
};
[[nodiscard]] Outline outline_of(const spec::Program& program);

// The number, if all are the same at the places where `op` is.
[[nodiscard]] std::optional<std::int64_t> same_at(const Outline& outline, int op,
                                                  const std::vector<std::int64_t>& by_stage);
[[nodiscard]] std::optional<std::int64_t> same(const std::vector<std::int64_t>& values);

// ProgramFacts and its tables, then those of capacities and amounts.
[[nodiscard]] std::string tables(const Outline& outline, const core::ProgramFacts& facts);
[[nodiscard]] std::string number_tables(const Outline& outline);
// The table of a number that differs between stages: `what` is kAmount, kLeaving or kRelease.
[[nodiscard]] std::string number_table(const Outline& outline, const char* what, int op,
                                       int resource);
// The admission guards, and what tasks acquire and release, as function templates over their number
// type. Nothing if no resource is bounded.
[[nodiscard]] std::string guards(const Outline& outline);
[[nodiscard]] bool has_guards(const Outline& outline);
// Whether room is kept for the rest of an order; not where there is always room.
[[nodiscard]] bool has_kept_order(const Outline& outline);
// The order that the dispatch commits to or follows, if any, as a function template, or as a table
// if it comes from a file.
[[nodiscard]] std::string order_function(const Outline& outline);
// Whether it computes with core::Fraction.
[[nodiscard]] bool has_fractions(const Outline& outline);
// What writes it into the arbiter's order_.
[[nodiscard]] std::string order_call(const Outline& outline);
// The class.
[[nodiscard]] std::string arbiter(const Outline& outline, const std::string& name);
// The hint as the language writes it, in a sentence.
[[nodiscard]] std::string hint_title(const spec::Program& program);
// What is passed to the arbiter's offer functions beside the op or the lane.
[[nodiscard]] std::string offer_arguments(const Outline& outline);
// The body of choose(): the hint as straight code.
[[nodiscard]] std::string hint_choice(const Outline& outline);

// The class's helpers of a hint that follows an order with fillers or patience.
[[nodiscard]] std::vector<std::string> waiting(const Outline& outline);
[[nodiscard]] bool has_patience(const spec::Program& program);

// What it commits to, follows or keeps room for; -1: none.
[[nodiscard]] int dispatched_order(const spec::Program& program);
// Whether choosing needs to know what was taken last.
[[nodiscard]] bool has_rounds(const spec::Program& program);

// Statements to run for the tasks of some ops only, `id` being the task's lane.
using ByOp = std::vector<std::vector<std::string>>;
[[nodiscard]] std::string by_op(const spec::Program& program, const char* id,
                                const ByOp& statements);

// ops::kF: no user's name stands alone, since it may be a macro of any header.
[[nodiscard]] std::string op_constant(const spec::Program& program, int op);

}  // namespace ripeline::codegen
