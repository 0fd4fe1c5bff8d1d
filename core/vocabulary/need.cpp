#include "core/vocabulary/need.h"

namespace ripeline::core {

int tasks_of_share(const Share& share, int microbatches) { return share.below(microbatches); }

TaskSpan needed_across(const Share& producer, const Share& consumer, Of of, int task) {
  const int wanted = consumer.microbatch(task) - (of == Of::before ? 1 : 0);
  if (wanted < 0) return {};
  return {producer.below(wanted), producer.below(wanted + 1)};
}

int needed_by_across(const Share& producer, const Share& consumer, Of of, int task,
                     int microbatches) {
  const int taker = producer.microbatch(task) + (of == Of::before ? 1 : 0);
  return taker < microbatches && consumer.has(taker) ? consumer.below(taker) : -1;
}

}  // namespace ripeline::core
