#include "core/executor.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/print.h"

namespace ripeline::core {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

const char* verb(bool announced) { return announced ? "was announced" : "has arrived"; }

}  // namespace

Executor::Executor(Coordinates self, Arbiter& arbiter, Agreement& agreement, Ledger& ledger)
    : facts_(arbiter.facts()),
      self_(self),
      arbiter_(arbiter),
      agreement_(agreement),
      ledger_(ledger),
      links_(facts_, self.rank) {
  assert(arbiter.rank() == self.rank);
  const LaneSpan own = facts_.lanes_of(self_.rank);
  first_lane_ = own.first;
  lanes_ = own.end - own.first;
  for (LaneId id = own.first; id < own.end; ++id) {
    const LaneFacts& lane = facts_.lanes[at(id)];
    if (std::find(engines_.begin(), engines_.end(), lane.engine) == engines_.end()) {
      engines_.push_back(lane.engine);
    }
  }
  starts_.reserve(2 * engines_.size());
  holds_.reserve(engines_.size());
  tasks_.assign(at(lanes_), 0);
  first_need_.assign(at(lanes_ + 1), 0);
  for (std::size_t i = 0; i < facts_.edges.size(); ++i) {
    const auto edge = static_cast<EdgeId>(i);
    const EdgeFacts& e = facts_.edges[i];
    if (e.consumer < own.first || e.consumer >= own.end) continue;
    if (local_.empty()) first_edge_ = edge;
    ++first_need_[at(e.consumer - first_lane_ + 1)];
    local_.push_back(facts_.crosses_ranks(edge) ? -1 : e.producer);
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
    const Message message = early.message;
    if (early.step != step || facts_.is_needed(message.edge, message.microbatch, microbatches)) {
      continue;
    }
    return invalid("a message of microbatch " + std::to_string(message.microbatch) +
                   " has arrived for step " + std::to_string(step) + ", which has " +
                   std::to_string(microbatches) + ", and no task needs it");
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
  expected_ = 0;
  for (int i = 0; i < lanes_; ++i) {
    tasks_[at(i)] = facts_.tasks_of(first_lane_ + i, microbatches);
    expected_ += tasks_[at(i)];
  }
  progress_.assign(at(lanes_) * at(microbatches), Progress::waiting);
  links_.begin_step(microbatches);
  for (const Early& early : early_) {
    if (early.step != step) continue;
    if (failure_ = accept(early, now); !failure_.ok()) return failure_;
  }
  // Before the first step messages of several steps may have come; the next one's stay.
  std::erase_if(early_, [step](const Early& early) { return early.step != step + 1; });
  return {};
}

Status Executor::arrived(std::int64_t step, Message message, Time now, std::int32_t ordinal) {
  if (!failure_.ok()) return failure_;
  return receive({step, message, ordinal, false}, now);
}

Status Executor::announced(std::int64_t step, Message message, std::int32_t ordinal) {
  if (!failure_.ok()) return failure_;
  return receive({step, message, ordinal, true}, {});
}

Status Executor::receive(const Early& incoming, Time now) {
  if (incoming.step == step_ && links_.expects(incoming.message)) return accept(incoming, now);
  const bool is_early = step_ < 0 || incoming.step == step_ + 1;
  if (!is_early || !links_.is_incoming(incoming.message.edge) || incoming.message.microbatch < 0) {
    return unexpected(incoming);
  }
  return keep_early(incoming);
}

// Why it is refused. Names take memory: only here.
Status Executor::unexpected(const Early& incoming) const {
  const Message message = incoming.message;
  const std::string what = std::string(" ") + verb(incoming.announced);
  if (!links_.is_incoming(message.edge)) {
    return invalid("a message of edge " + std::to_string(message.edge) + what +
                   ", which does not lead here from another rank");
  }
  if (message.microbatch < 0) {
    return invalid("a message of microbatch " + std::to_string(message.microbatch) + what);
  }
  const EdgeFacts& e = facts_.edges[at(message.edge)];
  const int wanted = facts_.needed_by(message.edge, message.microbatch, microbatches_);
  const std::string name = task_name(facts_, {e.producer, message.microbatch});
  const std::string taker =
      wanted < 0 ? lane_name(facts_, e.consumer) : task_name(facts_, {e.consumer, wanted});
  const std::string whole = name + " at " + taker + what;
  if (incoming.step != step_) {
    return invalid(whole + " for step " + std::to_string(incoming.step));
  }
  if (message.microbatch >= facts_.tasks_of(e.producer, microbatches_)) {
    return invalid(whole + "; there are " + std::to_string(microbatches_) + " microbatches");
  }
  return invalid(name + what + ", and no task needs it");
}

Status Executor::granted(std::int64_t step, Message message, Time now) {
  if (!failure_.ok()) return failure_;
  if (step != step_) return invalid("a message was granted for step " + std::to_string(step));
  if (const Status status = links_.granted(message); !status.ok()) return invalid(status.message());
  if (facts_.edges[at(message.edge)].rendezvous) arbiter_.on_taken(message, now);
  return {};
}

Status Executor::let_go(Message message) {
  if (!failure_.ok()) return failure_;
  const Status status = links_.let_go(message);
  return status.ok() ? status : invalid(status.message());
}

Status Executor::noticed(std::int64_t step, const Notice& notice, Time now) {
  if (!failure_.ok()) return failure_;
  if (step != step_) return {};
  const Message message = notice.message;
  const bool known = message.edge >= 0 && at(message.edge) < facts_.edges.size() &&
                     facts_.crosses_ranks(message.edge);
  const bool taken = notice.kind == Notice::Kind::taken;
  if (known) {
    const EdgeFacts& e = facts_.edges[at(message.edge)];
    const int rank = facts_.lanes[at(taken ? e.producer : e.consumer)].rank;
    const bool fits = taken || (message.microbatch >= 0 &&
                                message.microbatch < facts_.tasks_of(e.producer, microbatches_));
    if (rank == self_.rank && fits) return arbiter_.on_notice(notice, now), Status{};
  }
  return invalid("a notice of edge " + std::to_string(message.edge) + ", microbatch " +
                 std::to_string(message.microbatch) + " came, which concerns nothing here");
}

Status Executor::keep_early(const Early& early) {
  const char* what = verb(early.announced);
  if (early.step < 0) {
    return invalid(std::string("a message ") + what + " for step " + std::to_string(early.step));
  }
  const auto is_same = [&](const Early& e) {
    return e.step == early.step && e.message == early.message && e.announced == early.announced;
  };
  if (std::find_if(early_.begin(), early_.end(), is_same) != early_.end()) {
    const Task producer{facts_.edges[at(early.message.edge)].producer, early.message.microbatch};
    return invalid(task_name(facts_, producer) + " " + what + " twice for step " +
                   std::to_string(early.step));
  }
  early_.push_back(early);
  return {};
}

// Of this step.
Status Executor::accept(const Early& incoming, Time now) {
  handed_over_.clear();
  const Status status = incoming.announced
                            ? links_.announced(incoming.message, incoming.ordinal)
                            : links_.arrived(incoming.message, incoming.ordinal, handed_over_);
  if (!status.ok()) return invalid(status.message());
  for (const Message message : handed_over_) arbiter_.on_arrived(message, now);
  return {};
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
  Running& running = running_[engine_of(task.lane)];
  running = {.lane = running.lane == task.lane ? running.other : running.lane};
  ++finished_;
  links_.ended(task);
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
  starts_.clear();
  holds_.clear();
  for (const Engine engine : engines_) {
    if (finished_ == expected_) break;
    // What starts may have another one beside it.
    for (bool started = true; started && failure_.ok() && may_take(engine);) {
      failure_ = poll_engine(engine, now, started);
    }
    if (!failure_.ok()) break;
  }
  // What is sent and granted first: a start may keep the caller for as long as the task runs.
  links_.poll(arbiter_, commands);
  notify(now, commands);
  for (const Task task : starts_) {
    Command& command = commands.emplace_back();
    command.kind = Command::Kind::start;
    command.task = task;
  }
  for (const Time until : holds_) {
    Command& command = commands.emplace_back();
    command.kind = Command::Kind::hold_until;
    command.until = until;
  }
  return failure_;
}

void Executor::notify(Time now, std::vector<Command>& commands) {
  notices_.clear();
  arbiter_.take_notices(now, notices_);
  for (const Notice& notice : notices_) {
    const EdgeFacts& e = facts_.edges[at(notice.message.edge)];
    const LaneId to = notice.kind == Notice::Kind::taken ? e.producer : e.consumer;
    Command& command = commands.emplace_back();
    command.kind = Command::Kind::notify;
    command.to = facts_.lanes[at(to)].rank;
    command.notice = notice;
  }
}

void Executor::poll_links(std::vector<Command>& commands) {
  if (failure_.ok()) links_.poll(arbiter_, commands);
}

bool Executor::may_take(Engine engine) const {
  const Running& running = running_[static_cast<std::size_t>(engine)];
  if (running.lane >= 0 && (facts_.pairs.empty() || running.other >= 0)) return false;
  return !links_.hands_over(engine);
}

Status Executor::poll_engine(Engine engine, Time now, bool& started) {
  started = false;
  const Agreement::Permission permission = agreement_.permit(arbiter_, engine, now);
  if (!permission.decided) return {};
  const Choice choice = arbiter_.choose(engine, permission.tasks, now);
  if (choice.kind == Choice::Kind::nothing) return {};
  if (choice.kind == Choice::Kind::hold) return holds_.push_back(choice.until), Status{};
  if (!is_ours(choice.task) || engine_of(choice.task.lane) != static_cast<std::size_t>(engine) ||
      progress_[index(choice.task)] != Progress::waiting) {
    return breach("the arbiter chose lane " + std::to_string(choice.task.lane) + ", microbatch " +
                  std::to_string(choice.task.microbatch) + ", which may not start");
  }
  if (!needs_met(choice.task)) {
    return breach("the arbiter chose " + task_name(facts_, choice.task) + ", which needs " +
                  missing_needs(choice.task));
  }
  const LaneId beside = running_[static_cast<std::size_t>(engine)].lane;
  if (beside >= 0 && !facts_.are_pair(choice.task.lane, beside)) {
    return breach("the arbiter chose " + task_name(facts_, choice.task) + ", and its engine runs " +
                  lane_name(facts_, beside));
  }
  if (Status status = start(choice.task, now); !status.ok()) return status;
  starts_.push_back(choice.task);
  started = true;
  return {};
}

Status Executor::start(Task task, Time now) {
  progress_[index(task)] = Progress::running;
  Running& running = running_[engine_of(task.lane)];
  running = {.lane = task.lane, .other = running.lane};
  links_.started(task);
  arbiter_.started(task, now);
  agreement_.started(task);
  const Status status = ledger_.started(task);
  return status.ok() ? Status{} : breach(status.message());
}

int Executor::first_missing(EdgeId edge, int microbatch) const {
  const LaneId producer = local_[at(edge - first_edge_)];
  const MicrobatchSpan needed = facts_.needed(edge, microbatch, microbatches_);
  for (int m = needed.first; m < needed.last; ++m) {
    const bool here = producer < 0 ? links_.has_arrived({edge, m})
                                   : progress_[index(Task{producer, m})] == Progress::done;
    if (!here) return m;
  }
  return -1;
}

bool Executor::needs_met(Task task) const {
  const EdgeId end = first_need_[at(task.lane - first_lane_ + 1)];
  for (EdgeId edge = first_need_[at(task.lane - first_lane_)]; edge < end; ++edge) {
    if (first_missing(edge, task.microbatch) >= 0) return false;
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
    const int tasks = tasks_[at(i)];
    const auto waiting = std::count(first, first + tasks, Progress::waiting);
    const auto ended = std::count(first, first + tasks, Progress::done);
    text += (i == 0 ? " " : ", ") + lane_name(facts_, first_lane_ + i) + " started " +
            std::to_string(tasks - waiting) + ", ended " + std::to_string(ended);
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
         task.microbatch < tasks_[at(task.lane - first_lane_)];
}

std::size_t Executor::index(Task task) const {
  return at(task.lane - first_lane_) * at(microbatches_) + at(task.microbatch);
}

std::size_t Executor::engine_of(LaneId lane) const {
  return static_cast<std::size_t>(facts_.lanes[at(lane)].engine);
}

std::string Executor::missing_needs(Task task) const {
  std::string missing;
  const auto add = [&](const std::string& need) {
    missing += (missing.empty() ? "" : " and ") + need;
  };
  const auto lane = at(task.lane - first_lane_);
  for (EdgeId edge = first_need_[lane]; edge < first_need_[lane + 1]; ++edge) {
    const int m = first_missing(edge, task.microbatch);
    if (m < 0) continue;
    const EdgeFacts& e = facts_.edges[at(edge)];
    const std::string producer = task_name(facts_, {e.producer, m});
    const int owes = facts_.lanes[at(e.producer)].rank;
    if (owes == self_.rank) {
      add(producer);
      continue;
    }
    const std::string why = links_.why_not_granted({edge, m});
    add(producer + " from rank " + std::to_string(owes) +
        (why.empty() ? "" : ", whose message waits for " + why));
  }
  return missing;
}

std::string Executor::waiting(int lines) const {
  if (step_ < 0) return {};
  std::string text = links_.waiting(lines / 2);
  lines -= static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  for (LaneId lane = first_lane_; lane < first_lane_ + lanes_ && lines > 0; ++lane) {
    Task task{lane, 0};
    const int tasks = facts_.tasks_of(lane, microbatches_);
    while (task.microbatch < tasks && progress_[index(task)] == Progress::done) ++task.microbatch;
    if (task.microbatch == tasks) continue;
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
