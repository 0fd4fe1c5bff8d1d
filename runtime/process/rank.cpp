#include "runtime/process/rank.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/print.h"
#include "core/vocabulary/index.h"
#include "runtime/duration.h"
#include "runtime/process/ballot_codec.h"
#include "runtime/process/neighbours.h"
#include "runtime/process/notice_codec.h"

namespace ripeline::runtime::process {

using core::Command;
using core::Status;
using core::StatusCode;
using core::Time;

namespace {

constexpr int kMostMicrobatches = std::numeric_limits<int>::max() / core::Share::kLongestPeriod;
constexpr std::size_t kLastEvents = 4;  // enough to see what a rank was at

// A layout that does not fit is refused at the first step; until then the arbiter's rank counts.
core::Coordinates with_rank(core::Coordinates coordinates, int rank) {
  coordinates.rank = rank;
  return coordinates;
}

}  // namespace

Rank::Rank(core::Arbiter& arbiter, const core::Layout& layout, int self, RankOptions options)
    : arbiter_(arbiter),
      facts_(arbiter.facts()),
      layout_(layout),
      self_(layout.at(self)),
      options_(std::move(options)),
      process_(self),
      agreement_(core::make_agreement(facts_, self_)),
      ledger_(facts_),
      executor_(with_rank(self_, arbiter.rank()), arbiter, *agreement_, ledger_) {
  inputs_of_.resize(facts_.lanes.size());
  outputs_of_.resize(facts_.lanes.size());
  for (std::size_t i = 0; i < facts_.edges.size(); ++i) {
    const auto producer = index(facts_.edges[i].producer);
    const auto consumer = index(facts_.edges[i].consumer);
    if (facts_.lanes[producer].stage == facts_.lanes[consumer].stage) continue;
    inputs_of_[consumer].push_back(static_cast<core::EdgeId>(i));
    outputs_of_[producer].push_back(static_cast<core::EdgeId>(i));
  }
  for (const core::EdgeFacts& edge : facts_.edges) {
    const int from = process_of(edge.producer);
    const int to = process_of(edge.consumer);
    if (from == to) continue;
    if (from == self) begun_by_[to] = {};
    if (to == self) senders_.insert(from);
  }
  for (const core::Engine engine : core::kAllEngines) {
    agreeing_[static_cast<std::size_t>(engine)] = agreeing_with(self, layout, facts_, engine);
  }
  for (const int partner : partners_of(self, layout, facts_)) {
    begun_by_[partner] = {};
    senders_.insert(partner);
  }
}

int Rank::process_of(core::LaneId lane) const {
  return layout_.of_rank(process_, facts_.lanes[index(lane)].rank);
}

std::string Rank::name_of(core::Task task) const { return core::task_name(facts_, task); }

void Rank::note(const char* what, core::Task task, Time when) {
  if (last_.size() == kLastEvents) last_.pop_front();
  last_.push_back({what, task, when});
}

std::string Rank::last_events(Time now) const {
  std::string text;
  for (auto event = last_.rbegin(); event != last_.rend(); ++event) {
    text += (text.empty() ? "" : ", ") + (std::string(event->what) + " " + name_of(event->task)) +
            " " + seconds_text(std::max(Time{0}, now - event->at)) + " ago";
  }
  return text;
}

core::RankWaits Rank::waits() const {
  core::RankWaits waits = executor_.waits();
  waits.running = running_;
  if (begins_ || !executor_.step_done()) return waits;
  for (const auto& [process, begun] : begun_by_) {
    if (begun.step >= executor_.step()) continue;
    core::Wait wait;
    wait.reason = core::Wait::For::gather;
    wait.on = process;
    waits.waits.push_back(wait);
  }
  return waits;
}

// Before a step: what its tasks will take, as far as somebody knows.
void Rank::tell_costs() {
  if (options_.costs) {
    arbiter_.expect(*options_.costs);
  } else if (!ended_.empty()) {
    core::Costs costs{.tasks = std::vector<Time>(facts_.lanes.size()),
                      .varying = {},
                      .links = std::vector<Time>(facts_.edges.size()),
                      .notices = std::vector<Time>(facts_.edges.size())};
    for (std::size_t lane = 0; lane < ended_.size(); ++lane) {
      if (ended_[lane] > 0) costs.tasks[lane] = took_[lane] / ended_[lane];
    }
    arbiter_.expect(costs);
  }
  took_.assign(facts_.lanes.size(), Time{0});
  ended_.assign(facts_.lanes.size(), 0);
}

Status Rank::begin_step(std::int64_t step, int microbatches, Time now) {
  const core::Layout needed = core::layout_of(facts_);
  if (needed != layout_ || self_.rank != arbiter_.rank()) {
    return {StatusCode::refused,
            "the run is laid out as " + layout_.text() + ", this process as " +
                layout_.name(process_) + "; program '" + std::string(facts_.name) + "' needs " +
                needed.text() + ", and the arbiter is of rank " + std::to_string(arbiter_.rank())};
  }
  report_ = {};
  begun_ = now;
  started_.clear();
  microbatches_ = microbatches;
  tasks_left_.clear();
  for (std::size_t lane = 0; lane < facts_.lanes.size(); ++lane) {
    tasks_left_.push_back(facts_.tasks_of(static_cast<core::LaneId>(lane), microbatches));
  }
  if (step_ < 0) {
    for (auto& [process, begun] : begun_by_) begun.step = std::max(begun.step, step - 1);
  }
  step_ = step;
  begins_ = true;
  return {};
}

bool Rank::step_done() const {
  return !begins_ && running_.empty() && executor_.step_done() &&
         std::all_of(begun_by_.begin(), begun_by_.end(),
                     [&](const auto& of) { return of.second.step >= executor_.step(); });
}

Status Rank::begin(Time now, Actions& actions) {
  begins_ = false;
  tell_costs();
  for (const auto& [process, begun] : begun_by_) {
    if (begun.step != step_ || begun.microbatches < 0) continue;
    if (Status s = check_count(process, step_, begun.microbatches); !s.ok()) return s;
  }
  if (Status s = executor_.begin_step(step_, microbatches_, now); !s.ok()) return s;
  for (const int process : senders_) {
    Outgoing& out = actions.sends.emplace_back();
    out.to = process;
    out.envelope = {.signal = signals::Begun{.step = step_, .microbatches = microbatches_},
                    .sent = now};
  }
  return {};
}

Status Rank::accept_begun(int from, const signals::Begun& begun) {
  const auto of = begun_by_.find(from);
  const auto& [step, microbatches] = begun;
  if (of == begun_by_.end() || step < 0) {
    return {StatusCode::invalid, layout_.name(from) + " says that step " + std::to_string(step) +
                                     " has begun, which concerns nothing here"};
  }
  // It has begun all before that one, too, whose messages may come later. One that has no task in
  // its steps is far ahead.
  if (step > of->second.step) of->second = {step, microbatches};
  return begins_ ? Status() : check_count(from, step, microbatches);
}

Status Rank::check_count(int process, std::int64_t step, int microbatches) const {
  if (step != step_ || microbatches == microbatches_) return {};
  return {StatusCode::refused, "the ranks have different numbers of microbatches in step " +
                                   std::to_string(step) + ": " + layout_.name(process) + " has " +
                                   std::to_string(microbatches) + ", " + layout_.name(process_) +
                                   " has " + std::to_string(microbatches_)};
}

// A message is of the present step or the next one at most: nobody is further.
Status Rank::check_step(int from, std::int64_t step) const {
  const std::int64_t present = executor_.step();
  if (present < 0 || step <= present + 1) return {};
  return {StatusCode::invalid, layout_.name(from) + " sent a message of step " +
                                   std::to_string(step) + " while " + layout_.name(process_) +
                                   " is in step " + std::to_string(present)};
}

// A message comes from its edge's producer, a grant from its consumer, a notice from either.
Status Rank::check_sender(int from, const Signal& signal, core::EdgeId edge) const {
  const auto refused = [&](const std::string& why) {
    return Status(StatusCode::invalid, layout_.name(from) + " sent a message of edge " +
                                           std::to_string(edge) + ", " + why);
  };
  if (edge < 0 || index(edge) >= facts_.edges.size()) return refused("which there is not");
  const core::EdgeFacts& e = facts_.edges[index(edge)];
  const int producer = process_of(e.producer);
  const int consumer = process_of(e.consumer);
  const bool of_producer = from == producer && !std::holds_alternative<signals::Grant>(signal);
  const bool of_consumer = from == consumer && (std::holds_alternative<signals::Grant>(signal) ||
                                                std::holds_alternative<signals::Notice>(signal));
  const bool fits = of_producer || of_consumer;
  return fits ? Status()
              : refused("which leads from " + layout_.name(producer) + " to " +
                        layout_.name(consumer));
}

Status Rank::delivered(Delivery delivery, Time now) {
  const int from = delivery.from;
  Envelope& envelope = delivery.envelope;
  if (const auto* const begun = std::get_if<signals::Begun>(&envelope.signal)) {
    return accept_begun(from, *begun);
  }
  if (const auto* const ballot = std::get_if<signals::Ballot>(&envelope.signal)) {
    return accept_ballot(from, ballot->step, delivery.payload);
  }
  const signals::OfMessage* const of = message_of(std::as_const(envelope.signal));
  if (of == nullptr) {
    return {StatusCode::invalid,
            layout_.name(from) + " sent " + layout_.name(process_) + " what is of no message"};
  }
  Status fits = check_sender(from, envelope.signal, of->message.edge);
  if (fits.ok()) fits = check_step(from, of->step);
  // A late notice may be of a program whose turn is over.
  if (!fits.ok()) return envelope.is<signals::Notice>() ? Status() : fits;
  // accept() refuses a microbatch that no task has.
  const int microbatch = of->message.microbatch;
  const bool may_be = microbatch >= 0 && microbatch <= kMostMicrobatches;
  if (!options_.due || !may_be) return accept(delivery, now);
  envelope.sent = std::min(envelope.sent, now);  // its sender says it
  const Time due = options_.due(*of, envelope.sent);
  delivery.at = std::max(delivery.at, due);
  // Also if it is due by now: another one may be that was so before it.
  held_.emplace(due, std::move(delivery));
  return {};
}

Status Rank::accept_ballot(int from, std::int64_t step, const Payload& payload) {
  const auto refused = [&] {
    return Status(StatusCode::invalid, layout_.name(from) + " sent " + layout_.name(process_) +
                                           " a ballot, and has nothing to agree on with it");
  };
  // A stranger's is not looked at.
  if (!begun_by_.contains(from)) return refused();
  if (Status s = check_step(from, step); !s.ok()) return s;
  core::Ballot ballot;
  int microbatches = 0;
  if (Status s = decode_ballot(facts_, self_.rank, payload, microbatches, ballot); !s.ok()) {
    return s;
  }
  if (Status s = check_count(from, step, microbatches); !s.ok()) return s;
  const std::vector<int>& agreeing = agreeing_[static_cast<std::size_t>(ballot.engine)];
  if (std::count(agreeing.begin(), agreeing.end(), from) == 0) return refused();
  const core::Agreeing among = facts_.agreeing(self_.rank, ballot.engine);
  return executor_.balloted(step, among.number_of(layout_.at(from)), ballot);
}

Status Rank::accept(Delivery& delivery, Time now) {
  const Signal& signal = delivery.envelope.signal;
  if (const auto* const notice = std::get_if<signals::Notice>(&signal)) {
    return accept_notice(*notice, delivery, now);
  }
  if (const auto* const announce = std::get_if<signals::Announce>(&signal)) {
    return executor_.announced(announce->step, announce->message, announce->ordinal);
  }
  if (const auto* const grant = std::get_if<signals::Grant>(&signal)) {
    return executor_.granted(grant->step, grant->message, now);
  }
  return accept_data(std::get<signals::Data>(signal), delivery, now);
}

Status Rank::accept_notice(const signals::Notice& of, const Delivery& delivery, Time now) {
  if (of.step != executor_.step()) return {};  // it is of no use any more, or not yet
  core::Notice notice;
  if (Status s = decode_notice(of.message, delivery.payload, notice); !s.ok()) return s;
  // A notice counts from when it came. One that does not fit is of no use, and no fault.
  (void)executor_.noticed(of.step, notice, std::min(delivery.at, now));
  return {};
}

Status Rank::accept_data(const signals::Data& data, Delivery& delivery, Time now) {
  const std::int64_t step = data.step;
  const core::Message message = data.message;
  const Time sent = delivery.envelope.sent;
  // A hint learns how late messages come, not how long the rank was busy.
  const Time came = std::clamp(delivery.at, std::min(sent, now), now);
  if (Status s = executor_.arrived(step, message, came, data.ordinal); !s.ok()) return s;
  note("got", {facts_.edges[index(message.edge)].producer, message.microbatch}, came);
  if (options_.trace != nullptr) options_.trace->message(step, message, sent, came);
  if (options_.observer != nullptr) options_.observer->arrived(data, sent, came);
  mailbox_[{step, message.edge, message.microbatch}] = std::move(delivery.payload);
  return {};
}

Status Rank::ended(Ended ended, Time now) {
  if (!ended.status.ok()) {
    std::string who = name_of(ended.call.task.task);
    if (ended.with) who += " and " + name_of(ended.with->task.task);
    return {ended.status.code(), who + " failed: " + ended.status.message()};
  }
  // The clock of a device is not quite the host's: a task begins once it was chosen, and has ended
  // when it is told.
  ended.begin = std::max(ended.call.task.start, std::min(ended.begin, now));
  ended.end = std::max(ended.begin, std::min(ended.end, now));
  Status status = accept_end(ended.call, ended.begin, ended.end);
  if (ended.with && status.ok()) status = accept_end(*ended.with, ended.begin, ended.end);
  return status;
}

void Rank::keep_outputs(Call& call) {
  for (Output& output : call.outputs) {
    mailbox_[{executor_.step(), output.edge, call.task.task.microbatch}] =
        std::move(output.payload);
  }
}

Status Rank::accept_end(Call& call, Time begin, Time end) {
  keep_outputs(call);
  const core::Task task = call.task.task;
  const Time chosen = call.task.start;
  call.inputs.clear();  // their payloads are not kept until the next call
  spare_.push_back(std::move(call));
  const auto lane = index(task.lane);
  std::erase_if(running_, [task](const core::RunningTask& r) { return r.task == task; });
  note("ended", task, end);
  report_.busy += end - begin;
  ++report_.tasks;
  took_[lane] += end - begin;
  ++ended_[lane];
  if (options_.trace != nullptr) {
    options_.trace->task(executor_.step(), task, begin, end, begin - chosen);
  }
  if (options_.observer != nullptr) options_.observer->finished(task, end);
  return executor_.finished(task, end);
}

void Rank::take_inputs(core::Task task, std::vector<Input>& inputs) {
  const auto lane = index(task.lane);
  const bool is_last = --tasks_left_[lane] == 0;
  inputs.clear();
  for (const core::EdgeId id : inputs_of_[lane]) {
    const core::EdgeFacts& edge = facts_.edges[index(id)];
    const core::LaneFacts& from = facts_.lanes[index(edge.producer)];
    const core::OpFacts& op = facts_.ops[index(from.op)];
    const core::TaskSpan needed = facts_.needed(id, task.microbatch, microbatches_);
    for (int m = needed.first; m < needed.last; ++m) {
      Input input{.op = op.name,
                  .kind = op.kind,
                  .stage = from.stage,
                  .microbatch = facts_.microbatch_of({edge.producer, m}),
                  .payload = {}};
      const auto found = mailbox_.find({executor_.step(), id, m});
      if (found != mailbox_.end()) {
        // A payload that all tasks of a lane need stays for the last of them.
        if (edge.of == core::Of::all && !is_last) {
          input.payload = found->second;
        } else {
          input.payload = std::move(found->second);
          mailbox_.erase(found);
        }
      }
      inputs.push_back(std::move(input));
    }
  }
}

Call Rank::call_of(core::Task task, Time now) {
  Call call;
  if (!spare_.empty()) {
    call = std::move(spare_.back());
    spare_.pop_back();
  }
  const core::LaneFacts& lane = facts_.lanes[index(task.lane)];
  const core::OpFacts& op = facts_.ops[index(lane.op)];
  call.task = {.op = op.name,
               .kind = op.kind,
               .stage = lane.stage,
               .stages = facts_.stages,
               .microbatch = facts_.microbatch_of(task),
               .microbatches = microbatches_,
               .step = executor_.step(),
               .task = task,
               .engine = lane.engine,
               .start = now};
  take_inputs(task, call.inputs);
  call.outputs.clear();
  for (const core::EdgeId edge : outputs_of_[index(task.lane)]) {
    if (facts_.needed_by(edge, task.microbatch, microbatches_) < 0) continue;
    const core::LaneFacts& to = facts_.lanes[index(facts_.edges[index(edge)].consumer)];
    const core::OpFacts& of = facts_.ops[index(to.op)];
    call.outputs.push_back(
        {.op = of.name, .kind = of.kind, .stage = to.stage, .edge = edge, .payload = {}});
  }
  return call;
}

// It starts, and so does the one after it, beside it.
bool Rank::is_pair(std::size_t command) const {
  if (facts_.pairs.empty() || command + 1 == commands_.size()) return false;
  const Command& next = commands_[command + 1];
  return next.kind == Command::Kind::start &&
         facts_.are_pair(commands_[command].task.lane, next.task.lane);
}

void Rank::start(std::size_t& command, Time now, Actions& actions) {
  const auto begin = [&](core::Task task) {
    started_.push_back(task);
    running_.push_back({task, now});
    note("started", task, now);
    if (options_.observer != nullptr) options_.observer->started(task, now);
    return call_of(task, now);
  };
  const bool pair = is_pair(command);
  Actions::Start& start = actions.starts.emplace_back();
  start.call = begin(commands_[command].task);
  if (pair) start.with = begin(commands_[++command].task);
}

void Rank::give_ballot(core::Engine engine, Time now, Actions& actions) {
  const Payload payload =
      encode_ballot(facts_, self_.rank, microbatches_, executor_.ballot(engine));
  for (const int process : agreeing_[static_cast<std::size_t>(engine)]) {
    Outgoing& out = actions.sends.emplace_back();
    out.to = process;
    out.envelope = {.signal = signals::Ballot{executor_.step()}, .sent = now};
    out.payload = payload;
  }
}

// A message, its announcement, its grant, or a notice.
Outgoing Rank::outgoing(const Command& command, Time now) {
  Outgoing out;
  out.envelope.sent = now;
  const std::int64_t step = executor_.step();
  if (command.kind == Command::Kind::notify) {
    out.to = layout_.of_rank(process_, command.to);
    out.envelope.signal = signals::Notice{{step, command.notice.message}};
    out.payload = encode_notice(command.notice);
    return out;
  }
  const core::Message message = command.message;
  const core::EdgeFacts& edge = facts_.edges[index(message.edge)];
  out.to = process_of(command.kind == Command::Kind::grant ? edge.producer : edge.consumer);
  if (command.kind == Command::Kind::grant) {
    out.envelope.signal = signals::Grant{{step, message}};
  } else if (command.kind == Command::Kind::announce) {
    out.envelope.signal = signals::Announce{{step, message}, command.ordinal};
  } else {
    out.envelope.signal = signals::Data{{step, message}, command.ordinal};
    // An edge between tasks of one stage carries nothing.
    auto node = mailbox_.extract({step, message.edge, message.microbatch});
    if (!node.empty()) out.payload = std::move(node.mapped());
  }
  return out;
}

Status Rank::poll(Time now, Actions& actions) {
  if (begins_) {
    if (Status s = begin(now, actions); !s.ok()) return s;
  }
  while (!held_.empty() && held_.begin()->first <= now) {
    Delivery due = std::move(held_.begin()->second);
    held_.erase(held_.begin());
    if (Status s = accept(due, now); !s.ok()) return s;
  }
  if (!held_.empty()) actions.until = std::min(actions.until, held_.begin()->first);
  commands_.clear();
  if (Status s = executor_.poll(now, commands_); !s.ok()) return s;
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    const Command& command = commands_[i];
    if (command.kind == Command::Kind::start) {
      start(i, now, actions);
    } else if (command.kind == Command::Kind::hold_until) {
      actions.until = std::min(actions.until, command.until);
    } else if (command.kind == Command::Kind::ballot) {
      give_ballot(command.engine, now, actions);
    } else {
      actions.sends.push_back(outgoing(command, now));
    }
  }
  if (options_.observer != nullptr) options_.observer->polled(now, executor_, commands_);
  if (step_done()) report_.duration = now - begun_;
  return {};
}

void Rank::poll_sends(Time now, Actions& actions) {
  commands_.clear();
  executor_.poll_links(commands_);
  if (options_.observer != nullptr) options_.observer->sent(now, commands_);
  for (const Command& command : commands_) actions.sends.push_back(outgoing(command, now));
}

}  // namespace ripeline::runtime::process
