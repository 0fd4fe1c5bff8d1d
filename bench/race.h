// Field: races hints against fixed orders, for the tables of bench_hints.
//
// A hint that learns keeps what it has learned from seed to seed, as training does from step to
// step, and starts anew with each condition. If a program has a generated arbiter, that arbiter
// runs, and its first run is compared with a run of the arbiter that is made at run time. A Field
// has the contestants of one size, and makes each only once. It checks in every run that no rank
// holds more than the class of memory allows. If a run fails, std::runtime_error ends the program.
// One thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/hints.h"
#include "optimise/racing/contest.h"
#include "optimise/racing/gain.h"

namespace ripeline::bench {

struct Racer {
  Memory memory = Memory::p_minus_s;
  std::string name;
  std::string dispatch;  // such as `ready by rn`; if empty, the fixed order of the class of memory
  bool learns = true;    // whether a hint that waits learns
  bool pyramid = false;  // whether inputs are in pyramid order
  // An experiment's name and its change to the program; both are empty if there is no experiment.
  std::string variant = {};
  std::function<void(spec::Program&)> change = {};
};

[[nodiscard]] inline spec::Program racing_program(const Racer& racer, const Size& size) {
  spec::Program program = racer.dispatch.empty() ? fixed_program(racer.memory, size)
                                                 : hint_program(racer.memory, size, racer.dispatch);
  if (racer.pyramid) program.inputs = spec::InputOrder::pyramid;
  if (program.dispatch.hint.patience) program.dispatch.hint.patience->learns = racer.learns;
  if (racer.change) racer.change(program);
  return program;
}

struct Result {
  optimise::Gain gain;
  double worst = 1;    // the least ratio among single runs
  double fixed = 0;    // the geometric mean of the fixed order's times
  double notices = 0;  // per task
  std::vector<std::int64_t> fixed_peaks;
  std::vector<std::int64_t> peaks;
  int equal = 0;  // runs in which each rank's peak equals the fixed order's
};

// The generated arbiter of a fixed order (empty dispatch) or a hint; null facts if there is none.
struct Generated {
  const core::ProgramFacts* facts = nullptr;
  optimise::Contestant::MakeArbiter make;
};
using FindGenerated = std::function<Generated(Memory, const std::string& dispatch, const Size&)>;

class Field {
 public:
  // Seeds count up from `first_seed`.
  Field(const Size& size, double latency, FindGenerated find = {}, int first_seed = 1)
      : size_(size), find_(std::move(find)), first_(first_seed) {
    options_.latency = latency;
  }

  [[nodiscard]] const Size& size() const { return size_; }
  // Sets the latency of notices in later races. By default it is the latency of messages.
  void set_notice(double latency) { options_.notice = latency; }
  // Sets the milliseconds that a duration of 1 lasts (default: no unit). Jitters J1 to J3 use them.
  void set_milliseconds(double ms) {
    options_.unit = trace::Unit{"ms", static_cast<std::int64_t>(ms * 1e6)};
  }

  Result race(const Racer& racer, const std::string& jitter, int seeds) {
    const std::vector<optimise::Outcome>& fixed = fixed_runs(racer.memory, jitter, seeds);
    optimise::Contestant& hint = contestant(
        std::string(class_of(racer.memory).name) + racer.dispatch + (racer.learns ? "" : " fixed") +
            (racer.pyramid ? " pyramid " : " ") + racer.variant + " " + jitter,
        [&] { return racing_program(racer, size_); }, generated_for(racer));
    Result result;
    std::vector<double> logs;
    double fixed_logs = 0;
    std::int64_t notices = 0;
    std::int64_t tasks = 0;
    for (int i = 0; i < seeds; ++i) {
      const int seed = first_ + i;
      const optimise::Outcome& a = fixed[static_cast<std::size_t>(i)];
      const optimise::Outcome b = run(hint, jitter, seed);
      if (i == 0 && generated_for(racer).facts != nullptr) {
        optimise::Contestant table(racing_program(racer, size_), size_.microbatches);
        if (run(table, jitter, seed).makespan != b.makespan) {
          throw std::runtime_error(racer.name + ": generated and made at run time, they differ");
        }
      }
      check(class_of(racer.memory), racer.name, a.peaks, b.peaks);
      hold(result.fixed_peaks, a.peaks);
      hold(result.peaks, b.peaks);
      result.equal += a.peaks == b.peaks ? 1 : 0;
      logs.push_back(std::log(a.makespan / b.makespan));
      fixed_logs += std::log(a.makespan);
      result.worst = std::min(result.worst, a.makespan / b.makespan);
      notices += b.notices;
      tasks += b.tasks;
    }
    result.gain = optimise::gain_of(logs);
    result.fixed = std::exp(fixed_logs / seeds);
    result.notices = static_cast<double>(notices) / static_cast<double>(tasks);
    return result;
  }

 private:
  // Only programs that are unchanged from the library have generated arbiters.
  [[nodiscard]] Generated generated_for(const Racer& racer) const {
    if (!find_ || racer.pyramid || racer.change || racer.dispatch.empty()) return {};
    return racer.learns ? find_(racer.memory, racer.dispatch, size_) : Generated{};
  }

  template <class Make>
  optimise::Contestant& contestant(const std::string& name, const Make& make,
                                   const Generated& generated) {
    std::unique_ptr<optimise::Contestant>& slot = contestants_[name];
    if (slot) return *slot;
    slot = generated.facts == nullptr
               ? std::make_unique<optimise::Contestant>(make(), size_.microbatches)
               : std::make_unique<optimise::Contestant>(make(), size_.microbatches,
                                                        *generated.facts, generated.make);
    return *slot;
  }

  const std::vector<optimise::Outcome>& fixed_runs(Memory memory, const std::string& jitter,
                                                   int seeds) {
    const char* name = class_of(memory).fixed;
    std::vector<optimise::Outcome>& runs = fixed_runs_[{name, jitter}];
    const auto of =
        std::find_if(std::begin(kClasses), std::end(kClasses),
                     [&](const MemoryClass& c) { return std::string(c.fixed) == name; });
    optimise::Contestant& fixed = contestant(
        name, [&] { return fixed_program(memory, size_); },
        find_ ? find_(of->memory, "", size_) : Generated{});
    for (int i = static_cast<int>(runs.size()); i < seeds; ++i) {
      runs.push_back(run(fixed, jitter, first_ + i));
    }
    return runs;
  }

  optimise::Outcome run(optimise::Contestant& who, const std::string& jitter, int seed) {
    simulate::TimingOptions options = options_;
    if (const core::Status s = simulate::Jitter::parse(jitter, options.jitter); !s.ok()) {
      throw std::runtime_error(s.message());
    }
    optimise::Outcome outcome = who.run(options, static_cast<std::uint64_t>(seed));
    if (!outcome.failure.empty()) throw std::runtime_error(outcome.failure);
    return outcome;
  }

  static void hold(std::vector<std::int64_t>& most, const std::vector<std::int64_t>& peaks) {
    most.resize(peaks.size());
    for (std::size_t i = 0; i < peaks.size(); ++i) most[i] = std::max(most[i], peaks[i]);
  }

  static void check(const MemoryClass& c, const std::string& who,
                    const std::vector<std::int64_t>& fixed,
                    const std::vector<std::int64_t>& peaks) {
    const std::int64_t fullest = *std::max_element(fixed.begin(), fixed.end());
    for (std::size_t rank = 0; rank < fixed.size(); ++rank) {
      const std::int64_t most = c.as_fullest ? fullest : fixed[rank];
      if (peaks.at(rank) <= most) continue;
      throw std::runtime_error(who + " at the memory of " + c.name + ": rank " +
                               std::to_string(rank) + " held " + std::to_string(peaks[rank]) +
                               ", and may hold " + std::to_string(most));
    }
  }

  Size size_;
  FindGenerated find_;
  int first_ = 1;
  simulate::TimingOptions options_;
  std::map<std::string, std::unique_ptr<optimise::Contestant>> contestants_;
  std::map<std::pair<std::string, std::string>, std::vector<optimise::Outcome>> fixed_runs_;
};

}  // namespace ripeline::bench
