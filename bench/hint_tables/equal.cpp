// The tables of hints with a fixed order's memory: all conditions, late messages, sorted inputs.
#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "bench/hint_tables/report.h"
#include "bench/overtaking_bound.h"

namespace ripeline::bench {

namespace {

std::vector<Racer> main_racers() {
  return {{Memory::p_minus_s, "p-s BF", "ready by bf"},
          {Memory::p_minus_s, "RN", "ready by rn"},
          {Memory::p_minus_s, "FC", "ready by fc"},
          {Memory::max, "max BF", "ready by bf"},
          {Memory::max, "FC", "ready by fc"},
          {Memory::eager, "eager BF", "ready by bf"},
          {Memory::eager, "RN", "ready by rn"},
          {Memory::h1, "H1 BFW", "ready by bfw"},
          {Memory::h1, "RN", "ready by rn"},
          {Memory::h2, "H2 BFW", "ready by bfw"},
          {Memory::h2, "RN", "ready by rn"}};
}

// Prints a hint's time next to a bound that no hint can beat.
void print_bound(const Options& options, const Size& size) {
  constexpr int kRuns = 20'000;
  constexpr std::uint64_t kSeed = 1;
  Field field(size, options.latency, {}, options.first_seed);
  const Result rn =
      field.race({Memory::h2, "RN", "ready by rn"}, "tails=2:20", seeds_or(options, 100));
  OvertakingBound bound({.ranks = size.ranks,
                         .microbatches = size.microbatches,
                         .held = 2 * size.ranks - 1,
                         .latency = options.latency},
                        kSeed);
  fmt::print(
      "overtaking, at the memory of ZB-H2: the fixed order takes {:.1f}, RN {:.1f}; no rule that "
      "cannot tell what will be late takes less than {:.1f} on average ({} draws of it, seed {})\n",
      rn.fixed, rn.fixed / rn.gain.ratio, bound.time(kRuns), kRuns, kSeed);
}

}  // namespace

// The same as --table conditions, but hints keep their initial patience, as they do not learn.
void fixed_table(const Options& options, Cells& cells) {
  std::vector<Racer> racers = main_racers();
  for (Racer& racer : racers) racer.learns = false;
  print_conditions(options, "fixed", options.size, racers, wanted(options), cells);
}

void conditions_table(const Options& options, Cells& cells) {
  print_conditions(options, "conditions", options.size, main_racers(), wanted(options), cells);
}

void tails_table(const Options& options, Cells& cells) {
  const std::vector<Racer> racers = {
      {Memory::p_minus_s, "p-s BF", "ready by bf"}, {Memory::p_minus_s, "FC", "ready by fc"},
      {Memory::eager, "eager BF", "ready by bf"},   {Memory::eager, "RN", "ready by rn"},
      {Memory::eager_max, "max BF", "ready by bf"}, {Memory::eager_max, "RN", "ready by rn"},
      {Memory::h1, "H1 BFW", "ready by bfw"},       {Memory::h1, "RN", "ready by rn"},
      {Memory::h2, "H2 BFW", "ready by bfw"},       {Memory::h2, "RN", "ready by rn"}};
  std::vector<Condition> rows = wanted(options);
  std::erase_if(rows, [](const Condition& c) { return c.jitter.find("tails") == c.jitter.npos; });
  Size size = options.size;
  size.microbatches = 192;
  print_conditions(options, "tails", size, racers, rows, cells);
  const bool overtakes = std::any_of(rows.begin(), rows.end(),
                                     [](const Condition& c) { return c.jitter == "tails=2:20"; });
  constexpr double kHalves = 2;  // the bound is for a backward of two halves of 1
  if (overtakes && size.backward == kHalves) print_bound(options, size);
}

// Compares fixed orders and hints whose inputs are in pyramid order with the fixed order whose
// inputs are in their natural order.
void pyramid_table(const Options& options, Cells& cells) {
  std::vector<Racer> racers;
  const auto add = [&](Memory memory, const char* name, const char* hint) {
    racers.push_back({memory, name, "", true, true});
    racers.push_back({memory, hint + 9, hint, true, true});
  };
  add(Memory::p_minus_s, "p-s", "ready by fc");
  add(Memory::eager, "eager", "ready by rn");
  add(Memory::h1, "H1", "ready by rn");
  add(Memory::h2, "H2", "ready by rn");
  std::vector<Condition> rows = {{"σ = .3", "input=0.3"},
                                 {"σ = .3, known to 20 %", "input=0.3,estimate=0.2"},
                                 {"σ = .6", "input=0.6"},
                                 {"σ = .6, known to 20 %", "input=0.6,estimate=0.2"},
                                 {"σ = .6, ±30 % beside", "input=0.6,uniform=0.3"}};
  if (!options.condition.empty()) {
    std::erase_if(rows, [&](const Condition& c) {
      return c.name.find(options.condition) == std::string::npos;
    });
  }
  print_conditions(options, "pyramid", options.size, racers, rows, cells);
}

}  // namespace ripeline::bench
