#include "spec/hand_over.h"

#include "spec/indexing.h"

namespace ripeline::spec {

std::optional<HandOver> handed_over(const Machine& machine, const Machine::State& state, int rank,
                                    Engine engine) {
  const Program& program = machine.program();
  if (at(state.handing, static_cast<int>(engine_index(rank, engine))) == 0) return std::nullopt;
  for (int edge = 0; edge < size_of(program.edges); ++edge) {
    const Edge& e = at(program.edges, edge);
    const Lane& sender = at(program.lanes, e.producer);
    if (!e.rendezvous || sender.rank != rank || sender.engine != engine) continue;
    for (int m = 0; m < machine.microbatches(); ++m) {
      if (machine.message(state, edge, m) != Machine::MessageState::sent) continue;
      return HandOver{{e.producer, m},
                      {e.consumer, program.needed_by(e, m, machine.microbatches())}};
    }
  }
  return std::nullopt;
}

}  // namespace ripeline::spec
