// The errors for a command line that does not parse.
#pragma once

#include <optional>
#include <string>

#include <CLI/App.hpp>
#include <CLI/Error.hpp>

namespace ripeline::cli {

// A sentence that names the command or the flag, and what was meant if that is near enough; long
// words are cut. `app` threw `error` while it parsed `argc`, `argv`, those of main().
[[nodiscard]] std::string usage_error(const CLI::App& app, const CLI::ParseError& error, int argc,
                                      const char* const* argv);

// The flag's value that no number holds, as CLI11 would take the largest one for it. `argc`, `argv`
// as of main(); what follows `--` is another program's.
[[nodiscard]] std::optional<std::string> too_large(int argc, const char* const* argv);

}  // namespace ripeline::cli
