// The errors for a command line that does not parse.
#pragma once

#include <string>

#include <CLI/App.hpp>
#include <CLI/Error.hpp>

namespace ripeline::cli {

// Returns a sentence that names the command or the flag and suggests a known name if one is
// similar; long words are shortened. `error` is what `app` threw while it parsed main()'s `argc`
// and `argv`. Errors of flags that take a number give the range (cli/numbers.h).
[[nodiscard]] std::string usage_error(const CLI::App& app, const CLI::ParseError& error, int argc,
                                      const char* const* argv);

}  // namespace ripeline::cli
