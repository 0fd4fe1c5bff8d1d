// ripeline optimise: the best order of F, I and W for given costs and memory, and how far from the
// best possible it is at most.
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/microbatch_flag.h"
#include "cli/numbers.h"
#include "cli/picture_flags.h"
#include "cli/pictures.h"
#include "cli/placements.h"
#include "files/new_file.h"
#include "optimise/bounds/bounds.h"
#include "optimise/certified.h"
#include "optimise/uniform.h"
#include "optimise/written_order.h"
#include "simulate/report.h"

namespace ripeline::cli {
namespace {

using optimise::Objective;
using optimise::Uniform;

struct OptimiseCommand {
  Asked asked;
  std::string output;
  PictureFlags picture;
  std::string format = "text";
};

std::string command_text(const Asked& asked, const Setup& setup) {
  std::string text = fmt::format("ripeline optimise --ranks {} -m {} --costs {}", asked.ranks,
                                 setup.problem.microbatches, fmt::join(asked.costs, ","));
  if (!asked.memory.empty()) text += " --memory " + asked.memory;
  text += fmt::format(" --placement {}", asked.placement == Placements::any ? "any" : setup.name);
  if (asked.objective == Objective::span) text += " --objective span";
  return text + (asked.seed != 1 ? fmt::format(" --seed {}", asked.seed) : "");
}

std::string number(double value) { return fmt::format("{:.12g}", value); }

// Of all layers of a rank.
std::string activations(const Setup& setup, int held) {
  return fmt::format("{:g}", static_cast<double>(held) / optimise::chunks_of(setup.problem));
}

// What was found, in a few sentences.
std::vector<std::string> summary(const Asked& asked, const PlacementSearch& search) {
  const Setup& setup = *search.best()->setup;
  const Uniform& problem = setup.problem;
  const std::int64_t work = std::int64_t{optimise::chunks_of(setup.problem)} *
                            problem.microbatches *
                            (problem.forward + problem.input + problem.weight);
  const auto measure = [&](const char* name, std::int64_t time) {
    return fmt::format("{} {} (bubble {}, {:.2f} %)", name, number(setup.in_units(time)),
                       number(setup.in_units(time - work)),
                       100 * gap_of(static_cast<double>(time), static_cast<double>(work)));
  };
  const PlacementSearch::Bound& bound = search.bound();
  const std::string none =
      fmt::format("no order on {} has a {} below {} ({})",
                  asked.placement == Placements::any ? "either placement" : "this placement",
                  name_of(asked.objective), number(bound.value), bound.by);
  const optimise::FoundOrder& order = search.best()->order;
  return {fmt::format("{} rank{}, {} microbatch{}, costs {}, placement {}; a rank has room for {} "
                      "activation{} and holds at most {}",
                      problem.ranks, problem.ranks == 1 ? "" : "s", problem.microbatches,
                      problem.microbatches == 1 ? "" : "es", fmt::join(asked.costs, ","),
                      setup.name, activations(setup, problem.memory),
                      problem.memory == optimise::chunks_of(setup.problem) ? "" : "s",
                      activations(setup, order.peak)),
          measure("wall", order.wall) + "; " + measure("span", order.span),
          search.best_value() == bound.value
              ? "optimal: " + none
              : fmt::format("{}: the best takes at most {:.2f} % less", none,
                            100 * gap_of(search.best_value(), bound.value))};
}

// Lower bounds with one activation less and one more. Empty: neither makes sense.
std::string beside(const Asked& asked, const Setup& setup) {
  std::string text;
  for (const int change : {-1, 1}) {
    Setup other = setup;
    other.problem.memory += change * optimise::chunks_of(setup.problem);
    if (!optimise::has_order(other.problem) ||
        other.problem.memory > optimise::chunks_of(setup.problem) * other.problem.microbatches) {
      continue;
    }
    const optimise::Bound bound = optimise::lower_bound(other.problem, asked.objective);
    text +=
        fmt::format("{}below {} with {}", text.empty() ? "" : ", and none ",
                    number(setup.in_units(bound.value)), activations(setup, other.problem.memory));
  }
  return text.empty()
             ? ""
             : fmt::format("on this placement none has a {} {}\n", name_of(asked.objective), text);
}

// 12 rather than 12.0.
nlohmann::json json_number(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  if (static_cast<double>(whole) == value) return whole;
  return value;
}

nlohmann::json json_of(const Asked& asked, const PlacementSearch& search) {
  nlohmann::json j = {
      {"schema", "ripeline.optimise/1"},
      {"ranks", asked.ranks},
      {"costs", asked.costs},
      {"memory", asked.memory.empty() ? nlohmann::json() : nlohmann::json(asked.memory)},
      {"seed", asked.seed},
      {"objective", name_of(asked.objective)},
      {"seconds", search.seconds()},
      {"solver", "none"},
      {"progress", nlohmann::json::array()}};
  for (const PlacementSearch::Improvement& step : search.improvements()) {
    j["progress"].push_back({{"seconds", step.seconds},
                             {"makespan", json_number(step.value)},
                             {"bound", json_number(step.bound)},
                             {"method", step.method}});
  }
  return j;
}

nlohmann::json json_of(const Asked& asked, const PlacementSearch& search,
                       const simulate::ReportedRun& reported) {
  nlohmann::json j = json_of(asked, search);
  const nlohmann::json simulated = nlohmann::json::parse(simulate::report_json(reported, false));
  for (const char* same :
       {"program", "params", "hash", "microbatches", "unit", "makespan", "span", "work", "peak"}) {
    j[same] = simulated[same];
  }
  const double value = search.best_value();
  const double bound = search.bound().value;
  const double bubble = value - simulated["work"].get<double>();
  j.update({{"status", value == bound ? "optimal" : "feasible"},
            {"bubble", json_number(bubble)},
            {"bubble_rate", bubble / value},
            {"bound", json_number(bound)},
            {"bound_by", search.bound().by},
            {"gap", gap_of(value, bound)},
            {"placement", search.best()->setup->name},
            {"dispatch", fmt::format("in order {}", optimise::kWrittenOrder)}});
  return j;
}

// The exit code.
int say_that_none_fits(const OptimiseCommand& command, const PlacementSearch& search) {
  if (command.format == "json") {
    nlohmann::json j = json_of(command.asked, search);
    j["status"] = "infeasible";
    std::cout << j.dump(2) << '\n';
  }
  std::cerr << "ripeline: no order fits: each rank holds 1 activation of all its layers at the "
               "least, and --memory is below that\n";
  return refuted;
}

int run(const OptimiseCommand& command) {
  const auto setups = said(setups_of(command.asked));
  if (!setups.ok()) return bad_input;
  const bool to_file = !command.output.empty() && command.output != "-";
  std::optional<files::NewFile> file;  // opened first: a search is not made for nothing
  if (to_file) file.emplace(command.output);
  if (file && !file->status().ok()) return say_failed(file->status().message());
  PlacementSearch search(command.asked, setups.value());
  search.run();
  if (!search.best()) return say_that_none_fits(command, search);
  const Setup& setup = *search.best()->setup;
  const std::vector<std::string> found = summary(command.asked, search);
  std::vector<std::string> comments = {
      command_text(command.asked, setup),
      fmt::format("times as with  ripeline simulate FILE --latency {}", command.asked.costs[3])};
  comments.insert(comments.end(), found.begin(), found.end());
  const auto made = said(optimise::certified({.problem = setup.problem,
                                              .unit = setup.unit,
                                              .objective = command.asked.objective,
                                              .bound = setup.bound,
                                              .order = search.best()->order},
                                             comments));
  if (!made.ok()) return bad_input;
  const optimise::Certified& certified = made.value();
  if (command.output == "-") std::cout << certified.text;
  std::ostream& out = command.output == "-" ? std::cerr : std::cout;
  const simulate::ReportedRun reported{
      certified.program, certified.facts.facts(), setup.problem.microbatches,
      certified.timing,  certified.run,           certified.record};
  if (command.format == "json") {
    out << json_of(command.asked, search, reported).dump(2) << '\n';
  } else {
    if (search.interrupted()) out << fmt::format("interrupted after {:.1f} s\n", search.seconds());
    out << fmt::format("{}\n", fmt::join(found, "\n")) << beside(command.asked, setup)
        << "proved for every timing; the simulator gives the same wall and span\n";
  }
  if (file) {
    file->write(certified.text);
    if (const core::Status s = file->put(); !s.ok()) return say_failed(s.message());
  }
  if (!said(write_picture_of(command.picture, reported)).ok()) return bad_input;
  if (command.format == "json") return ok;
  if (command.output.empty()) {
    out << "-o FILE writes the program, --picture FILE draws it\n";
  } else if (file) {
    out << fmt::format("written: {0}; to PyTorch's form with  ripeline export {0} -o order.csv\n",
                       command.output);
  }
  return ok;
}

}  // namespace

void add_optimise(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "optimise",
      "search the best order of F, I and W for costs and memory, with a bound on what is possible");
  auto options = std::make_shared<OptimiseCommand>();
  command->add_option("--ranks", options->asked.ranks, "ranks (4)")->check(integer_from(1, 1024));
  add_microbatches(*command, options->asked.microbatches, "microbatches of a step (8)");
  command
      ->add_option(
          "--costs", options->asked.costs,
          "of all of a rank's layers, for one microbatch: forward, backward for the input, "
          "backward for the weights; and the latency of a message between ranks (1,1,1,0)")
      ->type_name("F,I,W,C")
      ->delimiter(',');
  command
      ->add_option("--memory", options->asked.memory,
                   "activations of all its layers that a rank may hold, each from F to W (as many "
                   "as there are ranks, which is what 1F1B holds)")
      ->type_name("NUMBER");
  add_choice<Placements, Placements>(
      *command, "--placement", options->asked.placement,
      {{"chain", Placements::chain}, {"v", Placements::v}, {"any", Placements::any}},
      "chain: one stage on a rank; v: two of half the layers, down the ranks and back up; any: the "
      "better one (chain)");
  add_choice<Objective, Objective>(
      *command, "--objective", options->asked.objective,
      {{"wall", Objective::wall}, {"span", Objective::span}},
      "what is made small: the whole step, or the longest of a rank from its own first task on "
      "(wall)");
  command->add_option("--seconds", options->asked.seconds, "time to search (10)")
      ->check(number_from_zero());
  command->add_option("--seed", options->asked.seed, "of the search (1)")
      ->check(integer_from(0, std::numeric_limits<std::int64_t>::max()));
  command->add_option("-o,--output", options->output,
                      "the program to write, or - for standard output");
  add_picture(*command, options->picture);
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  command->footer(
      "Examples\n"
      "  ripeline optimise --ranks 8 -m 24 --costs 24,23,12,1 --memory 7 -o best.ripe\n"
      "  ripeline optimise --ranks 8 -m 24 --costs 24,23,12,1 --memory 4 --placement any\n"
      "Standard error has each improvement with its time, the bound and the gap. It ends when the\n"
      "gap is 0, which is an optimum, or when the time is over; Ctrl-C ends it with the best so\n"
      "far. What is written is proved and timed by the simulator.\n"
      "Exit codes: 0 found and proved, 1 no order fits the memory, 2 bad input.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
