#include "simulate/advice.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "core/print.h"
#include "simulate/table_arbiter.h"
#include "spec/hint.h"
#include "spec/priority.h"

namespace ripeline::simulate {
namespace {

using Happened = core::SeenEvent::What;

using Places = std::vector<spec::HintPlace>;

std::string name_of(const spec::Program& program, const spec::HintPlace& place, int rank) {
  const std::string& op = at(program.ops, place.op).name;
  return place.chunk.empty() ? op : fmt::format("{}@{}", op, at(place.chunk, rank));
}

std::string names_of(const spec::Program& program, const Places& places, int rank) {
  std::string text;
  for (const spec::HintPlace& place : places) {
    text += (text.empty() ? "" : ", ") + name_of(program, place, rank);
  }
  return text;
}

// The name of an entry of the rounds, with its number if the name occurs more than once in them.
std::string turn_of(const spec::Program& program, const Places& places, int turn, int rank) {
  const std::string name = name_of(program, at(places, turn), rank);
  const auto same = std::count_if(places.begin(), places.end(), [&](const spec::HintPlace& place) {
    return name_of(program, place, rank) == name;
  });
  return same > 1 ? fmt::format("{}, place {} of {}", name, turn + 1, places.size()) : name;
}

// The task's priority as text, `, which is 3`, if the hint lists the task; else empty.
std::string priority_of(const spec::Program& program, int rank, int microbatches,
                        const TableArbiter& arbiter, const core::Task& task) {
  const spec::Hint& hint = program.dispatch.hint;
  const bool listed =
      task.lane >= 0 &&
      std::any_of(hint.places.begin(), hint.places.end(), [&](const spec::HintPlace& place) {
        return place.lists(at(program.lanes, task.lane));
      });
  if (!listed) return "";
  const std::int64_t value =
      spec::Priorities(program, rank).value(task, microbatches, [&](int pool) {
        return arbiter.held(pool);
      });
  return fmt::format(", which is {}", value);
}

// Describes the hint, and its position in the rounds after the starts in `seen`.
std::string rule_of(const spec::Program& program, int rank, int microbatches,
                    const std::vector<core::SeenEvent>& seen, const TableArbiter& arbiter,
                    const core::Task& choice) {
  const spec::Hint& hint = program.dispatch.hint;
  const std::string name = hint.name.empty() ? "the ties" : "the hint " + hint.name;
  std::string text;
  switch (hint.rule) {
    case spec::Hint::Rule::none:
      text = name + " decide";
      break;
    case spec::Hint::Rule::prefer:
      text = fmt::format("{} prefers {}", name, names_of(program, hint.places, rank));
      break;
    case spec::Hint::Rule::priority:
      text = fmt::format("{} takes the greatest priority of {}{}", name,
                         names_of(program, hint.places, rank),
                         priority_of(program, rank, microbatches, arbiter, choice));
      break;
    case spec::Hint::Rule::order:
      text =
          fmt::format("{} takes what is earliest in {}", name, at(program.orders, hint.order).name);
      break;
    case spec::Hint::Rule::rounds: {
      const core::Hint rules = spec::hint_of(program, rank);
      int round = 0;
      for (const core::SeenEvent& event : seen) {
        if (event.what == Happened::started) round = rules.next_round(round, event.task.lane);
      }
      text =
          fmt::format("{} goes round {} and is at {}", name, names_of(program, hint.places, rank),
                      turn_of(program, hint.places, round, rank));
      break;
    }
  }
  if (!hint.fill.empty())
    text += fmt::format(", and {} only to fill", names_of(program, hint.fill, rank));
  return text;
}

void lead_through(core::Arbiter& arbiter, const std::vector<core::SeenEvent>& seen) {
  for (const core::SeenEvent& event : seen) {
    switch (event.what) {
      case Happened::started:
        arbiter.started(event.task, event.at);
        break;
      case Happened::ended:
        arbiter.on_finished(event.task, event.at);
        break;
      case Happened::arrived:
        arbiter.on_arrived(event.message, event.at);
        break;
      case Happened::taken:
        arbiter.on_taken(event.message, event.at);
        break;
    }
  }
}

}  // namespace

std::optional<std::string> advice(const spec::Program& program, const core::ProgramFacts& facts,
                                  int microbatches, const Asked& asked,
                                  const std::vector<core::SeenEvent>& seen) {
  TableArbiter arbiter(program, facts, asked.rank);
  if (!arbiter.begin_step(0, microbatches).ok()) return std::nullopt;
  lead_through(arbiter, seen);
  const core::Time now = seen.empty() ? core::Time{0} : seen.back().at;
  const core::Choice choice = arbiter.choose(asked.engine, nullptr, now);
  if (program.dispatch.in_order) {
    const core::Task next = arbiter.next_in_order(asked.engine);
    if (next.lane < 0) return "its order has ended";
    return fmt::format("its order has {} next, which may {}start", core::task_name(facts, next),
                       choice.starts() ? "" : "not ");
  }
  std::string rule = rule_of(program, asked.rank, microbatches, seen, arbiter,
                             choice.starts() ? choice.task : core::Task{});
  if (const int keeps = program.dispatch.keeps; keeps >= 0) {
    rule += "; room is kept for order " + at(program.orders, keeps).name;
  }
  if (asked.is_held) return "holds for what it expects next: " + rule;
  if (choice.starts()) {
    return fmt::format("takes {}: {}", core::task_name(facts, choice.task), rule);
  }
  return "takes nothing: " + rule;
}

}  // namespace ripeline::simulate
