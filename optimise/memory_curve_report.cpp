#include "optimise/memory_curve_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "view/trade.h"

namespace ripeline::optimise {

using Json = nlohmann::json;

std::string curve_point_text(const CurvePoint& point, Objective objective) {
  const std::string text =
      point.found  ? fmt::format("{} {:.7g}, gap {:.2f} %, {}", name_of(objective),
                                 point.in_units(point.value), 100 * point.gap(), point.placement)
      : point.fits ? "none was found"
                   : "no order fits";
  return fmt::format("memory {}: {}\n", point.memory, text);
}

std::string memory_curve_text(const MemoryCurve& curve) {
  std::string text = fmt::format("{:>10}  {:>12}  {:>8}  {:>12}  {:>7}  {}\n", "memory",
                                 name_of(curve.objective), "bubble", "bound", "gap", "placement");
  for (const CurvePoint& point : curve.points) {
    if (!point.found) {
      text += fmt::format("{:>10}  {:>12}  {}\n", point.memory, "-",
                          point.fits ? "none was found" : "no order fits");
      continue;
    }
    text +=
        fmt::format("{:>10}  {:>12.7g}  {:>6.2f} %  {:>12.7g}  {:>5.2f} %  {}{}\n", point.memory,
                    point.in_units(point.value), 100 * point.bubble_rate(point.value),
                    point.in_units(point.bound), 100 * point.gap(), point.placement,
                    point.value == point.bound ? ", optimal" : "");
  }
  if (!curve.library.empty()) text += "the library's orders, with what they hold:\n";
  for (const KnownSchedule& one : curve.library) {
    text +=
        fmt::format("{:>10.5g}  {:>12.7g}  {}\n", one.memory, one.time(curve.objective), one.name);
  }
  return text;
}

Json memory_curve_json(const MemoryCurve& curve) {
  Json j = {{"schema", "ripeline.optimise.curve/2"},
            {"ranks", curve.ranks},
            {"microbatches", curve.microbatches},
            {"unit", curve.unit},
            {"objective", name_of(curve.objective)},
            {"memory_unit", curve.memory_unit},
            {"seed", curve.seed},
            {"points", Json::array()},
            {"library", Json::array()}};
  for (const CurvePoint& point : curve.points) {
    Json one = {{"memory", point.memory_in_unit()},
                {"status", !point.fits                  ? "infeasible"
                           : !point.found               ? "none"
                           : point.value == point.bound ? "optimal"
                                                        : "feasible"}};
    if (point.found) {
      one.update({{"wall", point.in_units(point.makespan)},
                  {"span", point.in_units(point.span)},
                  {"work", point.in_units(point.work)},
                  {"wall_bubble", point.in_units(point.makespan - point.work)},
                  {"wall_bubble_rate", point.bubble_rate(point.makespan)},
                  {"span_bubble", point.in_units(point.span - point.work)},
                  {"span_bubble_rate", point.bubble_rate(point.span)},
                  {"bound", point.in_units(point.bound)},
                  {"bound_by", point.bound_by},
                  {"gap", point.gap()},
                  {"placement", point.placement}});
    }
    j["points"].push_back(one);
  }
  for (const KnownSchedule& one : curve.library) {
    j["library"].push_back(
        {{"name", one.name}, {"memory", one.memory}, {"wall", one.makespan}, {"span", one.span}});
  }
  return j;
}

std::string memory_curve_svg(const MemoryCurve& curve, int width) {
  view::Trade trade{.title = "the best time for each memory: " + curve.model,
                    .memory_label = curve.memory_unit.empty()
                                        ? "memory of a rank, in the unit of --activation"
                                        : "memory of a rank, in " + curve.memory_unit,
                    .time_label = name_of(curve.objective),
                    .best = {},
                    .bounds = {},
                    .others = {}};
  for (const CurvePoint& point : curve.points) {
    if (!point.found) continue;
    const double memory = point.memory_in_unit();
    trade.best.push_back({memory, point.in_units(point.value), point.placement});
    trade.bounds.push_back({memory, point.in_units(point.bound), ""});
  }
  for (const KnownSchedule& one : curve.library) {
    const double time = one.time(curve.objective);
    const auto same = std::find_if(
        trade.others.begin(), trade.others.end(),
        [&](const auto& other) { return other.memory == one.memory && other.time == time; });
    if (same != trade.others.end()) {
      same->label += ", " + one.name;
    } else {
      trade.others.push_back({one.memory, time, one.name});
    }
  }
  return trade.best.empty() ? "" : view::trade_svg(trade, width);
}

}  // namespace ripeline::optimise
