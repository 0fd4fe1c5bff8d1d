#include "runtime/worker.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/print.h"
#include "runtime/duration.h"
#include "runtime/notice_codec.h"

namespace ripeline::runtime {

using core::Command;
using core::Status;
using core::StatusCode;

Worker::Worker(core::Arbiter& arbiter, Transport& transport, Work& work, WorkerOptions options)
    : arbiter_(arbiter),
      facts_(arbiter.facts()),
      transport_(transport),
      work_(work),
      options_(std::move(options)),
      ledger_(facts_),
      executor_({.replica = 0, .rank = arbiter.rank(), .member = 0}, arbiter, agreement_, ledger_) {
  inputs_of_.resize(facts_.lanes.size());
  outputs_of_.resize(facts_.lanes.size());
  for (std::size_t i = 0; i < facts_.edges.size(); ++i) {
    const auto producer = static_cast<std::size_t>(facts_.edges[i].producer);
    const auto consumer = static_cast<std::size_t>(facts_.edges[i].consumer);
    if (facts_.lanes[producer].stage == facts_.lanes[consumer].stage) continue;
    inputs_of_[consumer].push_back(static_cast<core::EdgeId>(i));
    outputs_of_[producer].push_back(static_cast<core::EdgeId>(i));
  }
}

// Before a step: what its tasks will take, as far as somebody knows.
void Worker::tell_costs() {
  if (options_.costs) {
    arbiter_.expect(*options_.costs);
  } else if (!ended_.empty()) {
    core::Costs costs{.tasks = std::vector<core::Time>(facts_.lanes.size()),
                      .varying = {},
                      .links = std::vector<core::Time>(facts_.edges.size()),
                      .notices = std::vector<core::Time>(facts_.edges.size())};
    for (std::size_t lane = 0; lane < ended_.size(); ++lane) {
      if (ended_[lane] > 0) costs.tasks[lane] = took_[lane] / ended_[lane];
    }
    arbiter_.expect(costs);
  }
  took_.assign(facts_.lanes.size(), core::Time{0});
  ended_.assign(facts_.lanes.size(), 0);
}

Status Worker::begin_step(std::int64_t step, int microbatches) {
  tell_costs();
  if (Status s = executor_.begin_step(step, microbatches, now()); !s.ok()) return s;
  std::vector<Delivery> kept = std::move(later_);
  later_.clear();
  for (Delivery& delivery : kept) {
    if (Status s = accept(delivery); !s.ok()) return s;
  }
  return work_.begin_step(step, microbatches);
}

Status Worker::step(std::int64_t step, int microbatches, StepReport& report) {
  const core::Time begin = now();
  report = {};
  started_.clear();
  microbatches_ = microbatches;
  tasks_left_.clear();
  for (std::size_t lane = 0; lane < facts_.lanes.size(); ++lane) {
    tasks_left_.push_back(facts_.tasks_of(static_cast<core::LaneId>(lane), microbatches));
  }
  if (Status s = begin_step(step, microbatches); !s.ok()) return fail(std::move(s));
  core::Time last_event = now();
  for (;;) {
    Turn turn;
    if (Status s = take_turn(turn, report); !s.ok()) return fail(std::move(s));
    if (turn.ran || !running_.empty()) last_event = now();
    if (!turn.ran && executor_.step_done()) break;
    const core::Time silent_at = last_event + options_.silence;
    const core::Time until = turn.ran ? now() : std::min({turn.hold, next_end(), silent_at});
    bool received = false;
    if (Status s = receive(std::max(core::Time{0}, until - now()), received); !s.ok()) {
      return fail(std::move(s));
    }
    if (received) last_event = now();
    if (running_.empty() && now() >= last_event + options_.silence) {
      return fail({StatusCode::timeout, "rank " + std::to_string(transport_.rank()) +
                                            " saw nothing happen for " +
                                            seconds_text(options_.silence)});
    }
    if (Status s = end_tasks(report); !s.ok()) return fail(std::move(s));
  }
  report.duration = now() - begin;
  return {};
}

Status Worker::take_turn(Turn& turn, StepReport& report) {
  commands_.clear();
  const core::Time asked = now();
  if (Status s = executor_.poll(asked, commands_); !s.ok()) return s;
  for (const Command& command : commands_) {
    Status s;
    if (command.kind == Command::Kind::start) {
      const std::size_t before = running_.size();
      s = run_task(command.task, report);
      turn.ran = turn.ran || running_.size() == before;
    } else if (command.kind == Command::Kind::hold_until) {
      turn.hold = std::min(turn.hold, command.until);
    } else {
      s = send(command);
    }
    if (!s.ok()) return s;
  }
  if (options_.observer != nullptr) options_.observer->polled(asked, executor_, commands_);
  return {};
}

Status Worker::receive(std::chrono::nanoseconds wait, bool& received) {
  deliveries_.clear();
  if (Status s = transport_.poll(wait, deliveries_); !s.ok()) return s;
  received = !deliveries_.empty();
  for (Delivery& delivery : deliveries_) {
    if (Status s = accept(delivery); !s.ok()) return s;
  }
  return {};
}

Status Worker::accept(Delivery& delivery) {
  const auto& [step, message, sent, signal, ordinal] = delivery.envelope;
  if (signal == Signal::notice) {
    if (step != executor_.step()) return {};  // it is of no use any more, or not yet
    core::Notice notice;
    if (Status s = decode_notice(delivery, notice); !s.ok()) return s;
    // What it says counts from when it came.
    return executor_.noticed(step, notice, std::min(delivery.at, now()));
  }
  if (step > executor_.step() + 1) {
    later_.push_back(std::move(delivery));
    return {};
  }
  const core::Time at = now();
  if (signal == Signal::announce) return executor_.announced(step, message, ordinal);
  if (signal == Signal::grant) return executor_.granted(step, message, at);
  // A hint learns how late messages come, not how long this thread was busy.
  const core::Time came = std::clamp(delivery.at, std::min(sent, at), at);
  if (Status s = executor_.arrived(step, message, came, ordinal); !s.ok()) return s;
  if (options_.trace != nullptr) options_.trace->message(step, message, sent, came);
  if (options_.observer != nullptr) options_.observer->arrived(delivery.envelope, came);
  mailbox_[{step, message.edge, message.microbatch}] = std::move(delivery.payload);
  return {};
}

// A message, its announcement, its grant, or a notice.
Status Worker::send(const Command& command) {
  if (command.kind == Command::Kind::notify) {
    const Envelope envelope{.step = executor_.step(),
                            .message = command.notice.message,
                            .sent = now(),
                            .signal = Signal::notice};
    return transport_.send(command.to, envelope, encode_notice(command.notice));
  }
  const core::Message message = command.message;
  const core::EdgeFacts& edge = facts_.edges[static_cast<std::size_t>(message.edge)];
  Envelope envelope{.step = executor_.step(), .message = message, .sent = now()};
  envelope.ordinal = command.ordinal;
  Payload payload;
  core::LaneId to = edge.consumer;
  if (command.kind == Command::Kind::grant) {
    envelope.signal = Signal::grant;
    to = edge.producer;
  } else if (command.kind == Command::Kind::announce) {
    envelope.signal = Signal::announce;
  } else {
    // An edge between tasks of one stage carries nothing.
    auto node = mailbox_.extract({executor_.step(), message.edge, message.microbatch});
    if (!node.empty()) payload = std::move(node.mapped());
  }
  return transport_.send(facts_.lanes[static_cast<std::size_t>(to)].rank, envelope,
                         std::move(payload));
}

void Worker::take_inputs(core::Task task) {
  const auto lane = static_cast<std::size_t>(task.lane);
  const bool is_last = --tasks_left_[lane] == 0;
  inputs_.clear();
  for (const core::EdgeId id : inputs_of_[lane]) {
    const core::EdgeFacts& edge = facts_.edges[static_cast<std::size_t>(id)];
    const core::LaneFacts& from = facts_.lanes[static_cast<std::size_t>(edge.producer)];
    const core::OpFacts& op = facts_.ops[static_cast<std::size_t>(from.op)];
    const core::MicrobatchSpan needed = facts_.needed(id, task.microbatch, microbatches_);
    for (int m = needed.first; m < needed.last; ++m) {
      Input input{.op = op.name,
                  .kind = op.kind,
                  .stage = from.stage,
                  .microbatch = facts_.microbatch_of({edge.producer, m}),
                  .payload = {}};
      const auto found = mailbox_.find({executor_.step(), id, m});
      if (found != mailbox_.end()) {
        // What all tasks of a lane need stays for the last of them.
        if (edge.of == core::Of::all && !is_last) {
          input.payload = found->second;
        } else {
          input.payload = std::move(found->second);
          mailbox_.erase(found);
        }
      }
      inputs_.push_back(std::move(input));
    }
  }
}

Status Worker::run_task(core::Task task, StepReport& report) {
  const auto lane_index = static_cast<std::size_t>(task.lane);
  const core::LaneFacts& lane = facts_.lanes[lane_index];
  const core::OpFacts& op = facts_.ops[static_cast<std::size_t>(lane.op)];
  started_.push_back(task);
  take_inputs(task);
  const core::Time begin = now();
  const TaskInfo info{.op = op.name,
                      .kind = op.kind,
                      .stage = lane.stage,
                      .stages = facts_.stages,
                      .microbatch = facts_.microbatch_of(task),
                      .microbatches = microbatches_,
                      .step = executor_.step(),
                      .task = task,
                      .start = begin};
  if (options_.observer != nullptr) options_.observer->started(task, begin);
  Running run{.task = task, .begin = begin, .end = begin, .output = {}};
  Status status;
  try {
    if (options_.before_task) options_.before_task(task, info);
    status = work_.run(info, inputs_, !outputs_of_[lane_index].empty(), run.output);
  } catch (const std::exception& e) {
    status = {StatusCode::failed, e.what()};
  } catch (...) {
    status = {StatusCode::failed, "an exception that is no std::exception"};
  }
  if (!status.ok()) {
    return {status.code(), core::task_name(facts_, task) + " failed: " + status.message()};
  }
  if (const auto end = work_.ends()) {
    run.end = *end;
    running_.push_back(std::move(run));
    return {};
  }
  run.end = now();
  return ended(std::move(run), report);
}

core::Time Worker::next_end() const {
  core::Time next = core::Time::max();
  for (const Running& run : running_) next = std::min(next, run.end);
  return next;
}

Status Worker::end_tasks(StepReport& report) {
  while (next_end() <= now()) {
    const auto first =
        std::min_element(running_.begin(), running_.end(),
                         [](const Running& a, const Running& b) { return a.end < b.end; });
    Running run = std::move(*first);
    running_.erase(first);
    if (Status s = ended(std::move(run), report); !s.ok()) return s;
  }
  return {};
}

Status Worker::ended(Running run, StepReport& report) {
  const auto lane = static_cast<std::size_t>(run.task.lane);
  const std::int64_t step = executor_.step();
  report.busy += run.end - run.begin;
  ++report.tasks;
  took_[lane] += run.end - run.begin;
  ++ended_[lane];
  if (options_.trace != nullptr) options_.trace->task(step, run.task, run.begin, run.end);
  if (options_.observer != nullptr) options_.observer->finished(run.task, run.end);
  const std::vector<core::EdgeId>& outputs = outputs_of_[lane];
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool is_last = i + 1 == outputs.size();
    if (facts_.needed_by(outputs[i], run.task.microbatch, microbatches_) < 0) continue;
    mailbox_[{step, outputs[i], run.task.microbatch}] =
        is_last ? std::move(run.output) : run.output;
  }
  return executor_.finished(run.task, run.end);
}

Status Worker::fail(Status status) {
  std::string waiting = executor_.waiting();
  if (waiting.ends_with('\n')) waiting.pop_back();
  Status whole(status.code(), status.message() + (waiting.empty() ? "" : "\n" + waiting));
  executor_.failed(whole);
  transport_.abandon(status);
  return whole;
}

}  // namespace ripeline::runtime
