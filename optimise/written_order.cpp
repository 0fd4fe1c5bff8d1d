// The external interface is program_text(). A rank's row is written as repeats: from its beginning
// on, whatever group of tasks saves the most by standing there once with a count.
#include "optimise/written_order.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace ripeline::optimise {
namespace {

constexpr std::size_t kLongestGroup = 16;  // tasks

std::string lane_text(const Uniform& problem, const spec::Action& action) {
  const std::string name = spec::name_of(action.kind);
  if (problem.placement == spec::Placement::chain) return name;
  return fmt::format("{}@{}", name, action.stage < problem.ranks ? 0 : 1);
}

// `F * 3;  (I W F) * 12;` of the lanes.
std::string repeats_text(const std::vector<std::string>& lanes) {
  std::string text;
  for (std::size_t at = 0; at < lanes.size();) {
    std::size_t length = 1;
    std::size_t count = 1;
    for (std::size_t group = 1; group <= kLongestGroup && at + group <= lanes.size(); ++group) {
      const auto same = [&](std::size_t turn) {
        return at + (turn + 1) * group <= lanes.size() &&
               std::equal(lanes.begin() + static_cast<std::ptrdiff_t>(at),
                          lanes.begin() + static_cast<std::ptrdiff_t>(at + group),
                          lanes.begin() + static_cast<std::ptrdiff_t>(at + turn * group));
      };
      std::size_t turns = 1;
      while (same(turns)) ++turns;
      const std::size_t saved = (turns - 1) * group;
      if (saved > (count - 1) * length) {
        length = group;
        count = turns;
      }
    }
    std::string steps;
    for (std::size_t i = at; i < at + length; ++i) steps += (i > at ? " " : "") + lanes[i];
    if (length > 1) steps = "(" + steps + ")";
    text += steps + (count > 1 ? fmt::format(" * {}; ", count) : "; ");
    at += length * count;
  }
  return text;
}

std::string rank_text(const Uniform& problem, const std::vector<spec::Action>& row) {
  std::vector<std::string> lanes;
  lanes.reserve(row.size());
  for (const spec::Action& action : row) lanes.push_back(lane_text(problem, action));
  return repeats_text(lanes);
}

// cost / unit, exactly.
std::string cost_text(std::int64_t cost, std::int64_t unit) {
  std::string text = std::to_string(cost / unit);
  std::int64_t rest = cost % unit;
  if (rest > 0) text += '.';
  for (; rest > 0; rest %= unit) {
    rest *= 10;
    text += static_cast<char>('0' + rest / unit);
  }
  return text;
}

}  // namespace

std::string program_text(const Uniform& problem, const FoundOrder& found, std::int64_t unit,
                         const std::vector<std::string>& comments) {
  const bool v = problem.placement == spec::Placement::v;
  std::string text;
  for (const std::string& comment : comments) text += "# " + comment + "\n";
  text += fmt::format("pipeline {} {{\n", kWrittenProgram);
  text += fmt::format(
      "microbatches {}; stages {}; place s on {};\n", problem.microbatches,
      v ? 2 * problem.ranks : problem.ranks,
      v ? fmt::format("s < {0} ? s : {1} - s", problem.ranks, 2 * problem.ranks - 1) : "s");
  text += fmt::format("op F forward {{ cost {}; needs F at prev; acquires activation; }}\n",
                      cost_text(problem.forward, unit));
  text += fmt::format("op I backward input {{ cost {}; needs F at here, I at next; }}\n",
                      cost_text(problem.input, unit));
  text += fmt::format("op W backward weight {{ cost {}; needs I at here; releases activation; }}\n",
                      cost_text(problem.weight, unit));
  text += fmt::format("resource activation per rank {{ capacity {}; }}\n", problem.memory);
  text += fmt::format("order {} on r {{\n", kWrittenOrder);
  for (std::size_t r = 0; r < found.rows.size(); ++r) {
    text += fmt::format("rank {} {{ {} }}\n", r, rank_text(problem, found.rows[r]));
  }
  return text + fmt::format("}}\ndispatch in order {};\n}}\n", kWrittenOrder);
}

}  // namespace ripeline::optimise
