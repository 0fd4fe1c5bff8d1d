#include "bench/comparison/trained.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "bench/comparison/report.h"
#include "bench/hints.h"

namespace ripeline::bench::comparison {
namespace {

// The number of simulated runs in a prediction.
constexpr int kDraws = 100;

// A fixed order and a hint, under gpt's names for them.
struct Pair {
  Memory memory;
  const char* fixed;
  const char* hint;
  const char* dispatch;
};
constexpr Pair kPairs[] = {
    {Memory::p_minus_s, "1f1b", "bf", "ready by bf"},
    {Memory::p_minus_s, "1f1b", "1f1b_fc", "ready by fc"},
    {Memory::eager, "eager_1f1b", "eager_1f1b_rn", "ready by rn"},
    {Memory::h1, "zb_h1", "zb_h1_rn", "ready by rn"},
    {Memory::h2, "zb_h2", "zb_h2_rn", "ready by rn"},
};

struct Trial {
  const char* name;
  const char* jitter;  // for the simulator
  double uniform = 0;  // for gpt: sleeps vary by this part
  double late = 0;     // for gpt: the percentage of messages that are late
  double by = 0;       // for gpt: by how many units these are late
  bool fifo = false;
};
constexpr Trial kTrials[] = {
    {"none", ""},
    {"uniform ±30 %", "uniform=0.3", 0.3},
    {"2 % of messages +20 F, FIFO", "tails=2:20,fifo", 0, 2, 20, true},
    {"2 % of messages +20 F, overtaking", "tails=2:20", 0, 2, 20},
};

std::string delay_of(const Pair& pair, const Trial& trial, const TrainedOptions& options) {
  const double unit = options.unit_ms;
  const bool split = pair.memory == Memory::h1 || pair.memory == Memory::h2;
  std::string delay = fmt::format("compute=F:{}", unit);
  delay += split ? fmt::format(",compute=I:{0},compute=W:{0}", unit)
                 : fmt::format(",compute=B:{}", 2 * unit);
  delay += fmt::format(",message={}", options.latency * unit);
  if (trial.uniform > 0) delay += fmt::format(",jitter={}", trial.uniform);
  if (trial.late > 0) delay += fmt::format(",rare={}:{}", trial.late, trial.by * unit);
  return delay + (trial.fifo ? ",fifo" : "");
}

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// A temporary folder, which is removed with all its contents at the end.
class Folder {
 public:
  Folder() {
    if (mkdtemp(name_.data()) == nullptr) throw std::runtime_error("no folder for gpt's results");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(name_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::filesystem::path path() const { return name_; }

 private:
  std::string name_ = "/tmp/ripeline-compare-XXXXXX";
};

// Runs one comparison in gpt and returns its JSON. Two cores are enough, as the model is small.
nlohmann::json train(const Pair& pair, const Trial& trial, const TrainedOptions& options) {
  const Folder folder;
  const std::string json = folder.path() / "compared.json";
  const std::string log = folder.path() / "log";
  const std::string command = fmt::format(
      "'{}' -n {} -- '{}' --compare {},{} --width 8 --heads 1 --context 8 --batch 1 "
      "--microbatches {} --steps {} --delay {} --delay-seed {} --json '{}' >'{}' 2>&1",
      options.launch, options.ranks, options.gpt, pair.fixed, pair.hint, options.microbatches,
      options.steps, delay_of(pair, trial, options), options.first_seed, json, log);
  const int status = std::system(command.c_str());
  if (status != 0) throw std::runtime_error("this failed: " + command + "\n" + text_of(log));
  return nlohmann::json::parse(text_of(json));
}

struct Memories {
  std::vector<std::int64_t> proved;
  std::vector<std::int64_t> held;
};
Memories memories_of(const nlohmann::json& side) {
  Memories memories;
  for (const nlohmann::json& pool : side.at("memory")) {
    memories.proved.push_back(pool.at("proved"));
    memories.held.push_back(pool.at("observed"));
    if (memories.held.back() > memories.proved.back()) {
      throw std::runtime_error(side.at("schedule").get<std::string>() + " held more than proved");
    }
  }
  return memories;
}

struct Measured {
  optimise::Gain gain;
  double fixed_ms = 0;  // the geometric mean of the steps' times
  double hint_ms = 0;
};
// Compares step by step, since on both sides a step with the same number has the same delays.
Measured measured(const nlohmann::json& fixed, const nlohmann::json& hint) {
  const auto a = fixed.at("ms").get<std::vector<double>>();
  const auto b = hint.at("ms").get<std::vector<double>>();
  std::vector<double> logs;
  Measured result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    logs.push_back(std::log(a[i] / b.at(i)));
    result.fixed_ms += std::log(a[i]) / static_cast<double>(a.size());
    result.hint_ms += std::log(b[i]) / static_cast<double>(a.size());
  }
  result.gain = optimise::gain_of(logs);
  result.fixed_ms = std::exp(result.fixed_ms);
  result.hint_ms = std::exp(result.hint_ms);
  if (a.empty() || !std::isfinite(result.gain.ratio)) throw std::runtime_error("gpt: no number");
  return result;
}

struct Predicted {
  optimise::Gain gain;
  double fixed = 0;  // in units
  double hint = 0;
};
Predicted predicted(const Pair& pair, const Trial& trial, const TrainedOptions& options) {
  const Size size{.ranks = options.ranks};
  simulate::TimingOptions times;
  times.latency = options.latency;
  if (const core::Status s = simulate::Jitter::parse(trial.jitter, times.jitter); !s.ok()) {
    throw std::runtime_error(s.message());
  }
  const Subject fixed(pair.fixed, fixed_program(pair.memory, size));
  const Subject hint(pair.hint, hint_program(pair.memory, size, pair.dispatch));
  const auto a = simulate_runs(fixed, times, options.microbatches, 1, kDraws);
  const auto b = simulate_runs(hint, times, options.microbatches, 1, kDraws);
  std::vector<double> logs;
  Predicted result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    logs.push_back(std::log(a[i].makespan / b[i].makespan));
    result.fixed += std::log(a[i].makespan) / kDraws;
    result.hint += std::log(b[i].makespan) / kDraws;
  }
  result.gain = optimise::gain_of(logs);
  result.fixed = std::exp(result.fixed);
  result.hint = std::exp(result.hint);
  return result;
}

nlohmann::json row(const Pair& pair, const Trial& trial, const TrainedOptions& options) {
  const Predicted expected = predicted(pair, trial, options);
  const nlohmann::json run = train(pair, trial, options);
  const nlohmann::json& sides = run.at("sides");
  if (!run.at("equal_memory").get<bool>()) {
    throw std::runtime_error(fmt::format("{} and {}: unequal memory", pair.fixed, pair.hint));
  }
  const Memories fixed = memories_of(sides.at(0));
  const Memories hint = memories_of(sides.at(1));
  const Measured found = measured(sides.at(0), sides.at(1));
  const double fixed_off = found.fixed_ms / (expected.fixed * options.unit_ms) - 1;
  const double hint_off = found.hint_ms / (expected.hint * options.unit_ms) - 1;
  fmt::print("{}{}{} {} {:>8.1f} {:+5.1f} %  {:+5.1f} %   {}; {}; {}{}\n", filled(trial.name, 35),
             filled(fmt::format("{} : {}", pair.fixed, pair.hint), 27),
             filled(comparison::text_of(found.gain), 24),
             filled(comparison::text_of(expected.gain), 24), found.fixed_ms, 100 * fixed_off,
             100 * hint_off, numbers(fixed.proved), numbers(fixed.held), numbers(hint.held),
             found.gain.ratio < 0.9995 ? "   SLOWER" : "");
  std::fflush(stdout);
  const auto gain_json = [](const optimise::Gain& gain) {
    return nlohmann::json{{"ratio", gain.ratio}, {"low", gain.low}, {"high", gain.high}};
  };
  return {{"ranks", options.ranks},
          {"microbatches", options.microbatches},
          {"unit_ms", options.unit_ms},
          {"steps", options.steps},
          {"delay", run.at("delay")},
          {"delay_seed", run.at("delay_seed")},
          {"condition", trial.name},
          {"fixed", pair.fixed},
          {"hint", pair.hint},
          {"trained", gain_json(found.gain)},
          {"simulated", gain_json(expected.gain)},
          {"fixed_ms", found.fixed_ms},
          {"hint_ms", found.hint_ms},
          {"fixed_off", fixed_off},
          {"hint_off", hint_off},
          {"proved", fixed.proved},
          {"fixed_held", fixed.held},
          {"hint_held", hint.held}};
}

bool is_wanted(const Trial& trial, const std::string& part) {
  return std::string(trial.name).find(part) != std::string::npos;
}

}  // namespace

bool is_trained_condition(const std::string& part) {
  for (const Trial& trial : kTrials) {
    if (is_wanted(trial, part)) return true;
  }
  return false;
}

nlohmann::json compare_trained(const TrainedOptions& options) {
  fmt::print(
      "\nthe trained GPT: {} ranks, {} microbatches, {} steps of each side; a forward sleeps {} "
      "ms, "
      "a message takes {} of that; delays of seed {}\n"
      "time of the fixed order over the hint's: trained, and simulated with {} other draws; then "
      "milliseconds of a step of the fixed order, what it and the hint take longer than simulated, "
      "and activations: proved on both sides, the most held by the fixed order, by the hint\n",
      options.ranks, options.microbatches, options.steps, options.unit_ms, options.latency,
      options.first_seed, kDraws);
  nlohmann::json cells = nlohmann::json::array();
  for (const Trial& trial : kTrials) {
    if (!is_wanted(trial, options.condition)) continue;
    for (const Pair& pair : kPairs) cells.push_back(row(pair, trial, options));
  }
  return cells;
}

}  // namespace ripeline::bench::comparison
