// A reconstruction of RRFP's conditions (arXiv 2605.18750), with 4, 8 and 16 ranks: hints with 32
// activations at every stage against 1F1B with its own memory, and hints with 1F1B's memory.
//
// Spreads are like the paper's measured spreads: (p95 − p5) / p50 is 0.73 for tasks, which a
// lognormal factor of cv 0.22 gives, and 58.7 for messages, whose latency is lognormal. Values.
#pragma once

#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/hints.h"
#include "optimise/racing/contest.h"

namespace ripeline::bench::rrfp {

struct Entrant {
  const char* name;
  const char* schedule;  // in the library, or `multimodal`
  const char* dispatch;
  bool limit = false;  // 32 activations at every stage
};

// The other entrants are measured against the first one, here and in kMultimodal.
inline const std::vector<Entrant> kLanguage = {
    {"1F1B", "1f1b", ""},
    {"BF", "bf", "", true},
    {"FB", "fb", "", true},
    {"B first", "b_first", "", true},
    {"F first", "f_first", "", true},
    {"BFW", "bfw", "", true},
    {"BF =", "1f1b_hint", "ready by bf"},
    {"FC =", "1f1b_hint", "ready by fc"},
};
inline const std::vector<Entrant> kMultimodal = {
    {"1F1B", "multimodal", ""},
    {"BF", "multimodal", "ready by bf", true},
    {"FB", "multimodal", "ready by fb", true},
    {"B first", "multimodal", "ready by b_first", true},
    {"F first", "multimodal", "ready by f_first", true},
    {"BF =", "multimodal", "ready by bf"},
    {"FC =", "multimodal", "ready by fc"},
};

struct Condition {
  const char* name;
  const char* jitter;
  double median = 0;  // the median of latencies with the measured spread; 0: no spread
};
inline const std::vector<Condition> kConditions = {
    {"J0", ""},
    {"J1", "J1"},
    {"J2", "J2"},
    {"J3", "J3"},
    {"tasks as measured", "lognormal=0.22"},
    {"and messages, median .01", "lognormal=0.22", 0.01},
    {"and messages, median .05", "lognormal=0.22", 0.05},
    {"the same, inputs σ = .6", "lognormal=0.22,input=0.6", 0.05},
};

[[nodiscard]] inline spec::Program program_of(const Entrant& entrant, int ranks) {
  spec::ElaborateOptions options;
  options.defines = {{"ranks", ranks}};
  if (entrant.limit) options.defines["limit"] = 32;
  options.dispatch = entrant.dispatch;
  std::string text;
  if (std::string(entrant.schedule) == "multimodal") {
    const std::string file = RIPELINE_SOURCE_DIR "/bench/programs/multimodal.ripe";
    std::ostringstream read;
    read << std::ifstream(file).rdbuf();
    text = read.str();
    if (text.empty()) throw std::runtime_error("cannot read " + file);
  } else {
    text = *spec::library_text(entrant.schedule);
  }
  auto program = spec::compile({entrant.schedule, text}, options);
  if (!program.ok()) throw std::runtime_error(program.errors().front().message);
  return std::move(program).value();
}

// `latency` is the latency of messages under a condition that gives them no spread.
[[nodiscard]] inline simulate::TimingOptions times_of(const Condition& condition,
                                                      double latency = 0.05) {
  simulate::TimingOptions options;
  if (const core::Status s = simulate::Jitter::parse(condition.jitter, options.jitter); !s.ok()) {
    throw std::runtime_error(s.message());
  }
  if (condition.median == 0) {
    options.latency = latency;
    return options;
  }
  // The σ for which 2 sinh(1.645 σ) = 58.7.
  constexpr double kSigma = 2.476;
  const double mean = condition.median * std::exp(kSigma * kSigma / 2);
  simulate::Profile profile;
  profile.unit = simulate::plain_unit();
  simulate::Profile::Link link;
  link.latency = mean;
  link.spread = mean * std::sqrt(std::expm1(kSigma * kSigma));
  profile.links.push_back(link);
  options.profile = profile;
  options.notice = condition.median;
  return options;
}

}  // namespace ripeline::bench::rrfp
