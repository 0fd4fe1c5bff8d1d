#include "pytorch/whole_backwards.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "spec/indexing.h"

namespace ripeline::pytorch {
namespace {

// The microbatches first to last - 1.
struct Interval {
  int first = 0;
  int last = 0;
  bool operator==(const Interval&) const = default;
};
using Intervals = std::vector<Interval>;  // in order, with gaps between them

Intervals intervals_of(const std::vector<bool>& has) {
  Intervals intervals;
  for (int m = 0; m < size_of(has); ++m) {
    if (!has[static_cast<std::size_t>(m)]) continue;
    if (intervals.empty() || intervals.back().last < m) intervals.push_back({m, m});
    intervals.back().last = m + 1;
  }
  return intervals;
}

// Per stage, the microbatches that have a whole backward.
std::vector<Intervals> whole_of(const ActionTable& table, const CheckShape& shape) {
  const auto stages = static_cast<std::size_t>(shape.map.stages());
  const auto microbatches = static_cast<std::size_t>(shape.microbatches);
  std::vector<std::vector<bool>> whole(stages, std::vector<bool>(microbatches));
  std::vector<std::vector<bool>> split = whole;
  std::vector<bool> has_whole(stages);
  for (const auto& row : table.rows) {
    for (const auto& cell : row) {
      for (const Action& action : cell.actions) {
        const auto stage = static_cast<std::size_t>(action.stage);
        const auto microbatch = static_cast<std::size_t>(action.microbatch);
        if (stage >= stages || microbatch >= microbatches) continue;
        if (action.kind == ActionKind::backward) {
          whole[stage][microbatch] = true;
          has_whole[stage] = true;
        } else if (action.kind == ActionKind::backward_input ||
                   action.kind == ActionKind::backward_weight) {
          split[stage][microbatch] = true;
        }
      }
    }
  }
  std::vector<Intervals> intervals;
  for (std::size_t s = 0; s < stages; ++s) {
    if (has_whole[s]) split[s].flip();
    intervals.push_back(intervals_of(has_whole[s] ? split[s] : whole[s]));
  }
  return intervals;
}

// The condition for the intervals `from` to `to` - 1, if m % count is known to be in
// `known`.
std::string where_in(const Intervals& all, int from, int to, Interval known, int count) {
  if (from == to) return "0";
  if (to - from > 1) {
    const int middle = from + (to - from) / 2;
    const int border = at(all, middle).first;
    return fmt::format("m % {} < {} ? ({}) : ({})", count, border,
                       where_in(all, from, middle, {known.first, border}, count),
                       where_in(all, middle, to, {border, known.last}, count));
  }
  const Interval& one = at(all, from);
  std::string text;
  if (one.first > known.first) text = fmt::format("m % {} >= {}", count, one.first);
  if (one.last < known.last) {
    text += fmt::format("{}m % {} < {}", text.empty() ? "" : " and ", count, one.last);
  }
  return text.empty() ? "1" : text;
}

// The condition for the stages `first` to `last` - 1.
std::string where_at(const std::vector<Intervals>& stages, int first, int last, int count) {
  const auto begin = stages.begin() + first;
  const auto end = stages.begin() + last;
  if (std::all_of(begin, end, [&](const Intervals& other) { return other == *begin; })) {
    return where_in(*begin, 0, size_of(*begin), {0, count}, count);
  }
  const int middle = first + (last - first) / 2;
  return fmt::format("s < {} ? ({}) : ({})", middle, where_at(stages, first, middle, count),
                     where_at(stages, middle, last, count));
}

}  // namespace

std::string where_whole(const ActionTable& table, const CheckShape& shape) {
  const std::vector<Intervals> stages = whole_of(table, shape);
  return where_at(stages, 0, size_of(stages), shape.microbatches);
}

}  // namespace ripeline::pytorch
