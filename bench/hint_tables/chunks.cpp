// Compares interleaved 1F1B, with several stages on a rank, with hints that follow its order.
//
// As in the other tables of bench_hints, all forwards of one microbatch on a rank together take 1,
// however many stages the rank has.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include <fmt/format.h>

#include "bench/hint_tables/report.h"
#include "verify/verify.h"

namespace ripeline::bench {
namespace {

// The source of a hint's memory: the program's declaration, or what the fixed order holds, rank by
// rank. In the second case early stages leave room (`equal`), or the dispatch keeps room (`kept`).
enum class Room { declared, equal, kept };

struct Entrant {
  const char* name;
  const char* dispatch;
  Room room;
  bool learns = true;
};
constexpr Entrant kEntrants[] = {
    {"follow", "ready by interleaved", Room::declared},
    {"RN", "ready by rn", Room::declared},
    {"FC", "ready by fc", Room::declared},
    {"follow =", "ready by interleaved", Room::equal},
    {"RN =", "ready by rn", Room::equal},
    {"FC =", "ready by fc", Room::equal},
    {"follow =k", "ready by interleaved keeping interleaved", Room::kept},
    {"RN =k", "ready by rn keeping interleaved", Room::kept},
    {"FC =k", "ready by fc keeping interleaved", Room::kept},
    {"RN =k*", "ready by rn keeping interleaved", Room::kept, false},
};

using Peaks = std::vector<std::int64_t>;

spec::Program program_of(const Size& size, const Entrant& entrant, const Peaks& held) {
  spec::Program program = library_program("interleaved_1f1b", size, entrant.dispatch);
  if (program.dispatch.hint.patience) program.dispatch.hint.patience->learns = entrant.learns;
  if (entrant.room == Room::declared) return program;
  program.microbatches = {size.microbatches, size.microbatches};
  hold_to(held, entrant.room == Room::kept, program);
  if (entrant.room == Room::equal) return program;
  if (verify::verify(program).outcome != verify::Outcome::proved) {
    throw std::runtime_error(std::string(entrant.name) + ": not proved");
  }
  return program;
}

void hold(Peaks& most, const Peaks& peaks) {
  most.resize(peaks.size());
  for (std::size_t i = 0; i < peaks.size(); ++i) most[i] = std::max(most[i], peaks[i]);
}

class Rows {
 public:
  Rows(const Size& size, const Options& options)
      : size_(size),
        options_(options),
        fixed_(library_program("interleaved_1f1b", size), size.microbatches),
        peaks_(std::size(kEntrants)) {
    times_.latency = options.latency;
    held_ = fixed_.run(times_, 1).peaks;
  }

  void print(Cells& cells) {
    fmt::print("{} stages on each of {} ranks, {} microbatches\n{:<32}", size_.chunks, size_.ranks,
               size_.microbatches, "condition");
    for (const Entrant& entrant : kEntrants) fmt::print(" {:>10}", entrant.name);
    fmt::print("\n");
    for (const Condition& condition : wanted(options_)) row(condition, cells);
    fmt::print("{:<12} {}\n", "held, fixed", numbers(held_));
    for (std::size_t i = 0; i < peaks_.size(); ++i) {
      fmt::print("{:<12} {}\n", kEntrants[i].name, numbers(peaks_[i]));
    }
    fmt::print("= equal memory; k keeping; * without learning\n");
  }

 private:
  void row(const Condition& condition, Cells& cells) {
    simulate::TimingOptions times = times_;
    if (const core::Status s = simulate::Jitter::parse(condition.jitter, times.jitter); !s.ok()) {
      throw std::runtime_error(s.message());
    }
    fmt::print("{}{}", condition.name, padding(condition.name, 32));
    for (std::size_t i = 0; i < std::size(kEntrants); ++i) {
      const optimise::Gain gain = race(times, kEntrants[i], peaks_[i]);
      fmt::print(" {:>10.3f}", gain.ratio);
      std::fflush(stdout);
      cells.json().push_back({{"table", "chunks"},
                              {"chunks", size_.chunks},
                              {"ranks", size_.ranks},
                              {"microbatches", size_.microbatches},
                              {"hint", kEntrants[i].name},
                              {"condition", condition.name},
                              {"ratio", gain.ratio},
                              {"low", gain.low},
                              {"high", gain.high},
                              {"fixed_peaks", held_},
                              {"peaks", peaks_[i]}});
    }
    fmt::print("\n");
  }

  // Makes a new Contestant, so that a hint begins without what it has learned in other conditions.
  optimise::Gain race(const simulate::TimingOptions& times, const Entrant& entrant, Peaks& peaks) {
    optimise::Contestant hint(program_of(size_, entrant, held_), size_.microbatches);
    std::vector<double> logs;
    for (int i = 0; i < seeds_or(options_, 100); ++i) {
      const auto seed = static_cast<std::uint64_t>(options_.first_seed + i);
      const optimise::Outcome a = fixed_.run(times, seed);
      const optimise::Outcome b = hint.run(times, seed);
      if (const std::string why = a.failure + b.failure; !why.empty()) {
        throw std::runtime_error(std::string(entrant.name) + ": " + why);
      }
      logs.push_back(std::log(a.makespan / b.makespan));
      hold(peaks, b.peaks);
    }
    return optimise::gain_of(logs);
  }

  Size size_;
  const Options& options_;
  simulate::TimingOptions times_;
  optimise::Contestant fixed_;
  Peaks held_;
  std::vector<Peaks> peaks_;  // per entrant
};

}  // namespace

void chunks_table(const Options& options, Cells& cells) {
  Size size = options.size;
  for (size.chunks = 2; size.chunks <= 4; size.chunks *= 2) Rows(size, options).print(cells);
}

}  // namespace ripeline::bench
