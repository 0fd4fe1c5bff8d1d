// -m: how many microbatches. It means the same in every command.
//
// `-m 64` is one count, `-m 1..128` each count from 1 to 128. All that is judged with it is judged
// for that alone: a verdict, a header that is generated, the proof that `simulate --verify` and
// `optimise` ask for. A command that runs one step takes one count.
#pragma once

#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::cli {

struct Counts {
  int first = 1;
  int last = 1;
  [[nodiscard]] bool one() const { return first == last; }
  [[nodiscard]] std::string text() const;  // 64, 1..128
};
inline constexpr int kMostMicrobatches = 1'000'000'000;

// `help`: what they are of. A text that is neither form is a usage error.
void add_microbatches(CLI::App& command, std::optional<Counts>& counts, const std::string& help);

// The count for a command that runs one step; nothing: no -m. Errors: a range.
[[nodiscard]] spec::Result<std::optional<int>> one_count(const std::optional<Counts>& counts);
// The count for one step of the program; without -m, the one that the program is for. Errors: a
// range, a count that the program is not for, or none where it is for several.
[[nodiscard]] spec::Result<int> count_of_step(const std::optional<Counts>& counts,
                                              const spec::Program& program);

// The same program for this count alone, which is in its range. It keeps its hash: what is proved
// of it is asked by a run, and the run is the program's.
[[nodiscard]] spec::Program for_one_count(const spec::Program& program, int microbatches);

}  // namespace ripeline::cli
