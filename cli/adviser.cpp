#include "cli/adviser.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/print.h"
#include "simulate/table_arbiter.h"
#include "spec/hint.h"
#include "spec/priority.h"

namespace ripeline::cli {
namespace {

using What = view::SeenEvent::What;

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

// A place of the rounds, by its number where its name stands more than once.
std::string turn_of(const spec::Program& program, const Places& places, int turn, int rank) {
  const std::string name = name_of(program, at(places, turn), rank);
  const auto same = std::count_if(places.begin(), places.end(), [&](const spec::HintPlace& place) {
    return name_of(program, place, rank) == name;
  });
  return same > 1 ? fmt::format("{}, place {} of {}", name, turn + 1, places.size()) : name;
}

// The task's priority, as `, which is 3`, if the hint lists the task; else empty.
std::string priority_of(const spec::Program& program, int rank, int microbatches,
                        const simulate::TableArbiter& arbiter, const core::Task& task) {
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

// The hint in words, after these starts.
std::string rule_of(const spec::Program& program, int rank, int microbatches,
                    const std::vector<view::SeenEvent>& seen, const simulate::TableArbiter& arbiter,
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
      for (const view::SeenEvent& event : seen) {
        if (event.what == What::started) round = rules.next_round(round, event.task.lane);
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

void lead(core::Arbiter& arbiter, const std::vector<view::SeenEvent>& seen) {
  for (const view::SeenEvent& event : seen) {
    switch (event.what) {
      case What::started:
        arbiter.started(event.task, event.at);
        break;
      case What::ended:
        arbiter.on_finished(event.task, event.at);
        break;
      case What::arrived:
        arbiter.on_arrived(event.message, event.at);
        break;
      case What::taken:
        arbiter.on_taken(event.message, event.at);
        break;
    }
  }
}

}  // namespace

view::Adviser adviser_of(const Run& run) {
  if (run.loaded == nullptr || run.facts == nullptr) return {};
  const spec::Program& program = run.loaded->program;
  const core::ProgramFacts& facts = run.facts->facts();
  const int microbatches = run.timeline.run().microbatches;
  const view::Timeline& timeline = run.timeline;
  return [&program, &facts, &timeline, microbatches](
             int rank, core::Engine engine,
             const std::vector<view::SeenEvent>& seen) -> std::optional<std::string> {
    simulate::TableArbiter arbiter(program, facts, rank);
    if (!arbiter.begin_step(0, microbatches).ok()) return std::nullopt;
    lead(arbiter, seen);
    const core::Time now = seen.empty() ? core::Time{0} : seen.back().at;
    const core::Choice choice = arbiter.choose(engine, nullptr, now);
    if (program.dispatch.in_order) {
      const core::Task next = arbiter.next_in_order(engine);
      if (next.lane < 0) return "its order has ended";
      return fmt::format("its order has {} next, which may {}start", core::task_name(facts, next),
                         choice.starts() ? "" : "not ");
    }
    std::string rule = rule_of(program, rank, microbatches, seen, arbiter,
                               choice.starts() ? choice.task : core::Task{});
    if (const int keeps = program.dispatch.keeps; keeps >= 0) {
      rule += "; room is kept for order " + at(program.orders, keeps).name;
    }
    if (held_at(timeline, rank, engine, now)) {
      return "holds for what it expects next: " + rule;
    }
    if (choice.starts()) {
      return fmt::format("takes {}: {}", core::task_name(facts, choice.task), rule);
    }
    return "takes nothing: " + rule;
  };
}

}  // namespace ripeline::cli
