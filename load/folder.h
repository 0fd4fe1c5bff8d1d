// The programs and schedules below a folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "spec/diagnostics.h"

namespace ripeline::load {

// True if `file` is the name of a folder.
[[nodiscard]] bool is_folder(const std::string& file);

// The kinds of files wanted below a folder: every .ripe file and every .csv file (in any case) that
// is a schedule of PyTorch, or these schedules alone. Paths are sorted byte by byte.
enum class Below : std::uint8_t { programs_and_schedules, schedules };
enum class SkippedAs : std::uint8_t { without_action, program };
struct Skipped {
  std::string file;
  SkippedAs why = SkippedAs::without_action;
};
// The reason as a text that follows `file` or `files`.
[[nodiscard]] std::string_view text_of(SkippedAs why);
// Returns `[{"file":…,"reason":…}]`.
[[nodiscard]] nlohmann::json skipped_json(const std::vector<Skipped>& skipped);
struct ProgramsBelow {
  std::vector<std::string> files;  // all that were found, also if something failed later
  // .csv files that are no schedule and, if only schedules are wanted, .ripe files; sorted too
  std::vector<Skipped> skipped;
  spec::Result<void> read;  // fails if there is no file, or a folder could not be read
};
[[nodiscard]] ProgramsBelow programs_below(const std::string& folder,
                                           Below wanted = Below::programs_and_schedules);

}  // namespace ripeline::load
