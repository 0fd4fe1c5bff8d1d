// The table of hints under RRFP's conditions.
#include "bench/rrfp.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include <fmt/format.h>

#include "bench/hint_tables/report.h"

namespace ripeline::bench {
namespace {

struct Workload {
  const char* name;
  const std::vector<rrfp::Entrant>* entrants;
  int ranks;
};

// The logarithms of the makespans, one for each seed. A hint forgets what it has learned between
// conditions.
std::vector<double> runs_of(const Workload& workload, const rrfp::Entrant& entrant,
                            const rrfp::Condition& condition, const Options& options,
                            std::int64_t& held) {
  optimise::Contestant contestant(rrfp::program_of(entrant, workload.ranks),
                                  options.rrfp_microbatches);
  const simulate::TimingOptions times = rrfp::times_of(condition);
  std::vector<double> logs;
  for (int i = 0; i < seeds_or(options, 100); ++i) {
    const optimise::Outcome outcome =
        contestant.run(times, static_cast<std::uint64_t>(options.first_seed + i));
    if (!outcome.failure.empty()) throw std::runtime_error(outcome.failure);
    logs.push_back(std::log(outcome.makespan));
    held = std::max(held, *std::max_element(outcome.peaks.begin(), outcome.peaks.end()));
  }
  return logs;
}

void row(const Workload& workload, const rrfp::Condition& condition, const Options& options,
         std::vector<std::int64_t>& held, Cells& cells) {
  const std::vector<rrfp::Entrant>& entrants = *workload.entrants;
  fmt::print("{}{}", condition.name, padding(condition.name, 28));
  const std::vector<double> first = runs_of(workload, entrants[0], condition, options, held[0]);
  for (std::size_t i = 1; i < entrants.size(); ++i) {
    std::vector<double> logs = runs_of(workload, entrants[i], condition, options, held[i]);
    for (std::size_t s = 0; s < logs.size(); ++s) logs[s] = first[s] - logs[s];
    const optimise::Gain gain = optimise::gain_of(logs);
    fmt::print(" {:>8.3f}", gain.ratio);
    std::fflush(stdout);
    cells.json().push_back({{"table", "rrfp"},
                            {"workload", workload.name},
                            {"ranks", workload.ranks},
                            {"microbatches", options.rrfp_microbatches},
                            {"condition", condition.name},
                            {"hint", entrants[i].name},
                            {"ratio", gain.ratio},
                            {"low", gain.low},
                            {"high", gain.high}});
  }
  fmt::print("\n");
}

void rows(const Workload& workload, const Options& options, Cells& cells) {
  const std::vector<rrfp::Entrant>& entrants = *workload.entrants;
  std::vector<std::int64_t> held(entrants.size());
  fmt::print("{}, {} ranks, {} microbatches\n{:<28}", workload.name, workload.ranks,
             options.rrfp_microbatches, "");
  for (std::size_t i = 1; i < entrants.size(); ++i) fmt::print(" {:>8}", entrants[i].name);
  fmt::print("\n");
  for (const rrfp::Condition& c : rrfp::kConditions) row(workload, c, options, held, cells);
  fmt::print("{:<28}", fmt::format("most held (1F1B {})", held[0]));
  for (std::size_t i = 1; i < entrants.size(); ++i) fmt::print(" {:>8}", held[i]);
  fmt::print("\n");
}

}  // namespace

void rrfp_table(const Options& options, Cells& cells) {
  for (const int ranks : {4, 8, 16}) {
    rows({"language", &rrfp::kLanguage, ranks}, options, cells);
    rows({"multimodal", &rrfp::kMultimodal, ranks}, options, cells);
  }
}

}  // namespace ripeline::bench
