// How many microbatches: one count, or each of a range. It means the same for every reader.
//
// `64` is one count, `1..128` each count from 1 to 128. All that is judged with it is judged for
// that alone: a verdict, a header that is generated, the proof that a run or a search asks for. A
// step has one count.
#pragma once

#include <optional>
#include <string>

#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::load {

struct Counts {
  int first = 1;
  int last = 1;
  [[nodiscard]] bool one() const { return first == last; }
  [[nodiscard]] std::string text() const;  // 64, 1..128
};
inline constexpr int kMostMicrobatches = 1'000'000'000;

// Errors: it is neither form, without the name of the option.
[[nodiscard]] spec::Result<Counts> counts_in(const std::string& text);

// The count for what runs one step; nothing: none was given. Errors: a range.
[[nodiscard]] spec::Result<std::optional<int>> one_count(const std::optional<Counts>& counts);
// The count for one step of the program; where none is given, the one that the program is for.
// Errors: a range, a count that the program is not for, or none where it is for several.
[[nodiscard]] spec::Result<int> count_of_step(const std::optional<Counts>& counts,
                                              const spec::Program& program);

// The same program for this count alone, which is in its range. It keeps its hash: what is proved
// of it is asked by a run, and the run is the program's.
[[nodiscard]] spec::Program for_one_count(const spec::Program& program, int microbatches);

}  // namespace ripeline::load
