#include "cli/adviser.h"

#include <vector>

#include "simulate/advice.h"

namespace ripeline::cli {
namespace {

// Whether the hint held the engine. The hint waited by notices; a trace has only their effects.
bool held_at(const view::Timeline& timeline, int rank, core::Engine engine, core::Time now) {
  for (const view::Row& row : timeline.rows()) {
    if (row.rank != rank || row.engine != engine) continue;
    for (const trace::IdleEvent& idle : timeline.idle_of(row)) {
      if (idle.cause == trace::Cause::hold && idle.start <= now && now < idle.end) return true;
    }
  }
  return false;
}

}  // namespace

view::Adviser adviser_of(const Run& run) {
  if (run.loaded == nullptr || run.facts == nullptr) return {};
  const spec::Program& program = run.loaded->program;
  const core::ProgramFacts& facts = run.facts->facts();
  const view::Timeline& timeline = run.timeline;
  return [&program, &facts, &timeline](int rank, core::Engine engine,
                                       const std::vector<core::SeenEvent>& seen) {
    const core::Time now = seen.empty() ? core::Time{0} : seen.back().at;
    return simulate::advice(program, facts, timeline.run().microbatches,
                            {rank, engine, held_at(timeline, rank, engine, now)}, seen);
  };
}

}  // namespace ripeline::cli
