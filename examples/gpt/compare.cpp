// Compares two schedules in the same processes, with alternating steps, under the same delays.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "files/new_file.h"
#include "rank.h"
#include "report.h"
#include "runner.h"

namespace gpt {
namespace {

using ripeline::core::Status;
using ripeline::runtime::TrainReport;
using Clock = std::chrono::steady_clock;

struct Side {
  const Schedule& schedule;
  Runner runner;
  std::vector<double> ms = {};  // per step, without the first, which warms up
  double loss = 0;
  std::vector<Peak> peaks = {};
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Status run_step(const Options& options, Side& side, bool warming) {
  TrainReport report;
  const Clock::time_point begin = Clock::now();
  const Status status = side.runner.trainer().step(options.microbatches, report);
  if (!status.ok()) return status;
  if (!warming) {
    side.ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  side.loss = report.loss;
  return {};
}

bool same_memory(const Side& a, const Side& b) {
  return std::equal(a.peaks.begin(), a.peaks.end(), b.peaks.begin(), b.peaks.end(),
                    [](const Peak& x, const Peak& y) { return x.proved == y.proved; }) &&
         a.schedule.facts.stages == b.schedule.facts.stages;
}

std::string side_json(const Side& side) {
  std::string ms;
  for (const double value : side.ms) ms += (ms.empty() ? "" : ", ") + json_of(value);
  return "{\"schedule\": " + json_of(std::string(side.schedule.name)) +
         ", \"hash\": " + json_of(hash_text(side.schedule.facts.hash)) +
         ", \"median_ms\": " + json_of(median(side.ms)) + ", \"last_loss\": " + json_of(side.loss) +
         ", \"memory\": " + json_of(side.peaks) + ", \"ms\": [" + ms + "]}";
}

void print(const Options& options, const std::array<Side, 2>& sides) {
  std::printf("%d steps each, in turn, %d microbatches; delays %s, seed %llu\n", options.steps,
              options.microbatches,
              options.instruments.delay.empty() ? "none" : options.instruments.delay.c_str(),
              static_cast<unsigned long long>(options.instruments.delay_seed));
  for (const Side& side : sides) {
    std::printf("  %-14s median %8.1f ms per step   activations %s\n",
                std::string(side.schedule.name).c_str(), median(side.ms),
                text_of(side.peaks).c_str());
  }
  std::printf("%s : %s = %.3f, at %s memory\n", std::string(sides[0].schedule.name).c_str(),
              std::string(sides[1].schedule.name).c_str(),
              median(sides[0].ms) / median(sides[1].ms),
              same_memory(sides[0], sides[1]) ? "equal" : "UNEQUAL");
  std::fflush(stdout);
}

Status write_json(const Options& options, const std::array<Side, 2>& sides) {
  return ripeline::files::write_file(
      options.json,
      "{\n  \"schema\": \"ripeline.gpt.compare/1\",\n  \"steps\": " +
          std::to_string(options.steps) +
          ",\n  \"microbatches\": " + std::to_string(options.microbatches) +
          ",\n  \"delay\": " + json_of(options.instruments.delay) +
          ",\n  \"delay_seed\": " + std::to_string(options.instruments.delay_seed) +
          ",\n  \"ratio\": " + json_of(median(sides[0].ms) / median(sides[1].ms)) +
          ",\n  \"equal_memory\": " + (same_memory(sides[0], sides[1]) ? "true" : "false") +
          ",\n  \"sides\": [\n    " + side_json(sides[0]) + ",\n    " + side_json(sides[1]) +
          "]\n}\n");
}

}  // namespace

Status compare(const Options& options, const Rank& rank) {
  ripeline::runtime::Run& run = rank.run;
  std::shared_ptr<const Batches> batches;
  Status status = make_batches(options, batches);
  if (!status.ok()) return status;
  const Schedule& first = *options.schedules[0];
  const Schedule& second = *options.schedules[1];
  std::array<std::unique_ptr<ripeline::runtime::Groups>, 2> groups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    status = connect_groups(options, *options.schedules[i], rank, groups[i]);
    if (!status.ok()) return status;
  }
  std::array<Side, 2> sides = {Side{first, {options, first, rank, *groups[0], batches}},
                               Side{second, {options, second, rank, *groups[1], batches}}};
  for (int step = 0; step <= options.steps; ++step) {
    for (Side& side : sides) {
      // Each update ends with a barrier, so messages of the two schedules never mix.
      if (status = run_step(options, side, step == 0); !status.ok()) return status;
    }
    if (run.self() == 0 && step > 0) {
      std::printf("step %4d   %s %7.1f ms   %s %7.1f ms\n", step, std::string(first.name).c_str(),
                  sides[0].ms.back(), std::string(second.name).c_str(), sides[1].ms.back());
      std::fflush(stdout);
    }
  }
  for (Side& side : sides) {
    status =
        gather_peaks(run, side.schedule.facts, side.runner.trainer().rank().ledger(), side.peaks);
    if (!status.ok()) return status;
  }
  if (run.self() != 0) return {};
  print(options, sides);
  return options.json.empty() ? Status() : write_json(options, sides);
}

}  // namespace gpt
