#include "python/optimised.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "load/document.h"
#include "load/numbers.h"
#include "optimise/best_order.h"
#include "optimise/memory_curve_report.h"
#include "python/choice.h"
#include "python/drawing.h"
#include "python/failure.h"
#include "python/number.h"
#include "spec/long_work.h"

namespace ripeline::python {
namespace {

using optimise::Objective;
using pytorch::Placement;

// The placements that a name stands for.
struct Placements {
  std::string name;
  std::vector<Placement> all;
};
const std::string& name_of(const Placements& placements) { return placements.name; }

// The number, which must be within the bounds; nullopt for nullopt.
std::optional<int> within(const std::string& option, const std::optional<std::int64_t>& value,
                          int least, int most) {
  check_integer(option, value, least, most);
  if (!value) return std::nullopt;
  return static_cast<int>(*value);
}

load::SearchOptions options_of(const Searching& searching) {
  using Limits = load::SearchOptions;
  load::SearchOptions options;
  options.microbatches = counts_of(searching.microbatches);
  options.times = searching.times;
  options.seconds = value_of(load::number_from_zero(searching.seconds), "--seconds");
  options.solver = searching.solver;
  options.threads = *within("--threads", searching.threads, 1, Limits::kMostThreads);
  options.seeds = within("--seeds", searching.seeds, Limits::kLeastSeeds, Limits::kMostSeeds);
  options.quantile = within("--quantile", searching.quantile, 1, Limits::kMostQuantile);
  options.every_count = searching.every_count;
  optimise::ModelOptions& model = options.model;
  model.objective = *chosen("--objective", std::optional(searching.objective),
                            {Objective::makespan, Objective::span});
  model.ranks = within("--ranks", searching.ranks, 1, Limits::kMostRanks);
  model.costs = searching.costs;
  model.memory = searching.memory;
  model.activation = searching.activation;
  const auto placements =
      chosen("--placement", searching.placement,
             {Placements{"chain", {Placement::chain}}, Placements{"loop", {Placement::loop}},
              Placements{"v", {Placement::v}},
              Placements{"any", {Placement::chain, Placement::loop, Placement::v}}});
  if (placements) model.placements = placements->all;
  model.chunks = within("--chunks", searching.chunks, 2, optimise::PlacedModel::kMostChunks);
  return options;
}

// Never returns false, since it throws if the work is to stop.
bool goes_on() {
  spec::stop_point();
  return true;
}

// Tells of each improvement.
auto improvements_to(const Finds& finds) {
  return [&finds](const optimise::FormSearch::Improvement& step, const optimise::Problem& problem) {
    if (finds) finds(problem.in_units(step.value), problem.in_units(step.bound));
  };
}

std::string without_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

Optimised Optimised::of_program(const Program& program, const Searching& searching,
                                const Finds& finds) {
  load::SearchOptions options = options_of(searching);
  const optimise::Budget budget(options.seconds);
  options.file = program.source_name();
  options.program = program.options();
  const auto step = program.for_step(options.microbatches);
  const load::Reading reading{.input = load::Input{step->source, step->form}, .notes = {}};
  const auto forms = value_of(load::forms_of_program(*step, options), reading);
  Optimised optimised = searched(options, budget, forms, finds);
  optimised.given_ = program;
  return optimised;
}

Optimised Optimised::of_model(const Searching& searching, const Finds& finds) {
  const load::SearchOptions options = options_of(searching);
  const optimise::Budget budget(options.seconds);
  return searched(options, budget, value_of(load::forms_of_model(options)), finds);
}

Optimised Optimised::searched(const load::SearchOptions& options, const optimise::Budget& budget,
                              const optimise::ModelForms& forms, const Finds& finds) {
  Optimised optimised;
  optimised.notes_ = forms.notes;
  const bool races = value_of(load::decide_race(options, forms, optimised.notes_));
  optimise::BestOrder best(
      forms, load::order_options(
                 options, forms, races,
                 {.budget = budget, .go_on = goes_on, .improved = improvements_to(finds)}));
  spec::in_part("search", [&] { best.search(); });
  for (const std::string& note : best.notes()) optimised.notes_.push_back(note);
  if (best.is_found()) {
    spec::in_part("proof", [&] { value_of(best.prove()); });
    if (races) spec::in_part("race", [&] { value_of(best.race(load::race_options(options))); });
    optimised.text_ = best.report(false);
    optimised.found_ = Found{.program = best.text(),
                             .order = best.order_text(),
                             .what_binds = without_newline(best.what_binds()),
                             .microbatches = best.microbatches(),
                             .times = best.times()};
  } else {
    optimised.text_ = best.why_none() + "\n";
  }
  optimised.json_ = load::document_text(best.json(options.reported_model()));
  return optimised;
}

const Optimised::Found& Optimised::found() const {
  if (!found_) throw Failure({spec::failure(without_newline(text_))});
  return *found_;
}

Program Optimised::written(const std::string& text) const {
  return given_ ? given_->rewritten(text) : Program::of_text(text, {});
}

Program Optimised::program() const { return written(found().program); }

Program Optimised::order() const { return written(found().order); }

Simulated Optimised::run() const {
  auto loaded = order().for_step(std::nullopt);
  simulate::Timing timing;
  const core::Status made =
      simulate::Timing::make(loaded->program, found().microbatches, found().times, timing);
  if (!made.ok()) throw Failure(made);
  return {std::move(loaded), found().microbatches, std::move(timing)};
}

std::string Optimised::what_binds() const { return found().what_binds; }

Curve::Curve(const Searching& searching, const Finds& finds) {
  const load::SearchOptions options = options_of(searching);
  // The next memory has no order yet.
  const auto tell = [&](const optimise::CurvePoint& /*point*/) {
    if (finds) finds(std::nullopt, std::nullopt);
  };
  curve_ = value_of(load::curve_of(
      options, {.go_on = goes_on, .improved = improvements_to(finds), .tell = tell}));
}

std::string Curve::text() const { return optimise::memory_curve_text(curve_); }

std::string Curve::json() const { return load::document_text(optimise::memory_curve_json(curve_)); }

std::string Curve::svg(std::optional<int> width) const {
  std::string svg = optimise::memory_curve_svg(curve_, picture_width(width));
  if (svg.empty()) throw Failure({spec::failure("no memory has an order")});
  return svg;
}

}  // namespace ripeline::python
