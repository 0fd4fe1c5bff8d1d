#include "train.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "check.h"
#include "files/new_file.h"
#include "pipeline.h"

namespace vlm {
namespace {

using ripeline::core::Status;
using ripeline::runtime::TrainReport;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// The mean of the last `count` values, or of all values if there are fewer.
double mean_of_last(const std::vector<double>& values, int count) {
  const auto last = std::min<std::ptrdiff_t>(count, std::ssize(values));
  return std::accumulate(values.end() - last, values.end(), 0.0) / static_cast<double>(last);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void print_opening(const Options& options, const Schedule& schedule, const Batches& batches) {
  std::printf("schedule %s (%s), seed %llu\n", std::string(schedule.name).c_str(),
              schedule.facts.proved ? "proved" : "NOT PROVED",
              static_cast<unsigned long long>(options.seed));
  std::printf("%zu images with captions of %d words, %d microbatches of %d\n", batches.size(),
              batches.vocabulary() - 1, options.microbatches, options.batch);
}

void print_check(const Check::Result& result) {
  std::printf("check, %d step%s: %s; largest gradient difference %.3g (%s), loss difference %.3g\n",
              result.steps, result.steps == 1 ? "" : "s", result.passed() ? "equal" : "DIFFERENT",
              result.gradient, result.parameter.c_str(), result.loss);
  if (result.tolerance == 0) {
    std::printf("  allowed: 0, this schedule fixes the order of the sums\n");
  } else {
    std::printf("  allowed: %.3g, which is %.0e of the largest gradient %.3g\n",
                result.tolerance * result.largest_gradient, result.tolerance,
                result.largest_gradient);
  }
}

Status run_step(const Options& options, Pipeline& pipeline, Check* check,
                ripeline::runtime::Run& run, std::int64_t step, TrainReport& report) {
  Status status = pipeline.trainer().accumulate(options.microbatches, report);
  if (status.ok() && check != nullptr) status = check->compare(run, step);
  return status.ok() ? pipeline.trainer().update(report) : status;
}

struct StepLine {
  double loss = 0;
  std::optional<double> unpipelined_loss = std::nullopt;
};

// A number as JSON, with all its digits; null if it is not finite.
std::string json_of(double number) {
  if (!std::isfinite(number)) return "null";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", number);
  return text.data();
}

Status write_json(const Options& options, const Schedule& schedule,
                  const std::vector<StepLine>& lines) {
  std::string steps;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& [loss, unpipelined_loss] = lines[i];
    steps += (i == 0 ? "\n    " : ",\n    ") + ("{\"step\": " + std::to_string(i)) +
             ", \"loss\": " + json_of(loss) +
             ", \"unpipelined_loss\": " + (unpipelined_loss ? json_of(*unpipelined_loss) : "null") +
             "}";
  }
  return ripeline::files::write_file(
      options.json, "{\n  \"schema\": \"ripeline.vlm.train/1\",\n  \"schedule\": \"" +
                        std::string(schedule.name) +
                        "\",\n  \"microbatches\": " + std::to_string(options.microbatches) +
                        ",\n  \"seed\": " + std::to_string(options.seed) + ",\n  \"steps\": [" +
                        steps + "]\n}\n");
}

struct Side {
  const Schedule& schedule;
  Pipeline pipeline;
  std::vector<double> ms = {};  // per step, without the first, which warms up
  std::string memory = {};
};

void print(const Options& options, const std::array<Side, 2>& sides) {
  std::printf("%d steps each, in turn, %d microbatches; sleeps of %lld us for each patch\n",
              options.steps, options.microbatches, static_cast<long long>(options.sleep.count()));
  for (const Side& side : sides) {
    std::printf("  %-14s median %8.1f ms per step   activations %s\n",
                std::string(side.schedule.name).c_str(), median(side.ms), side.memory.c_str());
  }
  const bool equal = std::equal(
      sides[0].schedule.facts.pools.begin(), sides[0].schedule.facts.pools.end(),
      sides[1].schedule.facts.pools.begin(), sides[1].schedule.facts.pools.end(),
      [](const auto& a, const auto& b) { return a.stage == b.stage && a.bound == b.bound; });
  std::printf("%s : %s = %.3f, at %s memory\n", std::string(sides[0].schedule.name).c_str(),
              std::string(sides[1].schedule.name).c_str(),
              median(sides[0].ms) / median(sides[1].ms), equal ? "equal" : "UNEQUAL");
}

}  // namespace

Status train(const Options& options, ripeline::runtime::Run& run,
             const std::shared_ptr<const Batches>& batches, bool& passed) {
  const Schedule& schedule = *options.schedules.front();
  Pipeline pipeline(options, schedule, run, batches);
  std::optional<Check> check;
  if (options.check > 0) check.emplace(options, schedule, pipeline, batches);
  const bool prints = run.self() == 0;
  if (prints) print_opening(options, schedule, *batches);
  const int line = std::max(1, options.steps / 10);  // the steps per line of progress
  std::vector<double> losses;
  std::vector<StepLine> lines;
  Clock::time_point begin = Clock::now();
  for (int step = 0; step < options.steps; ++step) {
    TrainReport report;
    Check* checking = step < options.check ? &*check : nullptr;
    Status status = run_step(options, pipeline, checking, run, step, report);
    if (!status.ok()) return status;
    losses.push_back(report.loss);
    lines.push_back({.loss = report.loss});
    if (checking != nullptr) lines.back().unpipelined_loss = checking->unpipelined_loss();
    if (!prints || (step + 1) % line != 0) continue;
    std::printf("step %4d   loss %.4f   gradient norm %6.3f   %7.1f ms per step\n", step + 1,
                mean_of_last(losses, line), report.gradient_norm, ms_since(begin) / line);
    std::fflush(stdout);
    begin = Clock::now();
  }
  std::string memory;
  if (Status status = gather_memory(run, pipeline, schedule, memory); !status.ok()) return status;
  passed = !check || check->result().passed();
  if (!prints) return {};
  std::printf("activations by stage: %s\n", memory.c_str());
  std::printf("loss %.4f nats per word at the end; at best %.4f for who does not see the images\n",
              mean_of_last(losses, line), batches->blind_loss());
  if (check) print_check(check->result());
  std::fflush(stdout);
  return options.json.empty() ? Status() : write_json(options, schedule, lines);
}

Status compare(const Options& options, ripeline::runtime::Run& run,
               const std::shared_ptr<const Batches>& batches) {
  const Schedule& first = *options.schedules[0];
  const Schedule& second = *options.schedules[1];
  std::array<Side, 2> sides = {Side{first, {options, first, run, batches}},
                               Side{second, {options, second, run, batches}}};
  for (int step = 0; step <= options.steps; ++step) {
    for (Side& side : sides) {
      // Each update ends with a barrier, so messages of the two schedules never mix.
      const Clock::time_point begin = Clock::now();
      TrainReport report;
      Status status = side.pipeline.trainer().step(options.microbatches, report);
      if (!status.ok()) return status;
      if (step > 0) side.ms.push_back(ms_since(begin));
    }
  }
  for (Side& side : sides) {
    Status status = gather_memory(run, side.pipeline, side.schedule, side.memory);
    if (!status.ok()) return status;
  }
  if (run.self() == 0) print(options, sides);
  return {};
}

}  // namespace vlm
