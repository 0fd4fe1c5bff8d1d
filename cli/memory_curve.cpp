#include "cli/memory_curve.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/budget.h"
#include "cli/failure.h"
#include "cli/interrupts.h"
#include "load/layer_costs.h"
#include "optimise/memory_curve.h"
#include "optimise/memory_curve_report.h"
#include "simulate/amount.h"
#include "view/trade.h"

namespace ripeline::cli {
namespace {

using optimise::CurvePoint;
using optimise::MemoryCurve;
using simulate::amount_in;
using simulate::Dimension;

constexpr std::string_view kDots = "..";
constexpr std::size_t kMostPoints = 100;

// The memories that the flag names.
spec::Result<std::vector<std::string>> memories(const OptimisedFlags& flags) {
  const std::size_t dots = flags.memory.find(kDots);
  const auto first = amount_in(flags.memory.substr(0, dots));
  const auto last = amount_in(flags.memory.substr(dots + kDots.size()));
  if (!first || !last || first->base.numerator <= 0 || first->dimension != last->dimension ||
      first->dimension == Dimension::time || spec::less(last->base, first->base)) {
    return failure(
        "--memory: expected a range of memories, as 4..8 or 20GB..24GB, the smaller one first");
  }
  const auto activation =
      flags.activation.empty() ? std::nullopt : amount_in(flags.activation.front());
  if (first->dimension == Dimension::bytes &&
      (!activation || activation->dimension != Dimension::bytes)) {
    return failure(
        "--memory: a range in bytes needs what a microbatch holds, in bytes too: --activation "
        "A,AFTER_I, as in --activation 1.9GB,0.3GB");
  }
  auto all = optimise::memories_of({*first, *last, activation}, kMostPoints);
  if (!all) return failure(fmt::format("--memory: expected at most {} memories", kMostPoints));
  return *std::move(all);
}

// Nothing: something failed, and was said.
std::optional<CurvePoint> point_of(OptimisedFlags flags, const std::string& memory,
                                   const CurveLimits& limits, const Interrupts& interrupts) {
  flags.memory = memory;
  const Budget budget(limits.seconds);
  const auto read = read_optimised(flags);
  if (!read.ok()) return std::nullopt;
  const Optimised& optimised = read.value();
  auto point = said(optimise::curve_point(memory, optimised.forms, optimised.read_file,
                                          {.seconds = budget.left(),
                                           .seed = flags.times.timing.seed,
                                           .solver_threads = limits.solver_threads,
                                           .go_on = [&] { return !interrupts.told_to_end(); },
                                           .improved = {},
                                           .others = optimised.other_cuts}));
  if (!point.ok()) return std::nullopt;
  return std::move(point).value();
}

// A point for each memory, or for those that were searched before an interrupt. Nothing: something
// failed, and was said.
std::optional<std::vector<CurvePoint>> points_of(const OptimisedFlags& flags,
                                                 const std::vector<std::string>& all,
                                                 const CurveLimits& limits,
                                                 const Interrupts& interrupts) {
  std::vector<CurvePoint> points;
  for (const std::string& memory : all) {
    if (interrupts.told_to_end()) break;
    auto point = point_of(flags, memory, limits, interrupts);
    if (!point) return std::nullopt;
    if (!points.empty()) optimise::carry_up(points.back(), *point);
    points.push_back(*std::move(point));
    std::cerr << optimise::curve_point_text(points.back(), flags.objective);
  }
  optimise::carry_bounds_down(points);
  if (interrupts.told_to_end()) {
    std::cerr << fmt::format("interrupted: {} of {} memories\n", points.size(), all.size());
  }
  return points;
}

// The library's schedules with the costs of the flags.
std::vector<optimise::KnownSchedule> library_points(const OptimisedFlags& flags,
                                                    const optimise::Problem& problem) {
  // Schedules of the library count activations, of stages that are all alike.
  if (!flags.activation.empty() || !flags.times.profile.empty()) return {};
  std::vector<std::string> costs = flags.costs;
  if (costs.empty()) costs = {"1", "1", "1", "0"};
  std::optional<trace::Unit> unit = problem.times().unit;
  const auto even = load::read_even_costs(costs, unit);
  if (!even.ok()) return {};
  const auto& [forward, input, weight] = even.value().of_rank;
  const bool whole = even.value().whole_backward;
  const std::string text = whole
                               ? fmt::format("F={:.12g},B={:.12g}", forward.value(), input.value())
                               : fmt::format("F={:.12g},I={:.12g},W={:.12g}", forward.value(),
                                             input.value(), weight.value());
  simulate::RankCosts rank_costs;
  if (!simulate::RankCosts::parse(text, rank_costs).ok()) return {};
  return optimise::library_schedules(problem, rank_costs, whole);
}

// The unit of the memories; empty: that of --activation, which has no name.
std::string memory_unit(const OptimisedFlags& flags) {
  if (flags.activation.empty()) return "microbatches";
  const auto first = amount_in(flags.memory.substr(0, flags.memory.find(kDots)));
  return first.value_or(simulate::Amount{}).unit;
}

spec::Result<void> draw(const MemoryCurve& curve, const std::string& model,
                        const PictureFlags& picture) {
  view::Trade trade{.title = "the best time for each memory: " + model,
                    .memory_label = curve.memory_unit.empty()
                                        ? "memory of a rank, in the unit of --activation"
                                        : "memory of a rank, in " + curve.memory_unit,
                    .time_label = name_of(curve.objective),
                    .best = {},
                    .bounds = {},
                    .others = {}};
  for (const optimise::CurvePoint& point : curve.points) {
    if (!point.found) continue;
    const double memory = point.memory_in_unit();
    trade.best.push_back({memory, point.in_units(point.value), point.placement});
    trade.bounds.push_back({memory, point.in_units(point.bound), ""});
  }
  for (const optimise::KnownSchedule& one : curve.library) {
    const auto same =
        std::find_if(trade.others.begin(), trade.others.end(), [&](const auto& other) {
          return other.memory == one.memory && other.time == one.time(curve.objective);
        });
    if (same != trade.others.end()) {
      same->label += ", " + one.name;
    } else {
      trade.others.push_back({one.memory, one.time(curve.objective), one.name});
    }
  }
  if (trade.best.empty()) return {};
  return write_svg(picture, view::trade_svg(trade, picture.width.value_or(view::kPictureWidth)));
}

}  // namespace

bool is_memory_range(const std::string& memory) { return memory.find(kDots) != memory.npos; }

int run_memory_curve(const OptimisedFlags& flags, const CurveLimits& limits,
                     const PictureFlags& picture, bool json) {
  if (!flags.file.empty()) {
    return say_failed(
        "--memory A..B is for a model that flags describe: a FILE has its own capacities");
  }
  if (picture.file.ends_with(".html") || picture.begin || picture.end) {
    return say_failed("--picture of a range of memories: expected a .svg or .pdf, which is whole");
  }
  const auto range = said(memories(flags));
  if (!range.ok()) return bad_input;
  const Interrupts interrupts;
  auto points = points_of(flags, range.value(), limits, interrupts);
  if (!points) return bad_input;
  OptimisedFlags last = flags;
  last.memory = range.value().back();
  const auto read = read_optimised(last);
  if (!read.ok()) return bad_input;
  const Optimised& optimised = read.value();
  for (const std::string& note : optimised.notes) std::cerr << "note: " << note << '\n';
  const optimise::Problem& problem = *optimised.forms.front().problem;
  const MemoryCurve curve{.points = *std::move(points),
                          .library = library_points(flags, problem),
                          .objective = problem.objective(),
                          .ranks = problem.program().ranks,
                          .microbatches = problem.microbatches(),
                          .unit = problem.timing().unit().name,
                          .memory_unit = memory_unit(flags),
                          .seed = flags.times.timing.seed};
  std::cout << (json ? optimise::memory_curve_json(curve).dump(2) + "\n"
                     : optimise::memory_curve_text(curve));
  if (picture.wanted() && !said(draw(curve, optimised.model, picture)).ok()) return bad_input;
  const auto found = [](const CurvePoint& point) { return point.found; };
  return std::any_of(curve.points.begin(), curve.points.end(), found) ? ok : refuted;
}

}  // namespace ripeline::cli
