// Counts of microbatches: one count, or every count of a range, in the same form for all commands.
//
// `64` is one count, `1..128` is each count from 1 to 128. A verdict, a generated header, and
// the proof that a run or a search asks for, hold for the given counts alone. A step has one
// count.
#pragma once

#include <optional>
#include <string>

#include "spec/diagnostics.h"
#include "spec/expr.h"
#include "spec/program.h"

namespace ripeline::load {

struct Counts {
  int first = 1;
  int last = 1;
  [[nodiscard]] bool one() const { return first == last; }
  [[nodiscard]] std::string text() const;  // 64, 1..128
};
inline constexpr int kMostMicrobatches = 1'000'000'000;

// Fails if the text has neither form; the error does not name the option.
[[nodiscard]] spec::Result<Counts> counts_in(const std::string& text);

// Parses a rank's memory in microbatches, such as 6 or 2.5, above 0. Fails for any other text.
[[nodiscard]] spec::Result<spec::Rational> room_in(const std::string& text);

// The count for one step; nullopt if none was given. Fails for a range.
[[nodiscard]] spec::Result<std::optional<int>> one_count(const std::optional<Counts>& counts);
// The count for one step of the program. If none is given, returns the program's only count. Fails
// for a range, for a count outside the program's range, and without a count if it has several.
[[nodiscard]] spec::Result<int> count_of_step(const std::optional<Counts>& counts,
                                              const spec::Program& program);

// The program for this count alone, which must be in its range. The hash stays that of `program`: a
// run of this count is a run of that program, and asks for its proof by this hash.
[[nodiscard]] spec::Program for_one_count(const spec::Program& program, int microbatches);

}  // namespace ripeline::load
