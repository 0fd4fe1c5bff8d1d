#include "core/executor.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/blocks.h"
#include "core/print.h"
#include "core/vocabulary/index.h"

namespace ripeline::core {
namespace {

const char* verb(bool announced) { return announced ? "was announced" : "has arrived"; }

}  // namespace

Executor::Executor(Coordinates self, Arbiter& arbiter, Agreement& agreement, Ledger& ledger)
    : facts_(arbiter.facts()),
      self_(self),
      arbiter_(arbiter),
      agreement_(agreement),
      ledger_(ledger),
      progress_(facts_, self.rank),
      links_(facts_, self.rank) {
  assert(arbiter.rank() == self.rank);
  const LaneSpan own = facts_.lanes_of(self_.rank);
  first_lane_ = own.first;
  lanes_ = own.end - own.first;
  for (LaneId id = own.first; id < own.end; ++id) {
    const LaneFacts& lane = facts_.lanes[index(id)];
    if (std::find(engines_.begin(), engines_.end(), lane.engine) == engines_.end()) {
      engines_.push_back(lane.engine);
    }
  }
  holds_.reserve(engines_.size());
  giving_.reserve(engines_.size());
  first_need_.assign(index(lanes_ + 1), 0);
  for (std::size_t i = 0; i < facts_.edges.size(); ++i) {
    const auto edge = static_cast<EdgeId>(i);
    const EdgeFacts& e = facts_.edges[i];
    if (e.consumer < own.first || e.consumer >= own.end) continue;
    if (local_.empty()) first_edge_ = edge;
    ++first_need_[index(e.consumer - first_lane_ + 1)];
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
  for (const IncomingMessage& incoming : early_.of(step)) {
    const Message message = incoming.message;
    if (facts_.is_needed(message.edge, message.microbatch, microbatches)) continue;
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
  agreement_.begin_step(microbatches);
  ledger_.begin_step();
  step_ = step;
  microbatches_ = microbatches;
  progress_.begin_step(microbatches);
  idle_ = {};
  links_.begin_step(microbatches);
  for (const IncomingMessage& early : early_.of(step)) {
    if (failure_ = accept(early, now); !failure_.ok()) return failure_;
  }
  for (const IncomingBallot& early : early_ballots_.of(step)) {
    if (failure_ = balloted(step, early.member, early.ballot); !failure_.ok()) return failure_;
  }
  early_.drop(step);  // also items of steps before the first, which never begin here
  early_ballots_.drop(step);
  return {};
}

Status Executor::arrived(std::int64_t step, Message message, Time now, std::int32_t ordinal) {
  if (!failure_.ok()) return failure_;
  return receive(step, {message, ordinal, false}, now);
}

Status Executor::announced(std::int64_t step, Message message, std::int32_t ordinal) {
  if (!failure_.ok()) return failure_;
  return receive(step, {message, ordinal, true}, {});
}

Status Executor::receive(std::int64_t step, const IncomingMessage& incoming, Time now) {
  if (step == step_ && links_.expects(incoming.message)) return accept(incoming, now);
  const bool is_early = step_ < 0 || step > step_;
  if (!is_early || !links_.is_incoming(incoming.message.edge) || incoming.message.microbatch < 0) {
    return unexpected(step, incoming);
  }
  return keep_early(step, incoming);
}

// Makes the status that refuses the message; apart from receive(), since its text takes memory.
Status Executor::unexpected(std::int64_t step, const IncomingMessage& incoming) const {
  const Message message = incoming.message;
  const std::string what = std::string(" ") + verb(incoming.announced);
  if (!links_.is_incoming(message.edge)) {
    return invalid("a message of edge " + std::to_string(message.edge) + what +
                   ", which does not lead here from another rank");
  }
  if (message.microbatch < 0) {
    return invalid("a message of microbatch " + std::to_string(message.microbatch) + what);
  }
  const EdgeFacts& e = facts_.edges[index(message.edge)];
  const int wanted = facts_.needed_by(message.edge, message.microbatch, microbatches_);
  const std::string name = task_name(facts_, {e.producer, message.microbatch});
  const std::string taker =
      wanted < 0 ? lane_name(facts_, e.consumer) : task_name(facts_, {e.consumer, wanted});
  const std::string whole = name + " at " + taker + what;
  if (step != step_) return invalid(whole + " for step " + std::to_string(step));
  if (message.microbatch >= facts_.tasks_of(e.producer, microbatches_)) {
    return invalid(whole + "; there are " + std::to_string(microbatches_) + " microbatches");
  }
  return invalid(name + what + ", and no task needs it");
}

Status Executor::granted(std::int64_t step, Message message, Time now) {
  if (!failure_.ok()) return failure_;
  if (step != step_) return invalid("a message was granted for step " + std::to_string(step));
  if (const Status status = links_.granted(message); !status.ok()) return invalid(status.message());
  if (facts_.edges[index(message.edge)].rendezvous) arbiter_.on_taken(message, now);
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
  const bool known = message.edge >= 0 && index(message.edge) < facts_.edges.size() &&
                     facts_.crosses_ranks(message.edge);
  const bool taken = notice.kind == Notice::Kind::taken;
  if (known) {
    const EdgeFacts& e = facts_.edges[index(message.edge)];
    const int rank = facts_.lanes[index(taken ? e.producer : e.consumer)].rank;
    const bool fits = taken || (message.microbatch >= 0 &&
                                message.microbatch < facts_.tasks_of(e.producer, microbatches_));
    if (rank == self_.rank && fits) {
      arbiter_.on_notice(notice, now);
      return {};
    }
  }
  return invalid("a notice of edge " + std::to_string(message.edge) + ", microbatch " +
                 std::to_string(message.microbatch) + " came, which concerns nothing here");
}

Status Executor::keep_early(std::int64_t step, const IncomingMessage& early) {
  const char* what = verb(early.announced);
  if (step < 0) {
    return invalid(std::string("a message ") + what + " for step " + std::to_string(step));
  }
  if (early_.keep(step, early)) return {};
  const Task producer{facts_.edges[index(early.message.edge)].producer, early.message.microbatch};
  return invalid(task_name(facts_, producer) + " " + what + " twice for step " +
                 std::to_string(step));
}

// Processes a message of this step that has arrived or was announced.
Status Executor::accept(const IncomingMessage& incoming, Time now) {
  handed_over_.clear();
  const Status status = incoming.announced
                            ? links_.announced(incoming.message, incoming.ordinal)
                            : links_.arrived(incoming.message, incoming.ordinal, handed_over_);
  if (!status.ok()) return invalid(status.message());
  for (const Message message : handed_over_) arbiter_.on_arrived(message, now);
  return {};
}

Status Executor::balloted(std::int64_t step, int member, const Ballot& ballot) {
  if (!failure_.ok()) return failure_;
  const Agreeing agreeing = facts_.agreeing(self_.rank, ballot.engine);
  const auto wrong = [&](const std::string& why) {
    return invalid(refused(agreeing.who, member, ballot, why).message());
  };
  const bool is_early = step_ < 0 || step > step_;
  if (!is_early) {
    if (step != step_) return wrong("it is of step " + std::to_string(step));
    const Status status = agreement_.heard(member, ballot);
    return status.ok() ? status : invalid(status.message());
  }
  if (step < 0 || member < 0 || member >= agreeing.size || member == agreeing.number_of(self_)) {
    return wrong("there is no such step, or nobody else of that number");
  }
  if (!early_ballots_.keep(step, {member, ballot})) return wrong("it came twice");
  return {};
}

Status Executor::finished(Task task, Time now) {
  if (!failure_.ok()) return failure_;
  if (!is_ours(task)) {
    return invalid("a task of lane " + std::to_string(task.lane) + ", microbatch " +
                   std::to_string(task.microbatch) + " has finished, which is not of this rank");
  }
  if (!progress_.runs(task)) {
    return invalid(task_name(facts_, task) + " has finished, but it does not run");
  }
  progress_.ended(task);
  running_[engine_of(task.lane)].end(task.lane);
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
  holds_.clear();
  const auto before = std::ssize(commands);
  for (const Engine engine : engines_) {
    if (progress_.all_done()) break;
    while (may_take(engine) && start_on(engine, now, commands)) {  // two tasks may be a pair
    }
  }
  const auto starts = std::ssize(commands);
  links_.poll(arbiter_, commands);
  notices_.clear();
  arbiter_.take_notices(now, notices_);
  if (!notices_.empty()) notify(commands);
  if (!giving_.empty()) give_ballots(commands);
  // Puts sends, grants and notices first, since a start may block the caller while the task runs.
  if (starts > before && starts < std::ssize(commands)) {
    std::rotate(commands.begin() + before, commands.begin() + starts, commands.end());
  }
  for (const Time until : holds_) {
    Command& command = commands.emplace_back();
    command.kind = Command::Kind::hold_until;
    command.until = until;
  }
  return failure_;
}

void Executor::give_ballots(std::vector<Command>& commands) {
  for (const Engine engine : giving_) {
    Command& command = commands.emplace_back();
    command.kind = Command::Kind::ballot;
    command.engine = engine;
  }
  giving_.clear();
}

void Executor::notify(std::vector<Command>& commands) const {
  for (const Notice& notice : notices_) {
    const EdgeFacts& e = facts_.edges[index(notice.message.edge)];
    const LaneId to = notice.kind == Notice::Kind::taken ? e.producer : e.consumer;
    Command& command = commands.emplace_back();
    command.kind = Command::Kind::notify;
    command.to = facts_.lanes[index(to)].rank;
    command.notice = notice;
  }
}

void Executor::poll_links(std::vector<Command>& commands) {
  if (failure_.ok()) links_.poll(arbiter_, commands);
}

bool Executor::start_on(Engine engine, Time now, std::vector<Command>& commands) {
  if (!failure_.ok()) return false;
  Idle& idle = idle_[static_cast<std::size_t>(engine)];
  idle = Idle::no_choice;
  const Agreement::Decision decision = agreement_.choose(arbiter_, engine, now);
  if (!decision.decided || decision.ballot != nullptr) [[unlikely]] {
    note(decision, engine);
    if (!decision.decided) return false;
  }
  const Choice& choice = decision.choice;
  if (choice.kind == Choice::Kind::hold) {
    idle = Idle::held;
    holds_.push_back(choice.until);
  }
  if (!choice.starts()) return false;
  if (const std::string why = why_not(choice.task, engine); !why.empty()) {
    failure_ = breach("the arbiter chose " + why);
    return false;
  }
  start(choice.task, now);
  if (!failure_.ok()) return false;
  Command& command = commands.emplace_back();
  command.kind = Command::Kind::start;
  command.task = choice.task;
  return true;
}

void Executor::note(const Agreement::Decision& decision, Engine engine) {
  if (decision.ballot != nullptr) {
    ballots_[static_cast<std::size_t>(engine)] = decision.ballot;
    giving_.push_back(engine);
  }
  if (!decision.decided) idle_[static_cast<std::size_t>(engine)] = Idle::undecided;
  if (decision.failure != nullptr) failure_ = invalid(decision.failure->message());
}

void Executor::start(Task task, Time now) {
  progress_.started(task, now);
  running_[engine_of(task.lane)].start(task.lane);
  links_.started(task);
  arbiter_.started(task, now);
  agreement_.started(task);
  if (const Status status = ledger_.started(task); !status.ok()) {
    failure_ = breach(status.message());
  }
}

std::string Executor::why_not(Task task, Engine engine) const {
  if (!is_ours(task) || engine_of(task.lane) != static_cast<std::size_t>(engine) ||
      !progress_.waits(task)) {
    return "lane " + std::to_string(task.lane) + ", microbatch " + std::to_string(task.microbatch) +
           ", which may not start";
  }
  const auto own = index(task.lane - first_lane_);
  const EdgeSpan needs{first_need_[own], first_need_[own + 1]};
  if (each_missing(facts_, *this, needs, task, [](Message /*message*/) { return true; })) {
    std::vector<Wait> missing;
    find_needs(view(), task, missing);
    return task_name(facts_, task) + ", which needs " + print_reasons(facts_, missing);
  }
  const RunningTasks& running = running_[static_cast<std::size_t>(engine)];
  if (running.takes(task.lane, facts_)) return {};
  return task_name(facts_, task) + ", and its engine runs " + lane_name(facts_, running.lane());
}

bool Executor::is_here(EdgeId edge, int microbatch) const {
  const LaneId producer = local_[index(edge - first_edge_)];
  return producer < 0 ? links_.has_arrived({edge, microbatch})
                      : progress_.is_done({producer, microbatch});
}

Status Executor::breach(const std::string& what) const {
  return {StatusCode::breach, "rank " + std::to_string(self_.rank) + ", step " +
                                  std::to_string(step_) + ": " + what + "; " + counters()};
}

// The counters, for example: of 8 microbatches 0F started 3, ended 2, 0B started 0, ended 0; held:
// activation of stage 0 3
std::string Executor::counters() const {
  constexpr int kMost = 16;  // the most lanes and the most pools listed: a breach is one line
  std::string text =
      "of " + std::to_string(microbatches_) + " microbatches " + progress_.text(kMost);
  int shown = 0;
  for (std::size_t pool = 0; pool < facts_.pools.size() && shown < kMost; ++pool) {
    if (facts_.pools[pool].rank != self_.rank) continue;
    const int id = static_cast<int>(pool);
    text += (shown++ == 0 ? "; held: " : ", ") + pool_name(facts_, id) + " " +
            std::to_string(ledger_.held(id));
  }
  return text;
}

RankView Executor::view() const {
  return {.facts = facts_,
          .rank = self_.rank,
          .progress = progress_,
          .links = links_,
          .ledger = ledger_,
          .arbiter = arbiter_,
          .running = running_,
          .idle = idle_};
}

RankWaits Executor::waits() const {
  RankWaits waits = find_waits(view(), step_);
  for (Wait& wait : waits.waits) {
    if (wait.reason != Wait::For::agreement) continue;
    wait.on = agreement_.waits_for(static_cast<Engine>(engine_of(wait.task.lane)));
  }
  return waits;
}

std::string Executor::waiting(int lines) const {
  return lines > 0 ? print_waits(facts_, waits(), lines) : "";
}

}  // namespace ripeline::core
