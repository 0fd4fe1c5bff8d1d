// ripeline tune: which dispatch of a program is the fastest under given times.
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/microbatch_flag.h"
#include "cli/numbers.h"
#include "cli/progress.h"
#include "cli/run_command.h"
#include "cli/time_flags.h"
#include "optimise/tune.h"

namespace ripeline::cli {
namespace {

using nlohmann::json;
using simulate::Gain;
using simulate::Trial;
using simulate::TuneResult;

constexpr int kMostTuned = 1'000'000;  // microbatches of a step

struct TuneCommand {
  std::string file;
  ProgramOptions program;
  std::optional<Counts> microbatches;
  int seeds = 50;
  TimeFlags times;
  std::string format = "text";
};

std::string name_of(const Trial& trial) {
  return trial.candidate.dispatch + (trial.candidate.pyramid ? ", inputs pyramid" : "");
}

std::string interval(const Gain& gain) {
  return fmt::format("{:.3f} to {:.3f}", gain.low, gain.high);
}

// Of each resource, what it held: 8 7 6 5 activation.
std::string held(const spec::Program& program, const std::vector<std::int64_t>& peaks) {
  std::string text;
  for (std::size_t resource = 0; resource < program.resources.size(); ++resource) {
    std::vector<std::int64_t> of;
    for (std::size_t pool = 0; pool < peaks.size(); ++pool) {
      if (program.pools[pool].resource == static_cast<int>(resource)) of.push_back(peaks[pool]);
    }
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", program.resources[resource].name,
                        fmt::join(of, " "));
  }
  return text;
}

// As much as a line of the table has room for; the JSON has the whole.
std::string in_short(const Trial& trial) {
  constexpr std::size_t kMostBytes = 60;
  const std::string excluded = trial.excluded.value_or("");
  const std::string line = excluded.substr(0, excluded.find('\n'));
  if (line.size() <= kMostBytes) return line;
  return line.substr(0, line.rfind(' ', kMostBytes)) + " …";
}

std::string text_of(const spec::Program& program, const TuneResult& tuning) {
  const Trial& baseline = tuning.trials.front();
  std::size_t width = 0;
  for (const Trial& trial : tuning.trials) width = std::max(width, name_of(trial).size());
  std::string text = fmt::format(
      "{}: {} ranks, {} microbatches, seeds {} to {}\n  {:<{}}   faster by (95 %)"
      "                time   notices\n",
      program.name, program.ranks, program.microbatches.min, tuning.seed,
      tuning.seed + static_cast<std::uint64_t>(tuning.seeds) - 1, "", width);
  for (const Trial& trial : tuning.trials) {
    const bool is_baseline = &trial == &baseline;
    text += fmt::format("  {:<{}}   ", name_of(trial), width);
    const std::string why = in_short(trial);
    if (trial.end != simulate::End::ended) {
      text += why + "\n";
      continue;
    }
    text += is_baseline ? fmt::format("{:<22}", "1")
                        : fmt::format("{:.3f} ({})", trial.gain.ratio, interval(trial.gain));
    text += fmt::format("   {:>10.5g}   {:>7.2f}", trial.time, trial.notices);
    text += (why.empty() ? "" : "   " + why) + "\n";
  }
  text += "held by " + name_of(baseline) + ": " + held(program, baseline.peaks) + "\n";
  if (!tuning.pick) {
    return text + fmt::format(
                      "keep `{}`: nothing that is proved and holds no more is faster "
                      "beyond doubt\n",
                      name_of(baseline));
  }
  const Trial& pick = tuning.trials[*tuning.pick];
  const auto seeds = static_cast<std::uint64_t>(tuning.seeds);
  text += "held by " + name_of(pick) + ": " + held(program, pick.peaks) + "\n";
  text += fmt::format("take `{}`: {:.3f} times as fast ({}) on seeds {} to {}\n", name_of(pick),
                      tuning.measured.ratio, interval(tuning.measured), tuning.seed + seeds,
                      tuning.seed + 2 * seeds - 1);
  if (pick.candidate.pyramid) text += "  inputs pyramid;\n";
  if (!pick.candidate.hint.empty()) text += "  " + pick.candidate.hint + "\n";
  return text + "  dispatch " + pick.candidate.dispatch + ";\n";
}

std::string name_of(simulate::End end) {
  constexpr const char* kNames[] = {"ended", "stuck", "breach", "refused"};
  return kNames[static_cast<std::size_t>(end)];
}

json object_of(const Gain& gain) {
  return {{"ratio", gain.ratio}, {"low", gain.low}, {"high", gain.high}, {"runs", gain.runs}};
}

json object_of(const spec::Program& program, const Trial& trial) {
  json j = {{"dispatch", trial.candidate.dispatch},
            {"hint", trial.candidate.hint},
            {"inputs",
             trial.candidate.program.inputs == spec::InputOrder::pyramid ? "pyramid" : "natural"},
            {"verdict", verify::name_of(trial.verdict)},
            {"end", name_of(trial.end)},
            {"excluded", trial.excluded.value_or("")}};
  if (trial.end != simulate::End::ended) return j;
  j["gain"] = object_of(trial.gain);
  j["time"] = trial.time;
  j["notices_per_task"] = trial.notices;
  j["peak"] = json::object();
  for (std::size_t pool = 0; pool < trial.peaks.size(); ++pool) {
    const auto resource = static_cast<std::size_t>(program.pools[pool].resource);
    j["peak"][program.resources[resource].name].push_back(trial.peaks[pool]);
  }
  return j;
}

json json_of(const spec::Program& program, const TuneResult& tuning) {
  json j = {{"schema", "ripeline.tune/1"}, {"program", program.name},
            {"params", json::object()},    {"hash", spec::hash_text(program.hash)},
            {"ranks", program.ranks},      {"microbatches", program.microbatches.min},
            {"seed", tuning.seed},         {"seeds", tuning.seeds},
            {"trials", json::array()},     {"pick", nullptr}};
  for (const auto& [name, value] : program.params) j["params"][name] = value;
  for (const Trial& trial : tuning.trials) j["trials"].push_back(object_of(program, trial));
  if (tuning.pick) {
    j["pick"] = {{"trial", *tuning.pick},
                 {"dispatch", tuning.trials[*tuning.pick].candidate.dispatch},
                 {"gain", object_of(tuning.measured)}};
  }
  return j;
}

int run(const TuneCommand& command) {
  const auto compiled = load(command.file, command.program);
  if (!compiled.ok()) return bad_input;
  const LoadedProgram& loaded = compiled.value();
  const auto count = count_of_step(command.microbatches, loaded.program);
  if (!count.ok()) return say_failed(count.errors());
  const int microbatches = count.value();
  if (microbatches > kMostTuned) {
    return say_failed(fmt::format("-m {}: expected 1 to {}", microbatches, kMostTuned));
  }
  const spec::Program program = for_one_count(loaded.program, microbatches);
  const auto simulated = check_simulated(program);
  if (!simulated.ok()) return say_failed(simulated.errors());
  const auto times = read_timing(command.times);
  if (!times.ok()) return say_failed(times.errors());
  TuneResult tuning;
  const core::Status status = [&] {
    const Progress progress("tuning " + program.name);
    return simulate::tune(program, microbatches, times.value(), command.seeds, tuning);
  }();
  if (!status.ok()) return say_failed(status.message());
  std::cerr << fmt::format("note: what is proved here is proved for {} microbatch{}\n",
                           microbatches, microbatches == 1 ? "" : "es");
  for (const std::string& note : tuning.notes) std::cerr << "note: " << note << '\n';
  std::cout << (command.format == "json" ? json_of(program, tuning).dump(1) + "\n"
                                         : text_of(program, tuning));
  return ok;
}

}  // namespace

void add_tune(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "tune",
      "pick the fastest dispatch for given times: the program's own, another order or a hint");
  auto options = std::make_shared<TuneCommand>();
  command->add_option("FILE", options->file, kFileHelp)->required();
  add_program_options(*command, options->program);
  add_microbatches(*command, options->microbatches,
                   "microbatches of the step, for which candidates are proved too");
  command
      ->add_option("--seeds", options->seeds,
                   "runs of each candidate (50); the pick is measured on as many others")
      ->check(integer_from(2, 1'000'000));
  add_times(*command, options->times);
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  command->footer(
      "Example\n"
      "  ripeline tune zb_h2 -D ranks=8 -m 32 --latency 0.05 --jitter tails=2:20,fifo\n"
      "Candidates are the program's orders and hints, and hints that follow its orders and wait "
      "in\n"
      "several ways. All meet the same draws as the program's own dispatch, which stays if nothing "
      "is\n"
      "faster beyond doubt. What is not proved, or holds more on some rank than that, is shown "
      "and\n"
      "never picked. Seeds begin at --seed.\n"
      "Exit codes: 0 done, 2 bad input, or a program whose own dispatch is not proved.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
