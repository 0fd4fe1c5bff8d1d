// Interleaved 1F1B, several stages on a rank, and its order followed.
//
// A rank's share of the model is that of the other tables, whatever the number of stages: all of
// its forwards of a microbatch take 1.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include <fmt/format.h>

#include "bench/hint_tables/report.h"
#include "verify/verify.h"

namespace ripeline::bench {
namespace {

// What a hint may hold: what the program declares, or what the fixed order holds rank by rank; what
// makes it safe is then what early stages leave, or room that is kept for the order.
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

spec::Program program_of(int chunks, const Size& size, const std::string& dispatch) {
  spec::ElaborateOptions elaborate;
  elaborate.defines = {{"ranks", size.ranks}, {"chunks", chunks}};
  elaborate.dispatch = dispatch;
  spec::Source source{"interleaved_1f1b", *spec::library_text("interleaved_1f1b")};
  spec::Program program = spec::compile(source, elaborate).value();
  for (spec::Lane& lane : program.lanes) {
    const bool forward = spec::Program::at(program.ops, lane.op).kind == spec::OpKind::forward;
    const double cost = forward ? 1 : size.backward;
    lane.cost = {static_cast<std::int64_t>(cost * 1000), 1000 * chunks};
  }
  return program;
}

spec::Program program_of(int chunks, const Size& size, const Entrant& entrant, const Peaks& held) {
  spec::Program program = program_of(chunks, size, entrant.dispatch);
  if (program.dispatch.hint.patience) program.dispatch.hint.patience->learns = entrant.learns;
  if (entrant.room == Room::declared) return program;
  for (std::size_t pool = 0; pool < held.size(); ++pool) program.pools[pool].capacity = held[pool];
  program.assertions.clear();
  program.microbatches = {size.microbatches, size.microbatches};
  if (entrant.room == Room::equal) return program;
  for (spec::Lane& lane : program.lanes) {
    for (spec::Acquire& a : lane.acquires) a.leaving = 0;
  }
  program.hash = spec::hash_of(program);
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
  Rows(int chunks, const Options& options)
      : chunks_(chunks),
        options_(options),
        fixed_(program_of(chunks, options.size, ""), options.size.microbatches),
        peaks_(std::size(kEntrants)) {
    times_.latency = options.latency;
    held_ = fixed_.run(times_, 1).peaks;
  }

  void print(Cells& cells) {
    fmt::print("{} stages on each of {} ranks, {} microbatches\n{:<32}", chunks_,
               options_.size.ranks, options_.size.microbatches, "condition");
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
      const simulate::Gain gain = race(times, kEntrants[i], peaks_[i]);
      fmt::print(" {:>10.3f}", gain.ratio);
      std::fflush(stdout);
      cells.json().push_back({{"table", "chunks"},
                              {"chunks", chunks_},
                              {"ranks", options_.size.ranks},
                              {"microbatches", options_.size.microbatches},
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

  // What a hint learned is forgotten between conditions.
  simulate::Gain race(const simulate::TimingOptions& times, const Entrant& entrant, Peaks& peaks) {
    simulate::Contestant hint(program_of(chunks_, options_.size, entrant, held_),
                              options_.size.microbatches);
    std::vector<double> logs;
    for (int i = 0; i < seeds_or(options_, 100); ++i) {
      const auto seed = static_cast<std::uint64_t>(options_.first_seed + i);
      const simulate::Outcome a = fixed_.run(times, seed);
      const simulate::Outcome b = hint.run(times, seed);
      if (const std::string why = a.failure + b.failure; !why.empty()) {
        throw std::runtime_error(std::string(entrant.name) + ": " + why);
      }
      logs.push_back(std::log(a.makespan / b.makespan));
      hold(peaks, b.peaks);
    }
    return simulate::gain_of(logs);
  }

  int chunks_;
  const Options& options_;
  simulate::TimingOptions times_;
  simulate::Contestant fixed_;
  Peaks held_;
  std::vector<Peaks> peaks_;  // per entrant
};

}  // namespace

void chunks_table(const Options& options, Cells& cells) {
  for (const int chunks : {2, 4}) Rows(chunks, options).print(cells);
}

}  // namespace ripeline::bench
