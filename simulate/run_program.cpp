#include "simulate/run_program.h"

#include <memory>

#include "simulate/table_arbiter.h"

namespace ripeline::simulate {

RunReport run_program(const spec::Program& program, const core::ProgramFacts& facts,
                      int microbatches, const Timing& timing, const RunOptions& options) {
  Simulator simulator(
      facts, [&](int rank) { return std::make_unique<TableArbiter>(program, facts, rank); });
  return simulator.run(microbatches, timing, options);
}

}  // namespace ripeline::simulate
