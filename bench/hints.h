// Hints and fixed orders at equal memory: the contenders of bench_hints and of a test.
//
// A class of memory is defined by a fixed order of the library: each rank may hold as much as under
// that order, and the hints of the class have exactly this capacity. Values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/elaborate.h"
#include "spec/library.h"

namespace ripeline::bench {

struct Size {
  int ranks = 8;
  int microbatches = 32;
  double backward = 2;  // a forward takes 1; each half of a split backward takes half of `backward`
  int chunks = 1;       // the stages of each rank in interleaved_1f1b, which share its times
};

enum class Memory { p_minus_s, max, eager, eager_max, h1, h2 };

// A class of memory, with the fixed order against which its hints are measured.
struct MemoryClass {
  Memory memory;
  const char* name;
  const char* fixed;  // a library schedule, dispatched as written
  const char* hint;   // the library schedule with hints of this memory
  // Whether every rank may hold as much as the fixed order's fullest rank, so that all pools get
  // the largest capacity among them.
  bool as_fullest = false;
};
inline constexpr MemoryClass kClasses[] = {
    {Memory::p_minus_s, "1F1B's", "1f1b", "1f1b_hint"},
    {Memory::max, "1F1B's fullest rank's", "1f1b", "1f1b_hint", true},
    {Memory::eager, "eager's", "eager_1f1b", "eager_1f1b"},
    {Memory::eager_max, "eager's fullest rank's", "eager_1f1b", "eager_1f1b", true},
    {Memory::h1, "ZB-H1's", "zb_h1", "zb_h1"},
    {Memory::h2, "ZB-H2's", "zb_h2", "zb_h2"},
};
[[nodiscard]] inline const MemoryClass& class_of(Memory memory) {
  return kClasses[static_cast<int>(memory)];
}

struct Condition {
  std::string name;
  std::string jitter;
};

// The conditions of --table conditions.
[[nodiscard]] inline std::vector<Condition> conditions() {
  return {{"none", ""},
          {"uniform ±30 %", "uniform=0.3"},
          {"J1", "J1"},
          {"J3", "J3"},
          {"lognormal, cv 1", "lognormal=1"},
          {"2 % of messages +20 F, FIFO", "tails=2:20,fifo"},
          {"the same, overtaking", "tails=2:20"},
          {"exponential latency, mean .5 F", "exponential=0.5"},
          {"cost per input, σ = .3", "input=0.3"},
          {"cost per input, σ = .6", "input=0.6"}};
}

// The library's program with these costs and this dispatch; if `dispatch` is empty, with its own.
[[nodiscard]] inline spec::Program library_program(std::string_view name, const Size& size,
                                                   const std::string& dispatch = {}) {
  spec::ElaborateOptions options;
  options.defines = {{"ranks", size.ranks}};
  if (size.chunks > 1) options.defines["chunks"] = size.chunks;
  options.dispatch = dispatch;
  spec::Program program =
      spec::compile({std::string(name), *spec::library_text(name)}, options).value();
  for (spec::Lane& lane : program.lanes) {
    const spec::OpKind kind = at(program.ops, lane.op).kind;
    double cost = kind == spec::OpKind::backward ? size.backward : size.backward / 2;
    if (kind == spec::OpKind::forward) cost = 1;
    lane.cost = {.each = {static_cast<std::int64_t>(cost * 1000), 1000 * size.chunks}};
  }
  return program;
}

// Limits the program's pools to `held`. If `keeps`, the program's dispatch keeps room itself, so no
// start needs to leave room free.
inline void hold_to(const std::vector<std::int64_t>& held, bool keeps, spec::Program& program) {
  for (std::size_t pool = 0; pool < held.size(); ++pool) program.pools[pool].capacity = held[pool];
  for (spec::Lane& lane : program.lanes) {
    for (spec::Acquire& a : lane.acquires) a.leaving = keeps ? 0 : a.leaving;
  }
  program.assertions.clear();
  program.hash = spec::hash_of(program);
}

[[nodiscard]] inline spec::Program fixed_program(Memory memory, const Size& size) {
  return library_program(class_of(memory).fixed, size);
}

// The hint's program; `dispatch` is `ready by bf`, `ready by rn`, …
[[nodiscard]] inline spec::Program hint_program(Memory memory, const Size& size,
                                                const std::string& dispatch) {
  const MemoryClass& c = class_of(memory);
  spec::Program program = library_program(c.hint, size, dispatch);
  if (!c.as_fullest) return program;
  std::int64_t most = 0;
  for (const spec::Pool& pool : program.pools) most = std::max(most, pool.capacity.value_or(0));
  for (spec::Pool& pool : program.pools) pool.capacity = most;
  program.assertions.clear();
  program.hash = spec::hash_of(program);
  return program;
}

}  // namespace ripeline::bench
