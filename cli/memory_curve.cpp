#include "cli/memory_curve.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/amount.h"
#include "cli/budget.h"
#include "cli/failure.h"
#include "cli/interrupts.h"
#include "cli/layer_costs.h"
#include "core/held.h"
#include "core/vocabulary/byte_unit.h"
#include "lower/facts.h"
#include "optimise/certified.h"
#include "optimise/forms.h"
#include "simulate/rank_costs.h"
#include "simulate/report.h"
#include "simulate/simulator.h"
#include "simulate/table_arbiter.h"
#include "spec/elaborate.h"
#include "spec/library.h"
#include "view/trade.h"

namespace ripeline::cli {
namespace {

using optimise::FormSearch;
using optimise::Objective;
using optimise::Problem;
using optimise::Time;

constexpr std::string_view kDots = "..";
constexpr std::size_t kMostPoints = 100;

struct Point {
  std::string memory;
  bool fits = false;
  bool found = false;
  Time value = 0;  // the objective's
  Time wall = 0;
  Time span = 0;
  Time work = 0;
  Time bound = 0;
  std::string bound_by;
  std::string placement;
  std::int64_t unit = 1;  // nanoseconds
  [[nodiscard]] double in_units(Time time) const {
    return static_cast<double>(time) / static_cast<double>(unit);
  }
  [[nodiscard]] double gap() const {
    return static_cast<double>(value - bound) / static_cast<double>(value);
  }
  // The share of a wall or span that is beyond the work.
  [[nodiscard]] double bubble_rate(Time time) const {
    return static_cast<double>(time - work) / static_cast<double>(time);
  }
};

// A library schedule's times, and the microbatches that it holds in all of a rank's layers.
struct Known {
  std::string name;
  double memory = 0;
  double wall = 0;
  double span = 0;
  [[nodiscard]] double time(Objective objective) const {
    return objective == Objective::wall ? wall : span;
  }
};

// A memory as the flag has it, in the unit of the range.
std::string text_of(const spec::Rational& base, std::int64_t size, const std::string& unit) {
  constexpr double kDecimals = 1e6;  // as amount_in() reads them
  const double value = base.value() / static_cast<double>(size);
  return fmt::format("{:.12g}{}", std::floor(value * kDecimals + .5) / kDecimals, unit);
}

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
  const std::int64_t step =
      activation ? std::max<std::int64_t>(1, static_cast<std::int64_t>(activation->base.value()))
                 : 1;
  const std::int64_t size = core::bytes_of_unit(first->unit).value_or(1);
  std::vector<std::string> all;
  for (spec::Rational at = first->base; !spec::less(last->base, at);
       at.numerator += step * at.denominator) {
    if (all.size() == kMostPoints) {
      return failure(fmt::format("--memory: expected at most {} memories", kMostPoints));
    }
    all.push_back(text_of(at, size, first->unit));
  }
  return all;
}

// A result for a smaller memory holds here: an order that fits there fits here.
void carry_up(const Point& less, Point& point) {
  point.fits = point.fits || less.fits;
  if (!less.found || (point.found && point.value <= less.value)) return;
  point.found = true;
  point.value = less.value;
  point.wall = less.wall;
  point.span = less.span;
  point.work = less.work;
  point.placement = less.placement;
}

// A bound for more memory is one for less, too: it is for every cut of the layers.
void carry_down(const Point& more, Point& point) {
  if (!point.found || more.bound <= point.bound || more.bound > point.value) return;
  point.bound = more.bound;
  point.bound_by = more.bound_by;
}

// Nothing: something failed, and was said.
std::optional<Point> point_of(OptimisedFlags flags, const std::string& memory,
                              const CurveLimits& limits, const Interrupts& interrupts) {
  flags.memory = memory;
  const Budget budget(limits.seconds);
  const auto read = read_optimised(flags);
  if (!read.ok()) return std::nullopt;
  const Optimised& optimised = read.value();
  FormSearch search(optimised.forms, {.seconds = budget.left(),
                                      .seed = flags.times.timing.seed,
                                      .solver_threads = limits.solver_threads,
                                      .go_on = [&] { return !interrupts.told_to_end(); },
                                      .improved = {},
                                      .others = optimised.other_cuts});
  search.run();
  Point point;
  point.memory = memory;
  point.fits = search.fits();
  point.found = search.best().has_value();
  point.unit = optimised.forms.front().problem->timing().unit().nanoseconds;
  point.bound = search.bound().value;
  point.bound_by = search.bound().by;
  if (!point.found) return point;
  const optimise::Form& form = *search.best()->form;
  const auto made = said(optimise::certified({.problem = *form.problem,
                                              .source = form.source,
                                              .read_file = optimised.read_file,
                                              .bound = search.bound_of(form),
                                              .order = search.best()->order},
                                             {}));
  if (!made.ok()) return std::nullopt;
  point.value = search.best_value();
  point.wall = search.best()->order.wall;
  point.span = search.best()->order.span;
  point.work = form.problem->work();
  point.placement = form.name;
  return point;
}

// The library's schedules with these costs, each with its times and the memory that it holds.
std::vector<Known> library_points(const OptimisedFlags& flags, const Optimised& optimised) {
  const Problem& problem = *optimised.forms.front().problem;
  std::vector<std::string> costs = flags.costs;
  if (costs.empty()) costs = {"1", "1", "1", "0"};
  simulate::TimingOptions times = problem.times();
  const auto even = read_even_costs(costs, times.unit);
  if (!even.ok()) return {};
  const auto& [forward, input, weight] = even.value().of_rank;
  simulate::RankCosts rank_costs;
  const std::string text = even.value().whole_backward
                               ? fmt::format("F={:.12g},B={:.12g}", forward.value(), input.value())
                               : fmt::format("F={:.12g},I={:.12g},W={:.12g}", forward.value(),
                                             input.value(), weight.value());
  if (!simulate::RankCosts::parse(text, rank_costs).ok()) return {};
  times.rank_costs = std::move(rank_costs);
  std::vector<Known> all;
  for (const spec::LibraryEntry& entry : spec::library()) {
    spec::ElaborateOptions options;
    options.defines = {{"ranks", problem.program().ranks},
                       {"microbatches", problem.microbatches()}};
    const auto program = spec::compile({std::string(entry.name), std::string(entry.text)}, options);
    if (!program.ok() || !program.value().dispatch.in_order) continue;
    const auto is_partial = [](const spec::Lane& lane) { return !lane.share.is_all(); };
    const std::vector<spec::Lane>& lanes = program.value().lanes;
    // With whole backwards no schedule can split them.
    const auto splits = [](const spec::Op& op) {
      return op.kind == core::OpKind::backward_input || op.kind == core::OpKind::backward_weight;
    };
    const std::vector<spec::Op>& ops = program.value().ops;
    if (even.value().whole_backward && std::any_of(ops.begin(), ops.end(), splits)) continue;
    // Skips schedules with two copies of the model: a rank holds twice the weights.
    if (std::any_of(lanes.begin(), lanes.end(), is_partial)) continue;
    simulate::Timing timing;
    if (!simulate::Timing::make(program.value(), problem.microbatches(), times, timing).ok()) {
      continue;
    }
    const core::OwnedFacts facts = lower::facts_of(program.value());
    simulate::Simulator simulator(facts.facts(), [&](int rank) {
      return std::make_unique<simulate::TableArbiter>(program.value(), facts.facts(), rank);
    });
    trace::Record record;
    const simulate::RunReport run =
        simulator.run(problem.microbatches(), timing, {.record = &record});
    if (!run.status.ok() || run.stuck) continue;
    double most = 0;
    for (const auto& peaks : simulate::peaks_by_rank(
             {program.value(), facts.facts(), problem.microbatches(), timing, run, record})) {
      const auto held = core::in_microbatches(facts.facts(), problem.microbatches(), peaks);
      most = std::max(most, *std::max_element(held.begin(), held.end()));
    }
    const auto unit = static_cast<double>(timing.unit().nanoseconds);
    all.push_back({std::string(entry.name), most, static_cast<double>(run.makespan.count()) / unit,
                   static_cast<double>(run.span.count()) / unit});
  }
  return all;
}

// The unit of the memories; empty: that of --activation, which has no name.
std::string memory_unit(const OptimisedFlags& flags) {
  if (flags.activation.empty()) return "microbatches";
  const auto first = amount_in(flags.memory.substr(0, flags.memory.find(kDots)));
  return first.value_or(Amount{}).unit;
}

double value_of(const Point& point) {
  return amount_in(point.memory).value_or(Amount{}).value.value();
}

std::string table(const std::vector<Point>& points, const std::vector<Known>& known,
                  Objective objective) {
  std::string text = fmt::format("{:>10}  {:>12}  {:>8}  {:>12}  {:>7}  {}\n", "memory",
                                 name_of(objective), "bubble", "bound", "gap", "placement");
  for (const Point& point : points) {
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
  if (!known.empty()) text += "the library's orders, with what they hold:\n";
  for (const Known& one : known) {
    text += fmt::format("{:>10.5g}  {:>12.7g}  {}\n", one.memory, one.time(objective), one.name);
  }
  return text;
}

nlohmann::json json_of(const std::vector<Point>& points, const std::vector<Known>& known,
                       const OptimisedFlags& flags, const Problem& problem) {
  nlohmann::json j = {
      {"schema", "ripeline.optimise.curve/2"},     {"ranks", problem.program().ranks},
      {"microbatches", problem.microbatches()},    {"unit", problem.timing().unit().name},
      {"objective", name_of(problem.objective())}, {"memory_unit", memory_unit(flags)},
      {"seed", flags.times.timing.seed},           {"points", nlohmann::json::array()},
      {"library", nlohmann::json::array()}};
  for (const Point& point : points) {
    nlohmann::json one = {{"memory", value_of(point)},
                          {"status", !point.fits                  ? "infeasible"
                                     : !point.found               ? "none"
                                     : point.value == point.bound ? "optimal"
                                                                  : "feasible"}};
    if (point.found) {
      one.update({{"wall", point.in_units(point.wall)},
                  {"span", point.in_units(point.span)},
                  {"work", point.in_units(point.work)},
                  {"wall_bubble", point.in_units(point.wall - point.work)},
                  {"wall_bubble_rate", point.bubble_rate(point.wall)},
                  {"span_bubble", point.in_units(point.span - point.work)},
                  {"span_bubble_rate", point.bubble_rate(point.span)},
                  {"bound", point.in_units(point.bound)},
                  {"bound_by", point.bound_by},
                  {"gap", point.gap()},
                  {"placement", point.placement}});
    }
    j["points"].push_back(one);
  }
  for (const Known& one : known) {
    j["library"].push_back(
        {{"name", one.name}, {"memory", one.memory}, {"wall", one.wall}, {"span", one.span}});
  }
  return j;
}

spec::Result<void> draw(const std::vector<Point>& points, const std::vector<Known>& known,
                        const std::string& model, const std::string& unit, Objective objective,
                        const PictureFlags& picture) {
  view::Trade trade{.title = "the best time for each memory: " + model,
                    .memory_label = unit.empty() ? "memory of a rank, in the unit of --activation"
                                                 : "memory of a rank, in " + unit,
                    .time_label = name_of(objective),
                    .best = {},
                    .bounds = {},
                    .others = {}};
  for (const Point& point : points) {
    if (!point.found) continue;
    const double memory = value_of(point);
    trade.best.push_back({memory, point.in_units(point.value), point.placement});
    trade.bounds.push_back({memory, point.in_units(point.bound), ""});
  }
  for (const Known& one : known) {
    const auto same =
        std::find_if(trade.others.begin(), trade.others.end(), [&](const auto& other) {
          return other.memory == one.memory && other.time == one.time(objective);
        });
    if (same != trade.others.end()) {
      same->label += ", " + one.name;
    } else {
      trade.others.push_back({one.memory, one.time(objective), one.name});
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
  std::vector<Point> points;
  for (const std::string& memory : range.value()) {
    if (interrupts.told_to_end()) break;
    auto point = point_of(flags, memory, limits, interrupts);
    if (!point) return bad_input;
    if (!points.empty()) carry_up(points.back(), *point);
    points.push_back(*point);
    std::cerr << fmt::format(
        "memory {}: {}\n", memory,
        point->found
            ? fmt::format("{} {:.7g}, gap {:.2f} %, {}", name_of(flags.objective),
                          point->in_units(point->value), 100 * point->gap(), point->placement)
        : point->fits ? "none was found"
                      : "no order fits");
  }
  for (std::size_t i = points.size(); i-- > 1;) carry_down(points[i], points[i - 1]);
  if (interrupts.told_to_end()) {
    std::cerr << fmt::format("interrupted: {} of {} memories\n", points.size(),
                             range.value().size());
  }
  OptimisedFlags last = flags;
  last.memory = range.value().back();
  const auto read = read_optimised(last);
  if (!read.ok()) return bad_input;
  const Optimised& optimised = read.value();
  for (const std::string& note : optimised.notes) std::cerr << "note: " << note << '\n';
  // Schedules of the library count activations, of stages that are all alike.
  const bool has_points = flags.activation.empty() && flags.times.profile.empty();
  const std::vector<Known> known =
      has_points ? library_points(flags, optimised) : std::vector<Known>();
  if (json) {
    std::cout << json_of(points, known, flags, *optimised.forms.front().problem).dump(2) << '\n';
  } else {
    std::cout << table(points, known, flags.objective);
  }
  if (picture.wanted() &&
      !said(draw(points, known, optimised.model, memory_unit(flags), flags.objective, picture))
           .ok()) {
    return bad_input;
  }
  const auto found = [](const Point& point) { return point.found; };
  return std::any_of(points.begin(), points.end(), found) ? ok : refuted;
}

}  // namespace ripeline::cli
