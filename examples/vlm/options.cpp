#include "options.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace vlm {
namespace {

const CLI::Range kCount(1, 1'000'000'000);

constexpr const char* kAbout =
    "Trains a vision encoder, a text encoder and a decoder that joins them to caption images, as a "
    "pipeline of four processes.";

constexpr const char* kExamples = R"(Examples:
  ripeline launch -n 4 -- ./vlm                          train 300 steps on images made from the seed
  ./vlm --make-data shapes                               write such images and their captions,
  ripeline launch -n 4 -- ./vlm --data shapes            and train on a folder of them
  ripeline launch -n 4 -- ./vlm --schedule bfw --check --steps 3
  ripeline launch -n 4 -- ./vlm --compare bf,pyramid --steps 10 --sleep 200
)";

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

bool read_options(int argc, char** argv, Options& options, int& exit_code) {
  CLI::App app(kAbout, "vlm");
  app.footer(kExamples);
  app.set_help_flag("-h,--help", "This text");
  app.option_defaults()->always_capture_default();
  std::string schedule = "bf";
  std::vector<std::string> compared;
  auto sleep = options.sleep.count();
  auto* one = app.add_option("--schedule", schedule, "What to train under: " + schedule_names());
  auto* compare =
      app.add_option("--compare", compared, "Two schedules, step by step in turn: time and memory")
          ->delimiter(',')
          ->expected(2)
          ->excludes(one);
  app.add_option("--steps", options.steps, "Steps of training")->check(kCount);
  app.add_option("--microbatches", options.microbatches, "Of each step")->check(kCount);
  app.add_option("--batch", options.batch, "Examples in a microbatch")->check(kCount);
  app.add_option("--lr", options.rate, "Learning rate of AdamW")->check(CLI::NonNegativeNumber);
  app.add_option("--clip", options.clip, "Largest norm of the gradient; 0: any")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", options.seed, "Of parameters, batches and images that are made");
  auto* data = app.add_option("--data", options.data,
                              "A folder with PNG files and captions.txt: file, tab, caption");
  app.add_option("--count", options.count, "How many images are made")
      ->excludes(data)
      ->check(CLI::Range(1, 100'000));
  app.add_option("--make-data", options.make_data, "Write the images to this new folder, and stop")
      ->excludes(data);
  auto* check = app.add_option("--check", options.check,
                               "Compare loss and every gradient with the unpipelined model, for "
                               "this many steps (3 if no number follows)")
                    ->expected(0, 1)
                    ->default_str("")
                    ->excludes(compare)
                    ->check(CLI::Range(0, 1'000'000'000));
  app.add_option("--json", options.json, "Write the losses as a JSON object")->excludes(compare);
  app.add_option("--sleep", sleep,
                 "A forward of image or decoder sleeps so many microseconds for each patch of an "
                 "image, a backward twice that: as if the rank had a slower device of its own")
      ->check(CLI::Range(0, 1'000'000));
  exit_code = 2;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? 0 : 2;
    return false;
  }
  if (check->count() > 0 && check->results() == std::vector<std::string>{""}) options.check = 3;
  options.sleep = std::chrono::microseconds(sleep);
  const std::string mistake = pick(compared.empty() ? std::vector{schedule} : compared, options);
  if (!mistake.empty()) std::cerr << "vlm: " << mistake << '\n';
  return mistake.empty();
}

}  // namespace vlm
