// Programs by name: what a file, a library schedule or standard input is compiled to, with the
// options that every reader takes.
//
// read_program() makes a Program of a text in the language and of a schedule of PyTorch. Errors are
// of two kinds: failures (spec::is_failure()) say all by themselves; the others have their places
// in the text, which `Reading` gives, or are about an option.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "load/counts.h"
#include "load/input.h"
#include "pytorch/lower.h"
#include "spec/ast.h"
#include "spec/diagnostics.h"
#include "spec/elaborate.h"

namespace ripeline::load {

struct ProgramOptions {
  std::vector<std::string> defines;  // k=v
  std::string dispatch;
  std::optional<pytorch::Placement> placement;  // for a schedule of PyTorch
  // A program is judged, generated or run for these alone.
  std::optional<Counts> microbatches;
  bool one_step = false;  // one step is run: `microbatches` is one count
  bool several = false;   // programs take these: each the defines of params that it has
};
// The same for a step of so many microbatches. The program keeps its hash: what is proved of it is
// asked by a run, and the run is the program's.
[[nodiscard]] ProgramOptions of_step(ProgramOptions options, const std::optional<Counts>& counts);

[[nodiscard]] spec::Result<spec::ElaborateOptions> elaborate_options(const ProgramOptions& options);

// The text that was read, whether or not a program came of it.
struct Reading {
  std::optional<Input> input;      // nothing: it could not be read
  std::vector<std::string> notes;  // for people: what the program leaves out of a schedule
};

struct LoadedProgram {
  spec::Source source;  // for a schedule of PyTorch, the program that it stands for
  spec::Program program;
  spec::ElaborateOptions options;  // with which it was made of the source
  InputForm form = InputForm::program;
};
[[nodiscard]] spec::Result<LoadedProgram> read_program(const std::string& file,
                                                       const ProgramOptions& options,
                                                       Reading* reading = nullptr);

// A define that leaves the number of ranks open: read_tree() alone takes it.
inline constexpr const char* kEveryRank = "ranks=any";

// Reads and parses, for kEveryRank, which is taken out of the options.
struct LoadedTree {
  spec::Source source;
  spec::ast::Pipeline tree;  // with the counts of -m in place of its own
  spec::ElaborateOptions options;
};
[[nodiscard]] spec::Result<LoadedTree> read_tree(const std::string& file,
                                                 const ProgramOptions& options,
                                                 Reading* reading = nullptr);

}  // namespace ripeline::load
