// A program that was never compiled, simulated once: a Simulator with TableArbiters.
#pragma once

#include "core/facts.h"
#include "simulate/simulator.h"
#include "simulate/timing.h"
#include "spec/program.h"

namespace ripeline::simulate {

// Simulates one step. The facts must be the program's.
[[nodiscard]] RunReport run_program(const spec::Program& program, const core::ProgramFacts& facts,
                                    int microbatches, const Timing& timing,
                                    const RunOptions& options);

}  // namespace ripeline::simulate
