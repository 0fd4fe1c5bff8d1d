#include "view/figures.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "core/held.h"

namespace ripeline::view {
namespace {

using core::Time;

std::vector<Figures::Peak> peaks_of(const Timeline& timeline) {
  const core::ProgramFacts& facts = timeline.facts();
  std::vector<Figures::Peak> peaks;
  for (const std::string_view resource : timeline.resources()) {
    Figures::Peak peak{.resource = std::string(resource),
                       .unit = std::string(core::unit_of_amounts(facts, resource)),
                       .per_rank = {},
                       .microbatches = {}};
    for (int rank = 0; rank < facts.ranks; ++rank) {
      peak.per_rank.push_back(timeline.peak(resource, rank));
    }
    if (core::counts_activations(facts, resource)) {
      peak.microbatches = core::in_microbatches(facts, timeline.run().microbatches, peak.per_rank);
    }
    peaks.push_back(std::move(peak));
  }
  return peaks;
}

// The figures that are averaged.
constexpr std::array kTimes = {&Figures::makespan, &Figures::span, &Figures::work,
                               &Figures::span_bubble, &Figures::makespan_bubble};

template <class Number>
void keep_larger(std::vector<Number>& most, const std::vector<Number>& other) {
  for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], other[i]);
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
  const Time makespan = timeline.end() - timeline.begin();
  result.makespan = timeline.in_unit(makespan);
  result.span = timeline.in_unit(span);
  result.work = timeline.in_unit(work);
  result.span_bubble = timeline.in_unit(span - work);
  result.makespan_bubble = timeline.in_unit(makespan - work);
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
  std::string text = std::to_string(*least);
  if (*least != *most) text += fmt::format("..{}", *most);
  return peak.unit.empty() ? text : text + " " + peak.unit;
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
      keep_larger(mean.peaks[i].per_rank, run.peaks[i].per_rank);
      keep_larger(mean.peaks[i].microbatches, run.peaks[i].microbatches);
    }
  }
  return mean;
}

std::string aligned(const std::vector<Cells>& lines, const std::string& indent) {
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const Cells& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string text;
  for (const Cells& line : lines) {
    text += indent + fmt::format("{:<{}}", line[0], widths[0]);
    for (std::size_t c = 1; c < line.size(); ++c) {
      text += fmt::format("  {:>{}}", line[c], widths[c]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace ripeline::view
