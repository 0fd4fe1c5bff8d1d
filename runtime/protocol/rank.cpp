#include "runtime/protocol/rank.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/print.h"
#include "core/vocabulary/index.h"
#include "runtime/protocol/ballot_codec.h"
#include "runtime/protocol/notice_codec.h"

namespace ripeline::runtime::protocol {

using core::Command;
using core::Status;
using core::StatusCode;
using core::Time;

namespace {

constexpr int kMostMicrobatches = std::numeric_limits<int>::max() / core::Share::kLongestPeriod;

// A layout that does not fit is refused at the first step. Until then the arbiter's rank is used.
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
      executor_(with_rank(self_, arbiter.rank()), arbiter, *agreement_, ledger_),
      peers_(facts_, layout, self),
      mailbox_(facts_),
      history_(facts_, options_.trace, options_.observer) {}

core::RankWaits Rank::waits() const {
  core::RankWaits waits = executor_.waits();
  waits.running = running_;
  if (begins_ || !executor_.step_done()) return waits;
  for (const int process : peers_.behind(executor_.step())) {
    core::Wait wait;
    wait.reason = core::Wait::For::gather;
    wait.on = process;
    waits.waits.push_back(wait);
  }
  return waits;
}

Status Rank::begin_step(std::int64_t step, int microbatches, Time now) {
  const core::Layout needed = core::layout_of(facts_);
  if (needed != layout_ || self_.rank != arbiter_.rank()) {
    return {StatusCode::refused,
            "the run is laid out as " + layout_.text() + ", this process as " +
                layout_.name(process_) + "; program '" + std::string(facts_.name) + "' needs " +
                needed.text() + ", and the arbiter is of rank " + std::to_string(arbiter_.rank())};
  }
  if (options_.costs) {
    arbiter_.expect(*options_.costs);
  } else if (const std::optional<core::Costs> costs = times_.averages(facts_)) {
    arbiter_.expect(*costs);
  }
  times_.begin_step(facts_, now);
  history_.begin_step();
  mailbox_.begin_step(step, microbatches);
  peers_.begin_step(step, microbatches);
  microbatches_ = microbatches;
  step_ = step;
  begins_ = true;
  return {};
}

bool Rank::step_done() const {
  return !begins_ && running_.empty() && executor_.step_done() &&
         peers_.have_begun(executor_.step());
}

Status Rank::begin(Time now, Actions& actions) {
  begins_ = false;
  if (Status s = peers_.check_counts(); !s.ok()) return s;
  if (Status s = executor_.begin_step(step_, microbatches_, now); !s.ok()) return s;
  for (const int process : peers_.senders()) {
    Outgoing& out = actions.sends.emplace_back();
    out.to = process;
    out.envelope = {.signal = signals::Begun{.step = step_, .microbatches = microbatches_},
                    .sent = now};
  }
  return {};
}

Status Rank::delivered(Delivery delivery, Time now) {
  const int from = delivery.from;
  Envelope& envelope = delivery.envelope;
  if (const auto* const begun = std::get_if<signals::Begun>(&envelope.signal)) {
    return peers_.accept_begun(from, *begun);
  }
  if (const auto* const ballot = std::get_if<signals::Ballot>(&envelope.signal)) {
    return accept_ballot(from, ballot->step, delivery.payload);
  }
  const signals::OfMessage* const of = message_of(std::as_const(envelope.signal));
  if (of == nullptr) {
    return {StatusCode::invalid,
            layout_.name(from) + " sent " + layout_.name(process_) + " what is of no message"};
  }
  Status fits = peers_.check_sender(from, envelope.signal, of->message.edge);
  if (fits.ok()) fits = peers_.check_step(from, of->step, executor_.step());
  // A late notice may belong to a program whose turn is over, and is no failure.
  if (!fits.ok()) return envelope.is<signals::Notice>() ? Status() : fits;
  // accept() refuses a microbatch that no task has.
  const int microbatch = of->message.microbatch;
  const bool may_be = microbatch >= 0 && microbatch <= kMostMicrobatches;
  if (!options_.due || !may_be) return accept(delivery, now);
  held_.hold(options_.due, std::move(delivery), now);
  return {};
}

Status Rank::accept_ballot(int from, std::int64_t step, const Payload& payload) {
  core::Ballot ballot;
  if (Status s = peers_.accept_ballot(from, step, executor_.step(), payload, ballot); !s.ok()) {
    return s;
  }
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
  if (of.step != executor_.step()) return {};  // the notice is too late, or too early
  core::Notice notice;
  if (Status s = decode_notice(of.message, delivery.payload, notice); !s.ok()) return s;
  // A notice counts from its arrival. One that does not fit is useless, but no failure.
  (void)executor_.noticed(of.step, notice, std::min(delivery.at, now));
  return {};
}

Status Rank::accept_data(const signals::Data& data, Delivery& delivery, Time now) {
  const std::int64_t step = data.step;
  const core::Message message = data.message;
  const Time sent = delivery.envelope.sent;
  // A hint learns how late messages arrive, not how long the rank was busy.
  const Time came = std::clamp(delivery.at, std::min(sent, now), now);
  if (Status s = executor_.arrived(step, message, came, data.ordinal); !s.ok()) return s;
  history_.arrived(data, sent, came);
  mailbox_.put(step, message, std::move(delivery.payload));
  return {};
}

Status Rank::ended(Ended ended, Time now) {
  if (!ended.status.ok()) {
    std::string who = core::task_name(facts_, ended.call.task.task);
    if (ended.with) who += " and " + core::task_name(facts_, ended.with->task.task);
    return {ended.status.code(), who + " failed: " + ended.status.message()};
  }
  // A device's clock may differ a little from the host's. So the times are clamped: a task begins
  // after it was chosen, and ends before its end is reported.
  ended.begin = std::max(ended.call.task.start, std::min(ended.begin, now));
  ended.end = std::max(ended.begin, std::min(ended.end, now));
  Status status = accept_end(ended.call, ended.begin, ended.end);
  if (ended.with && status.ok()) status = accept_end(*ended.with, ended.begin, ended.end);
  return status;
}

Status Rank::accept_end(Call& call, Time begin, Time end) {
  const core::Task task = call.task.task;
  const Time chosen = call.task.start;
  mailbox_.put_outputs(std::move(call));
  std::erase_if(running_, [task](const core::RunningTask& r) { return r.task == task; });
  times_.task_ended(task.lane, end - begin);
  history_.ended(executor_.step(), task, chosen, begin, end);
  return executor_.finished(task, end);
}

// Whether this command and the next start the two tasks of a pair.
bool Rank::is_pair(std::size_t command) const {
  if (facts_.pairs.empty() || command + 1 == commands_.size()) return false;
  const Command& next = commands_[command + 1];
  return next.kind == Command::Kind::start &&
         facts_.are_pair(commands_[command].task.lane, next.task.lane);
}

void Rank::start(std::size_t& command, Time now, Actions& actions) {
  const auto begin = [&](core::Task task) {
    running_.push_back({task, now});
    history_.started(task, now);
    return mailbox_.call_of(task, now);
  };
  const bool pair = is_pair(command);
  Actions::Start& start = actions.starts.emplace_back();
  start.call = begin(commands_[command].task);
  if (pair) start.with = begin(commands_[++command].task);
}

void Rank::give_ballot(core::Engine engine, Time now, Actions& actions) {
  const Payload payload =
      encode_ballot(facts_, self_.rank, microbatches_, executor_.ballot(engine));
  for (const int process : peers_.agreeing(engine)) {
    Outgoing& out = actions.sends.emplace_back();
    out.to = process;
    out.envelope = {.signal = signals::Ballot{executor_.step()}, .sent = now};
    out.payload = payload;
  }
}

// Makes a message, an announcement, a grant or a notice.
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
  out.to = peers_.process_of(command.kind == Command::Kind::grant ? edge.producer : edge.consumer);
  if (command.kind == Command::Kind::grant) {
    out.envelope.signal = signals::Grant{{step, message}};
  } else if (command.kind == Command::Kind::announce) {
    out.envelope.signal = signals::Announce{{step, message}, command.ordinal};
  } else {
    out.envelope.signal = signals::Data{{step, message}, command.ordinal};
    out.payload = mailbox_.take(message);
  }
  return out;
}

Status Rank::poll(Time now, Actions& actions) {
  if (begins_) {
    if (Status s = begin(now, actions); !s.ok()) return s;
  }
  while (std::optional<Delivery> due = held_.take(now)) {
    if (Status s = accept(*due, now); !s.ok()) return s;
  }
  actions.until = std::min(actions.until, held_.next());
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
  history_.polled(now, executor_, commands_);
  if (step_done()) times_.step_done(now);
  return {};
}

void Rank::poll_sends(Time now, Actions& actions) {
  commands_.clear();
  executor_.poll_links(commands_);
  history_.sent(now, commands_);
  for (const Command& command : commands_) actions.sends.push_back(outgoing(command, now));
}

}  // namespace ripeline::runtime::protocol
