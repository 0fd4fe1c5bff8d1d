#include "view/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/vocabulary/per_rank.h"

namespace ripeline::view {
namespace {

using core::Time;
using Json = nlohmann::json;

// What is less than this part of a number is rounding: tasks take whole nanoseconds.
constexpr double kRounding = 1e-6;
// Measured work differs from run to run.
constexpr double kNoise = 0.05;
// A span that much shorter than the wall is seen in the table.
constexpr double kShorter = 0.01;

// One that is whole is written as such.
Json number(double units) {
  constexpr double kExact = 1e15;
  const bool is_whole = units == std::floor(units) && std::abs(units) < kExact;
  return is_whole ? Json(static_cast<std::int64_t>(units)) : Json(units);
}

bool differ(double a, double b, double tolerance) {
  return std::abs(a - b) > tolerance * std::max(std::abs(a), std::abs(b));
}

const Figures::Peak* peak_of(const Figures& figures, const std::string& resource) {
  const auto it = std::find_if(figures.peaks.begin(), figures.peaks.end(),
                               [&](const Figures::Peak& p) { return p.resource == resource; });
  return it == figures.peaks.end() ? nullptr : &*it;
}

// Names of everything that some run measures, as first met.
std::vector<std::string> all_resources(const std::vector<Compared>& all) {
  std::vector<std::string> names;
  for (const Compared& one : all) {
    for (const Figures::Peak& peak : one.figures.peaks) {
      if (std::find(names.begin(), names.end(), peak.resource) == names.end()) {
        names.push_back(peak.resource);
      }
    }
  }
  return names;
}

// Where memory differs, or nothing.
std::optional<std::string> other_memory(const std::vector<Compared>& all) {
  const Compared& first = all.front();
  for (const std::string& resource : all_resources(all)) {
    const Figures::Peak* of_first = peak_of(first.figures, resource);
    for (const Compared& other : all) {
      const Figures::Peak* of_other = peak_of(other.figures, resource);
      if (of_first == nullptr || of_other == nullptr) {
        return fmt::format("{} is measured in some of them only", resource);
      }
      const std::vector<double>& a = of_first->of_layers;
      const std::vector<double>& b = of_other->of_layers;
      if (a.size() != b.size()) {
        return fmt::format("{} and {} have different numbers of ranks", first.title, other.title);
      }
      for (std::size_t rank = 0; rank < a.size(); ++rank) {
        if (!differ(a[rank], b[rank], kRounding)) continue;
        return fmt::format("rank {} holds at most {:.6g} of {} with {}, and {:.6g} with {}", rank,
                           a[rank], resource, first.title, b[rank], other.title);
      }
    }
  }
  return std::nullopt;
}

double work_of(const Compared& one) { return one.work.value_or(one.figures.work); }

// Where work differs, or nothing. What was drawn is no difference.
std::optional<std::string> other_work(const std::vector<Compared>& all) {
  const Compared& first = all.front();
  for (const Compared& other : all) {
    const double tolerance = first.work && other.work ? kRounding : kNoise;
    if (!differ(work_of(first), work_of(other), tolerance)) continue;
    return fmt::format("the busiest rank computes {:.6g} with {} and {:.6g} with {}",
                       work_of(first), first.title, work_of(other), other.title);
  }
  return std::nullopt;
}

double most_of(const Figures::Peak& peak) {
  return *std::max_element(peak.of_layers.begin(), peak.of_layers.end());
}

// Whether what it holds of everything that is counted in activations fits; nothing: that is
// nothing.
std::optional<bool> fits(const Figures& figures, double memory) {
  std::optional<bool> all;
  for (const Figures::Peak& peak : figures.peaks) {
    if (!peak.activations || peak.of_layers.empty()) continue;
    all = all.value_or(true) && most_of(peak) <= memory * (1 + kRounding);
  }
  return all;
}

std::string peak_text(const Figures::Peak* peak, const std::optional<double>& memory) {
  if (peak == nullptr || peak->of_layers.empty()) return "-";
  const double most = most_of(*peak);
  const double least = *std::min_element(peak->of_layers.begin(), peak->of_layers.end());
  std::string text =
      least == most ? fmt::format("{:.6g}", most) : fmt::format("{:.6g}..{:.6g}", least, most);
  const bool over = memory && peak->activations && most > *memory * (1 + kRounding);
  return over ? fmt::format("{} over {:.6g}", text, *memory) : text;
}

std::string speed_text(const Compared& one) {
  if (!one.speed) return "-";
  const Speed& speed = *one.speed;
  const std::string ratio = fmt::format("x{:.3f}", speed.ratio);
  if (!speed.low || !speed.high) return ratio;
  return fmt::format("{} ({:.3f} to {:.3f})", ratio, *speed.low, *speed.high);
}

using Cells = std::vector<std::string>;

std::string aligned(const std::vector<Cells>& lines) {
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

std::string table(const std::vector<Compared>& all, const CompareOptions& options) {
  std::vector<Cells> lines{{"in " + all.front().unit.name, "wall", "bubble by wall", "span",
                            "bubble by span", "against first"}};
  const std::vector<std::string> resources = all_resources(all);
  for (const std::string& resource : resources) lines.front().push_back("peak " + resource);
  for (const Compared& one : all) {
    const Figures& of = one.figures;
    Cells line{one.title,
               fmt::format("{:.6g}", of.wall),
               bubble_text(of.wall_bubble, of.wall),
               fmt::format("{:.6g}", of.span),
               bubble_text(of.span_bubble, of.span),
               speed_text(one)};
    for (const std::string& resource : resources) {
      line.push_back(peak_text(peak_of(of, resource), options.memory));
    }
    lines.push_back(std::move(line));
  }
  return aligned(lines);
}

// Some rank has several stages, each of which holds activations of a part of its layers.
bool counts_parts(const std::vector<Compared>& all) {
  for (const Compared& one : all) {
    for (const Figures::Peak& peak : one.figures.peaks) {
      if (!std::equal(peak.per_rank.begin(), peak.per_rank.end(), peak.of_layers.begin(),
                      [](std::int64_t held, double of_layers) {
                        return static_cast<double>(held) == of_layers;
                      })) {
        return true;
      }
    }
  }
  return false;
}

// What the words of the table mean, as far as it needs them.
std::string legend(const std::vector<Compared>& all, const CompareOptions& options) {
  std::string text =
      "wall: from the first start to the last end of all ranks; span: of one rank, the longest; "
      "bubble: beyond the work of the busiest rank\n";
  if (options.runs > 1) {
    text += fmt::format(
        "times are means of {} runs each, seeds {} to {}; against first: the geometric mean and "
        "where it lies with 95 % confidence; peaks: the most in any run\n",
        options.runs, options.seed, options.seed + static_cast<std::uint64_t>(options.runs) - 1);
  }
  if (counts_parts(all)) {
    text +=
        "peaks: in activations of all of a rank's layers; of K stages on a rank, one of a stage "
        "counts 1/K\n";
  }
  return text;
}

std::string longer_walls(const std::vector<Compared>& all) {
  std::vector<std::string> titles;
  for (const Compared& one : all) {
    if (one.figures.wall * (1 - kShorter) > one.figures.span) titles.push_back(one.title);
  }
  if (titles.empty()) return {};
  return fmt::format(
      "the wall is longer than the span with {}: a step takes the wall, unless the optimiser step "
      "lets each rank go on to the next step before all have ended, as that of Zero Bubble does\n",
      fmt::join(titles, ", "));
}

bool counts_activations(const Timeline& timeline, std::string_view resource) {
  const core::ProgramFacts& facts = timeline.facts();
  return timeline.unit_of(resource).empty() &&
         std::all_of(facts.uses.begin(), facts.uses.end(), [&](const core::UseFacts& use) {
           const core::PoolFacts& pool = facts.pools[static_cast<std::size_t>(use.pool)];
           return pool.resource != resource || use.acquires <= 1;
         });
}

std::vector<Figures::Peak> peaks_of(const Timeline& timeline) {
  const core::ProgramFacts& facts = timeline.facts();
  const int microbatches = timeline.run().microbatches;
  const std::vector<std::int64_t> forwards = core::tasks_per_rank(
      facts.lanes, facts.ops, facts.ranks, {core::OpKind::forward}, microbatches);
  std::vector<Figures::Peak> peaks;
  for (const std::string_view resource : timeline.resources()) {
    Figures::Peak peak{std::string(resource), {}, {}, counts_activations(timeline, resource)};
    for (int rank = 0; rank < facts.ranks; ++rank) {
      const std::int64_t held = timeline.peak(resource, rank);
      const std::int64_t passes = forwards[static_cast<std::size_t>(rank)];
      const bool is_part = peak.activations && passes > 0;
      peak.per_rank.push_back(held);
      peak.of_layers.push_back(is_part ? static_cast<double>(held * microbatches) /
                                             static_cast<double>(passes)
                                       : static_cast<double>(held));
    }
    peaks.push_back(std::move(peak));
  }
  return peaks;
}

// What is averaged.
constexpr std::array kTimes = {&Figures::wall, &Figures::span, &Figures::work,
                               &Figures::span_bubble, &Figures::wall_bubble};

Json rate(double bubble, double whole) { return whole > 0 ? Json(bubble / whole) : Json(); }

Json json_of(const Speed& speed) {
  const auto bound = [](std::optional<double> at) { return at ? Json(*at) : Json(); };
  return {{"ratio", speed.ratio}, {"low", bound(speed.low)}, {"high", bound(speed.high)}};
}

Json json_of(const Compared& one, const std::optional<double>& memory) {
  const Figures& of = one.figures;
  Json json = {{"title", one.title},
               {"program", one.program},
               {"unit", one.unit.name},
               {"wall", number(of.wall)},
               {"span", number(of.span)},
               {"work", number(of.work)},
               {"span_bubble", number(of.span_bubble)},
               {"span_bubble_rate", rate(of.span_bubble, of.span)},
               {"wall_bubble", number(of.wall_bubble)},
               {"wall_bubble_rate", rate(of.wall_bubble, of.wall)},
               {"gain", one.speed ? json_of(*one.speed) : Json()},
               {"stuck", one.stuck},
               {"peak", Json::object()},
               {"peak_microbatches", Json::object()}};
  for (const Figures::Peak& peak : of.peaks) {
    json["peak"][peak.resource] = peak.per_rank;
    Json& peak_microbatches = json["peak_microbatches"][peak.resource] = Json::array();
    for (const double held : peak.of_layers) peak_microbatches.push_back(number(held));
  }
  if (memory) {
    const auto room = fits(of, *memory);
    json["fits"] = room ? Json(*room) : Json();
  }
  return json;
}

}  // namespace

Figures figures(const Timeline& timeline) {
  Figures result;
  const core::ProgramFacts& facts = timeline.facts();
  struct Rank {
    std::optional<Time> first;
    Time last{0};
    Time work{0};
  };
  std::vector<Rank> ranks(static_cast<std::size_t>(facts.ranks));
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
  const Time wall = timeline.end() - timeline.begin();
  result.wall = timeline.in_unit(wall);
  result.span = timeline.in_unit(span);
  result.work = timeline.in_unit(work);
  result.span_bubble = timeline.in_unit(span - work);
  result.wall_bubble = timeline.in_unit(wall - work);
  result.peaks = peaks_of(timeline);
  return result;
}

std::string bubble_text(double bubble, double of) {
  if (of <= 0) return "-";
  return fmt::format("{:.6g} ({:.2f} %)", bubble, 100 * bubble / of);
}

std::string range_text(const Figures::Peak& peak) {
  if (peak.per_rank.empty()) return "-";
  const auto [least, most] = std::minmax_element(peak.per_rank.begin(), peak.per_rank.end());
  return *least == *most ? std::to_string(*most) : fmt::format("{}..{}", *least, *most);
}

Figures average(const std::vector<Figures>& runs) {
  Figures mean = runs.front();
  for (double Figures::*const figure : kTimes) {
    double sum = 0;
    for (const Figures& run : runs) sum += run.*figure;
    mean.*figure = sum / static_cast<double>(runs.size());
  }
  for (const Figures& run : runs) {
    for (std::size_t i = 0; i < run.peaks.size(); ++i) {
      for (std::size_t rank = 0; rank < run.peaks[i].per_rank.size(); ++rank) {
        Figures::Peak& most = mean.peaks[i];
        most.per_rank[rank] = std::max(most.per_rank[rank], run.peaks[i].per_rank[rank]);
        most.of_layers[rank] = std::max(most.of_layers[rank], run.peaks[i].of_layers[rank]);
      }
    }
  }
  return mean;
}

core::Status compare_text(const std::vector<Compared>& all, const CompareOptions& options,
                          std::string& text) {
  const Compared& first = all.front();
  for (const Compared& one : all) {
    if (one.unit.nanoseconds == first.unit.nanoseconds) continue;
    return {core::StatusCode::invalid, fmt::format("{} counts in {} and {} in {}", first.title,
                                                   first.unit.name, one.title, one.unit.name)};
  }
  text = table(all, options) + legend(all, options);
  for (const Compared& one : all) {
    if (one.stuck) text += one.title + " deadlocked: its figures are of what ran\n";
  }
  text += longer_walls(all);
  if (const auto differs = other_work(all)) {
    text += fmt::format("work differs: {}{}{}\n", *differs, options.same_work.empty() ? "" : "; ",
                        options.same_work);
  }
  const auto differs = other_memory(all);
  text += differs ? "memory is not equal: " + *differs + "\n" : "memory is equal, rank by rank\n";
  return {};
}

std::string compare_json(const std::vector<Compared>& all, const CompareOptions& options) {
  Json json = {{"schema", "ripeline.compare/2"}, {"runs", Json::array()}};
  for (const Compared& one : all) json["runs"].push_back(json_of(one, options.memory));
  json["seed"] = options.seed;
  json["seeds"] = options.runs;
  json["equal_memory"] = !other_memory(all);
  json["equal_work"] = !other_work(all);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ripeline::view
