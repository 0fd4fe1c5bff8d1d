// ripeline optimise: the best order of a program's tasks for given costs and memory, and how far
// from the best possible it is at most.
#include <array>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/interrupts.h"
#include "cli/memory_curve.h"
#include "cli/optimise_flags.h"
#include "cli/optimised.h"
#include "cli/pictures.h"
#include "cli/race.h"
#include "files/new_file.h"
#include "optimise/certified.h"
#include "optimise/forms.h"
#include "optimise/written_order.h"
#include "simulate/report.h"

namespace ripeline::cli {
namespace {

using optimise::FormSearch;
using optimise::Objective;
using optimise::Problem;
using optimise::Time;

constexpr int kNoneFound = 3;  // as `unknown` of verdicts

const char* name_of(Objective objective) { return objective == Objective::wall ? "wall" : "span"; }

double in_units(const Problem& problem, Time time) {
  return static_cast<double>(time) / static_cast<double>(problem.timing().unit().nanoseconds);
}
std::string text_of(const Problem& problem, Time time) {
  return fmt::format("{:.12g}", in_units(problem, time));
}
double gap_of(Time value, Time bound) {
  return value == 0 ? 0 : static_cast<double>(value - bound) / static_cast<double>(value);
}

std::string counted(std::int64_t n, const char* noun, const char* plural) {
  return fmt::format("{} {}", n, n == 1 ? noun : plural);
}

// What a rank holds at most, of each resource with a capacity, and of what it has room for, in the
// program's amounts. Where these are `parts` times those of --memory, also in the latter.
std::string held_text(const Problem& problem, const optimise::Found& order, double parts) {
  const spec::Program& program = problem.program();
  std::string text;
  for (int resource = 0; resource < size_of(program.resources); ++resource) {
    std::int64_t held = 0;
    std::int64_t room = 0;
    for (int p = 0; p < size_of(program.pools); ++p) {
      const spec::Pool& pool = at(program.pools, p);
      if (pool.resource != resource) continue;
      held = std::max(held, at(order.peaks, p));
      room = std::max(room, pool.capacity.value_or(0));
    }
    if (room == 0) continue;
    const spec::Resource& of = at(program.resources, resource);
    text += fmt::format("{}{} of {} {}{}", text.empty() ? "; a rank holds at most " : ", ", held,
                        room, of.unit.empty() ? "" : of.unit + " of ", of.name);
    if (parts != 1) {
      text += fmt::format(" ({:g} of {:g} as --memory counts)", static_cast<double>(held) / parts,
                          static_cast<double>(room) / parts);
    }
  }
  return text;
}

// Why nothing is below the bound, in plain words, by the formula's name in front of ` of `.
std::string what_binds(const std::string& by) {
  const std::size_t colon = by.find(": ");
  const std::string_view formula = std::string_view(by).substr(colon == by.npos ? 0 : colon + 2);
  constexpr std::array<std::array<std::string_view, 2>, 11> kWords = {{
      {"work ", "work: nobody can be faster than what the busiest rank has to do"},
      {"head ",
       "start-up: until its first gradient comes back, the rank has too little room, or "
       "nothing yet, to be busy"},
      {"head+tail ",
       "start-up, and the way of the last forward down the pipeline and back up; what "
       "makes room for that forward comes before it"},
      {"head+drain ", "start-up, and the way of the last gradient back to rank 0"},
      {"cycle ", "memory: each place is taken for a whole way down and up, one after the other"},
      {"room ", "memory: it is full with what stays for the ways down and up"},
      {"path ", "a chain of tasks that need each other"},
      {"path", "a chain of tasks that need each other"},
      {"messages ", "a link, which carries one message at a time"},
      {"CP-SAT", "everything together: the solver went through all orders"},
      {"parts of it",
       "everything together, in each part of the step: the solver went through all its orders"},
  }};
  for (const auto& [name, words] : kWords) {
    if (formula.substr(0, name.size()) == name) return fmt::format("what binds: {}", words);
  }
  return "";
}

// What was found, in a few sentences.
std::vector<std::string> summary(const Optimised& optimised, const FormSearch& search) {
  const optimise::Form& form = *search.best()->form;
  const Problem& problem = *form.problem;
  const optimise::Found& order = search.best()->order;
  const Time work = problem.work();
  const auto measure = [&](const char* name, Time time) {
    return fmt::format("{} {} (bubble {}, {:.2f} %)", name, text_of(problem, time),
                       text_of(problem, time - work), 100 * gap_of(time, work));
  };
  const std::string model =
      optimised.model.empty() ? "" : fmt::format(", {}, placement {}", optimised.model, form.name);
  const optimise::Bound& bound = search.bound();
  const std::string none = fmt::format(
      "no order{} has a {} below {} ({})",
      optimised.model.empty()
          ? ""
          : (optimised.forms.size() > 1 ? " on any of the placements" : " on this placement"),
      name_of(problem.objective()), text_of(problem, bound.value), bound.by);
  std::vector<std::string> lines = {
      fmt::format("{}, {}{}{}", counted(problem.program().ranks, "rank", "ranks"),
                  counted(problem.microbatches(), "microbatch", "microbatches"), model,
                  held_text(problem, order, optimised.parts[optimised.index_of(form)])),
      measure("wall", order.wall) + "; " + measure("span", order.span),
      search.best_value() == bound.value
          ? "optimal: " + none
          : fmt::format("{}: the best takes at most {:.2f} % less", none,
                        100 * gap_of(search.best_value(), bound.value))};
  if (!optimised.first_layers.empty()) {
    lines.insert(lines.begin() + 1,
                 fmt::format("stages begin with layers {}",
                             fmt::join(optimised.first_layers[optimised.index_of(form)], ", ")));
  }
  return lines;
}

// Lower bounds with room for one microbatch less and one more on each rank. Empty: neither makes
// sense.
std::string beside(const Problem& problem) {
  std::string text;
  for (const int change : {-1, 1}) {
    const auto other = problem.with_room(change);
    if (!other || !other->fits()) continue;
    text += fmt::format(
        "{}{} with room for one microbatch {}",
        text.empty() ? "no order has a " + std::string(name_of(problem.objective())) + " below "
                     : ", and none below ",
        text_of(problem, other->bound().value), change < 0 ? "less" : "more");
  }
  return text.empty() ? "" : text + "\n";
}

// 12 rather than 12.0.
nlohmann::json json_number(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  if (static_cast<double>(whole) == value) return whole;
  return value;
}

nlohmann::json json_of(const OptimiseFlags& command, const Optimised& optimised,
                       const FormSearch& search) {
  const Problem& problem = *optimised.forms.front().problem;
  nlohmann::json j = {
      {"schema", "ripeline.optimise/2"},
      {"ranks", problem.program().ranks},
      {"seed", command.what.times.timing.seed},
      {"costs", command.what.costs},
      {"profile", command.what.times.profile.empty() ? nlohmann::json()
                                                     : nlohmann::json(command.what.times.profile)},
      {"memory",
       command.what.memory.empty() ? nlohmann::json() : nlohmann::json(command.what.memory)},
      {"objective", name_of(problem.objective())},
      {"seconds", search.seconds()},
      {"solver", search.used_solver() ? "cp-sat" : "none"},
      {"progress", nlohmann::json::array()}};
  for (const FormSearch::Improvement& step : search.improvements()) {
    j["progress"].push_back({{"seconds", step.seconds},
                             {"value", json_number(in_units(problem, step.value))},
                             {"bound", json_number(in_units(problem, step.bound))},
                             {"method", step.method}});
  }
  return j;
}

nlohmann::json json_of(const OptimiseFlags& command, const Optimised& optimised,
                       const FormSearch& search, const simulate::ReportedRun& reported) {
  nlohmann::json j = json_of(command, optimised, search);
  const nlohmann::json simulated = nlohmann::json::parse(simulate::report_json(reported, false));
  for (const char* same :
       {"program", "params", "hash", "microbatches", "unit", "wall", "span", "work", "wall_bubble",
        "wall_bubble_rate", "span_bubble", "span_bubble_rate", "peak"}) {
    j[same] = simulated[same];
  }
  const optimise::Form& form = *search.best()->form;
  const Time value = search.best_value();
  const Time bound = search.bound().value;
  j.update(
      {{"status", value == bound ? "optimal" : "feasible"},
       {"bound", json_number(in_units(*form.problem, bound))},
       {"bound_by", search.bound().by},
       {"gap", gap_of(value, bound)},
       {"placement", form.name.empty() ? nlohmann::json() : nlohmann::json(form.name)},
       {"first_layers", optimised.first_layers.empty()
                            ? nlohmann::json()
                            : nlohmann::json(optimised.first_layers[optimised.index_of(form)])},
       {"dispatch", fmt::format("in order {}", optimise::name_of_order(form.problem->program()))}});
  return j;
}

// The exit code.
int say_that_there_is_none(const OptimiseFlags& command, const Optimised& optimised,
                           const FormSearch& search) {
  if (command.format == "json") {
    nlohmann::json j = json_of(command, optimised, search);
    j["status"] = search.fits() ? "none" : "infeasible";
    std::cout << j.dump(2) << '\n';
  }
  std::cerr << (search.fits()
                    ? "ripeline: no order was found, and none was shown to be impossible: try more "
                      "--seconds, another --seed or more memory\n"
                    : "ripeline: no order fits: before a rank releases anything, it must hold more "
                      "than it has room for\n");
  return search.fits() ? kNoneFound : refuted;
}

void say_improvement(const Problem& problem, const FormSearch::Improvement& step) {
  std::cerr << fmt::format("{:>7.2f} s  {} {:<10} bound {:<10} gap {:>6.2f} %  {}\n", step.seconds,
                           name_of(problem.objective()), text_of(problem, step.value),
                           text_of(problem, step.bound), 100 * gap_of(step.value, step.bound),
                           step.method);
}

// A dispatch that chooses among what has arrived may be faster than any order that is safe.
void note_own_dispatch(const FormSearch& search) {
  const Problem& problem = *search.best()->form->problem;
  if (problem.program().dispatch.in_order) return;
  const auto own = problem.of_own_dispatch();
  if (!own) return;
  const Time value = problem.objective() == Objective::wall ? own->wall : own->span;
  if (value >= search.best_value()) return;
  std::cerr << fmt::format(
      "note: with its own dispatch the program has a simulated {} of {}; of the orders that are "
      "proved, none was found below {}\n",
      name_of(problem.objective()), text_of(problem, value), text_of(problem, search.best_value()));
}

// The lines at the top of what is written.
std::vector<std::string> comments_of(const OptimiseFlags& command, const Optimised& optimised,
                                     const std::vector<std::string>& found) {
  const std::uint64_t seed = command.what.times.timing.seed;
  std::vector<std::string> comments = {
      "ripeline optimise " + optimised.command +
      (command.what.objective == Objective::span ? " --objective span" : "") +
      (seed != 1 ? fmt::format(" --seed {}", seed) : "") +
      (command.quantile ? fmt::format(" --quantile {}", *command.quantile) : "")};
  if (!optimised.flags.empty()) {
    comments.push_back("times as with  ripeline simulate FILE " + optimised.flags);
  }
  comments.insert(comments.end(), found.begin(), found.end());
  return comments;
}

// Of a program as it is: the dispatches that it and hints that follow its orders give.
int run_given(const OptimiseFlags& command) {
  if (!command.output.empty() || command.picture.wanted()) {
    return say_failed(
        "--orders given finds no order to write or to draw: leave out -o and --picture");
  }
  const auto read = read_given(command.what);
  if (!read.ok()) return bad_input;
  const GivenProgram& given = read.value();
  const auto raced =
      said(race(given.program, given.microbatches, given.times, race_options(command)));
  if (!raced.ok()) return bad_input;
  std::cerr << fmt::format("note: what is proved here is proved for {}\n",
                           counted(given.microbatches, "microbatch", "microbatches"));
  for (const std::string& note : raced.value().notes) std::cerr << "note: " << note << '\n';
  std::cout << (command.format == "json" ? race_json(given.program, raced.value()).dump(1) + "\n"
                                         : race_text(given.program, raced.value()));
  return ok;
}

bool varies(const Optimised& optimised) {
  if (optimised.times.jitter.draws()) return true;
  simulate::Timing timing;
  const Problem& problem = *optimised.forms.front().problem;
  return simulate::Timing::make(problem.program(), problem.microbatches(), optimised.times, timing)
             .ok() &&
         timing.draws();
}

// Whether times that vary are asked about. Fails by status: what is asked cannot be said.
core::Status decide_race(const OptimiseFlags& command, const Optimised& optimised, bool& races) {
  const bool draws = varies(optimised);
  races = draws && (optimised.times.jitter.draws() || command.seeds || command.quantile);
  if (draws && !races) {
    std::cerr << "note: the profile's spreads are not looked at: --seeds 50 compares what is found "
                 "under them\n";
  }
  if (races && command.every_count) {
    return {core::StatusCode::invalid,
            "--every-count: an order that races is for its number of microbatches alone"};
  }
  if (command.seeds && !draws) {
    return {core::StatusCode::invalid,
            "--seeds: times do not vary: expected --jitter, or a FILE and a profile with spreads"};
  }
  const simulate::RaceOptions options = race_options(command);
  return simulate::fits(options.measure, draws, options.seeds);
}

int run(const OptimiseFlags& command) {
  if (command.given) return run_given(command);
  if (is_memory_range(command.what.memory)) {
    if (!command.output.empty()) {
      return say_failed("-o: a range of --memory has a program for each: expected one memory");
    }
    const bool jitters = !command.what.times.jitter.empty();
    if (jitters || command.seeds || command.quantile) {
      return say_failed(fmt::format("{}: orders race with one memory, not with a range of --memory",
                                    command.quantile ? "--quantile"
                                    : command.seeds  ? "--seeds"
                                                     : "--jitter"));
    }
    return run_memory_curve(
        command.what,
        {.seconds = command.seconds, .solver_threads = command.solver ? command.threads : 0},
        command.picture, command.format == "json");
  }
  const auto read = read_optimised(command.what);
  if (!read.ok()) return bad_input;
  const Optimised& optimised = read.value();
  for (const std::string& note : optimised.notes) std::cerr << "note: " << note << '\n';
  bool races = false;
  const core::Status decided = decide_race(command, optimised, races);
  if (!decided.ok()) return say_failed(decided.message());
  const bool to_file = !command.output.empty() && command.output != "-";
  std::optional<files::NewFile> file;  // opened first: a search is not made for nothing
  if (to_file) file.emplace(command.output);
  if (file && !file->status().ok()) return say_failed(file->status().message());
  const Problem& first = *optimised.forms.front().problem;
  const Interrupts interrupts;
  constexpr double kRaced = .4;  // of the time, for an order that is good where times vary
  FormSearch search(
      optimised.forms,
      {.seconds = command.seconds * (races ? 1 - kRaced : 1),
       .seed = command.what.times.timing.seed,
       .solver_threads = command.solver ? command.threads : 0,
       .go_on = [&] { return !interrupts.told_to_end(); },
       .improved = [&](const FormSearch::Improvement& step) { say_improvement(first, step); }});
  search.run();
  if (!search.no_solver().empty()) {
    std::cerr << fmt::format("note: without the solver: {}\n", search.no_solver());
  }
  if (!search.best()) return say_that_there_is_none(command, optimised, search);
  note_own_dispatch(search);
  const optimise::Form& form = *search.best()->form;
  const std::vector<std::string> found = summary(optimised, search);
  const std::vector<std::string> comments = comments_of(command, optimised, found);
  const optimise::Claim claim{.problem = *form.problem,
                              .source = form.source,
                              .read_file = optimised.read_file,
                              .bound = search.bound_of(form),
                              .order = search.best()->order};
  const auto made = said(optimise::certified(claim, comments));
  if (!made.ok()) return bad_input;
  const auto every =
      command.every_count ? optimise::for_every_count(claim, comments) : std::nullopt;
  const optimise::Certified& certified = made.value();
  std::optional<OrderRace> raced;
  if (races) {
    simulate::RaceOptions racing = race_options(command);
    racing.go_on = [&] { return !interrupts.told_to_end(); };
    auto result =
        race_orders(optimised, *search.best(), racing, kRaced * command.seconds, comments);
    if (result.ok()) {
      raced = std::move(result).value();
    } else if (!interrupts.told_to_end()) {
      return say_failed(result.errors());
    }
  }
  const std::string& text = raced ? raced->text : every ? *every : certified.text;
  if (command.output == "-") std::cout << text;
  std::ostream& out = command.output == "-" ? std::cerr : std::cout;
  const simulate::ReportedRun reported{
      certified.program, certified.facts.facts(), form.problem->microbatches(),
      certified.timing,  certified.run,           certified.record};
  if (command.format == "json") {
    nlohmann::json j = json_of(command, optimised, search, reported);
    if (raced) {
      j["race"] = race_json(raced->program, raced->result);
      j["dispatch"] = raced->dispatch;
    }
    out << j.dump(2) << '\n';
  } else {
    if (interrupts.told_to_end()) {
      out << fmt::format("interrupted after {:.1f} s{}\n", search.seconds(),
                         races && !raced ? ", before all were compared: the best order stays" : "");
    }
    out << fmt::format("{}\n{}\n", fmt::join(found, "\n"), what_binds(search.bound().by))
        << beside(*form.problem)
        << "proved for every timing; the simulator gives the same wall and span\n";
    if (command.every_count) {
      out << (every ? "what is written is proved for other numbers of microbatches too\n"
                    : "it is for this number of microbatches alone: no part of it repeats with one "
                      "microbatch a turn, or that is not proved for every number\n");
    }
    if (raced) out << race_text(raced->program, raced->result);
  }
  if (file) {
    file->write(text);
    if (const core::Status s = file->put(); !s.ok()) return say_failed(s.message());
  }
  if (!said(write_picture_of(command.picture, reported)).ok()) return bad_input;
  if (command.format == "json") return ok;
  if (command.output.empty()) {
    out << "-o FILE writes the program, --picture FILE draws it\n";
  } else if (file) {
    const bool committed = !raced || raced->dispatch.starts_with("in order");
    out << fmt::format("written: {}{}\n", command.output,
                       committed ? fmt::format("; to PyTorch's form with  ripeline export {} -o "
                                               "order.csv",
                                               command.output)
                                 : "");
  }
  return ok;
}

}  // namespace

void add_optimise(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "optimise",
      "search the best order of a step's tasks for costs and memory, with a bound on what is "
      "possible");
  auto options = std::make_shared<OptimiseFlags>();
  add_optimise_flags(*command, *options);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
