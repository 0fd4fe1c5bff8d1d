#include "cli/summary.h"

#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace ripeline::cli {

void Summary::add(int exit_code) {
  code_ = worse(code_, exit_code);
  ++counts_.at(static_cast<std::size_t>(exit_code));
}

bool Summary::empty() const { return std::accumulate(counts_.begin(), counts_.end(), 0) == 0; }

std::string Summary::text(const std::string& noun) const {
  constexpr std::array<std::pair<ExitCode, const char*>, 4> kNames = {
      {{ok, "proved"}, {refuted, "refuted"}, {unknown, "unknown"}, {bad_input, "bad input"}}};
  const int all = std::accumulate(counts_.begin(), counts_.end(), 0);
  std::string text = fmt::format("{} {}{}:", all, noun, all == 1 ? "" : "s");
  const char* separator = " ";
  for (const auto& [code, name] : kNames) {
    const int n = counts_.at(static_cast<std::size_t>(code));
    if (n == 0) continue;
    text += fmt::format("{}{} {}", separator, n, name);
    separator = ", ";
  }
  return text;
}

}  // namespace ripeline::cli
