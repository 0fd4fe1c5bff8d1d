// The failures of commands, and their exit codes.
//
// A function that reads a command's input or flags, or writes its output, returns a spec::Result.
// Its errors are sentences that name the file or the flag and have no position in a program's text;
// say_failed() prints them. Errors that do have a position are printed by spec::render(), where the
// text is available.
#pragma once

#include <string>

#include "spec/diagnostics.h"
#include "verify/verdict.h"

namespace ripeline::cli {

// The exit codes of every command. A command with several inputs returns the worst of their codes;
// bad_input is the worst, then refuted, unknown, ok. If memory runs out, the command ends at once.
enum ExitCode : int { ok = 0, refuted = 1, bad_input = 2, unknown = 3, no_memory = 4 };
[[nodiscard]] int worse(int a, int b);
[[nodiscard]] int exit_code_of(verify::Outcome outcome);

// For each error, prints a line `ripeline: …` on standard error, which names the option that the
// error is about, if there is one. Returns bad_input.
int say_failed(const std::string& sentence);
int say_failed(const spec::Diagnostics& errors);
// Returns the errors, marked as being about this option.
[[nodiscard]] spec::Diagnostics about(const std::string& option, spec::Diagnostics errors);
// Reports that memory ran out, and returns the exit code for it. Allocates no memory.
int say_no_memory();
// Makes the process report the same and end with that exit code if memory runs out in any thread or
// in code that cannot throw.
void watch_memory();
// Prints the errors of the result, if any, and returns the result.
template <class T>
[[nodiscard]] spec::Result<T> said(spec::Result<T> result) {
  if (!result.ok()) say_failed(result.errors());
  return result;
}

}  // namespace ripeline::cli
