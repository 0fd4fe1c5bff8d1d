// Training under one schedule: its progress, its check against the whole model, and its JSON.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "check.h"
#include "files/new_file.h"
#include "rank.h"
#include "report.h"
#include "runner.h"

namespace gpt {
namespace {

using ripeline::core::Status;
using ripeline::runtime::TrainReport;
using Clock = std::chrono::steady_clock;

struct StepLine {
  double loss = 0;
  std::optional<double> unpipelined_loss = std::nullopt;
  double norm = 0;
  double ms = 0;
  double loss_scale = 1;
  bool skipped = false;
};

// The unusual settings, such as `bf16, 2 passes a step, loss scale dynamic, forwards recomputed`.
std::string text_of_numerics(const Options& options) {
  std::string text;
  const auto add = [&text](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (options.autocast()) add(options.precision);
  if (options.accumulate > 1) add(std::to_string(options.accumulate) + " passes a step");
  if (!options.loss_scale.empty()) add("loss scale " + options.loss_scale);
  if (options.recompute) add("forwards recomputed");
  return text;
}

Status print_opening(const Options& options, const Schedule& schedule, Runner& runner,
                     const Batches& batches, const std::string& collectives, const Rank& rank) {
  ripeline::runtime::Run& run = rank.run;
  if (const std::string carriers = rank.device.carriers(); !carriers.empty()) {
    std::printf("messages: %s\n", carriers.c_str());
  }
  std::vector<std::string> counts;
  Status status = gather(run, std::to_string(runner.parameters()), counts);
  if (!status.ok() || run.self() != 0) return status;
  std::int64_t parameters = 0;
  for (const std::string& count : counts) parameters += std::stoll(count);
  std::printf("%s, %d stages, schedule %s (%s%s), seed %llu\n", run.layout().text().c_str(),
              schedule.facts.stages, std::string(schedule.name).c_str(),
              schedule.facts.proved ? "proved, hash " : "NOT PROVED, hash ",
              hash_text(schedule.facts.hash).c_str(),
              static_cast<unsigned long long>(options.model.seed));
  std::printf("%lld parameters, %zu bytes of text, %d microbatches of %lld x %lld bytes\n",
              static_cast<long long>(parameters), batches.text.size(), options.microbatches,
              static_cast<long long>(options.batch), static_cast<long long>(options.model.context));
  if (const c10::Device device = rank.device.device(); !device.is_cpu()) {
    std::printf("stages on %s\n", options.device.c_str());
  }
  if (!collectives.empty()) std::printf("collectives: %s\n", collectives.c_str());
  const std::string numerics = text_of_numerics(options);
  if (!numerics.empty()) std::printf("%s\n", numerics.c_str());
  if (!options.instruments.delay.empty()) {
    std::printf("delays %s, seed %llu\n", options.instruments.delay.c_str(),
                static_cast<unsigned long long>(options.instruments.delay_seed));
  }
  std::fflush(stdout);
  return {};
}

// Runs and times one step, with the check if there is one.
Status run_step(const Options& options, Runner& runner, Check* check, ripeline::runtime::Run& run,
                std::int64_t step, StepLine& line) {
  TrainReport report;
  if (check != nullptr) {
    if (Status status = check->before(run); !status.ok()) return status;
  }
  const Clock::time_point begin = Clock::now();
  Status status = runner.trainer().accumulate(options.microbatches, report);
  if (!status.ok()) return status;
  Clock::duration spent = Clock::now() - begin;
  if (check != nullptr) check->compare(step, report.loss_scale);
  const Clock::time_point again = Clock::now();
  if (status = runner.trainer().update(report); !status.ok()) return status;
  spent += Clock::now() - again;
  line = {.loss = report.loss,
          .unpipelined_loss =
              check == nullptr ? std::nullopt : std::optional(check->unpipelined_loss()),
          .norm = report.gradient_norm,
          .ms = std::chrono::duration<double, std::milli>(spent).count(),
          .loss_scale = report.loss_scale,
          .skipped = report.skipped};
  return check == nullptr ? Status() : check->finish(run, report);
}

void print_step(int step, const StepLine& line) {
  std::printf("step %4d   loss %.4f   gradient norm %6.3f   %7.1f ms", step, line.loss, line.norm,
              line.ms);
  if (line.skipped) std::printf("   no update: loss scale %g is too large", line.loss_scale);
  std::printf("\n");
  std::fflush(stdout);
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

std::string check_json(const Check::Result& result) {
  return std::string("{\"passed\": ") + (result.passed() ? "true" : "false") +
         ", \"steps\": " + std::to_string(result.steps) +
         ", \"largest_gradient_difference\": " + json_of(result.gradient) +
         ", \"parameter\": " + json_of(result.parameter) +
         ", \"largest_gradient\": " + json_of(result.largest_gradient) +
         ", \"loss_difference\": " + json_of(result.loss) +
         ", \"tolerance\": " + json_of(result.tolerance) + "}";
}

std::string json_text(const Options& options, const Schedule& schedule,
                      const std::vector<StepLine>& lines, const std::vector<Peak>& peaks,
                      const Check* check) {
  std::string steps;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    steps += (i == 0 ? "\n    " : ",\n    ") + ("{\"step\": " + std::to_string(i)) +
             ", \"loss\": " + json_of(lines[i].loss) + ", \"unpipelined_loss\": " +
             (lines[i].unpipelined_loss ? json_of(*lines[i].unpipelined_loss) : "null") +
             ", \"gradient_norm\": " + json_of(lines[i].norm) +
             ", \"ms\": " + json_of(lines[i].ms) +
             ", \"loss_scale\": " + json_of(lines[i].loss_scale) +
             ", \"skipped\": " + (lines[i].skipped ? "true" : "false") + "}";
  }
  return "{\n  \"schema\": \"ripeline.gpt.train/1\",\n  \"schedule\": " +
         json_of(std::string(schedule.name)) +
         ",\n  \"hash\": " + json_of(hash_text(schedule.facts.hash)) +
         ",\n  \"proved\": " + (schedule.facts.proved ? "true" : "false") +
         ",\n  \"ranks\": " + std::to_string(schedule.facts.ranks) +
         ",\n  \"microbatches\": " + std::to_string(options.microbatches) +
         ",\n  \"seed\": " + std::to_string(options.model.seed) +
         ",\n  \"delay\": " + json_of(options.instruments.delay) + ",\n  \"steps\": [" + steps +
         "],\n  \"memory\": " + json_of(peaks) +
         ",\n  \"check\": " + (check == nullptr ? "null" : check_json(check->result())) + "\n}\n";
}

// A line with each process's peak of device memory and its number of allocations since the second
// step; empty if stages run on the host's processor.
Status gather_memory(const Rank& rank, std::int64_t before, std::string& text) {
  if (rank.device.device().is_cpu()) return {};
  const ripeline::runtime::DeviceMemoryUse use = rank.device.memory_use();
  std::vector<std::string> peaks;
  std::vector<std::string> grown;
  Status status = gather(rank.run, std::to_string(use.peak >> 10), peaks);
  if (status.ok()) status = gather(rank.run, std::to_string(use.allocations - before), grown);
  if (!status.ok()) return status;
  text = "memory of the device, by process: at most, KiB:";
  for (const std::string& one : peaks) text += " " + one;
  text += "; allocations after the second step:";
  for (const std::string& one : grown) text += " " + one;
  return {};
}

// Reports after the last step; all ranks must call it. `allocations`: the count before step three.
Status finish(const Options& options, const Schedule& schedule, Runner& runner, const Check* check,
              const std::vector<StepLine>& lines, std::int64_t allocations, const Rank& rank) {
  ripeline::runtime::Run& run = rank.run;
  std::vector<Peak> peaks;
  Status status = gather_peaks(run, schedule.facts, runner.trainer().rank().ledger(), peaks);
  std::vector<StageDeferral> deferrals;
  if (status.ok()) status = gather_deferrals(run, schedule.facts, runner.work(), deferrals);
  std::string offloads;
  if (status.ok()) status = gather_offloads(run, runner.work(), offloads);
  std::string memory;
  if (status.ok()) status = gather_memory(rank, allocations, memory);
  if (!status.ok() || run.self() != 0) return status;
  for (const std::string& line : lines_of(schedule.facts, peaks)) std::printf("%s\n", line.c_str());
  if (!memory.empty()) std::printf("%s\n", memory.c_str());
  if (!deferrals.empty()) std::printf("%s\n", text_of(deferrals).c_str());
  if (!offloads.empty()) std::printf("%s\n", offloads.c_str());
  if (check != nullptr) print_check(check->result());
  std::fflush(stdout);
  if (options.json.empty()) return {};
  return ripeline::files::write_file(options.json,
                                     json_text(options, schedule, lines, peaks, check));
}

}  // namespace

Status train(const Options& options, const Rank& rank, bool& passed) {
  ripeline::runtime::Run& run = rank.run;
  const Schedule& schedule = *options.schedules.front();
  std::unique_ptr<ripeline::runtime::Groups> groups;
  if (Status s = connect_groups(options, schedule, rank, groups); !s.ok()) return s;
  std::shared_ptr<const Batches> batches;
  Status status = make_batches(options, batches);
  if (!status.ok()) return status;
  Runner runner(options, schedule, rank, *groups, batches);
  std::optional<Check> check;
  if (options.check > 0) check.emplace(options, schedule, runner.model());
  status = print_opening(options, schedule, runner, *batches, groups->collectives(), rank);
  std::vector<StepLine> lines;
  std::int64_t allocations = 0;
  for (int step = 0; step < options.steps && status.ok(); ++step) {
    StepLine line;
    Check* checking = step < options.check ? &*check : nullptr;
    status = run_step(options, runner, checking, run, step, line);
    if (!status.ok()) break;
    lines.push_back(line);
    if (step <= 1) allocations = rank.device.memory_use().allocations;
    if (run.self() == 0) {
      print_step(step, line);
    }
  }
  if (!status.ok()) return status;
  passed = !check || check->result().passed();
  return finish(options, schedule, runner, check ? &*check : nullptr, lines, allocations, rank);
}

}  // namespace gpt
