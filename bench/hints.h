// Hints and fixed orders at equal memory, under many timings: what bench_hints prints and a test
// holds.
//
// A class of memory has a fixed order, which says how much each rank may hold; hints of the class
// have exactly that as capacity. All meet the same draws. Values; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/interpreter.h"
#include "simulate/simulator.h"
#include "simulate/table_arbiter.h"
#include "simulate/timing.h"
#include "spec/elaborate.h"

namespace ripeline::bench {

struct Size {
  int ranks = 8;
  int microbatches = 32;
  double forward = 1;
  double backward = 2;  // of a split backward, each half is half of it
};

enum class Memory { p_minus_s, max, eager, h1, h2 };

struct Condition {
  std::string name;
  std::string jitter;
};

// Those of the table.
[[nodiscard]] inline std::vector<Condition> conditions() {
  return {{"none", ""},
          {"uniform ±30 %", "uniform=0.3"},
          {"J1", "J1"},
          {"J3", "J3"},
          {"lognormal, cv 1", "lognormal=1"},
          {"2 % of messages +20 F, FIFO", "tails=2:20,fifo"},
          {"the same, overtaking", "tails=2:20"},
          {"exponential latency, mean .5 F", "exponential=0.5"},
          {"cost per input, σ = .3", "input=0.3"},
          {"cost per input, σ = .6", "input=0.6"}};
}

[[nodiscard]] inline bool is_split(Memory memory) {
  return memory == Memory::h1 || memory == Memory::h2;
}

// `dispatch` is `in order fixed`, `ready by bf` or `ready by waits`; `clauses` are those of the
// hint `waits`.
[[nodiscard]] inline std::string program_text(Memory memory, const Size& size,
                                              const std::string& dispatch,
                                              const std::string& clauses) {
  const bool split = is_split(memory);
  const bool deep = memory == Memory::eager || memory == Memory::h2;
  const std::string warm = std::string(deep ? "2 * " : "") + "(ranks - 1 - r)";
  std::string text = "pipeline hints {\n  param ranks = " + std::to_string(size.ranks) +
                     ";\n  microbatches any;\n  stages ranks;\n  place s on s;\n";
  const auto cost = [](double c) { return std::to_string(c); };
  text +=
      "  op F forward { cost " + cost(size.forward) + "; needs F at prev; acquires activation; }\n";
  if (split) {
    text += "  op I backward input { cost " + cost(size.backward / 2) +
            "; needs F at here, I at next; }\n  op W backward weight { cost " +
            cost(size.backward / 2) + "; needs I at here; releases activation; }\n";
  } else {
    text += "  op B backward { cost " + cost(size.backward) +
            "; needs F at here, B at next; releases activation; }\n";
  }
  const char* capacity = memory == Memory::p_minus_s ? "ranks - s"
                         : memory == Memory::eager   ? "2 * (ranks - 1 - s) + 1"
                         : memory == Memory::h2      ? "2 * ranks - 1"
                                                     : "ranks";
  text += std::string("  resource activation per stage { capacity ") + capacity + "; }\n";
  if (split) {
    const std::string late = deep ? "2 * r" : "r";
    text += "  order fixed on r {\n    let warm = min(" + warm +
            ", microbatches);\n    let late = min(" + late +
            ", microbatches);\n"
            "    let ahead = min(late, microbatches - warm);\n"
            "    F * warm;  (F I) * ahead;  (F I W) * (microbatches - warm - ahead);\n"
            "    I * (late - ahead);  (I W) * (warm - (late - ahead));  W * late;\n  }\n"
            "  hint bf { rounds I, F; fill W; }\n  hint waits { follow fixed; fill W; " +
            clauses + " }\n";
  } else {
    text += "  order fixed on r {\n    let warm = min(" + warm +
            ", microbatches);\n    F * warm;  (F B) * (microbatches - warm);  B * warm;\n  }\n"
            "  hint bf { rounds B, F; }\n  hint waits { follow fixed; " +
            clauses + " }\n";
  }
  return text + "  dispatch " + dispatch + ";\n}\n";
}

struct Outcome {
  double makespan = 0;  // in units
  std::int64_t notices = 0;
  std::int64_t tasks = 0;
  std::vector<std::int64_t> peaks;
  std::string failure;  // a breach, or stuck
};

// One dispatch of a class, run again and again.
class Policy {
 public:
  Policy(Memory memory, const Size& size, const std::string& dispatch, const std::string& clauses)
      : size_(size),
        program_(
            spec::compile({"hints", program_text(memory, size, dispatch, clauses)}, {}).value()),
        storage_(program_, {}),
        simulator_(storage_.facts(), [this](int rank) {
          return std::make_unique<simulate::TableArbiter>(program_, storage_.facts(), rank);
        }) {}
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;

  [[nodiscard]] const spec::Program& program() const { return program_; }

  [[nodiscard]] Outcome run(const std::string& jitter, std::uint64_t seed, double latency) {
    simulate::TimingOptions options;
    options.latency = latency;
    options.seed = seed;
    Outcome outcome;
    core::Status status = simulate::Jitter::parse(jitter, options.jitter);
    simulate::Timing timing;
    if (status.ok()) {
      status = simulate::Timing::make(program_, size_.microbatches, options, timing);
    }
    if (!status.ok()) {
      outcome.failure = status.message();
      return outcome;
    }
    const simulate::RunReport report = simulator_.run(size_.microbatches, timing, {});
    outcome.failure = report.stuck ? report.waiting : report.status.message();
    outcome.makespan = static_cast<double>(report.makespan.count()) /
                       static_cast<double>(timing.unit().nanoseconds);
    outcome.notices = report.notices;
    outcome.tasks = report.tasks;
    outcome.peaks = report.peaks;
    return outcome;
  }

 private:
  Size size_;
  spec::Program program_;
  simulate::FactsStorage storage_;
  simulate::Simulator simulator_;
};

}  // namespace ripeline::bench
