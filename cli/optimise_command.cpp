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
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/budget.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/interrupts.h"
#include "cli/memory_curve.h"
#include "cli/optimise_flags.h"
#include "cli/optimised.h"
#include "cli/pictures.h"
#include "cli/race.h"
#include "cli/what_binds.h"
#include "files/new_file.h"
#include "optimise/certified.h"
#include "optimise/forms.h"
#include "optimise/written_order.h"
#include "pytorch/export.h"
#include "simulate/report.h"

namespace ripeline::cli {
namespace {

using optimise::FormSearch;
using optimise::Objective;
using optimise::Problem;
using optimise::Time;

constexpr int kNoneFound = 3;  // as `unknown` of verdicts

double in_units(const Problem& problem, Time time) {
  return static_cast<double>(time) / static_cast<double>(problem.timing().unit().nanoseconds);
}
std::string text_of(const Problem& problem, Time time) {
  return fmt::format("{:.12g}", in_units(problem, time));
}
Time value_of(const Problem& problem, const optimise::Found& order) {
  return problem.objective() == Objective::wall ? order.wall : order.span;
}
double gap_of(Time value, Time bound) {
  return value == 0 ? 0 : static_cast<double>(value - bound) / static_cast<double>(value);
}

std::string counted(std::int64_t n, const char* noun, const char* plural) {
  return fmt::format("{} {}", n, n == 1 ? noun : plural);
}

// The most that a rank, or a stage, holds of each resource with a capacity, and the room that it
// has, in the program's amounts. Where these are `parts` times those of --memory, also in the
// latter.
std::string held_text(const Problem& problem, const optimise::Found& order, double parts) {
  const spec::Program& program = problem.program();
  std::string text;
  std::string last_owner;
  for (int resource = 0; resource < size_of(program.resources); ++resource) {
    std::int64_t held = 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = 0;
    for (int p = 0; p < size_of(program.pools); ++p) {
      const spec::Pool& pool = at(program.pools, p);
      if (pool.resource != resource || !pool.capacity) continue;
      held = std::max(held, at(order.peaks, p));
      least = std::min(least, *pool.capacity);
      most = std::max(most, *pool.capacity);
    }
    if (most == 0) continue;
    const spec::Resource& of = at(program.resources, resource);
    const std::string owner = of.per_rank ? "a rank" : "a stage";
    text += owner == last_owner ? ", " : fmt::format("; {} holds at most ", owner);
    last_owner = owner;
    const std::string what = (of.unit.empty() ? "" : of.unit + " of ") + of.name;
    text += least == most ? fmt::format("{} of {} {}", held, most, what)
                          : fmt::format("{} {} with room for {} to {}", held, what, least, most);
    if (parts != 1) {
      text += fmt::format(" ({:g} of {:g} as --memory counts)", static_cast<double>(held) / parts,
                          static_cast<double>(most) / parts);
    }
  }
  return text;
}

// The orders that a bound speaks of.
std::string among_which(const Optimised& optimised) {
  if (optimised.model.empty()) return "of this program";
  const bool several = optimised.forms.front().name != optimised.forms.back().name;
  return several ? "on any of the placements with this memory"
                 : "on this placement with this memory";
}

// The bound, which orders it is for, and how far the best may be below what was found.
std::string bound_text(const Optimised& optimised, const FormSearch& search) {
  const Problem& problem = *search.best()->form->problem;
  const optimise::Bound& bound = search.bound();
  const std::string none =
      fmt::format("no {}order {} has a {} below {} ({})",
                  optimised.is_cut ? "cut of the layers and no " : "", among_which(optimised),
                  name_of(problem.objective()), text_of(problem, bound.value), bound.by);
  if (search.best_value() == bound.value) return "optimal: " + none;
  return fmt::format("{}: the best takes at most {:.2f} % less", none,
                     100 * gap_of(search.best_value(), bound.value));
}

// The bound of the cut that was found, where it is above that of all cuts; else empty.
std::string text_of_cut(const Optimised& optimised, const FormSearch& search) {
  const Problem& problem = *search.best()->form->problem;
  const optimise::Bound& bound = search.bound_of(*search.best()->form);
  if (!optimised.is_cut || bound.value <= search.bound().value) return "";
  return fmt::format("{}no order of these stages has a {} below {} ({})",
                     search.best_value() == bound.value ? "optimal for this cut: " : "",
                     name_of(problem.objective()), text_of(problem, bound.value), bound.by);
}

// The search's result, in a few sentences.
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
  std::vector<std::string> lines = {
      fmt::format("{}, {}{}{}", counted(problem.program().ranks, "rank", "ranks"),
                  counted(problem.microbatches(), "microbatch", "microbatches"), model,
                  held_text(problem, order, optimised.parts[optimised.index_of(form)])),
      measure("wall", order.wall) + "; " + measure("span", order.span),
      bound_text(optimised, search)};
  if (!optimised.first_layers.empty()) {
    lines.insert(lines.begin() + 1,
                 fmt::format("stages begin with layers {}",
                             fmt::join(optimised.first_layers[optimised.index_of(form)], ", ")));
  }
  if (const std::string text = text_of_cut(optimised, search); !text.empty()) {
    lines.push_back(text);
  }
  return lines;
}

// Lower bounds with room for one microbatch less and one more, for the stages of what was found.
// With less nothing is below the bound that is known with what there is. Empty: neither makes
// sense.
std::string beside(const Optimised& optimised, const Problem& problem,
                   const optimise::Bound& known) {
  const char* const among = optimised.model.empty() ? "of this program"
                            : optimised.is_cut      ? "of these stages"
                                                    : "on this placement";
  std::string text;
  for (const int change : {-1, 1}) {
    const auto other = problem.with_room(change);
    if (!other || !other->fits()) continue;
    const Time bound = std::max(other->bound().value, change < 0 ? known.value : 0);
    text += fmt::format("{}{} with room for one microbatch {}",
                        text.empty() ? fmt::format("no order {} has a {} below ", among,
                                                   name_of(problem.objective()))
                                     : ", and none below ",
                        text_of(problem, bound), change < 0 ? "less" : "more");
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
                       const FormSearch& search, const std::optional<optimise::Found>& own) {
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
      {"own", own ? json_number(in_units(problem, value_of(problem, *own))) : nlohmann::json()},
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
                       const FormSearch& search, const std::optional<optimise::Found>& own,
                       const simulate::ReportedRun& reported) {
  nlohmann::json j = json_of(command, optimised, search, own);
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
       {"cut_bound", optimised.is_cut
                         ? json_number(in_units(*form.problem, search.bound_of(form).value))
                         : nlohmann::json()},
       {"cut_bound_by",
        optimised.is_cut ? nlohmann::json(search.bound_of(form).by) : nlohmann::json()},
       {"placement", form.name.empty() ? nlohmann::json() : nlohmann::json(form.name)},
       {"first_layers", optimised.first_layers.empty()
                            ? nlohmann::json()
                            : nlohmann::json(optimised.first_layers[optimised.index_of(form)])},
       {"dispatch", fmt::format("in order {}", optimise::name_of_order(form.problem->program()))}});
  return j;
}

// The exit code.
int say_that_there_is_none(const OptimiseFlags& command, const Optimised& optimised,
                           const FormSearch& search, const std::optional<optimise::Found>& own) {
  if (command.format == "json") {
    nlohmann::json j = json_of(command, optimised, search, own);
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

// A FILE's own dispatch chooses among what has arrived, and may be faster than any order that is
// safe. Whether it is to be kept then: it is faster than all that was found, and proved. What
// deadlocks under other timings is nothing to keep.
bool keeps_own_dispatch(const Problem& problem, const std::optional<optimise::Found>& own,
                        const FormSearch& search) {
  if (!own || (search.best() && search.best_value() <= value_of(problem, *own))) return false;
  if (problem.is_own_dispatch_safe()) return true;
  std::cerr << fmt::format(
      "note: with its own dispatch the program has a simulated {} of {}, but that is not proved "
      "for "
      "every timing\n",
      name_of(problem.objective()), text_of(problem, value_of(problem, *own)));
  return false;
}

// Why the order of the own run is not what was found.
std::string why_not_own_order(const Problem& problem, const optimise::Found& own) {
  const auto committed = problem.timed(own.rows);
  if (!committed) {
    return "The order of that run, with each stage's microbatches in turn, does not run to its end";
  }
  const Time value = value_of(problem, *committed);
  if (value > value_of(problem, own)) {
    return fmt::format("The order of that run takes {} where ranks commit to it",
                       text_of(problem, value));
  }
  return "The order of that run is not proved for every timing where ranks commit to it";
}

// The exit code.
int say_that_own_dispatch_stays(const OptimiseFlags& command, const Optimised& optimised,
                                const FormSearch& search, const optimise::Found& own) {
  const Problem& problem = *optimised.forms.front().problem;
  if (command.format == "json") {
    nlohmann::json j = json_of(command, optimised, search, own);
    j["status"] = "none";
    std::cout << j.dump(2) << '\n';
  }
  std::cerr << fmt::format(
      "ripeline: nothing is written: with its own dispatch, which is proved, the program has a {} "
      "of {}, and {}. {}.\n",
      name_of(problem.objective()), text_of(problem, value_of(problem, own)),
      search.best() ? "the best order that was found and is proved takes " +
                          text_of(problem, search.best_value())
                    : "no order was found that is proved",
      why_not_own_order(problem, own));
  return kNoneFound;
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

// Races the dispatches of a program as it is: its own, and those of hints that follow its orders.
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

optimise::Claim claim_of(const Optimised& optimised, const FormSearch& search) {
  const optimise::Form& form = *search.best()->form;
  return {.problem = *form.problem,
          .source = form.source,
          .read_file = optimised.read_file,
          .bound = search.bound_of(form),
          .order = search.best()->order};
}

// The seconds that the proof of an order, its run and its report take, tried with the one that
// there is.
double seconds_to_end(const Optimised& optimised, const FormSearch& search, const Budget& budget) {
  if (budget.is_over()) return 0;
  const double begun = budget.gone();
  const optimise::Claim claim = claim_of(optimised, search);
  const bool made = optimise::certified(claim, {}).ok();
  if (made) (void)beside(optimised, claim.problem, claim.bound);
  return budget.gone() - begun;
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
  Budget budget(command.seconds);
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
  constexpr double kRaced = .4;  // the part of the time for an order that is good where times vary
  const double for_race = races ? kRaced * command.seconds : 0;
  budget.keep(for_race);
  bool is_first = true;
  FormSearch search(optimised.forms,
                    {.seconds = budget.left(),
                     .seed = command.what.times.timing.seed,
                     .solver_threads = command.solver ? command.threads : 0,
                     .go_on = [&] { return !interrupts.told_to_end() && !budget.is_over(); },
                     .improved =
                         [&](const FormSearch::Improvement& step) {
                           say_improvement(first, step);
                           if (std::exchange(is_first, false)) {
                             budget.keep(for_race + seconds_to_end(optimised, search, budget));
                           }
                         },
                     .others = optimised.other_cuts});
  search.run();
  if (!search.no_solver().empty()) {
    std::cerr << fmt::format("note: without the solver: {}\n", search.no_solver());
  }
  const auto own = command.what.file.empty() ? std::nullopt : first.of_own_dispatch();
  if (keeps_own_dispatch(first, own, search)) {
    return say_that_own_dispatch_stays(command, optimised, search, *own);
  }
  if (!search.best()) return say_that_there_is_none(command, optimised, search, own);
  const optimise::Form& form = *search.best()->form;
  const std::vector<std::string> found = summary(optimised, search);
  const std::vector<std::string> comments = comments_of(command, optimised, found);
  const optimise::Claim claim = claim_of(optimised, search);
  const auto made = said(optimise::certified(claim, comments));
  if (!made.ok()) return bad_input;
  const auto every =
      command.every_count ? optimise::for_every_count(claim, comments) : std::nullopt;
  const optimise::Certified& certified = made.value();
  std::optional<OrderRace> raced;
  if (races) {
    simulate::RaceOptions racing = race_options(command);
    racing.go_on = [&] { return !interrupts.told_to_end(); };
    budget.keep(0);
    auto result = race_orders(optimised, *search.best(), certified, racing, budget, comments);
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
    nlohmann::json j = json_of(command, optimised, search, own, reported);
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
    const bool is_reached = search.best_value() == search.bound().value;
    out << fmt::format("{}\n{}", fmt::join(found, "\n"),
                       what_binds(*search.bounding().problem, search.bound(), is_reached))
        << beside(optimised, *form.problem, search.bound_of(form))
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
    const bool has_torch_form =
        committed && spec::has_actions(certified.program, form.problem->microbatches());
    const std::string count = every ? fmt::format(" -m {}", form.problem->microbatches()) : "";
    out << fmt::format(
        "written: {}{}\n", command.output,
        has_torch_form ? fmt::format("; to PyTorch's form with  ripeline export {}{} -o order.csv",
                                     command.output, count)
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
