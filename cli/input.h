// What the commands read: a file, a library schedule's name, or `-` for standard input; and -D,
// --dispatch, which every command takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "cli/failure.h"
#include "spec/diagnostics.h"
#include "spec/elaborate.h"

namespace ripeline::cli {

struct ProgramOptions {
  std::vector<std::string> defines;  // k=v
  std::string dispatch;
};
void add_program_options(CLI::App& command, ProgramOptions& options);

// What FILE means everywhere, for --help.
inline constexpr const char* kFileHelp =
    "a .ripe file, the name of a library schedule (see `ripeline library`), or - for standard "
    "input";

// Errors: what could not be read and why. read_file() knows files and `-` alone.
[[nodiscard]] spec::Result<spec::Source> read_file(const std::string& file);
[[nodiscard]] spec::Result<spec::Source> read_source(const std::string& file);

[[nodiscard]] spec::Result<spec::ElaborateOptions> elaborate_options(const ProgramOptions& options);

// Reads and compiles. What fails is on standard error already, since only here the text is at hand
// in which to show the place. `read` gets what could be read.
struct LoadedProgram {
  spec::Source source;
  spec::Program program;
  spec::ElaborateOptions options;  // with which it was made of the source
};
[[nodiscard]] spec::Result<LoadedProgram> load(const std::string& file,
                                               const ProgramOptions& options,
                                               std::optional<spec::Source>* read = nullptr);

[[nodiscard]] bool is_folder(const std::string& file);
// Every .ripe file below a folder, in the order of their paths, byte by byte.
struct ProgramsBelow {
  std::vector<std::string> files;  // those that were found, whatever failed then
  spec::Result<void> read;         // errors: there is none, or a folder could not be read
};
[[nodiscard]] ProgramsBelow programs_below(const std::string& folder);

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
