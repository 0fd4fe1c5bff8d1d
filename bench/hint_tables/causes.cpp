// Shows why a hint gains little, or loses, by changing one thing at a time under equal draws.
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "bench/hint_tables/report.h"

namespace ripeline::bench {
namespace {

struct Trial {
  const char* what;
  Size size;
  Racer racer;
  const char* jitter;
  int seeds;
};
const Trial kTrials[] = {
    {"ZB-H1, halves of .5, 32 x 64", {32, 64, 1}, {Memory::h1, "RN", "ready by rn"}, "", 2},
    {"the same, ±5 %", {32, 64, 1}, {Memory::h1, "RN", "ready by rn"}, "uniform=0.05", 20},
    {"ZB-H1, halves of 1, 32 x 64", {32, 64, 2}, {Memory::h1, "RN", "ready by rn"}, "", 2},
    {"1F1B, backward 3, inputs .3",
     {16, 128, 3},
     {Memory::p_minus_s, "RN", "ready by rn"},
     "input=0.3",
     20},
    {"the same, backward 2",
     {16, 128, 2},
     {Memory::p_minus_s, "RN", "ready by rn"},
     "input=0.3",
     20},
    {"the same, backward 1",
     {16, 128, 1},
     {Memory::p_minus_s, "RN", "ready by rn"},
     "input=0.3",
     20},
    {"ZB-H2, ±30 %", {}, {Memory::h2, "RN", "ready by rn"}, "uniform=0.3", 100},
    {"ZB-H1, lognormal, cv 1", {}, {Memory::h1, "RN", "ready by rn"}, "lognormal=1", 100},
    {"ZB-H1, overtaking", {}, {Memory::h1, "RN", "ready by rn"}, "tails=2:20", 100},
    {"ZB-H2, FIFO, 192", {8, 192, 2}, {Memory::h2, "RN", "ready by rn"}, "tails=2:20,fifo", 100},
    {"ZB-H2, overtaking, 192", {8, 192, 2}, {Memory::h2, "RN", "ready by rn"}, "tails=2:20", 100},
    {"eager, max 15, FIFO, 192",
     {8, 192, 2},
     {Memory::eager_max, "RN", "ready by rn"},
     "tails=2:20,fifo",
     100},
    {"eager, J3", {}, {Memory::eager, "RN", "ready by rn"}, "J3", 100},
};

struct Change {
  const char* what;
  void (*of)(spec::Program&);
  std::optional<double> notice = {};
};

void fill_weights(spec::Program& program) {
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    if (program.ops[op].kind == spec::OpKind::backward_weight) {
      program.dispatch.hint.fill.push_back({.op = static_cast<int>(op)});
    }
  }
}

const Change kChanges[] = {
    {"declared", nullptr},
    {"plain", [](spec::Program& program) { program.dispatch.hint.patience.reset(); }},
    {"fill W", fill_weights},
    {"FC", [](spec::Program& program) { program.dispatch.hint.patience->forecasts = true; }},
    {"unlearned", [](spec::Program& program) { program.dispatch.hint.patience->learns = false; }},
    {"patience .5",
     [](spec::Program& program) {
       program.dispatch.hint.patience->patience = {1, 2};
     }},
    {"patience 3",
     [](spec::Program& program) {
       program.dispatch.hint.patience->patience = {3, 1};
     }},
    {"yield .5",
     [](spec::Program& program) {
       program.dispatch.hint.patience->yield = {1, 2};
     }},
    {"yield 2",
     [](spec::Program& program) {
       program.dispatch.hint.patience->yield = {2, 1};
     }},
    {"notice 0", nullptr, 0.0},
    {"notice .2", nullptr, 0.2},
    {"notice .5", nullptr, 0.5},
};

void trial(const Trial& trial, const Options& options, Cells& cells) {
  fmt::print("{}{}", trial.what, padding(trial.what, 30));
  for (const Change& change : kChanges) {
    Field field(trial.size, options.latency, {}, options.first_seed);
    if (change.notice) field.set_notice(*change.notice);
    Racer racer = trial.racer;
    racer.variant = change.what;
    if (change.of != nullptr) racer.change = change.of;
    const Result result = field.race(racer, trial.jitter, seeds_or(options, trial.seeds));
    cells.add("causes", trial.size, racer, {trial.what, trial.jitter}, result);
    fmt::print(" {:>11.3f}", result.gain.ratio);
    std::fflush(stdout);
  }
  fmt::print("\n");
}

}  // namespace

void causes_table(const Options& options, Cells& cells) {
  fmt::print("{:<30}", "");
  for (const Change& change : kChanges) fmt::print(" {:>11}", change.what);
  fmt::print("\n");
  for (const Trial& t : kTrials) {
    if (options.condition.empty() ||
        std::string(t.what).find(options.condition) != std::string::npos)
      trial(t, options, cells);
  }
}

}  // namespace ripeline::bench
