#include "simulate/idle_of_trace.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "simulate/idle.h"
#include "trace/steps.h"

namespace ripeline::simulate {
namespace {

using core::Time;

// An event that a rank saw. Events are sorted in the order in which the rank could react to them.
struct Seen {
  enum class What : std::uint8_t { ended, arrived, started };
  Time at{0};
  What what = What::ended;
  core::Task task = {};
  core::Message message = {};
  Time left{0};  // if a message: its producer's end, or `sent` if it never waits
  Time sent{0};
};

class Rank {
 public:
  Rank(const core::ProgramFacts& facts, int rank, std::int64_t step, trace::Record& record)
      : facts_(facts), step_(step), record_(record), watch_(facts, rank) {}

  void lead(int microbatches, std::vector<Seen> seen) {
    std::stable_sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) {
      return std::tuple(a.at, a.what) < std::tuple(b.at, b.what);
    });
    watch_.begin_step(microbatches);
    for (const Seen& one : seen) {
      if (one.what == Seen::What::started) starts_[engine_of(one.task)].push_back(one.task);
    }
    for (const Seen& one : seen) take(one);
  }

 private:
  [[nodiscard]] std::size_t engine_of(core::Task task) const {
    return static_cast<std::size_t>(facts_.lanes[static_cast<std::size_t>(task.lane)].engine);
  }

  void take(const Seen& one) {
    if (one.what == Seen::What::arrived) watch_.arrived(one.message, one.left, one.sent);
    if (one.what == Seen::What::ended) watch_.finished(one.task, one.at);
    if (one.what == Seen::What::started) {
      watch_.started(one.task, one.at, step_, report_, &record_);
      ++started_[engine_of(one.task)];
    }
    for (const core::Engine engine : core::kAllEngines) {
      const auto of = static_cast<std::size_t>(engine);
      if (started_[of] == starts_[of].size()) continue;
      watch_.look(engine, one.at, {.next = {}, .starts = starts_[of][started_[of]]});
    }
  }

  const core::ProgramFacts& facts_;
  std::int64_t step_;
  trace::Record& record_;
  IdleWatch watch_;
  EngineReport report_;
  std::array<std::vector<core::Task>, core::kEngines> starts_;  // tasks by start
  std::array<std::size_t, core::kEngines> started_{};           // the number of them that started
};

class Step {
 public:
  Step(const core::ProgramFacts& facts, std::int64_t number)
      : facts_(facts), number_(number), seen_(static_cast<std::size_t>(facts.ranks)) {}

  void add(const trace::TaskEvent& e) {
    if (!ends_.emplace(std::pair(e.task.lane, e.task.microbatch), e.end).second) return;
    const core::LaneFacts& lane = facts_.lanes[static_cast<std::size_t>(e.task.lane)];
    if (!lane.once) microbatches_ = std::max(microbatches_, facts_.microbatch_of(e.task) + 1);
    auto& seen = seen_[static_cast<std::size_t>(lane.rank)];
    seen.push_back({.at = e.start, .what = Seen::What::started, .task = e.task});
    seen.push_back({.at = e.end, .what = Seen::What::ended, .task = e.task});
  }

  // Must be called after all tasks were added.
  void add(const trace::MessageEvent& e) {
    const core::EdgeFacts& edge = facts_.edges[static_cast<std::size_t>(e.message.edge)];
    const auto ended = ends_.find(std::pair(edge.producer, e.message.microbatch));
    if (ended == ends_.end() || !facts_.crosses_ranks(e.message.edge)) return;
    if (!messages_.emplace(e.message.edge, e.message.microbatch).second) return;
    const int rank = facts_.lanes[static_cast<std::size_t>(edge.consumer)].rank;
    // If a message cannot wait for its receiver, the sender's host causes the delay before `sent`.
    const bool may_wait = edge.inbox >= 0 || edge.rendezvous;
    seen_[static_cast<std::size_t>(rank)].push_back({.at = e.arrived,
                                                     .what = Seen::What::arrived,
                                                     .message = e.message,
                                                     .left = may_wait ? ended->second : e.sent,
                                                     .sent = e.sent});
  }

  void lead(trace::Record& record) {
    if (!facts_.admits(microbatches_)) return;
    for (int rank = 0; rank < facts_.ranks; ++rank) {
      Rank(facts_, rank, number_, record)
          .lead(microbatches_, std::move(seen_[static_cast<std::size_t>(rank)]));
    }
  }

 private:
  const core::ProgramFacts& facts_;
  std::int64_t number_;
  int microbatches_ = 0;
  std::map<std::pair<core::LaneId, std::int32_t>, Time> ends_;
  std::set<std::pair<core::EdgeId, std::int32_t>> messages_;
  std::vector<std::vector<Seen>> seen_;  // by rank
};

}  // namespace

void note_idle(trace::File& file) {
  if (!file.record.idle.empty() || file.about.run.source != trace::Source::trained) return;
  const core::ProgramFacts& facts = file.about.facts();
  std::map<std::int64_t, Step> steps;
  for (const trace::Step& step : trace::steps_of(file)) {
    if (step.is_whole) steps.try_emplace(step.number, facts, step.number);
  }
  const auto add_all = [&steps](const auto& events) {
    for (const auto& e : events) {
      if (const auto step = steps.find(e.step); step != steps.end()) step->second.add(e);
    }
  };
  add_all(file.record.tasks);
  add_all(file.record.messages);
  for (auto& [number, step] : steps) step.lead(file.record);
}

}  // namespace ripeline::simulate
