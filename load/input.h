// The text of an input: a file, a library schedule's name, or `-` for standard input.
//
// Only this file decides, by the content of a text, whether it is a program of the language or a
// schedule of PyTorch.
#pragma once

#include <cstdint>
#include <string>

#include "spec/diagnostics.h"

namespace ripeline::load {

// Reads a file, or standard input for `-`; not a library schedule. Errors say what failed and why.
[[nodiscard]] spec::Result<spec::Source> read_file(const std::string& file);

enum class InputForm : std::uint8_t {
  program,   // in the language: it begins with `pipeline`
  schedule,  // a schedule of PyTorch: some cell is an action
};
struct Input {
  spec::Source source;
  InputForm form = InputForm::program;
};
// Fails if the text is empty or has neither form; the error describes both forms.
[[nodiscard]] spec::Result<Input> input_of(spec::Source source);
// Does the same with the text of a file; fails also if the file cannot be read.
[[nodiscard]] spec::Result<Input> read_input(const std::string& file);
// Reads a schedule of PyTorch. Fails also for a program of the language.
[[nodiscard]] spec::Result<spec::Source> read_schedule(const std::string& file);

// True if the name ends with `.csv`, in any case. Tables that are no schedules have such names too.
[[nodiscard]] bool is_csv(const std::string& file);
// True for a schedule, and for a file that is empty or cannot be read, which read_input() reports.
[[nodiscard]] bool may_be_schedule(const std::string& file);

}  // namespace ripeline::load
