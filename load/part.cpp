#include "load/part.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace ripeline::load {

spec::Result<void> check_part(const Part& part) {
  if (!part.begin || !part.end || *part.begin < *part.end) return {};
  return spec::failure(
      fmt::format("--begin {:.6g} is not before --end {:.6g}", *part.begin, *part.end));
}

spec::Result<view::Range> range_of(const Part& part, const std::vector<view::Panel>& panels) {
  if (auto checked = check_part(part); !checked.ok()) return checked.errors();
  core::Time longest{0};
  for (const view::Panel& panel : panels) {
    longest = std::max(longest, panel.timeline->end() - panel.timeline->begin());
  }
  const view::Timeline& first = *panels.front().timeline;
  const double length = first.in_unit(longest);
  if (part.begin && *part.begin >= length) {
    return spec::failure(
        fmt::format("--begin {:.6g} is after the end, at {:.6g}", *part.begin, length));
  }
  const auto time_of = [&](std::optional<double> units) -> std::optional<core::Time> {
    if (!units || *units >= length) return std::nullopt;
    const auto unit = static_cast<double>(first.run().unit.nanoseconds);
    return core::Time{static_cast<std::int64_t>(std::llround(*units * unit))};
  };
  return view::Range{.begin = time_of(part.begin), .end = time_of(part.end)};
}

}  // namespace ripeline::load
