// Compares runs side by side: makes their sizes agree, and makes the rows of a table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "load/run.h"
#include "spec/diagnostics.h"
#include "view/compare.h"

namespace ripeline::load {

inline constexpr int kMostSeeds = 1'000'000;

// agree() is called before simulation. Some inputs, such as a CSV or a trace, have a fixed number
// of microbatches. If all of these have the same number and -m is not given, the other inputs use
// that number if they can. The same holds for ranks if -D ranks is not given, but an input that
// cannot use the number is an error. -D sets a param in the programs that have it; notes name the
// other programs, and it is an error if no program has the param. Returns a note for size_notes().
struct Misfit {
  spec::Source source;  // the text to which the positions of `errors` refer
  spec::Diagnostics errors;
};
[[nodiscard]] spec::Result<std::string> agree(std::vector<Run>& runs, const RunOptions& options,
                                              Notes& notes, std::optional<Misfit>& misfit);
// Agrees on the number of microbatches alone, and returns that note; empty if nothing is agreed on.
[[nodiscard]] std::string agree_on_count(std::vector<Run>& runs, const RunOptions& options);
// Notes if numbers of ranks or microbatches differ, since times of different amounts of work
// cannot be compared. Adds the note `agreed` if all runs have the same number of microbatches.
[[nodiscard]] Notes size_notes(const std::vector<Run>& runs, const std::string& agreed);

// A row for each input, with the means over `seeds` runs of that program with consecutive seeds.
// Fails if `seeds` is above 1 and an input is a trace, since a trace has only one run.
[[nodiscard]] spec::Result<std::vector<view::Compared>> compared(const std::vector<Run>& runs,
                                                                 const RunOptions& options,
                                                                 int seeds);
// Advice on a flag that gives all programs the same work; empty if given or if all runs are traces.
[[nodiscard]] std::string how_to_give_same_work(const std::vector<Run>& runs,
                                                const TimeOptions& times);
// Parses a limit such as `6`, `2.5` or `24GB`; nullopt for an empty text.
[[nodiscard]] spec::Result<std::optional<view::MemoryLimit>> memory_limit(const std::string& text);

}  // namespace ripeline::load
