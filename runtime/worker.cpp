#include "runtime/worker.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/print.h"
#include "runtime/duration.h"

namespace ripeline::runtime {

using core::Command;
using core::Status;
using core::StatusCode;

Worker::Worker(core::Arbiter& arbiter, Transport& transport, Work& work, WorkerOptions options)
    : facts_(arbiter.facts()),
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

Status Worker::begin_step(std::int64_t step, int microbatches) {
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
  core::Time last_event = begin;
  for (;;) {
    commands_.clear();
    if (Status s = executor_.poll(now(), commands_); !s.ok()) return fail(std::move(s));
    bool ran = false;
    core::Time hold = core::Time::max();
    for (const Command& command : commands_) {
      Status s;
      if (command.kind == Command::Kind::start) {
        s = run_task(command.task, report);
        ran = true;
      } else if (command.kind == Command::Kind::hold_until) {
        hold = std::min(hold, command.until);
      } else if (command.kind == Command::Kind::notify) {
        // Nobody tells the arbiter its costs here, so that it has nothing to say; and a notice may
        // be lost.
      } else {
        s = send(command);
      }
      if (!s.ok()) return fail(std::move(s));
    }
    if (ran) last_event = now();
    if (!ran && executor_.step_done()) break;
    const core::Time silent_at = last_event + options_.silence;
    const core::Time until = ran ? now() : std::min(hold, silent_at);
    bool received = false;
    if (Status s = receive(std::max(core::Time{0}, until - now()), received); !s.ok()) {
      return fail(std::move(s));
    }
    if (received) last_event = now();
    if (now() >= last_event + options_.silence) {
      return fail({StatusCode::timeout, "rank " + std::to_string(transport_.rank()) +
                                            " saw nothing happen for " +
                                            seconds_text(options_.silence)});
    }
  }
  report.duration = now() - begin;
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
  if (step > executor_.step() + 1) {
    later_.push_back(std::move(delivery));
    return {};
  }
  const core::Time at = now();
  if (signal == Signal::announce) return executor_.announced(step, message, ordinal);
  if (signal == Signal::grant) return executor_.granted(step, message, at);
  if (Status s = executor_.arrived(step, message, at, ordinal); !s.ok()) return s;
  if (options_.trace != nullptr) options_.trace->message(step, message, sent, at);
  mailbox_[{step, message.edge, message.microbatch}] = std::move(delivery.payload);
  return {};
}

// A message, its announcement or its grant.
Status Worker::send(const Command& command) {
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
      Input input{
          .op = op.name, .kind = op.kind, .stage = from.stage, .microbatch = m, .payload = {}};
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
  const TaskInfo info{.op = op.name,
                      .kind = op.kind,
                      .stage = lane.stage,
                      .stages = facts_.stages,
                      .microbatch = task.microbatch,
                      .microbatches = microbatches_,
                      .step = executor_.step()};
  started_.push_back(task);
  take_inputs(task);
  const core::Time begin = now();
  Payload output;
  const std::vector<core::EdgeId>& outputs = outputs_of_[lane_index];
  Status status;
  try {
    if (options_.before_task) options_.before_task(task, info);
    status = work_.run(info, inputs_, !outputs.empty(), output);
  } catch (const std::exception& e) {
    status = {StatusCode::failed, e.what()};
  } catch (...) {
    status = {StatusCode::failed, "an exception that is no std::exception"};
  }
  const core::Time end = now();
  if (!status.ok()) {
    return {status.code(), core::task_name(facts_, task) + " failed: " + status.message()};
  }
  report.busy += end - begin;
  ++report.tasks;
  if (options_.trace != nullptr) options_.trace->task(info.step, task, begin, end);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool is_last = i + 1 == outputs.size();
    if (facts_.needed_by(outputs[i], task.microbatch, microbatches_) < 0) continue;
    mailbox_[{info.step, outputs[i], task.microbatch}] = is_last ? std::move(output) : output;
  }
  return executor_.finished(task, end);
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
