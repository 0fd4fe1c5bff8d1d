#include "options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "core/layout.h"
#include "files/new_file.h"

namespace gpt {
namespace {

const CLI::Range kCount(1, 1'000'000'000);
const CLI::Validator kScale(
    [](std::string& text) {
      if (text == "dynamic" || CLI::PositiveNumber(text).empty()) return std::string();
      return "'" + text + "' is neither a number above 0 nor `dynamic`";
    },
    "NUMBER or dynamic");

constexpr const char* kAbout =
    "Trains a small GPT on bytes of text, as a pipeline of processes, each of which runs whatever "
    "task of its schedule is ready.";

constexpr const char* kExamples = R"(Examples:
  ripeline launch -n 4 -- ./gpt                        train 40 steps under `bf`
  ripeline launch -n 4 -- ./gpt --check 5              and compare 5 steps with the unpipelined model
  ripeline launch -n 4 -- ./gpt --schedule v --layers 8 --trace v.json
  ripeline launch -n 4 -- ./gpt --compare 1f1b,bf --width 16 --delay compute=F:2,compute=B:4,rare=3:80
  ./gpt --ranks-as-threads                             the same in one process, to try things out
  ripeline launch -n 4 -- ./gpt --device cuda          on GPUs, which processes may share
torchrun's variables work too: torchrun --no-python --nproc-per-node 4 ./gpt

Delays (--delay), comma-separated; every schedule meets the same ones:
  compute=OP:MS   tasks of OP sleep MS ms first      jitter=P          scaled by 1 ± P at random
  message=MS      messages take MS ms longer         rare=PERCENT:MS   that share of them does
  fifo            messages of an edge stay in order  seed=N            of what is drawn
)";

void print_schedules() {
  for (const Schedule& schedule : schedules()) {
    std::cout << schedule.name << std::string(16 - schedule.name.size(), ' ') << schedule.about
              << (schedule.fixed_sum ? "; gradients exact to the bit" : "") << '\n';
  }
}

// A mistake in the combination of the options; empty if there is none.
std::string mistake_in(const Options& options) {
  if (options.model.width % options.model.heads != 0) {
    return "--width " + std::to_string(options.model.width) + " is no multiple of --heads " +
           std::to_string(options.model.heads);
  }
  for (const Schedule* schedule : options.schedules) {
    if (options.model.layers < schedule->facts.stages) {
      return "--layers " + std::to_string(options.model.layers) + " is less than the " +
             std::to_string(schedule->facts.stages) + " stages of schedule " +
             std::string(schedule->name) + ": give at least as many";
    }
    if (kVocabulary % schedule->facts.members != 0) {
      return "schedule " + std::string(schedule->name) + " has " +
             std::to_string(schedule->facts.members) + " members to a rank, which do not divide " +
             "the vocabulary of " + std::to_string(kVocabulary);
    }
    if (options.model.heads % schedule->facts.members != 0) {
      return "--heads " + std::to_string(options.model.heads) + " is no multiple of the " +
             std::to_string(schedule->facts.members) + " members to a rank of schedule " +
             std::string(schedule->name);
    }
  }
  if (options.compares() && (options.check > 0 || !options.instruments.trace.empty())) {
    return "--compare goes with neither --check nor --trace (or RIPELINE_TRACE)";
  }
  using ripeline::core::layout_of;
  if (options.compares() &&
      layout_of(options.schedules[0]->facts) != layout_of(options.schedules[1]->facts)) {
    return "--compare needs two schedules for the same processes";
  }
  if (options.compares() &&
      options.schedules[0]->ties_weights() != options.schedules[1]->ties_weights()) {
    return "--compare needs two schedules of one model, and only one of these has tied weights";
  }
  if (options.threads && options.model.dropout > 0) {
    return "--dropout goes without --ranks-as-threads: threads share the generator that it draws "
           "from";
  }
  return {};
}

// The reason why --json's file cannot be written; empty if it can be. Called before the first step.
std::string mistake_in_files(const Options& options) {
  if (options.json.empty()) return {};
  return ripeline::files::NewFile(options.json).status().message();
}

std::string mistake_in_instruments(const Options& options) {
  std::vector<const ripeline::core::ProgramFacts*> programs;
  for (const Schedule* schedule : options.schedules) programs.push_back(&schedule->facts);
  return ripeline::runtime::check(options.instruments, programs).message();
}

std::string pick(const std::vector<std::string>& names, Options& options) {
  for (const std::string& name : names) {
    const Schedule* schedule = find_schedule(name);
    if (schedule == nullptr) {
      return "no schedule is called '" + name + "'; there are " + schedule_names();
    }
    options.schedules.push_back(schedule);
  }
  return {};
}

}  // namespace

std::optional<torch::ScalarType> Options::autocast() const {
  if (precision == "bf16") return torch::kBFloat16;
  if (precision == "fp16") return torch::kHalf;
  return std::nullopt;
}

std::optional<ripeline::runtime::LossScaling> Options::loss_scaling() const {
  if (loss_scale.empty()) return std::nullopt;
  if (loss_scale == "dynamic") return ripeline::runtime::LossScaling{};
  return ripeline::runtime::LossScaling{.first = std::stod(loss_scale), .grow_after = 0};
}

bool read_options(int argc, char** argv, Options& options, int& exit_code) {
  CLI::App app(kAbout, "gpt");
  app.footer(kExamples);
  app.set_help_flag("-h,--help", "This text");
  app.option_defaults()->always_capture_default();
  std::string schedule = "bf";
  std::vector<std::string> compared;
  bool list = false;
  std::uint64_t seed = 1;
  auto silence = options.silence.count();
  auto stall = options.stall.count();
  auto connect_limit = options.connect_limit.count();
  auto* one = app.add_option("--schedule", schedule, "What to train under: " + schedule_names());
  app.add_flag("--list", list, "List the schedules, and stop");
  app.add_option("--compare", compared, "Two schedules, step by step in turn: time and memory")
      ->delimiter(',')
      ->expected(2)
      ->excludes(one);
  app.add_option("--steps", options.steps, "Steps of training")->check(kCount);
  app.add_option("--microbatches", options.microbatches, "Of each step")->check(kCount);
  app.add_option("--batch", options.batch, "Texts in a microbatch")->check(kCount);
  app.add_option("--width", options.model.width, "Of the model")->check(kCount);
  app.add_option("--layers", options.model.layers, "Blocks")->check(kCount);
  app.add_option("--dropout", options.model.dropout,
                 "What is dropped, as a share: drawn from the seed, the same whatever runs when")
      ->check(CLI::Range(0.0, 0.9));
  app.add_option("--heads", options.model.heads, "Of attention")->check(kCount);
  app.add_option("--context", options.model.context, "Bytes that the model sees")->check(kCount);
  app.add_option("--lr", options.rate, "Learning rate of AdamW")->check(CLI::NonNegativeNumber);
  app.add_option("--clip", options.clip, "Largest norm of the gradient; 0: any")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--accumulate", options.accumulate,
                 "Passes of the pipeline to a step, whose gradients are those of all their "
                 "microbatches")
      ->check(kCount);
  app.add_option(
      "--device", options.device,
      "Where stages run: cpu; cuda, of several GPUs one for each rank in turn; or cuda:N");
  app.add_option("--precision", options.precision,
                 "Of forwards: fp32, or bf16 or fp16 under autocast, with gradients in fp32")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  app.add_option("--loss-scale", options.loss_scale,
                 "What the loss is multiplied by for the backward: a number, or `dynamic`. A step "
                 "whose gradients are not finite then changes nothing")
      ->check(kScale);
  app.add_flag("--recompute", options.recompute,
               "Stages keep their inputs alone, and run their forward again before the backward");
  app.add_option("--seed", seed, "Of parameters and batches, and of delays unless they have one");
  app.add_option("--text", options.text, "A file, or a folder with text files");
  auto* check = app.add_option("--check", options.check,
                               "Compare loss and every gradient with the unpipelined model, for "
                               "this many steps (3 if no number follows)")
                    ->expected(0, 1)
                    ->default_str("")
                    ->check(CLI::Range(0, 1'000'000'000));
  app.add_option("--delay", options.instruments.delay,
                 "Injected delays; see below. The environment's RIPELINE_DELAY is the same");
  auto* delay_seed =
      app.add_option("--delay-seed", options.instruments.delay_seed, "Of the delays");
  app.add_option("--silence", silence,
                 "Give up when another rank's process gives no sign of life for so many seconds")
      ->check(CLI::Range(2, 1'000'000));
  app.add_option("--stall", stall,
                 "Give up when all are alive and nothing happens for so many seconds: longer than "
                 "any task or pause takes")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--connect-limit", connect_limit,
                 "Give up when a rank has not come within so many seconds of the start")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--trace", options.instruments.trace,
                 "Write what ran when: a file for chrome://tracing. Until the end its parts, one a "
                 "rank, are in the folder FILE.parts, which `ripeline show` reads too. The "
                 "environment's RIPELINE_TRACE is the same");
  app.add_option("--json", options.json, "Write the results as one JSON object");
  app.add_flag("--ranks-as-threads", options.threads, "All ranks in this process");
  exit_code = 2;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? 0 : 2;
    return false;
  }
  if (list) {
    print_schedules();
    exit_code = 0;
    return false;
  }
  if (check->count() > 0 && check->results() == std::vector<std::string>{""}) options.check = 3;
  options.model.seed = seed;
  options.silence = std::chrono::seconds(silence);
  options.stall = std::chrono::seconds(stall);
  options.connect_limit = std::chrono::seconds(connect_limit);
  if (delay_seed->count() == 0) options.instruments.delay_seed = seed;
  std::string mistake = pick(compared.empty() ? std::vector{schedule} : compared, options);
  if (mistake.empty()) mistake = mistake_in(options);
  options.model.tied = mistake.empty() && options.schedules.front()->ties_weights();
  if (mistake.empty()) mistake = mistake_in_instruments(options);
  if (mistake.empty()) mistake = mistake_in_files(options);
  if (!mistake.empty()) std::cerr << "gpt: " << mistake << '\n';
  return mistake.empty();
}

}  // namespace gpt
