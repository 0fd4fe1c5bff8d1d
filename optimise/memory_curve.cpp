#include "optimise/memory_curve.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/held.h"
#include "core/vocabulary/byte_unit.h"
#include "lower/facts.h"
#include "optimise/certified.h"
#include "simulate/report.h"
#include "simulate/run_program.h"
#include "spec/library.h"

namespace ripeline::optimise {
namespace {

// A memory in the unit of the range.
std::string memory_text(const spec::Rational& base, std::int64_t size, const std::string& unit) {
  constexpr double kDecimals = 1e6;  // as amount_in() reads them
  const double value = base.value() / static_cast<double>(size);
  return fmt::format("{:.12g}{}", std::floor(value * kDecimals + .5) / kDecimals, unit);
}

// Whether it stands beside what a search finds.
bool is_comparable(const spec::Program& program, bool whole_backward) {
  if (!program.dispatch.in_order) return false;
  const auto splits = [](const spec::Op& op) {
    return op.kind == core::OpKind::backward_input || op.kind == core::OpKind::backward_weight;
  };
  // With whole backwards no schedule can split them.
  if (whole_backward && std::any_of(program.ops.begin(), program.ops.end(), splits)) return false;
  // Skips schedules with two copies of the model: a rank holds twice the weights.
  return std::none_of(program.lanes.begin(), program.lanes.end(),
                      [](const spec::Lane& lane) { return !lane.share.is_all(); });
}

// Nothing: the times do not fit the program, or its run does not end.
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

}  // namespace

std::optional<std::vector<std::string>> memories_of(const MemoryRange& range, std::size_t most) {
  const std::int64_t step =
      range.activation
          ? std::max<std::int64_t>(1, static_cast<std::int64_t>(range.activation->base.value()))
          : 1;
  const std::int64_t size = core::bytes_of_unit(range.first.unit).value_or(1);
  std::vector<std::string> all;
  for (spec::Rational at = range.first.base; !spec::less(range.last.base, at);
       at.numerator += step * at.denominator) {
    if (all.size() == most) return std::nullopt;
    all.push_back(memory_text(at, size, range.first.unit));
  }
  return all;
}

double CurvePoint::memory_in_unit() const {
  return simulate::amount_in(memory).value_or(simulate::Amount{}).value.value();
}

spec::Result<CurvePoint> curve_point(const std::string& memory, const std::vector<Form>& forms,
                                     const spec::ReadFile& read_file, FormSearch::Options options) {
  FormSearch search(forms, std::move(options));
  search.run();
  CurvePoint point;
  point.memory = memory;
  point.fits = search.fits();
  point.found = search.best().has_value();
  point.unit = forms.front().problem->timing().unit().nanoseconds;
  point.bound = search.bound().value;
  point.bound_by = search.bound().by;
  if (!point.found) return point;
  const Form& form = *search.best()->form;
  const auto made = certified(claim_of(search, read_file), {});
  if (!made.ok()) return made.errors();
  point.value = search.best_value();
  point.wall = search.best()->order.wall;
  point.span = search.best()->order.span;
  point.work = form.problem->work();
  point.placement = form.name;
  return point;
}

void carry_up(const CurvePoint& less, CurvePoint& point) {
  point.fits = point.fits || less.fits;
  if (!less.found || (point.found && point.value <= less.value)) return;
  point.found = true;
  point.value = less.value;
  point.wall = less.wall;
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

std::vector<KnownSchedule> library_schedules(const Problem& problem,
                                             const simulate::RankCosts& costs,
                                             bool whole_backward) {
  simulate::TimingOptions times = problem.times();
  times.rank_costs = costs;
  spec::ElaborateOptions options;
  options.defines = {{"ranks", problem.program().ranks}, {"microbatches", problem.microbatches()}};
  std::vector<KnownSchedule> all;
  for (const spec::LibraryEntry& entry : spec::library()) {
    const auto program = spec::compile({std::string(entry.name), std::string(entry.text)}, options);
    if (!program.ok() || !is_comparable(program.value(), whole_backward)) continue;
    auto known =
        timed_schedule(program.value(), problem.microbatches(), times, std::string(entry.name));
    if (known) all.push_back(*std::move(known));
  }
  return all;
}

}  // namespace ripeline::optimise
