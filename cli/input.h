// The commands' input: -D, --dispatch and --placement, which every command takes that runs or
// judges a program, and what load/program.h makes of FILE, with its errors said.
#pragma once

#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "cli/failure.h"
#include "load/folder.h"
#include "load/program.h"
#include "spec/diagnostics.h"

namespace ripeline::cli {

void add_program_options(CLI::App& command, load::ProgramOptions& options);
// Also -m, of commands that judge or generate.
void add_judged_options(CLI::App& command, load::ProgramOptions& options);
// --placement, of a schedule of PyTorch.
void add_placement(CLI::App& command, std::optional<pytorch::Placement>& placement);

// The meaning of FILE everywhere, for --help.
inline constexpr const char* kFileHelp =
    "a .ripe file, a schedule of PyTorch (CSV), the name of a library schedule (see `ripeline "
    "library`), or - for standard input";

// Where only a program of the language makes sense.
inline constexpr const char* kProgramHelp =
    "a .ripe file, the name of a library schedule (see `ripeline library`), or - for standard "
    "input";

// As load::read_program() and load::read_tree(). Notes and errors are on standard error already, an
// error with a place in the text beside that place. `read` gets what could be read.
[[nodiscard]] spec::Result<load::LoadedProgram> load_program(
    const std::string& file, const load::ProgramOptions& options,
    std::optional<spec::Source>* read = nullptr);
[[nodiscard]] spec::Result<load::LoadedTree> load_tree(const std::string& file,
                                                       const load::ProgramOptions& options,
                                                       std::optional<spec::Source>* read);

// Notes on standard error that count them and name the first, if any: a schedule in which each cell
// is misspelt is not passed over unseen.
void note_skipped(const load::ProgramsBelow& below);
// `; 3 files skipped`, to end a summary with; empty: none.
[[nodiscard]] std::string skipped_text(std::size_t count);

}  // namespace ripeline::cli
