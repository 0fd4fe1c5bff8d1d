// Programs by name: compiles a file, a library schedule or standard input, with the options that
// every reader takes.
//
// read_program() makes a Program of a text in the language or of a schedule of PyTorch. An error
// that is a failure (spec::is_failure()) is a complete message. Any other error has a position in
// the text that is in `Reading`, or is about an option.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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
  bool several = false;   // several programs are read; each takes only the defines of its params
};
// The options for one step of `counts` microbatches. The program keeps the hash of its text, since
// a run of the step is a run of that program, and asks for its proof by this hash.
[[nodiscard]] ProgramOptions of_step(ProgramOptions options, const std::optional<Counts>& counts);

[[nodiscard]] spec::Result<spec::ElaborateOptions> elaborate_options(const ProgramOptions& options);

// The text that was read, also if no program could be made of it.
struct Reading {
  std::optional<Input> input;      // nullopt if it could not be read
  std::vector<std::string> notes;  // for people: what the program leaves out of a schedule
  // Returns null if the text could not be read.
  [[nodiscard]] const spec::Source* source() const { return input ? &input->source : nullptr; }
};

// The errors about a text that was read, for people: with a position, as spec::render() shows them,
// else a line for each, which begins with `prefix` and names the option that it is about, if any.
[[nodiscard]] std::string errors_text(const Input& input, const spec::Diagnostics& errors,
                                      const std::string& prefix = "");
// The same errors if perhaps no text could be read.
[[nodiscard]] std::string errors_text(const Reading& reading, const spec::Diagnostics& errors,
                                      const std::string& prefix = "");

// The bytes of the files that a text names, by their paths.
using Files = std::map<std::string, std::string>;

struct LoadedProgram {
  spec::Source source;  // for a schedule of PyTorch, the program that it stands for
  spec::Program program;
  // With these the program was made. Copies of them may be used in several threads at once.
  spec::ElaborateOptions options;
  InputForm form = InputForm::program;
  std::shared_ptr<const Files> files = {};  // the files that were read
};
[[nodiscard]] spec::Result<LoadedProgram> read_program(const std::string& file,
                                                       const ProgramOptions& options,
                                                       Reading* reading = nullptr);

// Like read_program(), for a text at hand. Files that the text names are looked for beside a file
// called `source.name`.
[[nodiscard]] spec::Result<LoadedProgram> program_of_text(spec::Source source,
                                                          const ProgramOptions& options,
                                                          Reading* reading = nullptr);

// Makes the program once more, with other options, as if they had been given at first: of the same
// text, and of the same bytes of files that the text names, also if these files have changed since.
[[nodiscard]] spec::Result<LoadedProgram> made_again(const LoadedProgram& loaded,
                                                     const ProgramOptions& options);

// Makes a program that was read before, perhaps by another process, from what was read. A schedule
// of PyTorch is given as the program that it stands for. It reads no file, so
// a text that names a file which `files` lacks is an error.
[[nodiscard]] spec::Result<LoadedProgram> made_of(Input input, const Files& files,
                                                  const ProgramOptions& options,
                                                  Reading* reading = nullptr);

// Like read_program(), for a program that should have `hash`. If its hash differs and the options
// have one count, of_step()'s options are tried; their program is returned if it has `hash`.
[[nodiscard]] spec::Result<LoadedProgram> read_program_of(const std::string& file,
                                                          const ProgramOptions& options,
                                                          std::uint64_t hash,
                                                          Reading* reading = nullptr);

// The warnings of spec/lint.h. A schedule of PyTorch has none, since its program's text was not
// written by a user.
[[nodiscard]] spec::Diagnostics warnings_of(const LoadedProgram& loaded);

// True if the options leave the number of ranks open, by the define `ranks=any`, which only
// read_tree() and tree_again() accept.
[[nodiscard]] bool for_every_rank(const ProgramOptions& options);

// The options for every number of ranks, in place of the number that they set.
[[nodiscard]] ProgramOptions of_every_rank(ProgramOptions options);

// A program that was read and parsed, with options for which for_every_rank() is true.
struct LoadedTree {
  spec::Source source;
  spec::ast::Pipeline tree;  // with the counts of -m in place of its own
  spec::ElaborateOptions options;
};
[[nodiscard]] spec::Result<LoadedTree> read_tree(const std::string& file,
                                                 const ProgramOptions& options,
                                                 Reading* reading = nullptr);
// The same for a program that was read with other options.
[[nodiscard]] spec::Result<LoadedTree> tree_again(const LoadedProgram& loaded,
                                                  const ProgramOptions& options);

}  // namespace ripeline::load
