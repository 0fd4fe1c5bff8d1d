#include "core/facts.h"

namespace ripeline::core {

int ProgramFacts::tasks_of_share(const LaneFacts& lane, int microbatches) {
  return lane.share.below(microbatches);
}

MicrobatchSpan ProgramFacts::needed_across(const EdgeFacts& e, int microbatch) const {
  const int wanted = microbatch_of({e.consumer, microbatch}) - (e.of == Of::before ? 1 : 0);
  if (wanted < 0) return {};
  const Share& from = lanes[static_cast<std::size_t>(e.producer)].share;
  return {from.below(wanted), from.below(wanted + 1)};
}

int ProgramFacts::needed_by_across(const EdgeFacts& e, int microbatch, int microbatches) const {
  const int taker = microbatch_of({e.producer, microbatch}) + (e.of == Of::before ? 1 : 0);
  const Share& to = lanes[static_cast<std::size_t>(e.consumer)].share;
  return taker < microbatches && to.has(taker) ? to.below(taker) : -1;
}

}  // namespace ripeline::core
