#include "bench/optimisers/method_results.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "bench/optimisers/zero_bubble_greedy.h"
#include "optimise/certified.h"
#include "optimise/model_forms.h"
#include "optimise/placed_model.h"
#include "simulate/rank_costs.h"
#include "spec/elaborate.h"
#include "spec/indexing.h"
#include "spec/library.h"

namespace ripeline::bench {
namespace {

using optimise::Form;
using optimise::FormSearch;
using optimise::Objective;
using optimise::PlacedModel;
using optimise::Problem;
using optimise::TimedOrder;

[[noreturn]] void fail(const std::string& what, const spec::Diagnostics& errors) {
  throw std::runtime_error(what + ": " + errors.front().message);
}

std::unique_ptr<Problem> problem_of(const std::string& what, const spec::Source& source,
                                    const spec::ElaborateOptions& reading, const EvenCosts& costs,
                                    const simulate::TimingOptions& times, Objective objective) {
  auto program = spec::compile(source, reading);
  if (!program.ok()) fail(what, program.errors());
  auto problem = Problem::make(std::move(program).value(), costs.microbatches, times, objective);
  if (!problem.ok()) fail(what, problem.errors());
  return std::move(problem).value();
}

int chunks_of(const Problem& problem) {
  return size_of(problem.program().stages) / problem.program().ranks;
}

// `program` must be committed to the order.
MethodResult result_of(std::string method, const Problem& problem, const TimedOrder& order,
                       const optimise::Bound& bound, const spec::Program& program) {
  const auto peak = std::max_element(order.peaks.begin(), order.peaks.end());
  auto exported = pytorch::export_actions(program, problem.microbatches());
  if (!exported.ok()) fail(method, exported.errors());
  MethodResult result;
  result.order = std::move(exported).value();
  result.method = std::move(method);
  result.held = static_cast<double>(*peak) / chunks_of(problem);
  result.allowed = result.held;
  result.makespan = problem.in_units(order.makespan);
  result.span = problem.in_units(order.span);
  result.work = problem.in_units(problem.work());
  result.bound = problem.in_units(bound.value);
  result.bound_by = bound.by;
  return result;
}

// The program that is committed to the order.
spec::Program certified(const std::string& method, const Form& form, const optimise::Bound& bound,
                        const TimedOrder& order) {
  auto made = optimise::certified({.problem = *form.problem,
                                   .source = form.source,
                                   .read_file = {},
                                   .bound = bound,
                                   .order = order},
                                  {});
  if (!made.ok()) fail(method, made.errors());
  return std::move(made).value().program;
}

struct LibrarySchedule {
  std::string name;
  std::string method;
  int chunks = 0;  // the param `chunks`; 0 if there is no such param
};

double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace

std::string EvenCosts::name() const {
  return fmt::format("({},{},{},{},{},{})", ranks, microbatches, forward, input, weight, latency);
}

std::vector<EvenCosts> published_models() {
  return {{8, 24, 24, 23, 12, 1, 2},
          {8, 24, 18522, 18086, 9337, 601, 3},
          {8, 32, 18513, 18086, 9331, 626, 3},
          {8, 64, 18546, 18097, 9321, 762, 3},
          {8, 24, 29718, 29444, 19927, 527, 4},
          {8, 32, 29802, 29428, 19530, 577, 4},
          {16, 48, 11347, 11248, 8132, 377, 3},
          {16, 64, 11307, 11254, 8101, 379, 3}};
}

std::string name_of(const Placements& placements) {
  return placements.size() > 1 ? "any placement" : pytorch::name_of(placements.front());
}

double MethodResult::gap(Objective objective) const {
  return (value(objective) - bound) / value(objective);
}

Forms::Forms(const EvenCosts& costs, spec::Rational memory, const Placements& placements,
             Objective objective) {
  constexpr int kMostLoops = 4;  // stages of a rank, as in `ripeline optimise --placement any`
  PlacedModel model;
  model.ranks = costs.ranks;
  model.microbatches = costs.microbatches;
  const PlacedModel::Costs of_rank{
      .forward = {costs.forward, 1}, .input = {costs.input, 1}, .weight = {costs.weight, 1}};
  model.memory = memory;
  simulate::TimingOptions times;
  times.latency = static_cast<double>(costs.latency);
  const auto add = [&](const std::string& name, pytorch::Placement placement, int chunks) {
    model.placement = placement;
    model.chunks = chunks;
    model.layers = optimise::even_layers(of_rank, model.ranks, chunks);
    model.first_layers = optimise::cut(model.layers, model.stages());
    spec::Source source{optimise::kPlacedModel, optimise::program_text(model)};
    auto problem = problem_of(costs.name(), source, {}, costs, times, objective);
    forms_.push_back({name, std::move(source), std::move(problem), optimise::has_room(model)});
  };
  for (const pytorch::Placement placement : placements) {
    const bool loop = placement == pytorch::Placement::loop;
    const int least = placement == pytorch::Placement::chain ? 1 : 2;
    for (int chunks = least; chunks <= (loop ? kMostLoops : least); ++chunks) {
      add(optimise::name_of(placement, chunks), placement, chunks);
    }
  }
}

std::optional<MethodResult> searched_result(const EvenCosts& costs, spec::Rational memory,
                                            const Placements& placements,
                                            const Searching& searching) {
  const Forms forms(costs, memory, placements, searching.objective);
  FormSearch search(forms.all(), {.seconds = searching.seconds,
                                  .seed = searching.seed,
                                  .solver_threads = searching.solver_threads});
  search.run();
  const double seconds = search.seconds();
  if (!search.best()) return std::nullopt;
  const Form& form = *search.best()->form;
  const std::string method = fmt::format("optimise, {}", name_of(placements));
  const TimedOrder& order = search.best()->order;
  const spec::Program program =
      certified(costs.name() + ", " + method, form, search.bound_of(form), order);
  MethodResult result = result_of(method, *form.problem, order, search.bound(), program);
  result.allowed = memory.value();
  result.seconds = seconds;
  result.placement = form.name;
  result.is_searched = true;
  result.no_solver = search.no_solver();
  return result;
}

std::optional<MethodResult> greedy_result(const EvenCosts& costs, int memory, Objective objective) {
  const Forms forms(costs, {memory, 1}, kChain, objective);
  const Form& form = forms.all().front();
  const Problem& problem = *form.problem;
  const auto begun = std::chrono::steady_clock::now();
  const auto made = zero_bubble_greedy(problem.uniform()->problem);
  const double seconds = seconds_since(begun);
  if (!made) return std::nullopt;
  const auto order = problem.timed(problem.uniform()->rows_of(*made, problem.model()));
  if (!order || order->makespan != made->makespan || order->span != made->span) {
    throw std::runtime_error(costs.name() + ": the greedy's times are not those of its order");
  }
  const std::string method = "Zero Bubble's greedy";
  const spec::Program program =
      certified(costs.name() + ", " + method, form, problem.bound(), *order);
  MethodResult result = result_of(method, problem, *order, problem.bound(), program);
  result.allowed = memory;
  result.seconds = seconds;
  result.placement = form.name;
  return result;
}

std::vector<MethodResult> library_results(const EvenCosts& costs, Objective objective) {
  std::vector<LibrarySchedule> schedules = {{"1f1b", "1F1B"},
                                            {"zb_h1", "ZB-H1"},
                                            {"zb_h2", "ZB-H2"},
                                            {"v_min", "V-Min"},
                                            {"v_half", "V-Half"},
                                            {"zb_v", "ZB-V"},
                                            {"interleaved_1f1b", "interleaved of 2", 2}};
  if (costs.chunks > 2) {
    schedules.push_back(
        {"interleaved_1f1b", fmt::format("interleaved of {}", costs.chunks), costs.chunks});
  }
  simulate::TimingOptions times;
  times.latency = static_cast<double>(costs.latency);
  simulate::RankCosts of_rank;
  const core::Status parsed = simulate::RankCosts::parse(
      fmt::format("F={},I={},W={}", costs.forward, costs.input, costs.weight), of_rank);
  if (!parsed.ok()) throw std::runtime_error(parsed.message());
  times.rank_costs = of_rank;
  std::vector<MethodResult> results;
  for (const LibrarySchedule& schedule : schedules) {
    spec::ElaborateOptions reading;
    reading.defines["ranks"] = costs.ranks;
    if (schedule.chunks > 0) reading.defines["chunks"] = schedule.chunks;
    const spec::Source source{schedule.name, *spec::library_text(schedule.name)};
    const auto problem = problem_of(schedule.method, source, reading, costs, times, objective);
    const auto order = problem->of_own_dispatch();
    if (!order) throw std::runtime_error(schedule.method + " does not end");
    results.push_back(
        result_of(schedule.method, *problem, *order, problem->bound(), problem->program()));
  }
  return results;
}

nlohmann::json json_of(const EvenCosts& costs, const MethodResult& result, Objective objective) {
  nlohmann::json steps;
  if (result.steps) {
    steps = {{"simulated", result.steps->simulated},
             {"emulated", result.steps->emulated},
             {"pytorch", result.steps->pytorch ? nlohmann::json(*result.steps->pytorch) : nullptr}};
  }
  return {{"model", costs.name()},
          {"ranks", costs.ranks},
          {"microbatches", costs.microbatches},
          {"costs", {costs.forward, costs.input, costs.weight, costs.latency}},
          {"memory", result.allowed},
          {"held", result.held},
          {"method", result.method},
          {"placement", result.placement},
          {"wall", result.makespan},
          {"span", result.span},
          {"work", result.work},
          {"bubble_rate_by_wall", (result.makespan - result.work) / result.makespan},
          {"bubble_rate_by_span", (result.span - result.work) / result.span},
          {"bound", result.bound},
          {"bound_by", result.bound_by},
          {"gap", result.gap(objective)},
          {"seconds", result.seconds},
          {"steps", steps}};
}

std::string memory_text(double memory) {
  std::string text = fmt::format("{:.2f}", memory);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string time_text(double time) { return fmt::format("{:.8g}", time); }

}  // namespace ripeline::bench
