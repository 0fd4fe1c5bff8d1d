// ripeline optimise: the best order of a program's tasks for given costs and memory, and how far
// from the best possible it is at most.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
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
#include "cli/progress.h"
#include "core/vocabulary/plural.h"
#include "files/new_file.h"
#include "optimise/certified.h"
#include "optimise/forms.h"
#include "optimise/racing/order_race.h"
#include "optimise/racing/race_report.h"
#include "optimise/search_report.h"
#include "optimise/what_binds.h"
#include "pytorch/export.h"
#include "simulate/report.h"

namespace ripeline::cli {
namespace {

using optimise::FormSearch;
using optimise::Objective;
using optimise::Problem;

constexpr int kNoneFound = 3;  // as `unknown` of verdicts

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

// With progress on standard error.
spec::Result<optimise::RaceResult> race(const spec::Program& program, int microbatches,
                                        const simulate::TimingOptions& times,
                                        const optimise::RaceOptions& options) {
  optimise::RaceResult result;
  const Progress progress("racing dispatches of " + program.name);
  const core::Status status = optimise::race(program, microbatches, times, options, result);
  if (!status.ok()) return failure(status.message());
  return result;
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
                           plural(given.microbatches, "microbatch"));
  for (const std::string& note : raced.value().notes) std::cerr << "note: " << note << '\n';
  std::cout << (command.format == "json"
                    ? optimise::race_json(given.program, raced.value()).dump(1) + "\n"
                    : optimise::race_text(given.program, raced.value()));
  return ok;
}

int run_range(const OptimiseFlags& command) {
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
  const optimise::RaceOptions options = race_options(command);
  return optimise::fits(options.measure, draws, options.seeds);
}

// An order that was found, raced against others.
struct Raced {
  optimise::OrderRace race;
  optimise::RaceResult result;
  optimise::PickedDispatch pick;
};

// A search for one memory, and what becomes of its result.
class OneMemory {
 public:
  OneMemory(const OptimiseFlags& command, const Optimised& optimised, bool races, Budget& budget)
      : command_(command),
        optimised_(optimised),
        first_(*optimised.forms.front().problem),
        budget_(budget),
        races_(races),
        kept_for_race_(races ? kRaced * command.seconds : 0) {}

  // The exit code. `file` is to be written, if there is one.
  int run(files::NewFile* file) {
    budget_.keep(kept_for_race_);
    search_.emplace(optimised_.forms, search_options());
    search_->run();
    if (!search_->no_solver().empty()) {
      std::cerr << fmt::format("note: without the solver: {}\n", search_->no_solver());
    }
    own_ = command_.what.file.empty() ? std::nullopt : first_.of_own_dispatch();
    const optimise::OwnDispatch own = optimise::own_dispatch(first_, own_, *search_);
    if (own == optimise::OwnDispatch::unproved) {
      std::cerr << "note: " << optimise::text_of_unproved_own(first_, *own_) << '\n';
    }
    const bool own_stays = own == optimise::OwnDispatch::stays;
    if (own_stays || !search_->best()) return say_that_nothing_is_written(own_stays);
    return end(file);
  }

 private:
  // The part of the time for an order that is good where times vary.
  static constexpr double kRaced = .4;

  FormSearch::Options search_options() {
    return {.seconds = budget_.left(),
            .seed = command_.what.times.timing.seed,
            .solver_threads = command_.solver ? command_.threads : 0,
            .go_on = [this] { return !interrupts_.told_to_end() && !budget_.is_over(); },
            .improved =
                [this](const FormSearch::Improvement& step) {
                  std::cerr << optimise::improvement_text(first_, step);
                  if (std::exchange(is_first_, false)) {
                    budget_.keep(kept_for_race_ + seconds_to_end());
                  }
                },
            .others = optimised_.other_cuts};
  }

  // The seconds that the proof of an order, its run and its report take, tried with the one that
  // there is.
  double seconds_to_end() {
    if (budget_.is_over()) return 0;
    const double begun = budget_.gone();
    const optimise::Claim claim = optimise::claim_of(*search_, optimised_.read_file);
    const bool made = optimise::certified(claim, {}).ok();
    if (made) (void)optimise::bounds_beside(optimised_, claim.problem, claim.bound);
    return budget_.gone() - begun;
  }

  [[nodiscard]] optimise::ReportedSearch reported(bool own_stays) const {
    return {.asked = optimised_,
            .search = *search_,
            .own = own_,
            .own_stays = own_stays,
            .seed = command_.what.times.timing.seed,
            .costs = command_.what.costs,
            .profile = command_.what.times.profile,
            .memory = command_.what.memory};
  }

  int say_that_nothing_is_written(bool own_stays) {
    if (command_.format == "json") {
      std::cout << optimise::search_json(reported(own_stays)).dump(2) << '\n';
    }
    say_failed(own_stays ? optimise::text_of_own_that_stays(first_, *search_, *own_)
                         : optimise::text_of_none(*search_));
    return own_stays || search_->fits() ? kNoneFound : refuted;
  }

  // Proves the best order, races it if that was asked for, and writes and says what there is.
  int end(files::NewFile* file) {
    const std::vector<std::string> found = optimise::search_summary(optimised_, *search_);
    const std::vector<std::string> comments = comments_of(command_, optimised_, found);
    const optimise::Claim claim = optimise::claim_of(*search_, optimised_.read_file);
    const auto made = said(optimise::certified(claim, comments));
    if (!made.ok()) return bad_input;
    const optimise::Certified& certified = made.value();
    if (command_.every_count) every_ = optimise::for_every_count(claim, comments);
    if (races_) {
      auto raced = race_orders(claim, certified, comments);
      if (raced.ok()) {
        raced_ = std::move(raced).value();
      } else if (!interrupts_.told_to_end()) {
        return say_failed(raced.errors());
      }
    }
    const std::string& text = raced_ ? raced_->pick.text : every_ ? *every_ : certified.text;
    if (command_.output == "-") std::cout << text;
    std::ostream& out = command_.output == "-" ? std::cerr : std::cout;
    const simulate::ReportedRun run{
        certified.program, certified.facts.facts(), claim.problem.microbatches(),
        certified.timing,  certified.run,           certified.record};
    if (command_.format == "json") {
      out << json_of(run).dump(2) << '\n';
    } else {
      say(out, claim, found);
    }
    if (file != nullptr) {
      file->write(text);
      if (const core::Status s = file->put(); !s.ok()) return say_failed(s.message());
    }
    if (!said(write_picture_of(command_.picture, run)).ok()) return bad_input;
    if (command_.format != "json") say_where(out, certified.program, claim.problem.microbatches());
    return ok;
  }

  // The order is improved with what the budget has left beyond the race itself. Whether it goes on
  // is asked then too: if not, there is an error.
  spec::Result<Raced> race_orders(const optimise::Claim& claim,
                                  const optimise::Certified& certified,
                                  const std::vector<std::string>& comments) {
    optimise::RaceOptions options = race_options(command_);
    options.go_on = [this] { return !interrupts_.told_to_end(); };
    budget_.keep(0);
    const int microbatches = claim.problem.microbatches();
    const double for_race =
        optimise::seconds_of_race(certified, microbatches, optimised_.times, options.seeds);
    auto orders = optimise::order_race(
        claim, optimised_.times, [&] { return options.go_on() && budget_.left() > for_race; });
    if (!orders.ok()) return orders.errors();
    auto result = race(orders.value().program, microbatches, optimised_.times, options);
    if (!result.ok()) return result.errors();
    auto pick = optimise::picked_dispatch(claim, orders.value(), result.value(), optimised_.times,
                                          comments);
    if (!pick.ok()) return pick.errors();
    return Raced{.race = std::move(orders).value(),
                 .result = std::move(result).value(),
                 .pick = std::move(pick).value()};
  }

  [[nodiscard]] nlohmann::json json_of(const simulate::ReportedRun& run) const {
    nlohmann::json j = optimise::search_json(reported(false), run);
    if (raced_) {
      j["race"] = optimise::race_json(raced_->race.program, raced_->result);
      j["dispatch"] = raced_->pick.dispatch;
    }
    return j;
  }

  void say(std::ostream& out, const optimise::Claim& claim,
           const std::vector<std::string>& found) const {
    if (interrupts_.told_to_end()) {
      out << fmt::format(
          "interrupted after {:.1f} s{}\n", search_->seconds(),
          races_ && !raced_ ? ", before all were compared: the best order stays" : "");
    }
    const bool is_reached = search_->best_value() == search_->bound().value;
    out << fmt::format(
               "{}\n{}", fmt::join(found, "\n"),
               optimise::what_binds(*search_->bounding().problem, search_->bound(), is_reached))
        << optimise::bounds_beside(optimised_, claim.problem, claim.bound)
        << "proved for every timing; the simulator gives the same wall and span\n";
    if (command_.every_count) {
      out << (every_
                  ? "what is written is proved for other numbers of microbatches too\n"
                  : "it is for this number of microbatches alone: no part of it repeats with one "
                    "microbatch a turn, or that is not proved for every number\n");
    }
    if (raced_) out << optimise::race_text(raced_->race.program, raced_->result);
  }

  // Where the program is, or how to get it.
  void say_where(std::ostream& out, const spec::Program& program, int microbatches) const {
    if (command_.output.empty()) {
      out << "-o FILE writes the program, --picture FILE draws it\n";
      return;
    }
    if (command_.output == "-") return;
    const bool committed = !raced_ || raced_->pick.in_order;
    const bool has_torch_form = committed && pytorch::has_actions(program, microbatches);
    const std::string count = every_ ? fmt::format(" -m {}", microbatches) : "";
    out << fmt::format(
        "written: {}{}\n", command_.output,
        has_torch_form ? fmt::format("; to PyTorch's form with  ripeline export {}{} -o order.csv",
                                     command_.output, count)
                       : "");
  }

  const OptimiseFlags& command_;
  const Optimised& optimised_;
  const Problem& first_;
  Budget& budget_;
  const bool races_;
  const double kept_for_race_;  // seconds
  const Interrupts interrupts_;
  bool is_first_ = true;  // the next improvement
  std::optional<FormSearch> search_;
  std::optional<optimise::Found> own_;
  std::optional<std::string> every_;
  std::optional<Raced> raced_;
};

int run(const OptimiseFlags& command) {
  Budget budget(command.seconds);
  if (command.given) return run_given(command);
  if (is_memory_range(command.what.memory)) return run_range(command);
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
  return OneMemory(command, optimised, races, budget).run(file ? &*file : nullptr);
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
