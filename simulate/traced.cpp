#include "simulate/traced.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "spec/dispatch_text.h"

namespace ripeline::simulate {
namespace {

class CostClock {
 public:
  CostClock(const spec::Program& program, const Timing& timing)
      : program_(program), timing_(timing), ranks_(static_cast<std::size_t>(program.ranks)) {}

  trace::Record record(const std::vector<spec::Event>& events) {
    for (const spec::Event& event : events) take(event);
    core::Time last{0};
    for (const core::Time at : ranks_) last = std::max(last, at);
    for (const auto& [task, start] : running_) {  // tasks that ran at the end of an incomplete run
      record_.task(0, {task.first, task.second}, start, std::max(last, start + core::Time{1}));
    }
    return std::move(record_);
  }

 private:
  using Key = std::pair<int, int>;

  void take(const spec::Event& event) {
    if (event.what == spec::Event::Do::agree) return;
    core::Time& now = ranks_[static_cast<std::size_t>(at(program_.lanes, event.lane).rank)];
    const Key key{event.lane, event.microbatch};
    if (event.what == spec::Event::Do::start) {
      running_[key] = now;
    } else if (event.what == spec::Event::Do::end) {
      const core::Task task{event.lane, event.microbatch};
      const core::Time start = running_[key];
      now = std::max(now, start + std::max(timing_.mean(task), core::Time{1}));
      record_.task(0, task, start, now);
      ended_[key] = now;
      running_.erase(key);
    } else {
      const int producer = at(program_.edges, event.edge).producer;
      const core::Time sent = ended_[Key{producer, event.microbatch}];
      now = std::max(now, sent);
      // A rendezvous message leaves when its receiver takes it.
      const bool waits = at(program_.edges, event.edge).rendezvous;
      record_.message(0, {event.edge, event.microbatch}, waits ? now : sent, now);
    }
  }

  const spec::Program& program_;
  const Timing& timing_;
  std::vector<core::Time> ranks_;
  std::map<Key, core::Time> running_;
  std::map<Key, core::Time> ended_;
  trace::Record record_;
};

}  // namespace

trace::RunInfo run_of(const spec::Program& program, const Timing& timing, int microbatches,
                      trace::Source source) {
  return {.microbatches = microbatches,
          .source = source,
          .seed = timing.draws() ? std::optional(timing.seed()) : std::nullopt,
          .unit = timing.unit(),
          .costs = timing.text(),
          .params = {program.params.begin(), program.params.end()},
          .dispatch = spec::dispatch_text(program)};
}

trace::About about_of(const ReportedRun& reported) {
  return trace::About(reported.facts, run_of(reported.program, reported.timing,
                                             reported.microbatches, reported.source));
}

double most_work(const spec::Program& program, int microbatches, const Timing& timing) {
  std::vector<core::Time> work(static_cast<std::size_t>(program.ranks), core::Time{0});
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    const spec::Lane& of = at(program.lanes, lane);
    if (of.engine != spec::Engine::compute) continue;
    for (int task = 0; task < program.tasks_of(lane, microbatches); ++task) {
      at(work, of.rank) += timing.mean({lane, task});
    }
  }
  return static_cast<double>(std::max_element(work.begin(), work.end())->count()) /
         static_cast<double>(timing.unit().nanoseconds);
}

std::vector<core::Task> next_in_orders(const spec::Program& program, int microbatches,
                                       const std::function<bool(core::Task task)>& has_run) {
  std::vector<core::Task> next;
  if (!program.dispatch.in_order) return next;
  const spec::Order& order = at(program.orders, program.dispatch.order);
  for (int rank = 0; rank < program.ranks; ++rank) {
    const auto tasks = spec::expand(program, order, rank, microbatches);
    if (!tasks.ok()) continue;
    std::vector<spec::Engine> found;
    for (const spec::Task& task : tasks.value()) {
      const spec::Engine engine = at(program.lanes, task.lane).engine;
      if (std::find(found.begin(), found.end(), engine) != found.end()) continue;
      if (has_run({task.lane, task.microbatch})) continue;
      next.push_back({task.lane, task.microbatch});
      found.push_back(engine);
    }
  }
  return next;
}

trace::Record record_by_costs(const spec::Program& program, const Timing& timing,
                              const std::vector<spec::Event>& events) {
  return CostClock(program, timing).record(events);
}

}  // namespace ripeline::simulate
