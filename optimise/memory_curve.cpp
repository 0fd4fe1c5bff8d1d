#include "optimise/memory_curve.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/held.h"
#include "core/vocabulary/byte_unit.h"
#include "lower/facts.h"
#include "optimise/budget.h"
#include "optimise/certified.h"
#include "optimise/layer_costs.h"
#include "simulate/rank_costs.h"
#include "simulate/report.h"
#include "simulate/run_program.h"
#include "spec/library.h"
#include "spec/long_work.h"

namespace ripeline::optimise {
namespace {

using simulate::amount_in;
using simulate::Dimension;

constexpr std::string_view kDots = "..";

// Writes the memory `base` in `unit`, which has `size` bytes. Without a unit, `size` is 1.
std::string memory_text(const spec::Rational& base, std::int64_t size, const std::string& unit) {
  constexpr double kDecimals = 1e6;  // six decimals, as amount_in() reads
  const double value = base.value() / static_cast<double>(size);
  return fmt::format("{:.12g}{}", std::floor(value * kDecimals + .5) / kDecimals, unit);
}

// Whether a library schedule can be compared with the orders that a search finds.
bool is_comparable(const spec::Program& program, bool whole_backward) {
  if (!program.dispatch.in_order) return false;
  const auto splits = [](const spec::Op& op) {
    return op.kind == core::OpKind::backward_input || op.kind == core::OpKind::backward_weight;
  };
  // If backwards are whole, a schedule that splits them is not comparable.
  if (whole_backward && std::any_of(program.ops.begin(), program.ops.end(), splits)) return false;
  // A schedule whose lanes have shares keeps two copies of the weights, so it is not comparable.
  return std::none_of(program.lanes.begin(), program.lanes.end(),
                      [](const spec::Lane& lane) { return !lane.share.is_all(); });
}

// Simulates the schedule. nullopt if the times do not fit the program, or if the run does not end.
std::optional<KnownSchedule> timed_schedule(const spec::Program& program, int microbatches,
                                            const simulate::TimingOptions& times,
                                            std::string name) {
  simulate::Timing timing;
  if (!simulate::Timing::make(program, microbatches, times, timing).ok()) return std::nullopt;
  const core::OwnedFacts facts = lower::facts_of(program);
  trace::Record record;
  const simulate::RunReport run =
      simulate::run_program(program, facts.facts(), microbatches, timing, {.record = &record});
  if (!run.status.ok() || run.stuck) return std::nullopt;
  double most = 0;
  for (const auto& peaks :
       simulate::peaks_by_rank({program, facts.facts(), microbatches, timing, run, record})) {
    const auto held = core::in_microbatches(facts.facts(), microbatches, peaks);
    most = std::max(most, *std::max_element(held.begin(), held.end()));
  }
  const auto unit = static_cast<double>(timing.unit().nanoseconds);
  return KnownSchedule{std::move(name), most, static_cast<double>(run.makespan.count()) / unit,
                       static_cast<double>(run.span.count()) / unit};
}

// The times of the library's schedules with the costs of the options.
std::vector<KnownSchedule> library_of(const ModelOptions& options, const Problem& problem) {
  if (!options.activation.empty() || options.times.profile) return {};
  simulate::TimingOptions times = problem.times();
  const auto even = read_even_costs(costs_of(options), times.unit);
  if (!even.ok()) return {};
  const auto& [forward, input, weight] = even.value().of_rank;
  const bool whole = even.value().whole_backward;
  const std::string text =
      fmt::format("F={:.12g},{}={:.12g}", forward.value(), whole ? 'B' : 'I', input.value()) +
      (whole ? "" : fmt::format(",W={:.12g}", weight.value()));
  if (!simulate::RankCosts::parse(text, times.rank_costs.emplace()).ok()) return {};
  spec::ElaborateOptions reading;
  reading.defines = {{"ranks", problem.program().ranks}, {"microbatches", problem.microbatches()}};
  std::vector<KnownSchedule> all;
  for (const spec::LibraryEntry& entry : spec::library()) {
    const std::string name(entry.name);
    const auto program = spec::compile({name, std::string(entry.text)}, reading);
    if (!program.ok() || !is_comparable(program.value(), whole)) continue;
    auto known = timed_schedule(program.value(), problem.microbatches(), times, name);
    if (known) all.push_back(*std::move(known));
  }
  return all;
}

// Finds the best order of all the model's forms that fits model.memory, and certifies the order.
spec::Result<CurvePoint> curve_point(const ModelOptions& model, const CurveOptions& options) {
  const Budget budget(options.seconds);
  const auto read = forms_of(model);
  if (!read.ok()) return read.errors();
  const ModelForms& forms = read.value();
  const Problem& first = *forms.forms.front().problem;
  FormSearch search(forms.forms, {.seconds = budget.left(),
                                  .seed = options.seed,
                                  .solver_threads = options.solver_threads,
                                  .go_on = options.go_on,
                                  .improved =
                                      [&](const FormSearch::Improvement& step) {
                                        if (options.improved) options.improved(step, first);
                                      },
                                  .others = forms.other_cuts});
  search.run();
  CurvePoint point;
  point.memory = model.memory;
  point.fits = search.fits();
  point.found = search.best().has_value();
  point.unit = first.timing().unit().nanoseconds;
  point.bound = search.bound().value;
  point.bound_by = search.bound().by;
  if (!point.found) return point;
  const Form& form = *search.best()->form;
  const auto made = certified(claim_of(search, forms.read_file), {});
  if (!made.ok()) return made.errors();
  point.value = search.best_value();
  point.makespan = search.best()->order.makespan;
  point.span = search.best()->order.span;
  point.work = form.problem->work();
  point.placement = form.name;
  return point;
}

}  // namespace

bool is_memory_range(const std::string& memory) { return memory.find(kDots) != memory.npos; }

spec::Result<std::vector<std::string>> memories_of(const ModelOptions& model) {
  constexpr std::size_t kMost = 100;
  const std::size_t dots = model.memory.find(kDots);
  const auto first = amount_in(model.memory.substr(0, dots));
  const auto last = amount_in(model.memory.substr(dots + kDots.size()));
  if (!first || !last || first->base.numerator <= 0 || first->dimension != last->dimension ||
      first->dimension == Dimension::time || spec::less(last->base, first->base)) {
    return spec::failure(
        "--memory: expected a range of memories, as 4..8 or 20GB..24GB, the smaller one first");
  }
  const auto activation =
      model.activation.empty() ? std::nullopt : amount_in(model.activation.front());
  if (first->dimension == Dimension::bytes &&
      (!activation || activation->dimension != Dimension::bytes)) {
    return spec::failure(
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
    if (all.size() == kMost) {
      return spec::failure(fmt::format("--memory: expected at most {} memories", kMost));
    }
    all.push_back(memory_text(at, size, first->unit));
  }
  return all;
}

double CurvePoint::memory_in_unit() const {
  return simulate::amount_in(memory).value_or(simulate::Amount{}).value.value();
}

void carry_up(const CurvePoint& less, CurvePoint& point) {
  point.fits = point.fits || less.fits;
  if (!less.found || (point.found && point.value <= less.value)) return;
  point.found = true;
  point.value = less.value;
  point.makespan = less.makespan;
  point.span = less.span;
  point.work = less.work;
  point.placement = less.placement;
}

void carry_bounds_down(std::vector<CurvePoint>& points) {
  for (std::size_t i = points.size(); i-- > 1;) {
    const CurvePoint& more = points[i];
    CurvePoint& point = points[i - 1];
    if (!point.found || more.bound <= point.bound || more.bound > point.value) continue;
    point.bound = more.bound;
    point.bound_by = more.bound_by;
  }
}

spec::Result<MemoryCurve> memory_curve(const ModelOptions& model, const CurveOptions& options) {
  const auto memories = memories_of(model);
  if (!memories.ok()) return memories.errors();
  ModelOptions one = model;
  one.memory = memories.value().back();
  const auto last = forms_of(one);
  if (!last.ok()) return last.errors();
  const Problem& problem = *last.value().forms.front().problem;
  MemoryCurve curve{.points = {},
                    .memories = memories.value().size(),
                    .library = {},
                    .model = last.value().model,
                    .notes = last.value().notes,
                    .objective = model.objective,
                    .ranks = problem.program().ranks,
                    .microbatches = problem.microbatches(),
                    .unit = problem.timing().unit().name,
                    .memory_unit = model.activation.empty()
                                       ? "microbatches"
                                       : amount_in(one.memory).value_or(simulate::Amount{}).unit,
                    .seed = options.seed};
  for (const std::string& memory : memories.value()) {
    if (options.go_on && !options.go_on()) break;
    one.memory = memory;
    auto searched = spec::in_part("memory " + memory, [&] { return curve_point(one, options); });
    if (!searched.ok()) return searched.errors();
    CurvePoint point = std::move(searched).value();
    if (!curve.points.empty()) carry_up(curve.points.back(), point);
    curve.points.push_back(std::move(point));
    if (options.tell) options.tell(curve.points.back());
  }
  carry_bounds_down(curve.points);
  curve.library = library_of(model, problem);
  return curve;
}

}  // namespace ripeline::optimise
