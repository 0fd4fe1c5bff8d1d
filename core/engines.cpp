#include "core/engines.h"

namespace ripeline::core {

Engines::Engines(const ProgramFacts& facts, int rank) : facts_(facts), has_one_(facts.one_engine) {
  for (std::size_t i = 0; i < facts.edges.size(); ++i) {
    const EdgeFacts& e = facts.edges[i];
    if (!e.rendezvous) continue;
    const auto edge = static_cast<EdgeId>(i);
    const bool leaves =
        facts.lanes[static_cast<std::size_t>(e.producer)].rank == rank && facts.crosses_ranks(edge);
    if (leaves) rendezvous_.push_back(edge);
  }
}

void Engines::begin_step(int microbatches) {
  microbatches_ = microbatches;
  busy_ = {};
  one_.begin_step(microbatches);
}

void Engines::finished_beside(Task task) {
  Busy& busy = of(task.lane);
  busy.running.end(task.lane);
  for (const EdgeId edge : rendezvous_) {
    const bool sends = facts_.edges[static_cast<std::size_t>(edge)].producer == task.lane &&
                       facts_.needed_by(edge, task.microbatch, microbatches_) >= 0;
    if (sends) ++busy.handing;
  }
}

void Engines::taken(Message message) {
  --of(facts_.edges[static_cast<std::size_t>(message.edge)].producer).handing;
}

}  // namespace ripeline::core
