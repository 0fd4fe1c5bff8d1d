// Runs of programs on the virtual clock, for tests.
#pragma once

#include <string>

#include "lower/facts.h"
#include "simulate/interpreter.h"
#include "simulate/simulator.h"
#include "simulate/table_arbiter.h"
#include "spec/elaborate.h"
#include "spec/library.h"

namespace ripeline::testing_support {

// Compiles a library schedule, or a text that begins with a line break.
inline spec::Program compiled_schedule(const std::string& what,
                                       const spec::ElaborateOptions& options = {}) {
  const std::string text = what.front() == '\n' ? what : std::string(*spec::library_text(what));
  return spec::compile({what, text}, options).value();
}

// The runs of a program under table arbiters, which are made at run time.
struct TableRun {
  explicit TableRun(const spec::Program& of) : program(of), storage(lower::facts_of(of)) {}

  simulate::RunReport run(int microbatches, const simulate::TimingOptions& options = {},
                          trace::Record* record = nullptr, bool causes = false) {
    simulate::Timing timing;
    const core::Status made = simulate::Timing::make(program, microbatches, options, timing);
    if (!made.ok()) {
      simulate::RunReport refused;
      refused.status = made;
      return refused;
    }
    simulate::Simulator simulator(storage.facts(), [this](int rank) {
      return std::make_unique<simulate::TableArbiter>(program, storage.facts(), rank);
    });
    return simulator.run(microbatches, timing, {.record = record, .causes = causes});
  }

  const spec::Program& program;
  core::OwnedFacts storage;
};

}  // namespace ripeline::testing_support
