#include "view/compare.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/vocabulary/byte_unit.h"

namespace ripeline::view {
namespace {

using Json = nlohmann::json;

// Times are whole nanoseconds, so a difference below this part of a number is due to rounding.
constexpr double kRounding = 1e-6;
// Measured work may differ by this part from run to run.
constexpr double kNoise = 0.05;
// A remark names a span that is shorter than its makespan by more than this part of the makespan.
constexpr double kShorter = 0.01;

// Writes a number without a fraction as an integer.
Json number(double units) {
  constexpr double kExact = 1e15;
  const bool is_whole = units == std::floor(units) && std::abs(units) < kExact;
  return is_whole ? Json(static_cast<std::int64_t>(units)) : Json(units);
}

bool differ(double a, double b, double tolerance) {
  return std::abs(a - b) > tolerance * std::max(std::abs(a), std::abs(b));
}

bool same_size(const Compared& one, const Compared& other) {
  return one.ranks == other.ranks && one.microbatches == other.microbatches;
}

const Figures::Peak* peak_of(const Figures& figures, const std::string& resource) {
  const auto it = std::find_if(figures.peaks.begin(), figures.peaks.end(),
                               [&](const Figures::Peak& p) { return p.resource == resource; });
  return it == figures.peaks.end() ? nullptr : &*it;
}

// The resources that any run measures, in the order in which they first occur.
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

// Whether any run counts activations of parts of a rank's layers.
bool counts_parts(const std::vector<Compared>& all, const std::string& resource) {
  return std::any_of(all.begin(), all.end(), [&](const Compared& one) {
    const Figures::Peak* const peak = peak_of(one.figures, resource);
    return peak != nullptr && peak->activations() &&
           !std::equal(peak->per_rank.begin(), peak->per_rank.end(), peak->microbatches.begin(),
                       [](std::int64_t held, double microbatches) {
                         return static_cast<double>(held) == microbatches;
                       });
  });
}

// The peaks in microbatches if the resource counts activations, else in its unit.
std::vector<double> comparable(const Figures::Peak& peak) {
  if (peak.activations()) return peak.microbatches;
  return {peak.per_rank.begin(), peak.per_rank.end()};
}

std::string measure_of(const Figures::Peak& peak) {
  return peak.activations() ? "activations" : peak.unit.empty() ? "no unit" : peak.unit;
}

// Describes how the memory of two runs differs; nullopt if it does not.
std::optional<std::string> other_memory(const Compared& first, const Compared& other,
                                        const std::string& resource, bool parts) {
  const Figures::Peak* const of_first = peak_of(first.figures, resource);
  const Figures::Peak* const of_other = peak_of(other.figures, resource);
  if (of_first == nullptr || of_other == nullptr) {
    return fmt::format("{} is measured in some of them only", resource);
  }
  if (measure_of(*of_first) != measure_of(*of_other)) {
    return fmt::format("{} is in {} with {}, and in {} with {}", resource, measure_of(*of_first),
                       first.title, measure_of(*of_other), other.title);
  }
  const std::vector<double> a = comparable(*of_first);
  const std::vector<double> b = comparable(*of_other);
  if (a.size() != b.size()) {
    return fmt::format("{} and {} have different numbers of ranks", first.title, other.title);
  }
  const std::string unit = of_first->activations()  ? (parts ? "microbatches " : "")
                           : of_first->unit.empty() ? ""
                                                    : of_first->unit + " ";
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    if (!differ(a[rank], b[rank], kRounding)) continue;
    return fmt::format("rank {} holds at most {:.6g} {}of {} with {}, and {:.6g} with {}", rank,
                       a[rank], unit, resource, first.title, b[rank], other.title);
  }
  return std::nullopt;
}

// Describes the first difference in memory; nullopt if there is none.
std::optional<std::string> other_memory(const std::vector<Compared>& all) {
  for (const std::string& resource : all_resources(all)) {
    const bool parts = counts_parts(all, resource);
    const Compared& first = all[baseline_of(all).value_or(0)];
    for (const Compared& other : all) {
      if (other.stuck) continue;
      if (auto differs = other_memory(first, other, resource, parts)) return differs;
    }
  }
  return std::nullopt;
}

double work_of(const Compared& one) { return one.work.value_or(one.figures.work); }

// Describes the first difference in work between runs of equal size; nullopt if there is none.
std::optional<std::string> other_work(const std::vector<Compared>& all) {
  const Compared& first = all[baseline_of(all).value_or(0)];
  for (const Compared& other : all) {
    if (other.stuck || !same_size(first, other) || same_work(first, other)) continue;
    return fmt::format("the busiest rank computes {:.6g} with {} and {:.6g} with {}",
                       work_of(first), first.title, work_of(other), other.title);
  }
  return std::nullopt;
}

// The largest amount, in the limit's unit; nullopt if the limit does not apply to the resource.
std::optional<double> limited(const Figures::Peak& peak, const MemoryLimit& limit) {
  if (peak.per_rank.empty()) return std::nullopt;
  if (!limit.bytes) {
    if (!peak.activations()) return std::nullopt;
    return *std::max_element(peak.microbatches.begin(), peak.microbatches.end());
  }
  const auto bytes = core::bytes_of_unit(peak.unit);
  if (!bytes) return std::nullopt;
  return static_cast<double>(*std::max_element(peak.per_rank.begin(), peak.per_rank.end())) *
         static_cast<double>(*bytes);
}

bool is_over(const Figures::Peak& peak, const std::optional<MemoryLimit>& limit) {
  const auto most = limit ? limited(peak, *limit) : std::nullopt;
  return most && *most > limit->amount * (1 + kRounding);
}

std::string marked(std::string cell, const Figures::Peak& peak,
                   const std::optional<MemoryLimit>& limit) {
  return is_over(peak, limit) ? fmt::format("{} over {}", cell, limit->text) : cell;
}

std::string microbatches_text(const Figures::Peak& peak) {
  const auto [least, most] =
      std::minmax_element(peak.microbatches.begin(), peak.microbatches.end());
  return *least == *most ? fmt::format("{:.6g}", *most)
                         : fmt::format("{:.6g}..{:.6g}", *least, *most);
}

// Adds the cell of a resource's peak and, if `parts`, a second cell with the peak in microbatches.
void add_peak(std::vector<std::string>& line, const Figures::Peak* peak, bool parts,
              const std::optional<MemoryLimit>& limit) {
  if (peak == nullptr || peak->per_rank.empty()) {
    line.insert(line.end(), parts ? 2 : 1, "-");
    return;
  }
  Figures::Peak plain = *peak;
  if (plain.activations()) plain.unit.clear();  // the legend names the unit
  const bool in_microbatches = parts && peak->activations();
  line.push_back(in_microbatches ? range_text(plain) : marked(range_text(plain), *peak, limit));
  if (!parts) return;
  line.push_back(in_microbatches ? marked(microbatches_text(*peak), *peak, limit) : "-");
}

std::string count_text(int one, int baseline, const char* noun) {
  return fmt::format("{} {}, not {}", one, noun, baseline);
}

// The speed relative to the baseline, or the reason why the two runs cannot be compared.
std::string speed_text(const Compared& one, const Compared* baseline) {
  if (one.stuck) return "deadlocks";
  if (baseline == nullptr) return "-";
  std::vector<std::string> other;
  if (one.ranks != baseline->ranks) {
    other.push_back(count_text(one.ranks, baseline->ranks, "ranks"));
  }
  if (one.microbatches != baseline->microbatches) {
    other.push_back(count_text(one.microbatches, baseline->microbatches, "microbatches"));
  }
  if (!other.empty()) return fmt::format("{}", fmt::join(other, "; "));
  if (!one.speed) return "-";
  const Speed& speed = *one.speed;
  std::string text = fmt::format("x{:.3f}", speed.ratio);
  if (speed.low && speed.high) text += fmt::format(" ({:.3f} to {:.3f})", *speed.low, *speed.high);
  return same_work(one, *baseline) ? text : text + ", other work";
}

const Compared* find_baseline(const std::vector<Compared>& all) {
  const auto at = baseline_of(all);
  return at ? &all[*at] : nullptr;
}

std::string table(const std::vector<Compared>& all, const CompareOptions& options) {
  const Compared* const baseline = find_baseline(all);
  const bool is_first = baseline == nullptr || baseline == &all.front();
  std::vector<Cells> lines{{"in " + all.front().unit.name, "wall", "bubble by wall", "span",
                            "bubble by span", "against " + (is_first ? "first" : baseline->title)}};
  const std::vector<std::string> resources = all_resources(all);
  for (const std::string& resource : resources) {
    lines.front().push_back("peak " + resource);
    if (counts_parts(all, resource)) lines.front().push_back("in microbatches");
  }
  for (const Compared& one : all) {
    const Figures& of = one.figures;
    Cells line{one.title,
               fmt::format("{:.6g}", of.makespan),
               bubble_text(of.makespan_bubble, of.makespan),
               fmt::format("{:.6g}", of.span),
               bubble_text(of.span_bubble, of.span),
               speed_text(one, baseline)};
    for (const std::string& resource : resources) {
      add_peak(line, peak_of(of, resource), counts_parts(all, resource), options.memory);
    }
    lines.push_back(std::move(line));
  }
  return aligned(lines);
}

// Explains those words in the table that need an explanation.
std::string legend(const std::vector<Compared>& all, const CompareOptions& options) {
  std::string text =
      "wall: from the first start to the last end of all ranks; span: of one rank, the longest; "
      "bubble: beyond the work of the busiest rank\n";
  if (options.runs > 1) {
    text += fmt::format(
        "times are means of {} runs each, seeds {} to {}; against: the geometric mean and where it "
        "lies with 95 % confidence; peaks: the most in any run\n",
        options.runs, options.seed, options.seed + static_cast<std::uint64_t>(options.runs) - 1);
  }
  const std::vector<std::string> resources = all_resources(all);
  if (std::any_of(resources.begin(), resources.end(),
                  [&](const std::string& resource) { return counts_parts(all, resource); })) {
    text +=
        "peaks: in activations of a stage; in microbatches: in those of all of a rank's layers, so "
        "that of K stages on a rank one of a stage counts 1/K\n";
  }
  return text;
}

std::string longer_walls(const std::vector<Compared>& all) {
  std::vector<std::string> titles;
  for (const Compared& one : all) {
    if (one.figures.makespan * (1 - kShorter) > one.figures.span) titles.push_back(one.title);
  }
  if (titles.empty()) return {};
  return fmt::format(
      "the wall is longer than the span with {}: a step takes the wall, unless the optimiser step "
      "lets each rank go on to the next step before all have ended, as that of Zero Bubble does\n",
      fmt::join(titles, ", "));
}

// Names the lines to which the limit of memory does not apply.
std::string not_limited(const std::vector<Compared>& all, const MemoryLimit& limit) {
  std::vector<std::string> titles;
  for (const Compared& one : all) {
    if (!fits(one, limit)) titles.push_back(one.title);
  }
  if (titles.empty()) return {};
  return fmt::format("--memory {} says nothing of {}: expected a resource {}\n", limit.text,
                     fmt::join(titles, ", "),
                     limit.bytes ? "whose unit is one of bytes, as GB or MiB"
                                 : "without a unit, of which a task acquires 1");
}

Json rate(double bubble, double whole) { return whole > 0 ? Json(bubble / whole) : Json(); }

Json json_of(const Speed& speed) {
  const auto bound = [](std::optional<double> at) { return at ? Json(*at) : Json(); };
  return {{"ratio", speed.ratio}, {"low", bound(speed.low)}, {"high", bound(speed.high)}};
}

Json json_of(const Compared& one, const std::optional<MemoryLimit>& memory) {
  const Figures& of = one.figures;
  Json json = {{"title", one.title},
               {"program", one.program},
               {"unit", one.unit.name},
               {"ranks", one.ranks},
               {"microbatches", one.microbatches},
               {"wall", number(of.makespan)},
               {"span", number(of.span)},
               {"work", number(of.work)},
               {"span_bubble", number(of.span_bubble)},
               {"span_bubble_rate", rate(of.span_bubble, of.span)},
               {"wall_bubble", number(of.makespan_bubble)},
               {"wall_bubble_rate", rate(of.makespan_bubble, of.makespan)},
               {"gain", one.speed ? json_of(*one.speed) : Json()},
               {"stuck", one.stuck},
               {"peak", Json::object()},
               {"peak_microbatches", Json::object()}};
  for (const Figures::Peak& peak : of.peaks) {
    json["peak"][peak.resource] = peak.per_rank;
    for (const double held : peak.microbatches) {
      json["peak_microbatches"][peak.resource].push_back(number(held));
    }
  }
  if (memory) {
    const auto room = fits(one, *memory);
    json["fits"] = room ? Json(*room) : Json();
  }
  return json;
}

}  // namespace

std::optional<std::size_t> baseline_of(const std::vector<Compared>& all) {
  const auto ended =
      std::find_if(all.begin(), all.end(), [](const Compared& one) { return !one.stuck; });
  if (ended == all.end()) return std::nullopt;
  return static_cast<std::size_t>(ended - all.begin());
}

bool are_alike(const Compared& one, const Compared& other) {
  return !one.stuck && !other.stuck && same_size(one, other);
}

bool same_work(const Compared& one, const Compared& other) {
  const double tolerance = one.work && other.work ? kRounding : kNoise;
  return !differ(work_of(one), work_of(other), tolerance);
}

std::optional<bool> fits(const Compared& one, const MemoryLimit& limit) {
  std::optional<bool> all;
  for (const Figures::Peak& peak : one.figures.peaks) {
    if (limited(peak, limit)) all = all.value_or(true) && !is_over(peak, limit);
  }
  return all;
}

core::Status compare_text(const std::vector<Compared>& all, const CompareOptions& options,
                          std::string& text) {
  const auto is_limited = [&](const Compared& one) {
    return fits(one, *options.memory).has_value();
  };
  if (options.memory && std::none_of(all.begin(), all.end(), is_limited)) {
    return {core::StatusCode::invalid,
            options.memory->bytes
                ? "--memory: nothing here is counted in bytes; expected a resource with such a "
                  "unit, as GB or MiB"
                : "--memory: nothing here counts activations; expected a resource without a unit, "
                  "of which a task acquires 1"};
  }
  const Compared& first = all.front();
  for (const Compared& one : all) {
    if (one.unit.nanoseconds == first.unit.nanoseconds) continue;
    return {core::StatusCode::invalid, fmt::format("{} counts in {} and {} in {}", first.title,
                                                   first.unit.name, one.title, one.unit.name)};
  }
  text = table(all, options) + legend(all, options);
  if (options.memory) text += not_limited(all, *options.memory);
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

Json compare_json(const std::vector<Compared>& all, const CompareOptions& options) {
  Json json = {{"schema", "ripeline.compare/2"}, {"runs", Json::array()}};
  for (const Compared& one : all) json["runs"].push_back(json_of(one, options.memory));
  json["seed"] = options.seed;
  json["seeds"] = options.runs;
  const auto baseline = baseline_of(all);
  json["baseline"] = baseline ? Json(*baseline) : Json();
  const bool equal_size = std::all_of(
      all.begin(), all.end(), [&](const Compared& one) { return same_size(all.front(), one); });
  json["equal_size"] = equal_size;
  json["equal_memory"] = !other_memory(all);
  json["equal_work"] = equal_size && !other_work(all);
  return json;
}

}  // namespace ripeline::view
