// The schedules that are built into the tool: programs in the language, by name.
//
// Their texts come from spec/library/NAME.ripe. Each has `param ranks` and allows any number of
// microbatches. Immutable.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ripeline::spec {

struct LibraryEntry {
  std::string_view name;  // 1f1b
  std::string_view text;
  std::string_view summary;  // the first comment line of the text
};

// The entries, sorted by name.
[[nodiscard]] const std::vector<LibraryEntry>& library();

// The text of a schedule; nullopt if no schedule has this name.
[[nodiscard]] std::optional<std::string> library_text(std::string_view name);

}  // namespace ripeline::spec
