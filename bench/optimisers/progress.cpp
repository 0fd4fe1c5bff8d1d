#include "bench/optimisers/progress.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include <fmt/format.h>

#include "bench/optimisers/method_results.h"
#include "optimise/solver/order_graph.h"
#include "optimise/solver/order_model.h"
#include "spec/indexing.h"

namespace ripeline::bench {
namespace {

using optimise::FormSearch;
using optimise::Problem;

Progress::Size size_of_model(const Problem& problem) {
  const auto graph = optimise::OrderGraph::make(problem.model(), {}, nullptr, {});
  if (!graph) throw std::runtime_error("a model without an order");
  const optimise::CpModel program =
      optimise::order_model(problem.model(), *graph, {problem.objective()}).program;
  return {problem.model().tasks(), program.variables.size(),
          program.linears.size() + program.intervals.size() + program.no_overlaps.size() +
              program.cumulatives.size()};
}

void add_step(const Problem& problem, const FormSearch::Improvement& step,
              std::vector<Progress::Step>& steps) {
  if (steps.empty() || steps.back().method != step.method) steps.push_back({step.method, 0, 0});
  steps.back().seconds = step.seconds;
  steps.back().value = problem.in_units(step.value);
}

std::string mark_text(const Progress& progress, std::size_t mark) {
  const Progress::Mark& m = progress.marks[mark];
  if (m.best == 0) return "none";
  return fmt::format("{} / {} ({:.2f} %)", time_text(m.best - progress.work),
                     time_text(m.bound - progress.work), 100 * (m.best - m.bound) / m.best);
}

}  // namespace

std::vector<Row> rows_against_seconds() {
  const std::vector<EvenCosts> models = published_models();
  return {{models[0], {6, 1}, kChain}, {models[3], {6, 1}, kChain}, {models[0], {4, 1}, kV}};
}

Progress progress_of(const Row& row, const Searching& searching, const std::vector<double>& marks) {
  const Forms forms(row.costs, row.memory, row.placements, searching.objective);
  const Problem& unit = *forms.all().front().problem;
  Progress progress;
  const FormSearch* running = nullptr;
  const auto mark = [&](double seconds) {
    while (progress.marks.size() < marks.size() && marks[progress.marks.size()] <= seconds) {
      const auto& best = running->best();
      progress.marks.push_back({marks[progress.marks.size()],
                                best ? unit.in_units(running->best_value()) : 0,
                                unit.in_units(running->bound().value)});
    }
  };
  FormSearch search(forms.all(), {.seconds = marks.back(),
                                  .seed = searching.seed,
                                  .solver_threads = searching.solver_threads,
                                  .go_on =
                                      [&] {
                                        mark(running->seconds());
                                        return true;
                                      },
                                  .improved =
                                      [&](const FormSearch::Improvement& step) {
                                        add_step(unit, step, progress.steps);
                                      }});
  running = &search;
  search.run();
  mark(marks.back());  // the search ends early if nothing better is possible
  if (!search.best()) throw std::runtime_error(row.costs.name() + ": no order was found");
  const optimise::Form& form = *search.best()->form;
  const Problem& problem = *form.problem;
  const std::vector<std::int64_t>& peaks = search.best()->order.peaks;
  const int chunks = size_of(problem.program().stages) / problem.program().ranks;
  progress.size = size_of_model(problem);
  progress.work = problem.in_units(problem.work());
  progress.allowed = row.memory.value();
  progress.held = static_cast<double>(*std::max_element(peaks.begin(), peaks.end())) / chunks;
  progress.placement = form.name;
  progress.without = search.no_solver();
  return progress;
}

void print(const Row& row, const Progress& without_solver, const Progress& with_solver) {
  fmt::print("{}, memory {}, {}: {} tasks; to the solver {} variables and {} constraints\n",
             row.costs.name(), memory_text(row.memory.value()), name_of(row.placements),
             with_solver.size.tasks, with_solver.size.variables, with_solver.size.constraints);
  if (!with_solver.without.empty()) fmt::print("NO SOLVER: {}\n", with_solver.without);
  fmt::print("{:>7}  {:<36}  {:<36}\n", "seconds", "without solver: best / bound (gap)",
             "with solver");
  for (std::size_t i = 0; i < with_solver.marks.size(); ++i) {
    fmt::print("{:>7}  {:<36}  {:<36}\n", with_solver.marks[i].seconds,
               mark_text(without_solver, i), mark_text(with_solver, i));
  }
  for (const Progress* progress : {&without_solver, &with_solver}) {
    fmt::print("  {} solver: placement {}, holds {}\n",
               progress == &with_solver ? "with" : "without", progress->placement,
               memory_text(progress->held));
    for (const Progress::Step& step : progress->steps) {
      fmt::print("    {:>7.2f} s  {:<10}  {}\n", step.seconds,
                 time_text(step.value - progress->work), step.method);
    }
  }
  fmt::print("\n");
  std::fflush(stdout);
}

nlohmann::json json_of(const Row& row, const Progress& progress, bool has_solver) {
  nlohmann::json json = {{"model", row.costs.name()},
                         {"memory", progress.allowed},
                         {"held", progress.held},
                         {"placement", progress.placement},
                         {"solver", has_solver && progress.without.empty()},
                         {"work", progress.work},
                         {"tasks", progress.size.tasks},
                         {"variables", progress.size.variables},
                         {"constraints", progress.size.constraints},
                         {"marks", nlohmann::json::array()},
                         {"steps", nlohmann::json::array()}};
  for (const Progress::Mark& mark : progress.marks) {
    json["marks"].push_back(
        {{"seconds", mark.seconds}, {"best", mark.best}, {"bound", mark.bound}});
  }
  for (const Progress::Step& step : progress.steps) {
    json["steps"].push_back(
        {{"method", step.method}, {"seconds", step.seconds}, {"best", step.value}});
  }
  return json;
}

}  // namespace ripeline::bench
