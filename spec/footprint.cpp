#include "spec/footprint.h"

#include <fmt/format.h>

namespace ripeline::spec {
namespace {

std::int64_t tasks_in(const Program& program, int microbatches) {
  std::int64_t tasks = 0;
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    tasks += program.tasks_of(lane, microbatches);
  }
  return tasks;
}

// An upper bound, since messages that no task needs are not sent.
std::int64_t messages_in(const Program& program, int microbatches) {
  std::int64_t messages = 0;
  for (const Edge& e : program.edges) {
    if (program.crosses_ranks(e)) messages += program.tasks_of(e.producer, microbatches);
  }
  return messages;
}

// No sum overflows, since lanes, edges and microbatches are bounded.
double bytes_of(const Program& program, int microbatches, const KeptBytes& kept) {
  return static_cast<double>(tasks_in(program, microbatches)) * static_cast<double>(kept.task) +
         static_cast<double>(messages_in(program, microbatches)) *
             static_cast<double>(kept.message) +
         static_cast<double>(microbatches) * static_cast<double>(kept.microbatch);
}

}  // namespace

std::optional<std::string> too_large(const Program& program, int microbatches,
                                     const KeptBytes& kept) {
  constexpr auto kMost = static_cast<double>(kMostBytes);
  constexpr double kGigabyte = 1e9;
  const double bytes = bytes_of(program, microbatches, kept);
  if (bytes <= kMost) return std::nullopt;
  int fits = 0;
  int larger = microbatches;
  while (larger - fits > 1) {
    const int middle = fits + (larger - fits) / 2;
    (bytes_of(program, middle, kept) <= kMost ? fits : larger) = middle;
  }
  const std::string advice =
      fits == 0 ? "one microbatch is too much already: fewer ranks or stages take less"
                : fmt::format("the most microbatches that fit are -m {}", fits);
  return fmt::format(
      "a step of {} microbatches has {} tasks and would take about {:.0f} GB of memory, and at "
      "most {:g} GB are taken: {}",
      microbatches, tasks_in(program, microbatches), bytes / kGigabyte, kMost / kGigabyte, advice);
}

}  // namespace ripeline::spec
