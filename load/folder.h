// The programs and schedules below a folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/diagnostics.h"

namespace ripeline::load {

// Whether the name of an input is a folder's.
[[nodiscard]] bool is_folder(const std::string& file);

// Every .ripe file below a folder and every .csv file (in any case) that is a schedule of PyTorch,
// or these schedules alone, in the order of their paths, byte by byte.
enum class Below : std::uint8_t { programs_and_schedules, schedules };
enum class SkippedAs : std::uint8_t { without_action, program };
struct Skipped {
  std::string file;
  SkippedAs why = SkippedAs::without_action;
};
// For people, after `file` or `files`.
[[nodiscard]] std::string_view text_of(SkippedAs why);
struct ProgramsBelow {
  std::vector<std::string> files;  // those that were found, whatever failed then
  // .csv files that are no schedule, and where schedules are wanted, .ripe files; in the same order
  std::vector<Skipped> skipped;
  spec::Result<void> read;  // errors: there is none, or a folder could not be read
};
[[nodiscard]] ProgramsBelow programs_below(const std::string& folder,
                                           Below wanted = Below::programs_and_schedules);

}  // namespace ripeline::load
