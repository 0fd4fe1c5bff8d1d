#include "core/waiting.h"

#include <cstddef>

#include "core/print.h"
#include "core/vocabulary/index.h"

namespace ripeline::core {
namespace {

using For = Wait::For;

// More microbatches than any step has, but few enough that a share's numbers do not overflow.
constexpr std::int32_t kMostMicrobatches = 1 << 24;

const EdgeFacts& edge_of(const ProgramFacts& facts, const Wait& wait) {
  return facts.edges[index(wait.message.edge)];
}

std::string slots_of(const ProgramFacts& facts, const Wait& wait) {
  return std::to_string(facts.inboxes[index(edge_of(facts, wait).inbox)].slots);
}

// The taken slots of a need's inbox as text, as in `inbox of stage 1, 1 of 1 taken`.
std::string taken(const ProgramFacts& facts, const Wait& wait) {
  return inbox_name(facts, edge_of(facts, wait).inbox) + ", " + std::to_string(wait.held) + " of " +
         slots_of(facts, wait) + " taken";
}

std::string need_text(const ProgramFacts& facts, const Wait& wait) {
  const EdgeFacts& e = edge_of(facts, wait);
  const std::string producer = task_name(facts, {e.producer, wait.message.microbatch});
  if (!facts.crosses_ranks(wait.message.edge)) return producer;
  const int from = facts.lanes[index(e.producer)].rank;
  const std::string text = producer + " from rank " + std::to_string(from);
  if (wait.on == from) return text;
  return text + ", whose message waits for " +
         (e.rendezvous ? "its rendezvous" : "a slot: " + taken(facts, wait));
}

std::string room_text(const ProgramFacts& facts, const Wait& wait) {
  std::string text = "room in " + pool_name(facts, wait.pool) + ": " + std::to_string(wait.held) +
                     " of " + std::to_string(facts.pools[index(wait.pool)].capacity) + " held";
  for (const UseFacts& use : facts.uses) {
    if (use.lane == wait.task.lane && use.pool == wait.pool && use.leaving > 0) {
      text += ", " + std::to_string(use.leaving) + " to be left";
    }
  }
  return wait.other.lane < 0 ? text : text + ", until " + task_name(facts, wait.other) + " ends";
}

std::string grant_text(const ProgramFacts& facts, const Wait& wait) {
  const std::string to = std::to_string(wait.on);
  if (edge_of(facts, wait).rendezvous) return "its rendezvous with rank " + to;
  return "a slot: " + inbox_name(facts, edge_of(facts, wait).inbox) + " of " +
         slots_of(facts, wait) + " on rank " + to;
}

std::string reason_text(const ProgramFacts& facts, const Wait& wait) {
  switch (wait.reason) {
    case For::need:
      return need_text(facts, wait);
    case For::engine:
      return std::string("its engine, which ") + (wait.message.edge < 0 ? "runs " : "hands over ") +
             task_name(facts, wait.other);
    case For::room:
      return room_text(facts, wait);
    case For::turn:
      return wait.other.lane < 0
                 ? "its turn"
                 : "its turn: the order puts " + task_name(facts, wait.other) + " first";
    case For::hold:
      return "its turn: the hint waits for what is next in its order";
    case For::agreement:
      return "its group to agree" +
             (wait.on < 0 ? "" : ": number " + std::to_string(wait.on) + " has not voted");
    case For::slot:
      return "a slot: " + taken(facts, wait);
    case For::grant:
      return grant_text(facts, wait);
    case For::end:
      return taken(facts, wait) + " on rank " + std::to_string(wait.on);
    case For::gather:
      return "rank " + std::to_string(wait.on);
  }
  return {};
}

std::string subject(const ProgramFacts& facts, const Wait& wait) {
  if (wait.is_of_message()) {
    return "the message of " + task_name(facts, wait.task) + " at " + task_name(facts, wait.other);
  }
  if (wait.reason == For::end) return "the end of the step";
  return wait.task.lane < 0 ? "the gather" : task_name(facts, wait.task);
}

bool has_inbox(const ProgramFacts& facts, const Wait& wait) {
  return edge_of(facts, wait).inbox >= 0;
}

}  // namespace

bool fits(const ProgramFacts& facts, Task task) {
  return task.lane >= 0 && index(task.lane) < facts.lanes.size() && task.microbatch >= 0 &&
         task.microbatch < kMostMicrobatches;
}

bool fits(const ProgramFacts& facts, const Wait& wait) {
  const auto is_task = [&](Task task) { return fits(facts, task); };
  const EdgeId edge = wait.message.edge;
  if (edge >= 0 && index(edge) >= facts.edges.size()) return false;
  if (wait.other.lane >= 0 && !is_task(wait.other)) return false;
  const bool crosses = edge >= 0 && facts.crosses_ranks(edge);
  switch (wait.reason) {
    case For::need: {
      if (edge < 0 || !is_task(wait.task)) return false;
      const EdgeFacts& e = edge_of(facts, wait);
      if (!is_task({e.producer, wait.message.microbatch})) return false;
      return !crosses || wait.on == facts.lanes[index(e.producer)].rank || e.rendezvous ||
             has_inbox(facts, wait);
    }
    case For::engine:
      return is_task(wait.task) && wait.other.lane >= 0;
    case For::room:
      return is_task(wait.task) && wait.pool >= 0 && index(wait.pool) < facts.pools.size();
    case For::turn:
    case For::hold:
    case For::agreement:
      return is_task(wait.task);
    case For::slot:
      return crosses && is_task(wait.task) && wait.other.lane >= 0 && has_inbox(facts, wait);
    case For::grant:
      return crosses && is_task(wait.task) && wait.other.lane >= 0 &&
             (edge_of(facts, wait).rendezvous || has_inbox(facts, wait));
    case For::end:
      return crosses && has_inbox(facts, wait);
    case For::gather:
      return wait.task.lane < 0;
  }
  return false;
}

std::string print_reasons(const ProgramFacts& facts, std::span<const Wait> waits) {
  std::string text;
  for (const Wait& wait : waits) {
    text += (text.empty() ? "" : " and ") + reason_text(facts, wait);
  }
  return text;
}

std::string print_wait(const ProgramFacts& facts, const Wait& wait) {
  return subject(facts, wait) + " waits for " + reason_text(facts, wait);
}

std::string print_waits(const ProgramFacts& facts, const RankWaits& waits, int lines) {
  const std::string rank = "rank " + std::to_string(waits.rank) + ": ";
  std::string text;
  for (const RunningTask& running : waits.running) {
    if (lines-- <= 0) return text;
    text += rank + task_name(facts, running.task) + " runs\n";
  }
  int messages = lines / 2;
  for (std::size_t i = 0, end = 0; i < waits.waits.size() && lines > 0; i = end) {
    const Wait& first = waits.waits[i];
    const bool is_task = !first.is_of_message();
    end = i + 1;
    while (is_task && end < waits.waits.size() && waits.waits[end].task == first.task &&
           !waits.waits[end].is_of_message()) {
      ++end;
    }
    if (!is_task && messages-- <= 0) continue;
    text += rank + subject(facts, first) + " waits for " +
            print_reasons(facts, std::span(waits.waits).subspan(i, end - i)) + "\n";
    --lines;
  }
  return text;
}

}  // namespace ripeline::core
