// The commands' input: a file, a library schedule's name, or `-` for standard input; and -D,
// --dispatch and --placement, which every command takes that runs or judges a program.
//
// Whether a file is a program of the language or a schedule of PyTorch is decided here alone, by
// what is in it. load() makes a Program of either.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "cli/failure.h"
#include "cli/microbatch_flag.h"
#include "pytorch/lower.h"
#include "spec/diagnostics.h"
#include "spec/elaborate.h"

namespace ripeline::cli {

struct ProgramOptions {
  std::vector<std::string> defines;  // k=v
  std::string dispatch;
  std::optional<spec::Placement> placement;  // for a schedule of PyTorch
  // A program is judged, generated or run for these alone.
  std::optional<Counts> microbatches;
  bool one_step = false;  // the command runs one step: `microbatches` is one count
  bool several = false;   // programs take these: each the defines of params that it has
};
void add_program_options(CLI::App& command, ProgramOptions& options);
// Also -m, of commands that judge or generate.
void add_judged_options(CLI::App& command, ProgramOptions& options);
// The same for a step of so many microbatches. The program keeps its hash: what is proved of it is
// asked by a run, and the run is the program's.
[[nodiscard]] ProgramOptions of_step(ProgramOptions options, const std::optional<Counts>& counts);

// The meaning of FILE everywhere, for --help.
inline constexpr const char* kFileHelp =
    "a .ripe file, a schedule of PyTorch (CSV), the name of a library schedule (see `ripeline "
    "library`), or - for standard input";

// Where only a program of the language makes sense.
inline constexpr const char* kProgramHelp =
    "a .ripe file, the name of a library schedule (see `ripeline library`), or - for standard "
    "input";

// Errors: what could not be read and why. read_file() knows files and `-` alone.
[[nodiscard]] spec::Result<spec::Source> read_file(const std::string& file);
// `names`: what is spoken of where there is no such file.
enum class Names : std::uint8_t { files_and_library, files };
[[nodiscard]] spec::Result<spec::Source> read_source(const std::string& file,
                                                     Names names = Names::files_and_library);

enum class InputForm : std::uint8_t {
  program,   // in the language: it begins with `pipeline`
  schedule,  // PyTorch's: a cell of it is an action
};
struct Input {
  spec::Source source;
  InputForm form = InputForm::program;
};
// Errors: as of read_source(); that it is empty; and that it is neither, with what either looks
// like.
[[nodiscard]] spec::Result<Input> read_input(const std::string& file,
                                             Names names = Names::files_and_library);

// --placement, of a schedule of PyTorch.
void add_placement(CLI::App& command, std::optional<spec::Placement>& placement);

[[nodiscard]] spec::Result<spec::ElaborateOptions> elaborate_options(const ProgramOptions& options);

// Reads and compiles. Errors are on standard error already, since only here the text is at hand in
// which to show the position. `read` gets what could be read.
struct LoadedProgram {
  spec::Source source;  // for a schedule of PyTorch, the program that it stands for
  spec::Program program;
  spec::ElaborateOptions options;  // with which it was made of the source
  InputForm form = InputForm::program;
};
[[nodiscard]] spec::Result<LoadedProgram> load(const std::string& file,
                                               const ProgramOptions& options,
                                               std::optional<spec::Source>* read = nullptr);

[[nodiscard]] bool is_folder(const std::string& file);
// Every .ripe file below a folder and every .csv file (in any case) that is a schedule of PyTorch,
// or these schedules alone, in the order of their paths, byte by byte.
enum class Below : std::uint8_t { programs_and_schedules, schedules };
struct Skipped {
  std::string file;
  std::string_view why;  // for people; a constant
};
struct ProgramsBelow {
  std::vector<std::string> files;  // those that were found, whatever failed then
  // .csv files that are no schedule, and where schedules are wanted, .ripe files; in the same order
  std::vector<Skipped> skipped;
  spec::Result<void> read;  // errors: there is none, or a folder could not be read
};
[[nodiscard]] ProgramsBelow programs_below(const std::string& folder,
                                           Below wanted = Below::programs_and_schedules);
// Notes on standard error that count them and name the first, if any: a schedule in which each cell
// is misspelt is not passed over unseen.
void note_skipped(const ProgramsBelow& below);
// `; 3 files skipped`, to end a summary with; empty: none.
[[nodiscard]] std::string skipped_text(std::size_t count);

// `verify` alone takes it: the number of ranks is left open.
inline constexpr const char* kEveryRank = "ranks=any";

// Reads and parses, for -D ranks=any, which is taken out of the options. Fails as load() does.
struct LoadedTree {
  spec::Source source;
  spec::ast::Pipeline tree;
  spec::ElaborateOptions options;
};
[[nodiscard]] spec::Result<LoadedTree> load_tree(const std::string& file,
                                                 const ProgramOptions& options,
                                                 std::optional<spec::Source>& read);

}  // namespace ripeline::cli
