#include "cli/race.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/failure.h"
#include "cli/progress.h"
#include "optimise/steady.h"
#include "optimise/written_order.h"
#include "simulate/simulator.h"
#include "simulate/table_arbiter.h"
#include "spec/amounts.h"
#include "spec/elaborate.h"
#include "verify/verify.h"

namespace ripeline::cli {
namespace {

using nlohmann::json;
using simulate::Gain;
using simulate::RaceResult;
using simulate::Trial;

std::string name_of(const Trial& trial) {
  return trial.candidate.dispatch + (trial.candidate.pyramid ? ", inputs pyramid" : "");
}

std::string interval(const Gain& gain) {
  return fmt::format("{:.3f} to {:.3f}", gain.low, gain.high);
}

// Empty for the usual one.
std::string by_measure(const RaceResult& result) {
  return result.measure.percentile ? " by the " + name_of(result.measure) : "";
}

// The peaks of each resource's pools: activation 8 7 6 5.
std::string held(const spec::Program& program, const std::vector<std::int64_t>& peaks) {
  std::string text;
  for (std::size_t resource = 0; resource < program.resources.size(); ++resource) {
    std::vector<std::int64_t> of;
    for (std::size_t pool = 0; pool < peaks.size(); ++pool) {
      if (program.pools[pool].resource == static_cast<int>(resource)) of.push_back(peaks[pool]);
    }
    const std::string_view unit = spec::unit_of_amounts(program, static_cast<int>(resource));
    text += fmt::format("{}{} {}{}", text.empty() ? "" : "; ", program.resources[resource].name,
                        fmt::join(of, " "), unit.empty() ? "" : fmt::format(" {}", unit));
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

std::string name_of(simulate::End end) {
  switch (end) {
    case simulate::End::ended:
      return "ended";
    case simulate::End::stuck:
      return "stuck";
    case simulate::End::breach:
      return "breach";
    case simulate::End::refused:
      return "refused";
  }
  return "";
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
            {"excluded", trial.excluded.value_or("")},
            {"dropped", trial.dropped ? json(*trial.dropped) : json()}};
  if (trial.end != simulate::End::ended) return j;
  j["gain"] = object_of(trial.gain);
  j["time"] = trial.time;
  j["notices_per_task"] = trial.notices;
  j["pool_peak"] = json::object();
  for (std::size_t pool = 0; pool < trial.peaks.size(); ++pool) {
    const auto resource = static_cast<std::size_t>(program.pools[pool].resource);
    j["pool_peak"][program.resources[resource].name].push_back(trial.peaks[pool]);
  }
  return j;
}

}  // namespace

std::string race_text(const spec::Program& program, const RaceResult& result) {
  const Trial& baseline = result.trials.front();
  std::size_t width = 0;
  for (const Trial& trial : result.trials) width = std::max(width, name_of(trial).size());
  std::string text = fmt::format(
      "{}: {} ranks, {} microbatches, seeds {} to {}{}\n  {:<{}}   faster by (95 %)"
      "                time   notices\n",
      program.name, program.ranks, program.microbatches.min, result.seed,
      result.seed + static_cast<std::uint64_t>(result.seeds) - 1,
      result.measure.percentile ? "," + by_measure(result) : "", "", width);
  for (const Trial& trial : result.trials) {
    const bool is_baseline = &trial == &baseline;
    text += fmt::format("  {:<{}}   ", name_of(trial), width);
    const std::string why = in_short(trial);
    if (trial.end != simulate::End::ended) {
      text += why + "\n";
      continue;
    }
    text += is_baseline ? fmt::format("{:<22}", "1")
                        : fmt::format("{:.3f} ({})", trial.gain.ratio, interval(trial.gain));
    // A time of other seeds says nothing beside those of all.
    const std::string time = trial.dropped ? "" : fmt::format("{:.5g}", trial.time);
    text += fmt::format("   {:>10}   {:>7.2f}", time, trial.notices);
    text += why.empty() ? "" : "   " + why;
    text += trial.dropped ? fmt::format("   dropped after {} seeds\n", *trial.dropped) : "\n";
  }
  text += "held by " + name_of(baseline) + ": " + held(program, baseline.peaks) + "\n";
  if (!result.pick) {
    return text + fmt::format(
                      "keep `{}`: nothing that is proved and holds no more is faster "
                      "beyond doubt\n",
                      name_of(baseline));
  }
  const Trial& pick = result.trials[*result.pick];
  const auto seeds = static_cast<std::uint64_t>(result.seeds);
  text += "held by " + name_of(pick) + ": " + held(program, pick.peaks) + "\n";
  text += fmt::format("take `{}`: {:.3f} times as fast ({}) on seeds {} to {}\n", name_of(pick),
                      result.measured.ratio, interval(result.measured), result.seed + seeds,
                      result.seed + 2 * seeds - 1);
  if (pick.candidate.pyramid) text += "  inputs pyramid;\n";
  if (!pick.candidate.hint.empty()) text += "  " + pick.candidate.hint + "\n";
  return text + "  dispatch " + pick.candidate.dispatch + ";\n";
}

nlohmann::json race_json(const spec::Program& program, const RaceResult& result) {
  json j = {{"schema", "ripeline.optimise.race/2"},
            {"program", program.name},
            {"params", json::object()},
            {"hash", spec::hash_text(program.hash)},
            {"ranks", program.ranks},
            {"microbatches", program.microbatches.min},
            {"seed", result.seed},
            {"seeds", result.seeds},
            {"quantile", result.measure.percentile ? json(*result.measure.percentile) : json()},
            {"trials", json::array()},
            {"pick", nullptr}};
  for (const auto& [name, value] : program.params) j["params"][name] = value;
  for (const Trial& trial : result.trials) j["trials"].push_back(object_of(program, trial));
  if (result.pick) {
    j["pick"] = {{"trial", *result.pick},
                 {"dispatch", result.trials[*result.pick].candidate.dispatch},
                 {"gain", object_of(result.measured)}};
  }
  return j;
}

spec::Result<RaceResult> race(const spec::Program& program, int microbatches,
                              const simulate::TimingOptions& times,
                              const simulate::RaceOptions& options) {
  RaceResult result;
  const Progress progress("racing dispatches of " + program.name);
  const core::Status status = simulate::race(program, microbatches, times, options, result);
  if (!status.ok()) return failure(status.message());
  return result;
}

namespace {

// The seconds that a race takes, by one run with drawn times: about so many dispatches meet each
// seed, and those that wait take longer than an order.
double seconds_of_race(const optimise::Certified& best, const Optimised& optimised,
                       int microbatches, int seeds) {
  constexpr double kFirstRuns = 8;
  const auto begun = std::chrono::steady_clock::now();
  simulate::Timing timing;
  if (!simulate::Timing::make(best.program, microbatches, optimised.times, timing).ok()) return 0;
  simulate::Simulator simulator(best.facts.facts(), [&](int rank) {
    return std::make_unique<simulate::TableArbiter>(best.program, best.facts.facts(), rank);
  });
  (void)simulator.run(microbatches, timing, {});
  const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begun;
  return gone.count() * kFirstRuns * seeds;
}

}  // namespace

spec::Result<OrderRace> race_orders(const Optimised& optimised,
                                    const optimise::FormSearch::Best& best,
                                    const optimise::Certified& certified,
                                    const simulate::RaceOptions& options, const Budget& budget,
                                    const std::vector<std::string>& comments) {
  const optimise::Form& form = *best.form;
  const optimise::Problem& problem = *form.problem;
  const std::string name = optimise::name_of_order(problem.program());
  std::vector<optimise::NamedOrder> orders = {{name, best.order.rows}};
  const double for_race =
      seconds_of_race(certified, optimised, problem.microbatches(), options.seeds);
  const auto steady = optimise::steady_order(
      problem.program(), problem.microbatches(), optimised.times, problem.objective(),
      best.order.rows,
      {.first_seed = optimised.times.seed + optimise::kImprovingSeeds,
       .go_on = [&] { return options.go_on() && budget.left() > for_race; }});
  if (steady && steady->rows != best.order.rows) {
    orders.push_back({optimise::name_of_order(problem.program(), "steady"), steady->rows});
  }
  const auto written = [&](const std::string& more, const std::vector<std::string>& lines) {
    return optimise::with_orders(form.source, problem.program(), {problem.microbatches()},
                                 problem.model(), orders, more, lines);
  };
  const auto text = written(fmt::format("dispatch in order {};", name), {});
  if (!text.ok()) return text.errors();
  spec::ElaborateOptions reading;
  reading.read_file = optimised.read_file;
  auto program = spec::compile({form.source.name, text.value()}, reading);
  if (!program.ok()) return program.errors();
  OrderRace raced{.program = std::move(program).value(), .result = {}, .text = {}, .dispatch = {}};
  auto result = race(raced.program, problem.microbatches(), optimised.times, options);
  if (!result.ok()) return result.errors();
  raced.result = std::move(result).value();
  const simulate::Candidate& pick = raced.result.trials[raced.result.pick.value_or(0)].candidate;
  raced.dispatch = pick.dispatch;
  std::vector<std::string> lines = comments;
  lines.push_back(raced.result.pick
                      ? fmt::format("{} is {:.3f} times as fast as the order {}{} under {}, seeds "
                                    "{} and on",
                                    pick.dispatch, raced.result.measured.ratio, name,
                                    by_measure(raced.result), optimised.times.jitter.text,
                                    raced.result.seed)
                      : fmt::format("nothing is faster than the order {} beyond doubt{} under {}",
                                    name, by_measure(raced.result), optimised.times.jitter.text));
  auto final_text = written(fmt::format("{}{} dispatch {};", pick.pyramid ? "inputs pyramid; " : "",
                                        pick.hint, pick.dispatch),
                            lines);
  if (!final_text.ok()) return final_text.errors();
  raced.text = std::move(final_text).value();
  const auto last = spec::compile({form.source.name, raced.text}, reading);
  if (!last.ok() || !verify::verify(last.value()).proved) {
    return failure("the dispatch that was picked is not proved\nThis is a defect of Ripeline.");
  }
  return raced;
}

}  // namespace ripeline::cli
