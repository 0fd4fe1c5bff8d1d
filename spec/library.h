// The schedules that come with the tool: programs in the language, by name.
//
// Their texts are built in, from spec/library/NAME.ripe. All have `param ranks` and are for any
// number of microbatches. Immutable.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ripeline::spec {

struct LibraryEntry {
  std::string_view name;  // 1f1b
  std::string_view text;
  std::string_view summary;  // its first comment line
};

// In the order of their names.
[[nodiscard]] const std::vector<LibraryEntry>& library();

// Nothing: no schedule has this name.
[[nodiscard]] std::optional<std::string> library_text(std::string_view name);

}  // namespace ripeline::spec
