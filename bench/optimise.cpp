// Compares searched orders with the library's orders and with those of Zero Bubble's greedy, at
// equal memory. See --help.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/optimisers/equals.h"
#include "bench/optimisers/method_results.h"
#include "bench/optimisers/progress.h"
#include "bench/optimisers/steps.h"
#include "files/new_file.h"

namespace ripeline::bench {
namespace {

using optimise::Objective;

struct Options {
  Searching searching;
  std::string model;
  std::string json;
  bool by_span = false;
  bool no_solver = false;
  bool quick = false;
  bool against_seconds = false;
  bool jitter = false;
  bool steps = false;
  std::string pytorch;  // a Python with PyTorch; empty if there is none
};

double load() {
  std::array<double, 1> of_a_minute{};
  return getloadavg(of_a_minute.data(), 1) == 1 ? of_a_minute[0] : -1;
}

std::vector<EvenCosts> models_of(const Options& options) {
  std::vector<EvenCosts> models = published_models();
  if (options.quick) models.resize(1);
  std::erase_if(models, [&](const EvenCosts& costs) {
    return costs.name().find(options.model) == std::string::npos;
  });
  return models;
}

std::vector<Row> rows_of(const Options& options) {
  std::vector<Row> rows = rows_against_seconds();
  if (options.quick) rows.resize(1);
  std::erase_if(rows, [&](const Row& row) {
    return row.costs.name().find(options.model) == std::string::npos;
  });
  return rows;
}

// A memory in twelfths. With 1, 2, 3 or 4 stages per rank, a stage's activation is whole twelfths.
spec::Rational rational(double memory) { return {static_cast<std::int64_t>(memory * 12 + .5), 12}; }

// The memories for the table, and those that the library's schedules use.
std::vector<double> memories_of(const EvenCosts& costs, const std::vector<MethodResult>& library,
                                bool quick) {
  const double p = costs.ranks;
  if (quick) return {p / 2, p};
  std::vector<double> memories = {p / 2, 3 * p / 4, p, 2 * p - 1};
  for (const MethodResult& result : library) memories.push_back(result.allowed);
  std::sort(memories.begin(), memories.end());
  memories.erase(std::unique(memories.begin(), memories.end()), memories.end());
  return memories;
}

void print_heading(const EvenCosts& costs) {
  fmt::print(
      "{}, work of a rank {}\n{:>7} {:>6}  {:<24} {:<10} {:>10} {:>9} {:>10} {:>9} {:>10} {:>8} "
      "{:>8}\n",
      costs.name(), costs.work(), "allowed", "holds", "", "placement", "by wall", "rate", "by span",
      "rate", "bound", "gap", "seconds");
}

void print(const MethodResult& result, Objective objective) {
  const auto rate = [&](double time) {
    return fmt::format("{:.2f} %", 100 * (time - result.work) / time);
  };
  fmt::print("{:>7} {:>6}  {:<24} {:<10} {:>10} {:>9} {:>10} {:>9} {:>10} {:>8} {:>8}\n",
             memory_text(result.allowed), memory_text(result.held), result.method, result.placement,
             time_text(result.makespan - result.work), rate(result.makespan),
             time_text(result.span - result.work), rate(result.span),
             time_text(result.bound - result.work),
             fmt::format("{:.2f} %", 100 * result.gap(objective)),
             result.seconds == 0 ? "" : fmt::format("{:.2f}", result.seconds));
  std::fflush(stdout);
}

struct Loss {
  std::string model;
  MethodResult result;
  MethodResult searched;  // the best order of a kind of search with no more memory
};

// Adds a loss for each result whose order was not searched, and which is better than the best order
// that a kind of search has found with no more memory.
void add_losses(const EvenCosts& costs, const std::vector<MethodResult>& results,
                Objective objective, std::vector<Loss>& losses) {
  for (const MethodResult& result : results) {
    if (result.is_searched) continue;
    for (const char* const kind : {kChainSearch, kAnySearch}) {
      const MethodResult* best = nullptr;
      for (const MethodResult& other : results) {
        if (other.method != kind || other.allowed > result.allowed) continue;
        if (best == nullptr || other.value(objective) < best->value(objective)) best = &other;
      }
      if (best != nullptr && result.value(objective) < best->value(objective)) {
        losses.push_back({costs.name(), result, *best});
      }
    }
  }
}

// An emulated run is reported as late if it takes longer than its simulated steps by this factor.
constexpr double kLate = 1.05;

void add_steps(const EvenCosts& costs, const Options& options, std::vector<MethodResult>& results) {
  std::vector<StepsOrder> orders;
  for (const MethodResult& result : results) orders.push_back({&result.order, costs.microbatches});
  std::optional<std::vector<int>> counted;
  if (!options.pytorch.empty()) {
    counted = pytorch_steps(options.pytorch, orders);
  }
  fmt::print(
      "In steps: every task, send and receive takes one\n{:>7}  {:<24} {:<10} {:>9} {:>9} "
      "{:>9}\n",
      "allowed", "", "placement", "PyTorch", "simulated", "emulated");
  for (std::size_t i = 0; i < results.size(); ++i) {
    MethodResult& result = results[i];
    result.steps = steps_of(result.order, costs.microbatches);
    if (counted) result.steps->pytorch = (*counted)[i];
    const Steps& steps = *result.steps;
    const bool differs = steps.pytorch && *steps.pytorch != steps.simulated;
    const bool is_late = steps.emulated > kLate * steps.simulated;
    fmt::print("{:>7}  {:<24} {:<10} {:>9} {:>9} {:>9.1f}{}{}\n", memory_text(result.allowed),
               result.method, pytorch::name_of(result.order.placement),
               steps.pytorch ? std::to_string(*steps.pytorch) : "", steps.simulated, steps.emulated,
               differs ? "  PYTORCH COUNTS OTHERWISE" : "", is_late ? "  the host was late" : "");
    std::fflush(stdout);
    if (differs || steps.emulated < steps.simulated) {
      throw std::runtime_error(costs.name() + ", " + result.method +
                               ": its steps are not those of the simulator");
    }
  }
}

std::vector<MethodResult> compare(const EvenCosts& costs, const Options& options) {
  const Objective objective = options.searching.objective;
  const std::vector<MethodResult> library = library_results(costs, objective);
  std::vector<MethodResult> results;
  const auto add = [&](const std::optional<MethodResult>& result) {
    if (!result) return;
    print(*result, objective);
    results.push_back(*result);
  };
  print_heading(costs);
  for (const double memory : memories_of(costs, library, options.quick)) {
    const spec::Rational room = rational(memory);
    for (const MethodResult& result : library) {
      if (result.allowed == memory) add(result);
    }
    if (room.numerator % room.denominator == 0) {
      add(greedy_result(costs, static_cast<int>(memory), objective));
    }
    add(searched_result(costs, room, kChain, options.searching));
    add(searched_result(costs, room, kAny, options.searching));
  }
  if (options.steps) add_steps(costs, options, results);
  fmt::print("\n");
  return results;
}

void print(const std::vector<Loss>& losses, Objective objective) {
  const char* const what = objective == Objective::makespan ? "wall" : "span";
  for (const char* const kind : {kChainSearch, kAnySearch}) {
    const auto is_of_kind = [&](const Loss& loss) { return loss.searched.method == kind; };
    const auto count = std::count_if(losses.begin(), losses.end(), is_of_kind);
    fmt::print("Better by {} than \"{}\" with no more memory: {}{}\n", what, kind,
               count == 0 ? "no line" : std::to_string(count), count == 0 ? "" : ", bubbles:");
    for (const Loss& loss : losses) {
      if (!is_of_kind(loss)) continue;
      const double value = loss.result.value(objective);
      const double searched = loss.searched.value(objective);
      fmt::print("  {}, memory {}: {} {}, searched {} ({:.2f} % more time)\n", loss.model,
                 memory_text(loss.result.allowed), loss.result.method,
                 time_text(value - loss.result.work), time_text(searched - loss.searched.work),
                 100 * (searched / value - 1));
    }
  }
}

nlohmann::json table(const Options& options) {
  const Objective objective = options.searching.objective;
  nlohmann::json json = {{"lines", nlohmann::json::array()}, {"losses", nlohmann::json::array()}};
  std::vector<Loss> losses;
  std::string no_solver;
  for (const EvenCosts& costs : models_of(options)) {
    const std::vector<MethodResult> results = compare(costs, options);
    for (const MethodResult& result : results)
      json["lines"].push_back(json_of(costs, result, objective));
    for (const MethodResult& result : results) {
      if (!result.no_solver.empty()) no_solver = result.no_solver;
    }
    add_losses(costs, results, objective, losses);
  }
  print(losses, objective);
  if (!no_solver.empty()) fmt::print("Without the solver: {}\n", no_solver);
  for (const Loss& loss : losses) {
    json["losses"].push_back({{"model", loss.model},
                              {"memory", loss.result.allowed},
                              {"method", loss.result.method},
                              {"best", loss.result.value(objective)},
                              {"searched_by", loss.searched.method},
                              {"searched", loss.searched.value(objective)}});
  }
  return json;
}

nlohmann::json against_seconds(const Options& options) {
  std::vector<double> marks = {1, 3, 10, 30, 100};
  if (options.quick) marks = {.1, .3, 1};
  nlohmann::json json = {{"rows", nlohmann::json::array()}};
  for (const Row& row : rows_of(options)) {
    Searching alone = options.searching;
    alone.solver_threads = 0;
    const Progress without_solver = progress_of(row, alone, marks);
    const Progress with_solver = progress_of(row, options.searching, marks);
    print(row, without_solver, with_solver);
    json["rows"].push_back(json_of(row, without_solver, false));
    json["rows"].push_back(json_of(row, with_solver, true));
  }
  return json;
}

nlohmann::json under_jitter(const Options& options) {
  nlohmann::json json = {{"rows", nlohmann::json::array()}};
  for (EqualsAsked asked : equals_to_compare()) {
    if (options.quick) {
      if (asked.memory != 15) continue;
      asked.jitters = {"lognormal=0.5"};
      asked.equals = 5;
      asked.seeds = 20;
    }
    const Equals equals = compare_equals(asked, options.searching);
    print(asked, equals);
    json["rows"].push_back(json_of(asked, equals));
  }
  return json;
}

// Sets the path of the solver's program, which is in another folder of the same build.
void find_solver() {
  const auto build = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  constexpr int kKeep = 0;
  setenv("RIPELINE_SOLVER", (build / "cli/ripeline-solver").c_str(), kKeep);
}

int run(Options options) {
  find_solver();
  if (options.jitter) options.pytorch.clear();  // the environment may have set this
  options.steps = options.steps || !options.pytorch.empty();
  if (options.by_span) options.searching.objective = Objective::span;
  if (options.no_solver) options.searching.solver_threads = 0;
  // With --quick, searches are short, but an improvement needs more time than a search.
  const double most = options.jitter ? 3 : .3;
  if (options.quick) options.searching.seconds = std::min(options.searching.seconds, most);
  if (options.against_seconds ? rows_of(options).empty() : models_of(options).empty()) {
    std::cerr << fmt::format("bench_optimise: no model here has '{}' in its name\n", options.model);
    return 2;
  }
  if (options.jitter && (options.against_seconds || options.steps || options.by_span ||
                         options.no_solver || !options.model.empty())) {
    std::cerr << "bench_optimise: --jitter has its own models and no solver, and compares walls: "
                 "expected at most --seconds, --seed, --quick and --json with it\n";
    return 2;
  }
  if (!options.pytorch.empty() && !pytorch_steps(options.pytorch, {})) {
    std::cerr << "bench_optimise: skipped: PyTorch cannot be imported\n";
    return kSkipped;
  }
  const double load_before = load();
  nlohmann::json json = options.against_seconds ? against_seconds(options)
                        : options.jitter        ? under_jitter(options)
                                                : table(options);
  fmt::print("load of the machine: {:.1f} before, {:.1f} after\n", load_before, load());
  if (options.json.empty()) return 0;
  json.update({{"objective", options.by_span ? "span" : "wall"},
               {"seconds", options.searching.seconds},
               {"solver_threads", options.jitter ? 0 : options.searching.solver_threads},
               {"load_before", load_before},
               {"load_after", load()}});
  const core::Status written = files::write_file(options.json, json.dump(1) + "\n");
  if (!written.ok()) std::cerr << "bench_optimise: " << written.message() << '\n';
  return written.ok() ? 0 : 2;
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--seconds", options.searching.seconds, "of each search (3)")
      ->check(CLI::Range(0.01, 100'000.0));
  app.add_option("--model", options.model, "only those with this in their name, as in '(8,24,'");
  app.add_flag("--span", options.by_span, "what is made small is the span, not the wall");
  app.add_flag("--no-solver", options.no_solver, "search alone");
  app.add_option("--threads", options.searching.solver_threads, "of the solver (2)")
      ->check(CLI::Range(1, 256));
  app.add_option("--seed", options.searching.seed, "of the searches (1)");
  app.add_flag("--against-seconds", options.against_seconds,
               "instead of the table: three models, the best and the bound after 1, 3, 10, 30 and "
               "100 seconds, without the solver and with it");
  app.add_flag("--jitter", options.jitter,
               "instead of the table: orders that are equally good without jitter, under jitter, "
               "and how much faster the one is that was improved on drawn times, for --seconds");
  app.add_flag("--steps", options.steps,
               "with a second table: each order in steps, of the simulator and of the training "
               "runtime, emulated");
  app.add_option(
         "--pytorch", options.pytorch,
         "--steps, also by PyTorch's own loader and simulator: a Python that has it; it may "
         "be named by RIPELINE_PYTORCH")
      ->envname("RIPELINE_PYTORCH");
  app.add_flag("--quick", options.quick, "one model, two memories and short searches");
  app.add_option("--json", options.json, "write every line");
}

}  // namespace
}  // namespace ripeline::bench

int main(int argc, char** argv) {
  ripeline::bench::Options options;
  CLI::App app(
      "What `ripeline optimise` finds beside Zero Bubble's greedy and the schedules of the "
      "library,\n"
      "for models with published costs. A line has the memory that a rank may hold and what the\n"
      "fullest rank holds, in activations of all layers of a rank; the bubble by wall and by "
      "span;\n"
      "and a bound, below which no order with that memory is. Every order is run by the "
      "simulator,\n"
      "and what was searched is proved. The end of the table says where a search loses.\n"
      "In steps a task, a send and a receive take one each, as PyTorch's simulator counts them,\n"
      "which knows no costs; all who count must agree, but for the time that the host is late.");
  ripeline::bench::add_options(app, options);
  app.footer(
      "Examples\n"
      "  bench_optimise --seconds 10 --json lines.json\n"
      "  bench_optimise --against-seconds --model '(8,64,'\n"
      "  bench_optimise --jitter --seconds 4\n"
      "Exit codes: 0 all lines were made, 1 an order is not what its maker claims or takes other\n"
      "steps, 2 bad input, 77 PyTorch cannot be imported.");
  try {
    app.parse(argc, argv);
    return ripeline::bench::run(options);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const std::exception& e) {
    std::cerr << "bench_optimise: " << e.what() << '\n';
    return 1;
  }
}
