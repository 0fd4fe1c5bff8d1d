// What the commands read: a file, a library schedule's name, or `-` for standard input; and -D,
// --dispatch, which every command takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "spec/diagnostics.h"
#include "spec/elaborate.h"
#include "verify/verify.h"

namespace ripeline::cli {

// Of every command; several inputs give the worst, in the order bad_input, refuted, unknown, ok.
enum ExitCode : int { ok = 0, refuted = 1, bad_input = 2, unknown = 3 };
[[nodiscard]] int worse(int a, int b);
[[nodiscard]] int exit_code_of(verify::Outcome outcome);

struct ProgramOptions {
  std::vector<std::string> defines;  // k=v
  std::string dispatch;
};
void add_program_options(CLI::App& command, ProgramOptions& options);

// What FILE means everywhere, for --help.
inline constexpr const char* kFileHelp =
    "a .ripe file, the name of a library schedule (see `ripeline library`), or - for standard "
    "input";

// Fails with a sentence for people: what could not be read and why. read_file() knows files and `-`
// alone.
[[nodiscard]] std::optional<spec::Source> read_file(const std::string& file, std::string& error);
[[nodiscard]] std::optional<spec::Source> read_source(const std::string& file, std::string& error);

[[nodiscard]] std::optional<spec::ElaborateOptions> elaborate_options(const ProgramOptions& options,
                                                                      std::string& error);

// Reads and compiles; on failure the errors are on standard error and the result is nothing. `read`
// gets what could be read.
struct Loaded {
  spec::Source source;
  spec::Program program;
  spec::ElaborateOptions options;  // with which it was made of the source
};
[[nodiscard]] std::optional<Loaded> load(const std::string& file, const ProgramOptions& options,
                                         spec::Diagnostics* errors = nullptr,
                                         std::optional<spec::Source>* read = nullptr);

// Every .ripe file below a folder, in the order of their paths, byte by byte. `error`: there is
// none, or a folder could not be read.
[[nodiscard]] bool is_folder(const std::string& file);
[[nodiscard]] std::vector<std::string> programs_below(const std::string& folder,
                                                      std::string& error);

// `verify` alone takes it: the number of ranks is left open.
inline constexpr const char* kEveryRank = "ranks=any";

// Reads and parses, for -D ranks=any, which is taken out of the options.
struct LoadedTree {
  spec::Source source;
  spec::ast::Pipeline tree;
  spec::ElaborateOptions options;
};
[[nodiscard]] std::optional<LoadedTree> load_tree(const std::string& file,
                                                  const ProgramOptions& options,
                                                  spec::Diagnostics& errors,
                                                  std::optional<spec::Source>& read);

}  // namespace ripeline::cli
