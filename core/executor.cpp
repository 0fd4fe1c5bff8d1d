#include "core/executor.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/print.h"

namespace ripeline::core {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Executor::Executor(Coordinates self, Arbiter& arbiter, Agreement& agreement, Ledger& ledger)
    : facts_(arbiter.facts()),
      self_(self),
      arbiter_(arbiter),
      agreement_(agreement),
      ledger_(ledger) {
  assert(arbiter.rank() == self.rank);
  for (std::size_t i = 0; i < facts_.lanes.size(); ++i) {
    const LaneFacts& lane = facts_.lanes[i];
    if (lane.rank != self_.rank) continue;
    if (lanes_++ == 0) first_lane_ = static_cast<LaneId>(i);
    if (std::find(engines_.begin(), engines_.end(), lane.engine) == engines_.end()) {
      engines_.push_back(lane.engine);
    }
  }
  sends_of_.resize(at(lanes_));
  first_need_.assign(at(lanes_ + 1), 0);
  for (std::size_t i = 0; i < facts_.edges.size(); ++i) {
    const auto edge = static_cast<EdgeId>(i);
    if (facts_.lanes[at(facts_.edges[i].consumer)].rank == self_.rank) {
      if (edges_++ == 0) first_edge_ = edge;
      ++first_need_[at(facts_.edges[i].consumer - first_lane_ + 1)];
      local_.push_back(facts_.crosses_ranks(edge) ? -1 : facts_.edges[i].producer);
    }
    const LaneId producer = facts_.edges[i].producer;
    if (facts_.lanes[at(producer)].rank == self_.rank && facts_.crosses_ranks(edge)) {
      sends_of_[at(producer - first_lane_)].push_back(edge);
    }
  }
  first_need_[0] = first_edge_;
  for (std::size_t i = 1; i < first_need_.size(); ++i) first_need_[i] += first_need_[i - 1];
}

Status Executor::invalid(const std::string& what) const {
  return {StatusCode::invalid,
          "rank " + std::to_string(self_.rank) + ", step " + std::to_string(step_) + ": " + what};
}

Status Executor::check_begin(std::int64_t step, int microbatches) const {
  if (!step_done()) {
    return invalid("step " + std::to_string(step) + " begins before this one is done");
  }
  if (step < 0 || (step_ >= 0 && step != step_ + 1)) {
    return invalid("step " + std::to_string(step) + " begins out of order");
  }
  if (!facts_.admits(microbatches)) {
    return invalid(std::to_string(microbatches) + " microbatches are outside the program's range");
  }
  for (const Early& early : early_) {
    if (early.step == step && early.message.microbatch >= microbatches) {
      return invalid("a message of microbatch " + std::to_string(early.message.microbatch) +
                     " has arrived for step " + std::to_string(step) + ", which has " +
                     std::to_string(microbatches));
    }
  }
  return {};
}

Status Executor::begin_step(std::int64_t step, int microbatches, Time now) {
  if (!failure_.ok()) return failure_;
  if (Status status = check_begin(step, microbatches); !status.ok()) return status;
  if (Status status = arbiter_.begin_step(step, microbatches); !status.ok()) return status;
  ledger_.begin_step();
  step_ = step;
  microbatches_ = microbatches;
  finished_ = 0;
  expected_ = std::int64_t{lanes_} * microbatches;
  progress_.assign(at(expected_), Progress::waiting);
  arrived_.assign(at(edges_) * at(microbatches), 0);
  pending_sends_.reserve(at(expected_));
  for (const Early& early : early_) {
    if (early.step == step) accept(early.message, now);
  }
  // Before the first step messages of several steps may have come; the next one's stay.
  std::erase_if(early_, [step](const Early& early) { return early.step != step + 1; });
  return {};
}

Status Executor::arrived(std::int64_t step, Message message, Time now) {
  if (!failure_.ok()) return failure_;
  if (!is_incoming(message.edge)) {
    return invalid("a message of edge " + std::to_string(message.edge) +
                   " has arrived, which does not lead here from another rank");
  }
  if (message.microbatch < 0) {
    return invalid("a message of microbatch " + std::to_string(message.microbatch) +
                   " has arrived");
  }
  if (step_ < 0 || step == step_ + 1) return keep_early(step, message);
  if (step == step_ && message.microbatch < microbatches_ && !has_arrived(message)) {
    accept(message, now);
    return {};
  }
  const Task consumer{facts_.edges[at(message.edge)].consumer, message.microbatch};
  const Task producer{facts_.edges[at(message.edge)].producer, message.microbatch};
  const std::string what =
      task_name(facts_, producer) + " at " + task_name(facts_, consumer) + " has arrived";
  if (step != step_) return invalid(what + " for step " + std::to_string(step));
  if (message.microbatch < microbatches_) return invalid(what + " twice");
  return invalid(what + "; there are " + std::to_string(microbatches_) + " microbatches");
}

Status Executor::keep_early(std::int64_t step, Message message) {
  const Early early{step, message};
  if (step < 0) return invalid("a message has arrived for step " + std::to_string(step));
  if (std::find(early_.begin(), early_.end(), early) != early_.end()) {
    const Task producer{facts_.edges[at(message.edge)].producer, message.microbatch};
    return invalid(task_name(facts_, producer) + " has arrived twice for step " +
                   std::to_string(step));
  }
  early_.push_back(early);
  return {};
}

void Executor::accept(Message message, Time now) {
  arrived_[index(message)] = 1;
  arbiter_.on_arrived(message, now);
}

Status Executor::finished(Task task, Time now) {
  if (!failure_.ok()) return failure_;
  if (!is_ours(task)) {
    return invalid("a task of lane " + std::to_string(task.lane) + ", microbatch " +
                   std::to_string(task.microbatch) + " has finished, which is not of this rank");
  }
  if (progress_[index(task)] != Progress::running) {
    return invalid(task_name(facts_, task) + " has finished, but it does not run");
  }
  progress_[index(task)] = Progress::done;
  busy_[engine_of(task.lane)] = false;
  ++finished_;
  for (const EdgeId edge : sends_of_[at(task.lane - first_lane_)]) {
    pending_sends_.push_back({edge, task.microbatch});
  }
  arbiter_.on_finished(task, now);
  if (const Status status = ledger_.finished(task); !status.ok()) {
    failure_ = breach(status.message());
  }
  return failure_;
}

void Executor::failed(Status status) {
  if (failure_.ok()) failure_ = std::move(status);
}

Status Executor::poll(Time now, std::vector<Command>& commands) {
  if (!failure_.ok()) return failure_;
  for (const Message message : pending_sends_) {
    commands.push_back({.kind = Command::Kind::send, .task = {}, .message = message, .until = {}});
  }
  pending_sends_.clear();
  if (step_done()) return {};
  for (const Engine engine : engines_) {
    if (busy_[static_cast<std::size_t>(engine)]) continue;
    failure_ = poll_engine(engine, now, commands);
    if (!failure_.ok()) return failure_;
  }
  return {};
}

Status Executor::poll_engine(Engine engine, Time now, std::vector<Command>& commands) {
  const Agreement::Permission permission = agreement_.permit(arbiter_, engine, now);
  if (!permission.decided) return {};
  const Choice choice = arbiter_.choose(engine, permission.tasks, now);
  switch (choice.kind) {
    case Choice::Kind::nothing:
      return {};
    case Choice::Kind::hold:
      commands.push_back(
          {.kind = Command::Kind::hold_until, .task = {}, .message = {}, .until = choice.until});
      return {};
    case Choice::Kind::start:
      break;
  }
  if (!is_ours(choice.task) || engine_of(choice.task.lane) != static_cast<std::size_t>(engine) ||
      progress_[index(choice.task)] != Progress::waiting) {
    return breach("the arbiter chose lane " + std::to_string(choice.task.lane) + ", microbatch " +
                  std::to_string(choice.task.microbatch) + ", which may not start");
  }
  if (!needs_met(choice.task)) {
    return breach("the arbiter chose " + task_name(facts_, choice.task) + ", which needs " +
                  missing_needs(choice.task));
  }
  if (Status status = start(choice.task, now); !status.ok()) return status;
  commands.push_back(
      {.kind = Command::Kind::start, .task = choice.task, .message = {}, .until = {}});
  return {};
}

Status Executor::start(Task task, Time now) {
  progress_[index(task)] = Progress::running;
  busy_[engine_of(task.lane)] = true;
  arbiter_.started(task, now);
  agreement_.started(task);
  const Status status = ledger_.started(task);
  return status.ok() ? Status{} : breach(status.message());
}

bool Executor::met(EdgeId edge, int microbatch) const {
  const LaneId producer = local_[at(edge - first_edge_)];
  return producer < 0 ? has_arrived({edge, microbatch})
                      : progress_[index(Task{producer, microbatch})] == Progress::done;
}

bool Executor::needs_met(Task task) const {
  const EdgeId end = first_need_[at(task.lane - first_lane_ + 1)];
  for (EdgeId edge = first_need_[at(task.lane - first_lane_)]; edge < end; ++edge) {
    if (!met(edge, task.microbatch)) return false;
  }
  return true;
}

Status Executor::breach(const std::string& what) const {
  return {StatusCode::breach, "rank " + std::to_string(self_.rank) + ", step " +
                                  std::to_string(step_) + ": " + what + "; " + counters()};
}

// of 8 microbatches 0F started 3, ended 2, 0B started 0, ended 0; held: activation of stage 0 3
std::string Executor::counters() const {
  constexpr int kMost = 16;  // of each kind: a breach is one line
  std::string text = "of " + std::to_string(microbatches_) + " microbatches";
  for (int i = 0; i < std::min(lanes_, kMost); ++i) {
    const auto first =
        progress_.begin() + static_cast<std::ptrdiff_t>(index(Task{first_lane_ + i, 0}));
    const auto waiting = std::count(first, first + microbatches_, Progress::waiting);
    const auto ended = std::count(first, first + microbatches_, Progress::done);
    text += (i == 0 ? " " : ", ") + lane_name(facts_, first_lane_ + i) + " started " +
            std::to_string(microbatches_ - waiting) + ", ended " + std::to_string(ended);
  }
  if (lanes_ > kMost) text += " …";
  int shown = 0;
  for (std::size_t pool = 0; pool < facts_.pools.size() && shown < kMost; ++pool) {
    if (facts_.pools[pool].rank != self_.rank) continue;
    const int id = static_cast<int>(pool);
    text += (shown++ == 0 ? "; held: " : ", ") + pool_name(facts_, id) + " " +
            std::to_string(ledger_.held(id));
  }
  return text;
}

bool Executor::is_ours(Task task) const {
  return task.lane >= first_lane_ && task.lane < first_lane_ + lanes_ && task.microbatch >= 0 &&
         task.microbatch < microbatches_;
}

bool Executor::is_incoming(EdgeId edge) const {
  return edge >= first_edge_ && edge < first_edge_ + edges_ && facts_.crosses_ranks(edge);
}

bool Executor::has_arrived(Message message) const { return arrived_[index(message)] != 0; }

std::size_t Executor::index(Task task) const {
  return at(task.lane - first_lane_) * at(microbatches_) + at(task.microbatch);
}

std::size_t Executor::index(Message message) const {
  return at(message.edge - first_edge_) * at(microbatches_) + at(message.microbatch);
}

std::size_t Executor::engine_of(LaneId lane) const {
  return static_cast<std::size_t>(facts_.lanes[at(lane)].engine);
}

std::string Executor::missing_needs(Task task) const {
  std::string missing;
  const auto add = [&](const std::string& need) {
    missing += (missing.empty() ? "" : " and ") + need;
  };
  for (EdgeId edge = first_edge_; edge < first_edge_ + edges_; ++edge) {
    const EdgeFacts& e = facts_.edges[at(edge)];
    if (e.consumer != task.lane) continue;
    if (met(edge, task.microbatch)) continue;
    const std::string producer = task_name(facts_, {e.producer, task.microbatch});
    const int owes = facts_.lanes[at(e.producer)].rank;
    add(owes == self_.rank ? producer : producer + " from rank " + std::to_string(owes));
  }
  return missing;
}

std::string Executor::waiting(int lines) const {
  std::string text;
  for (LaneId lane = first_lane_; lane < first_lane_ + lanes_ && lines > 0; ++lane) {
    Task task{lane, 0};
    while (task.microbatch < microbatches_ && progress_[index(task)] == Progress::done) {
      ++task.microbatch;
    }
    if (task.microbatch == microbatches_) continue;
    text += "rank " + std::to_string(self_.rank) + ": " + task_name(facts_, task);
    if (progress_[index(task)] == Progress::running) {
      text += " runs\n";
    } else {
      const std::string missing = missing_needs(task);
      text += " waits for " + (missing.empty() ? "its turn, its engine or room" : missing) + "\n";
    }
    --lines;
  }
  return text;
}

}  // namespace ripeline::core
