// How the commands fail, and the exit codes that say so.
//
// All that a command reads, writes or gets by flags comes as a spec::Result. Its errors are
// sentences that name the file or the flag and have no position in a program's text; say_failed()
// prints them. Mistakes that do have a position are printed where the text is at hand, by
// spec::render().
#pragma once

#include <string>

#include "spec/diagnostics.h"
#include "verify/verdict.h"

namespace ripeline::cli {

// The exit codes of every command; several inputs give the worst, in the order bad_input, refuted,
// unknown, ok. Where memory runs out, the command ends at once.
enum ExitCode : int { ok = 0, refuted = 1, bad_input = 2, unknown = 3, no_memory = 4 };
[[nodiscard]] int worse(int a, int b);
[[nodiscard]] int exit_code_of(verify::Outcome outcome);

using spec::failure;

// `ripeline: …` on standard error, a line for each, after the option that it is about; the exit
// code of bad input.
int say_failed(const std::string& sentence);
int say_failed(const spec::Diagnostics& errors);
// Reports that memory ran out, and returns the exit code for it. Takes none itself.
int say_no_memory();
// Says so too where memory runs out in a thread or below code that cannot throw, and ends the
// process with that exit code.
void watch_memory();
// The same result, after its errors, if any, have been said.
template <class T>
[[nodiscard]] spec::Result<T> said(spec::Result<T> result) {
  if (!result.ok()) say_failed(result.errors());
  return result;
}

}  // namespace ripeline::cli
