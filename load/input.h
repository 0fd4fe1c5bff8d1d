// The text of an input: a file, a library schedule's name, or `-` for standard input.
//
// Whether a text is a program of the language or a schedule of PyTorch is decided here alone, by
// what is in it.
#pragma once

#include <cstdint>
#include <string>

#include "spec/diagnostics.h"

namespace ripeline::load {

// Knows files and `-` alone. Errors: what could not be read and why.
[[nodiscard]] spec::Result<spec::Source> read_file(const std::string& file);

enum class InputForm : std::uint8_t {
  program,   // in the language: it begins with `pipeline`
  schedule,  // PyTorch's: a cell of it is an action
};
struct Input {
  spec::Source source;
  InputForm form = InputForm::program;
};
// `names`: what is spoken of where there is no such file.
enum class Names : std::uint8_t { files_and_library, files };
// Errors: it cannot be read, is empty, or is neither, with what either looks like.
[[nodiscard]] spec::Result<Input> read_input(const std::string& file,
                                             Names names = Names::files_and_library);

// Whether the name ends as that of a CSV, in any case: other tables than schedules do so too.
[[nodiscard]] bool is_csv(const std::string& file);
// Also of a file that cannot be read or is empty: read_input() says so.
[[nodiscard]] bool may_be_schedule(const std::string& file);

}  // namespace ripeline::load
