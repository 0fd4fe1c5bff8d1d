#include "core/ready_rows.h"

#include <algorithm>
#include <string>

#include "core/vocabulary/index.h"

namespace ripeline::core {

ReadyRows::ReadyRows(const ProgramFacts& facts, int rank) : facts_(facts), rank_(rank) {
  const LaneSpan own = facts.lanes_of(rank);
  first_lane_ = own.first;
  end_lane_ = own.end;
  for (LaneId lane = first_lane_; lane < end_lane_; ++lane) {
    sequential_.push_back(facts.is_sequential(lane) ? 1 : 0);
  }
  needs_.resize(index(end_lane_ - first_lane_));
  feeds_.resize(needs_.size());
  for (std::size_t i = 0; i < facts.edges.size(); ++i) {
    const EdgeFacts& e = facts.edges[i];
    if (e.consumer < first_lane_ || e.consumer >= end_lane_) continue;
    const auto edge = static_cast<EdgeId>(i);
    Needs& needs = needs_[index(e.consumer - first_lane_)];
    if (e.is_one_to_one()) {
      ++needs.same;
    } else {
      needs.other.push_back(edge);
    }
    if (e.producer >= first_lane_ && e.producer < end_lane_)
      feeds_[index(e.producer - first_lane_)].push_back(edge);
  }
  reset(tasks_);
}

Status ReadyRows::begin_step(int microbatches) {
  if (!facts_.admits(microbatches)) {
    return {StatusCode::invalid, std::string(facts_.name) + ": " + std::to_string(microbatches) +
                                     " microbatches are out of range"};
  }
  microbatches_ = microbatches;
  unmet_.resize(needs_.size() * index(microbatches));
  reset(tasks_);
  for (LaneId lane = first_lane_; lane < end_lane_; ++lane) {
    const Needs& needs = needs_[index(lane - first_lane_)];
    const int tasks = facts_.tasks_of(lane, microbatches);
    const std::span unmet =
        std::span(unmet_).subspan(index(lane - first_lane_) * index(microbatches), index(tasks));
    std::fill(unmet.begin(), unmet.end(), needs.same);
    for (int m = 1; m < tasks && is_sequential(lane); ++m) ++unmet[index(m)];
    for (const EdgeId edge : needs.other) {
      for (int m = 0; m < tasks; ++m) {
        const TaskSpan needed = facts_.needed(edge, m, microbatches);
        unmet[index(m)] += static_cast<std::uint32_t>(needed.last - needed.first);
      }
    }
    for (int m = 0; m < tasks && needs.same == 0; ++m) {
      if (unmet[index(m)] == 0) tasks_.add({lane, m});
    }
  }
  return {};
}

void ReadyRows::arrived(Message message) { here(message.edge, message.microbatch); }

void ReadyRows::finished(Task task) {
  for (const EdgeId edge : feeds_[index(task.lane - first_lane_)]) here(edge, task.microbatch);
  if (is_sequential(task.lane) && task.microbatch + 1 < facts_.tasks_of(task.lane, microbatches_)) {
    meet(task.lane, task.microbatch + 1);
  }
}

void ReadyRows::here(EdgeId edge, int microbatch) {
  const EdgeFacts& e = facts_.edges[index(edge)];
  if (e.is_one_to_one()) [[likely]]
    return meet(e.consumer, microbatch);
  here_otherwise(edge, microbatch);
}

void ReadyRows::here_otherwise(EdgeId edge, int microbatch) {
  const EdgeFacts& e = facts_.edges[index(edge)];
  const int first = facts_.needed_by(edge, microbatch, microbatches_);
  if (first < 0) return;
  const int last = e.of == Of::all ? facts_.tasks_of(e.consumer, microbatches_) : first + 1;
  for (int m = first; m < last; ++m) meet(e.consumer, m);
}

void ReadyRows::meet(LaneId lane, int microbatch) {
  std::uint32_t& unmet =
      unmet_[index(lane - first_lane_) * index(microbatches_) + index(microbatch)];
  if (--unmet == 0) tasks_.add({lane, microbatch});
}

}  // namespace ripeline::core
