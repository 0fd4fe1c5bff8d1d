#include "optimise/racing/race_report.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "spec/amounts.h"
#include "verify/verify.h"

namespace ripeline::optimise {

using Json = nlohmann::json;

namespace {

std::string name_of(const Trial& trial) {
  return trial.candidate.dispatch + (trial.candidate.pyramid ? ", inputs pyramid" : "");
}

std::string interval_of(const Gain& gain) {
  return fmt::format("{:.3f} to {:.3f}", gain.low, gain.high);
}

// The peaks of each resource's pools, such as `activation 8 7 6 5`.
std::string held_in_pools(const spec::Program& program, const std::vector<std::int64_t>& peaks) {
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

// The reason for exclusion, cut to fit a line of the table; the JSON has the full text.
std::string in_short(const Trial& trial) {
  constexpr std::size_t kMostBytes = 60;
  const std::string excluded = trial.excluded.value_or("");
  const std::string line = excluded.substr(0, excluded.find('\n'));
  if (line.size() <= kMostBytes) return line;
  return line.substr(0, line.rfind(' ', kMostBytes)) + " …";
}

Json object_of(const Gain& gain) {
  return {{"ratio", gain.ratio}, {"low", gain.low}, {"high", gain.high}, {"runs", gain.runs}};
}

Json object_of(const spec::Program& program, const Trial& trial) {
  Json j = {{"dispatch", trial.candidate.dispatch},
            {"hint", trial.candidate.hint},
            {"inputs",
             trial.candidate.program.inputs == spec::InputOrder::pyramid ? "pyramid" : "natural"},
            {"verdict", verify::name_of(trial.verdict)},
            {"end", name_of(trial.end)},
            {"excluded", trial.excluded.value_or("")},
            {"dropped", trial.dropped ? Json(*trial.dropped) : Json()}};
  if (trial.end != End::ended) return j;
  j["gain"] = object_of(trial.gain);
  j["time"] = trial.time;
  j["notices_per_task"] = trial.notices;
  j["pool_peak"] = Json::object();
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
      result.measure.percentile ? "," + by_measure(result.measure) : "", "", width);
  for (const Trial& trial : result.trials) {
    const bool is_baseline = &trial == &baseline;
    text += fmt::format("  {:<{}}   ", name_of(trial), width);
    const std::string why = in_short(trial);
    if (trial.end != End::ended) {
      text += why + "\n";
      continue;
    }
    text += is_baseline ? fmt::format("{:<22}", "1")
                        : fmt::format("{:.3f} ({})", trial.gain.ratio, interval_of(trial.gain));
    // A dropped trial ran fewer seeds, so its time cannot be compared with other times.
    const std::string time = trial.dropped ? "" : fmt::format("{:.5g}", trial.time);
    text += fmt::format("   {:>10}   {:>7.2f}", time, trial.notices);
    text += why.empty() ? "" : "   " + why;
    text += trial.dropped ? fmt::format("   dropped after {} seeds\n", *trial.dropped) : "\n";
  }
  text += "held by " + name_of(baseline) + ": " + held_in_pools(program, baseline.peaks) + "\n";
  if (!result.pick) {
    return text + fmt::format(
                      "keep `{}`: nothing that is proved and holds no more is faster "
                      "beyond doubt\n",
                      name_of(baseline));
  }
  const Trial& pick = result.trials[*result.pick];
  const auto seeds = static_cast<std::uint64_t>(result.seeds);
  text += "held by " + name_of(pick) + ": " + held_in_pools(program, pick.peaks) + "\n";
  text += fmt::format("take `{}`: {:.3f} times as fast ({}) on seeds {} to {}\n", name_of(pick),
                      result.measured.ratio, interval_of(result.measured), result.seed + seeds,
                      result.seed + 2 * seeds - 1);
  if (pick.candidate.pyramid) text += "  inputs pyramid;\n";
  if (!pick.candidate.hint.empty()) text += "  " + pick.candidate.hint + "\n";
  return text + "  dispatch " + pick.candidate.dispatch + ";\n";
}

Json race_json(const spec::Program& program, const RaceResult& result) {
  Json j = {{"schema", "ripeline.optimise.race/2"},
            {"program", program.name},
            {"params", Json::object()},
            {"hash", spec::hash_text(program.hash)},
            {"ranks", program.ranks},
            {"microbatches", program.microbatches.min},
            {"seed", result.seed},
            {"seeds", result.seeds},
            {"quantile", result.measure.percentile ? Json(*result.measure.percentile) : Json()},
            {"trials", Json::array()},
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

}  // namespace ripeline::optimise
