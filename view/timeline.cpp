#include "view/timeline.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/print.h"

namespace ripeline::view {
namespace {

using core::LaneId;
using core::Status;
using core::StatusCode;
using core::Task;
using core::Time;

// A limit far above the needs of any picture; a trace whose ids need more slots is refused.
constexpr std::int64_t kMostSlots = std::int64_t{1} << 29;

Status invalid(std::string what) { return {StatusCode::invalid, std::move(what)}; }

}  // namespace

Status Timeline::make(trace::File file, Timeline& timeline) {
  Timeline made;
  made.about_ = std::move(file.about);
  made.record_ = std::move(file.record);
  std::vector<Box> boxes = std::move(made.record_.tasks);
  made.record_.tasks.clear();
  if (Status s = Rows::make(made.facts(), std::move(boxes), made.rows_); !s.ok()) return s;
  if (Status s = made.index_boxes(); !s.ok()) return s;
  if (Status s = made.index_messages(); !s.ok()) return s;
  made.index_uses();
  made.sort_idle();
  timeline = std::move(made);
  return {};
}

Status Timeline::index_boxes() {
  if (boxes().empty()) return {};
  begin_ = boxes().front().start;
  end_ = boxes().front().end;
  first_step_ = boxes().front().step;
  std::int64_t last = first_step_;
  for (const Box& b : boxes()) {
    if (b.end < b.start)
      return invalid(core::task_name(facts(), b.task) + " ends before it starts");
    begin_ = std::min(begin_, b.start);
    end_ = std::max(end_, b.end);
    first_step_ = std::min(first_step_, b.step);
    last = std::max(last, b.step);
  }
  const auto lanes = static_cast<std::int64_t>(facts().lanes.size());
  const std::int64_t per_step = lanes * std::max(run().microbatches, 1);
  if (last - first_step_ >= kMostSlots / std::max<std::int64_t>(per_step, 1)) {
    return invalid("its steps are too many to be drawn at once");
  }
  steps_ = last - first_step_ + 1;
  box_of_.assign(static_cast<std::size_t>(steps_ * per_step), -1);
  for (std::size_t i = 0; i < boxes().size(); ++i) {
    int& slot = box_of_[task_slot(boxes()[i].step, boxes()[i].task)];
    if (slot >= 0) return invalid(core::task_name(facts(), boxes()[i].task) + " runs twice");
    slot = static_cast<int>(i);
  }
  return {};
}

Status Timeline::index_messages() {
  const auto edges = static_cast<std::int64_t>(facts().edges.size());
  const std::int64_t per_step = edges * std::max(run().microbatches, 1);
  if (record_.messages.empty()) return {};
  if (steps_ > kMostSlots / std::max<std::int64_t>(per_step, 1)) {
    return invalid("its messages are too many to be drawn at once");
  }
  message_of_.assign(static_cast<std::size_t>(steps_ * per_step), -1);
  for (std::size_t i = 0; i < record_.messages.size(); ++i) {
    const trace::MessageEvent& m = record_.messages[i];
    if (m.step < first_step_ || m.step > last_step()) continue;  // its step has no tasks
    const std::int64_t row = (m.step - first_step_) * edges + m.message.edge;
    message_of_[static_cast<std::size_t>(row * run().microbatches + m.message.microbatch)] =
        static_cast<int>(i);
  }
  return {};
}

void Timeline::index_uses() {
  const auto uses = facts().uses;
  first_use_.assign(facts().lanes.size() + 1, uses.size());
  for (std::size_t i = uses.size(); i-- > 0;)
    first_use_[static_cast<std::size_t>(uses[i].lane)] = i;
  for (std::size_t lane = facts().lanes.size(); lane-- > 0;) {
    first_use_[lane] = std::min(first_use_[lane], first_use_[lane + 1]);
  }
}

void Timeline::sort_idle() {
  if (record_.idle.empty()) {
    for (const Row& row : rows()) {
      // The box after an idle interval is always in the first row.
      for (int i = row.first + 1; !row.second && i < row.end; ++i) {
        const Box& b = box(i);
        const Time idle = idle_before(i);
        if (idle == Time{0} || b.step != box(last_ended(i)).step) continue;
        record_.idle.push_back({.rank = row.rank,
                                .engine = row.engine,
                                .cause = trace::Cause::unknown,
                                .next = b.task,
                                .start = b.start - idle,
                                .end = b.start,
                                .step = b.step});
      }
    }
  }
  idle_ = std::move(record_.idle);
  const auto key = [](const trace::IdleEvent& e) { return std::tuple(e.rank, e.engine, e.start); };
  std::stable_sort(idle_.begin(), idle_.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::size_t at = 0;
  for (const Row& row : rows()) {
    if (row.second) {
      first_idle_.push_back(first_idle_.back());
      continue;
    }
    while (at < idle_.size() &&
           std::tuple(idle_[at].rank, idle_[at].engine) < std::tuple(row.rank, row.engine)) {
      ++at;
    }
    first_idle_.push_back(at);
    while (at < idle_.size() && idle_[at].rank == row.rank && idle_[at].engine == row.engine) ++at;
  }
  first_idle_.push_back(at);
}

std::span<const trace::IdleEvent> Timeline::idle_of(const Row& row) const {
  const auto i = static_cast<std::size_t>(&row - rows().data());
  const std::size_t first = first_idle_[i];
  std::size_t end = first;
  while (end < idle_.size() && idle_[end].rank == row.rank && idle_[end].engine == row.engine) {
    ++end;
  }
  return std::span(idle_).subspan(first, end - first);
}

std::size_t Timeline::task_slot(std::int64_t step, Task task) const {
  const auto lanes = static_cast<std::int64_t>(facts().lanes.size());
  const std::int64_t row = (step - first_step_) * lanes + task.lane;
  return static_cast<std::size_t>(row * run().microbatches + task.microbatch);
}

int Timeline::find(std::int64_t step, Task task) const {
  if (boxes().empty() || step < first_step_ || step > last_step()) return -1;
  if (task.microbatch < 0 || task.microbatch >= run().microbatches) return -1;
  return box_of_[task_slot(step, task)];
}

const trace::MessageEvent* Timeline::find(std::int64_t step, core::Message message) const {
  if (message_of_.empty() || step < first_step_ || step > last_step()) return nullptr;
  if (message.microbatch < 0 || message.microbatch >= run().microbatches) return nullptr;
  const auto edges = static_cast<std::int64_t>(facts().edges.size());
  const std::int64_t row = (step - first_step_) * edges + message.edge;
  const int i =
      message_of_[static_cast<std::size_t>(row * run().microbatches + message.microbatch)];
  return i < 0 ? nullptr : &record_.messages[static_cast<std::size_t>(i)];
}

std::vector<StepSpan> Timeline::steps() const {
  std::map<std::int64_t, StepSpan> spans;
  for (const Box& b : boxes()) {
    StepSpan& span = spans.try_emplace(b.step, StepSpan{b.step, b.start, b.end}).first->second;
    span.begin = std::min(span.begin, b.start);
    span.end = std::max(span.end, b.end);
  }
  std::vector<StepSpan> steps;
  for (const auto& [number, span] : spans) steps.push_back(span);
  return steps;
}

std::vector<std::string_view> Timeline::resources() const {
  std::vector<std::string_view> names;
  for (const core::PoolFacts& pool : facts().pools) {
    if (std::find(names.begin(), names.end(), pool.resource) == names.end()) {
      names.push_back(pool.resource);
    }
  }
  return names;
}

std::string_view Timeline::unit_of(std::string_view resource) const {
  for (const core::PoolFacts& pool : facts().pools) {
    if (pool.resource == resource) return pool.unit;
  }
  return {};
}

std::span<const core::UseFacts> Timeline::uses_of(LaneId lane) const {
  const std::size_t first = first_use_[static_cast<std::size_t>(lane)];
  return facts().uses.subspan(first, first_use_[static_cast<std::size_t>(lane) + 1] - first);
}

std::vector<Level> Timeline::levels(std::string_view resource, int rank) const {
  struct Change {
    Time at;
    bool acquires;
    std::int64_t by;
  };
  std::vector<Change> changes;
  for (const Row& row : rows()) {
    if (row.rank != rank) continue;
    for (const Box& b : boxes_of(row)) {
      for (const core::UseFacts& use : uses_of(b.task.lane)) {
        if (facts().pools[static_cast<std::size_t>(use.pool)].resource != resource) continue;
        if (use.acquires > 0) changes.push_back({b.start, true, use.acquires});
        if (use.releases > 0) changes.push_back({b.end, false, -use.releases});
      }
    }
  }
  // At equal times, releases come before acquires.
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tuple(a.at, a.acquires) < std::tuple(b.at, b.acquires);
  });
  std::vector<Level> levels{{begin_, 0}};
  for (const Change& change : changes) {
    levels.push_back({change.at, levels.back().held + change.by});
  }
  return levels;
}

std::int64_t Timeline::peak(std::string_view resource, int rank) const {
  std::int64_t most = 0;
  for (const Level& level : levels(resource, rank)) most = std::max(most, level.held);
  return most;
}

std::optional<std::int64_t> Timeline::capacity(std::string_view resource, int rank) const {
  std::int64_t sum = 0;
  bool any = false;
  for (const core::PoolFacts& pool : facts().pools) {
    if (pool.rank != rank || pool.resource != resource) continue;
    if (pool.capacity < 0) return std::nullopt;
    sum += pool.capacity;
    any = true;
  }
  return any ? std::optional(sum) : std::nullopt;
}

double Timeline::in_unit(Time duration) const {
  return static_cast<double>(duration.count()) / static_cast<double>(run().unit.nanoseconds);
}

std::optional<Task> task_named(const Timeline& timeline, std::string_view text) {
  const core::ProgramFacts& facts = timeline.facts();
  for (std::size_t i = 0; i < facts.lanes.size(); ++i) {
    const std::string lane = core::lane_name(facts, static_cast<LaneId>(i));
    if (!text.starts_with(lane) || text.size() == lane.size()) continue;
    const std::string_view digits = text.substr(lane.size());
    int microbatch = -1;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), microbatch);
    if (error != std::errc{} || end != digits.data() + digits.size() || microbatch < 0) continue;
    const core::LaneFacts& l = facts.lanes[i];
    const int last = l.once ? 1 : timeline.run().microbatches;
    if (microbatch >= last || !l.share.has(microbatch)) return std::nullopt;
    return Task{static_cast<LaneId>(i), l.share.below(microbatch)};
  }
  return std::nullopt;
}

std::string moment_text(const Timeline& timeline, Time time) {
  return text_of(timeline, time - timeline.begin());
}

std::string box_name(const Timeline& timeline, int box) {
  return core::task_name(timeline.facts(), timeline.box(box).task);
}

std::string names_beside(const Timeline& timeline, int box) {
  constexpr int kMost = 4;
  const BoxSpan others = timeline.beside(box);
  std::string text;
  for (int id = others.first; id < std::min(others.end, others.first + kMost); ++id) {
    text += (text.empty() ? "" : " ") + core::task_name(timeline.facts(), timeline.box(id).task);
  }
  if (others.end - others.first > kMost) {
    text += fmt::format(" and {} more", others.end - others.first - kMost);
  }
  return text;
}

std::string text_of(const Timeline& timeline, Time duration) {
  return fmt::format("{:.6g}", timeline.in_unit(duration));
}

}  // namespace ripeline::view
