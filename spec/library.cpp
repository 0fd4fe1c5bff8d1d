#include "spec/library.h"

#include <algorithm>
#include <utility>

namespace ripeline::spec {
namespace {

std::string_view summary_of(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.starts_with("# ") ? line.substr(2) : std::string_view();
}

}  // namespace

const std::vector<LibraryEntry>& library() {
  static const std::vector<LibraryEntry> entries = [] {
    constexpr std::pair<std::string_view, std::string_view> kTexts[] = {
#include "library_texts.inc"
    };
    std::vector<LibraryEntry> read;
    for (const auto& [name, text] : kTexts) read.push_back({name, text, summary_of(text)});
    std::sort(read.begin(), read.end(),
              [](const LibraryEntry& a, const LibraryEntry& b) { return a.name < b.name; });
    return read;
  }();
  return entries;
}

std::optional<std::string> library_text(std::string_view name) {
  for (const LibraryEntry& entry : library()) {
    if (entry.name == name) return std::string(entry.text);
  }
  return std::nullopt;
}

}  // namespace ripeline::spec
