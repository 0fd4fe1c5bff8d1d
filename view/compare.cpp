#include "view/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ripeline::view {
namespace {

using core::Time;
using Json = nlohmann::json;

// One that is whole is written as such.
Json number(double units) {
  constexpr double kExact = 1e15;
  const bool is_whole = units == std::floor(units) && std::abs(units) < kExact;
  return is_whole ? Json(static_cast<std::int64_t>(units)) : Json(units);
}

const Figures::Peak* peak_of(const Figures& figures, const std::string& resource) {
  const auto it = std::find_if(figures.peaks.begin(), figures.peaks.end(),
                               [&](const Figures::Peak& p) { return p.resource == resource; });
  return it == figures.peaks.end() ? nullptr : &*it;
}

// Names of everything that some run measures, as first met.
std::vector<std::string> all_resources(const std::vector<Figures>& runs) {
  std::vector<std::string> names;
  for (const Figures& run : runs) {
    for (const Figures::Peak& peak : run.peaks) {
      if (std::find(names.begin(), names.end(), peak.resource) == names.end()) {
        names.push_back(peak.resource);
      }
    }
  }
  return names;
}

// Where memory differs, or nothing.
std::string difference(const std::vector<Panel>& panels, const std::vector<Figures>& runs) {
  for (const std::string& resource : all_resources(runs)) {
    const Figures::Peak* first = peak_of(runs.front(), resource);
    for (std::size_t i = 1; i < runs.size(); ++i) {
      const Figures::Peak* other = peak_of(runs[i], resource);
      if (first == nullptr || other == nullptr) {
        return fmt::format("{} is measured in some of them only", resource);
      }
      if (first->per_rank.size() != other->per_rank.size()) {
        return fmt::format("{} and {} have different numbers of ranks", panels.front().title,
                           panels[i].title);
      }
      const auto [a, b] =
          std::mismatch(first->per_rank.begin(), first->per_rank.end(), other->per_rank.begin());
      if (a == first->per_rank.end()) continue;
      return fmt::format("rank {} holds at most {} of {} with {}, and {} with {}",
                         a - first->per_rank.begin(), *a, resource, panels.front().title, *b,
                         panels[i].title);
    }
  }
  return {};
}

using Cells = std::vector<std::string>;

std::string table(const std::vector<Cells>& lines) {
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const Cells& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string text;
  for (const Cells& line : lines) {
    text += fmt::format("{:<{}}", line[0], widths[0]);
    for (std::size_t c = 1; c < line.size(); ++c) {
      text += fmt::format("  {:>{}}", line[c], widths[c]);
    }
    text += '\n';
  }
  return text;
}

std::vector<Figures> all_figures(const std::vector<Panel>& panels) {
  std::vector<Figures> runs;
  for (const Panel& panel : panels) runs.push_back(figures(*panel.timeline));
  return runs;
}

}  // namespace

Figures figures(const Timeline& timeline) {
  Figures result;
  result.makespan = timeline.in_unit(timeline.end() - timeline.begin());
  struct Rank {
    std::optional<Time> first;
    Time last{0};
    Time work{0};
  };
  std::vector<Rank> ranks(static_cast<std::size_t>(timeline.facts().ranks));
  for (const Row& row : timeline.rows()) {
    Rank& rank = ranks[static_cast<std::size_t>(row.rank)];
    for (const Box& b : timeline.boxes_of(row)) {
      rank.first = std::min(rank.first.value_or(b.start), b.start);
      rank.last = std::max(rank.last, b.end);
    }
    if (row.engine == core::Engine::compute && !row.second) {
      rank.work += timeline.busy(row, timeline.begin(), timeline.end());
    }
  }
  Time span{0};
  Time work{0};
  for (const Rank& rank : ranks) {
    if (rank.first) span = std::max(span, rank.last - *rank.first);
    work = std::max(work, rank.work);
  }
  result.span = timeline.in_unit(span);
  result.work = timeline.in_unit(work);
  result.bubble = timeline.in_unit(span - work);
  for (const std::string_view resource : timeline.resources()) {
    Figures::Peak peak{std::string(resource), {}};
    for (int rank = 0; rank < timeline.facts().ranks; ++rank) {
      peak.per_rank.push_back(timeline.peak(resource, rank));
    }
    result.peaks.push_back(std::move(peak));
  }
  return result;
}

std::string range_text(const Figures::Peak& peak) {
  if (peak.per_rank.empty()) return "-";
  const auto [least, most] = std::minmax_element(peak.per_rank.begin(), peak.per_rank.end());
  return *least == *most ? std::to_string(*most) : fmt::format("{}..{}", *least, *most);
}

core::Status compare_text(const std::vector<Panel>& panels, std::string& text) {
  const trace::Unit& unit = panels.front().timeline->run().unit;
  for (const Panel& panel : panels) {
    if (panel.timeline->run().unit.nanoseconds == unit.nanoseconds) continue;
    return {core::StatusCode::invalid,
            fmt::format("{} counts in {} and {} in {}", panels.front().title, unit.name,
                        panel.title, panel.timeline->run().unit.name)};
  }
  const std::vector<Figures> runs = all_figures(panels);
  std::vector<Cells> lines{
      {"in " + unit.name, "makespan", "span", "bubble", "bubble rate", "against first"}};
  const std::vector<std::string> resources = all_resources(runs);
  for (const std::string& resource : resources) lines.front().push_back("peak " + resource);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Figures& run = runs[i];
    Cells line{
        panels[i].title,
        fmt::format("{:.6g}", run.makespan),
        fmt::format("{:.6g}", run.span),
        fmt::format("{:.6g}", run.bubble),
        run.span > 0 ? fmt::format("{:.2f}%", 100 * run.bubble / run.span) : "-",
        run.makespan > 0 ? fmt::format("x{:.3f}", runs.front().makespan / run.makespan) : "-"};
    for (const std::string& resource : resources) {
      const Figures::Peak* peak = peak_of(run, resource);
      line.push_back(peak == nullptr ? "-" : range_text(*peak));
    }
    lines.push_back(std::move(line));
  }
  text = table(lines);
  for (const Panel& panel : panels) {
    if (panel.stuck.any()) text += panel.title + " deadlocked: its figures are of what ran\n";
  }
  const std::string differs = difference(panels, runs);
  text += differs.empty() ? "memory is equal, rank by rank\n"
                          : "memory is not equal: " + differs + "\n";
  return {};
}

std::string compare_json(const std::vector<Panel>& panels) {
  const std::vector<Figures> runs = all_figures(panels);
  Json json = {{"schema", "ripeline.compare/1"}, {"runs", Json::array()}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Figures& run = runs[i];
    Json peak = Json::object();
    for (const Figures::Peak& p : run.peaks) peak[p.resource] = p.per_rank;
    json["runs"].push_back({{"title", panels[i].title},
                            {"program", panels[i].timeline->facts().name},
                            {"unit", panels[i].timeline->run().unit.name},
                            {"makespan", number(run.makespan)},
                            {"span", number(run.span)},
                            {"bubble", number(run.bubble)},
                            {"bubble_rate", run.span > 0 ? Json(run.bubble / run.span) : Json()},
                            {"stuck", panels[i].stuck.any()},
                            {"peak", std::move(peak)}});
  }
  json["equal_memory"] = difference(panels, runs).empty();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ripeline::view
