// Programs by name: compiles a file, a library schedule or standard input, with the options that
// every reader takes.
//
// read_program() makes a Program of a text in the language or of a schedule of PyTorch. Some errors
// are failures (spec::is_failure()), which are complete in themselves. The others have a position
// in the text, which `Reading` has, or are about an option.
#pragma once

#include <cstdint>
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
  // If given, a program is judged, generated or run for these counts alone.
  std::optional<Counts> microbatches;
  bool one_step = false;  // one step is run, so `microbatches` must be one count
  bool several = false;   // for several programs, each of which takes the defines of its params
};
// The options for one step of `counts` microbatches. The program keeps the hash of its text, by
// which a run asks for the proof, since the run is one of that program.
[[nodiscard]] ProgramOptions of_step(ProgramOptions options, const std::optional<Counts>& counts);

[[nodiscard]] spec::Result<spec::ElaborateOptions> elaborate_options(const ProgramOptions& options);

// The text that was read, also if no program could be made of it.
struct Reading {
  std::optional<Input> input;      // nullopt if it could not be read
  std::vector<std::string> notes;  // for people: what the program leaves out of a schedule
  // Null if the text could not be read.
  [[nodiscard]] const spec::Source* source() const { return input ? &input->source : nullptr; }
};

struct LoadedProgram {
  spec::Source source;  // for a schedule of PyTorch, the program that it stands for
  spec::Program program;
  spec::ElaborateOptions options;  // with which the program was made
  InputForm form = InputForm::program;
};
[[nodiscard]] spec::Result<LoadedProgram> read_program(const std::string& file,
                                                       const ProgramOptions& options,
                                                       Reading* reading = nullptr);

// Reads the program that has this hash. If the options have one count, that is the program of the
// text or the one for this count alone. If neither has the hash, returns the latter.
[[nodiscard]] spec::Result<LoadedProgram> read_program_of(const std::string& file,
                                                          const ProgramOptions& options,
                                                          std::uint64_t hash,
                                                          Reading* reading = nullptr);

// The warnings of spec/lint.h. A schedule of PyTorch has none: nobody wrote the text that it stands
// for.
[[nodiscard]] spec::Diagnostics warnings_of(const LoadedProgram& loaded);

// True if the options leave the number of ranks open, by the define `ranks=any`, which only
// read_tree() accepts.
[[nodiscard]] bool for_every_rank(const ProgramOptions& options);

// A program that was read and parsed, with options for which for_every_rank() is true.
struct LoadedTree {
  spec::Source source;
  spec::ast::Pipeline tree;  // with the counts of -m in place of its own
  spec::ElaborateOptions options;
};
[[nodiscard]] spec::Result<LoadedTree> read_tree(const std::string& file,
                                                 const ProgramOptions& options,
                                                 Reading* reading = nullptr);

}  // namespace ripeline::load
