// The commands' input: the flags -D, --dispatch and --placement of every command that runs or
// judges a program, and functions that read FILE (load/program.h) and print its errors.
#pragma once

#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "cli/failure.h"
#include "load/program.h"
#include "spec/diagnostics.h"

namespace ripeline::cli {

void add_program_options(CLI::App& command, load::ProgramOptions& options);
// Adds the options of add_program_options() and -m, for commands that judge or generate.
void add_judged_options(CLI::App& command, load::ProgramOptions& options);
// Adds --placement, which is for schedules of PyTorch.
void add_placement(CLI::App& command, std::optional<pytorch::Placement>& placement);

// The meaning of FILE in every command, for --help.
inline constexpr const char* kFileHelp =
    "a .ripe file, a schedule of PyTorch (CSV), the name of a library schedule (see `ripeline "
    "library`), or - for standard input";

// The meaning of FILE in commands that take only programs of the language.
inline constexpr const char* kProgramHelp =
    "a .ripe file, the name of a library schedule (see `ripeline library`), or - for standard "
    "input";

// Prints errors about a text that was read. An error with a position is shown in the text.
void say_errors(const load::Input& input, const spec::Diagnostics& errors);
// Prints the errors, and the notes on the text if one could be read.
void say_read(const load::Reading& reading, const spec::Diagnostics& errors);
template <class T>
void say_read(const load::Reading& reading, const spec::Result<T>& read) {
  say_read(reading, read.ok() ? spec::Diagnostics() : read.errors());
}

// Calls load::read_program(), and prints its notes and errors on standard error.
[[nodiscard]] spec::Result<load::LoadedProgram> load_program(const std::string& file,
                                                             const load::ProgramOptions& options);

}  // namespace ripeline::cli
