// The table of hints at many sizes, which also lists the worst cells.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/hint_tables/report.h"

namespace ripeline::bench {
namespace {

struct Cell {
  Size size;
  std::string condition;
  Result result;
};

void print_worst(const Racer& racer, std::vector<Cell> cells) {
  double logs = 0;
  for (const Cell& c : cells) logs += std::log(c.result.gain.ratio);
  std::sort(cells.begin(), cells.end(),
            [](const Cell& a, const Cell& b) { return a.result.gain.ratio < b.result.gain.ratio; });
  const auto below = std::count_if(cells.begin(), cells.end(),
                                   [](const Cell& c) { return c.result.gain.ratio < 0.999; });
  fmt::print("{} at the memory of {}: geometric mean {:.3f}, {} of {} cells below 0.999; worst\n",
             racer.name, class_of(racer.memory).name,
             std::exp(logs / static_cast<double>(cells.size())), below, cells.size());
  cells.resize(std::min<std::size_t>(cells.size(), 5));
  for (const Cell& c : cells) {
    fmt::print("  {:.3f} ({:.3f} to {:.3f})  {} ranks, {} microbatches, backward {}, {}\n",
               c.result.gain.ratio, c.result.gain.low, c.result.gain.high, c.size.ranks,
               c.size.microbatches, c.size.backward, c.condition);
  }
}

}  // namespace

void sizes_table(const Options& options, Cells& cells) {
  const std::vector<Racer> racers = {
      {Memory::p_minus_s, "BF", "ready by bf"}, {Memory::p_minus_s, "FC", "ready by fc"},
      {Memory::p_minus_s, "RN", "ready by rn"}, {Memory::max, "FC", "ready by fc"},
      {Memory::eager, "RN", "ready by rn"},     {Memory::h1, "RN", "ready by rn"},
      {Memory::h2, "RN", "ready by rn"}};
  const int seeds = seeds_or(options, 20);
  fmt::print("4 to 32 ranks p, p to 8p microbatches, backward 1 to 3, latency {}, {} seeds\n",
             options.latency, seeds);
  std::vector<std::vector<Cell>> all(racers.size());
  for (const int ranks : {4, 8, 16, 32}) {
    for (const int factor : {1, 2, 4, 8}) {
      for (const double backward : {1.0, 2.0, 3.0}) {
        const Size size{ranks, factor * ranks, backward};
        Field field(size, options.latency, {}, options.first_seed);
        for (const Condition& condition : wanted(options)) {
          for (std::size_t i = 0; i < racers.size(); ++i) {
            const Result result = field.race(racers[i], condition.jitter, seeds);
            cells.add("sizes", size, racers[i], condition, result);
            all[i].push_back({size, condition.name, result});
          }
        }
      }
    }
  }
  for (std::size_t i = 0; i < racers.size(); ++i) print_worst(racers[i], all[i]);
}

}  // namespace ripeline::bench
