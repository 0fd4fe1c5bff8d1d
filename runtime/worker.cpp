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

namespace {

// What user code says, or throws.
template <class Run>
Status guarded(const Run& run) {
  try {
    return run();
  } catch (const std::exception& e) {
    return {StatusCode::failed, e.what()};
  } catch (...) {
    return {StatusCode::failed, "an exception that is no std::exception"};
  }
}

}  // namespace

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
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    const Command& command = commands_[i];
    Status s;
    if (command.kind == Command::Kind::start) {
      const std::size_t before = running_.size();
      auto& [first, second] = calls_;
      prepare(command.task, first);
      const bool pair = is_pair(i);
      if (pair) prepare(commands_[++i].task, second);
      if (pair && work_.runs_together(first.task, second.task)) {
        s = run_pair(first, second, report);
      } else {
        s = run(first, report);
        // What the first sends does not wait for the second.
        if (pair && s.ok() && running_.size() == before) s = send_due();
        if (pair && s.ok()) s = run(second, report);
      }
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

Status Worker::send_due() {
  due_.clear();
  executor_.poll_links(due_);
  for (const Command& command : due_) {
    if (Status s = send(command); !s.ok()) return s;
  }
  return {};
}

// It starts, and so does the one after it, beside it.
bool Worker::is_pair(std::size_t command) const {
  if (facts_.pairs.empty() || command + 1 == commands_.size()) return false;
  const Command& next = commands_[command + 1];
  return next.kind == Command::Kind::start &&
         facts_.are_pair(commands_[command].task.lane, next.task.lane);
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

void Worker::take_inputs(core::Task task, std::vector<Input>& inputs) {
  const auto lane = static_cast<std::size_t>(task.lane);
  const bool is_last = --tasks_left_[lane] == 0;
  inputs.clear();
  for (const core::EdgeId id : inputs_of_[lane]) {
    const core::EdgeFacts& edge = facts_.edges[static_cast<std::size_t>(id)];
    const core::LaneFacts& from = facts_.lanes[static_cast<std::size_t>(edge.producer)];
    const core::OpFacts& op = facts_.ops[static_cast<std::size_t>(from.op)];
    const core::TaskSpan needed = facts_.needed(id, task.microbatch, microbatches_);
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
      inputs.push_back(std::move(input));
    }
  }
}

void Worker::prepare(core::Task task, Call& call) {
  const auto lane_index = static_cast<std::size_t>(task.lane);
  const core::LaneFacts& lane = facts_.lanes[lane_index];
  const core::OpFacts& op = facts_.ops[static_cast<std::size_t>(lane.op)];
  call.task = {.op = op.name,
               .kind = op.kind,
               .stage = lane.stage,
               .stages = facts_.stages,
               .microbatch = facts_.microbatch_of(task),
               .microbatches = microbatches_,
               .step = executor_.step(),
               .task = task};
  take_inputs(task, call.inputs);
  call.wanted = !outputs_of_[lane_index].empty();
  call.output = {};
}

void Worker::begin(Call& call) {
  call.task.start = now();
  started_.push_back(call.task.task);
  if (options_.observer != nullptr) options_.observer->started(call.task.task, call.task.start);
  if (options_.before_task) options_.before_task(call.task.task, call.task);
}

Status Worker::run(Call& call, StepReport& report) {
  const core::Task task = call.task.task;
  const Status status = guarded([&] {
    begin(call);
    return work_.run(call.task, call.inputs, call.wanted, call.output);
  });
  if (!status.ok()) {
    return {status.code(), core::task_name(facts_, task) + " failed: " + status.message()};
  }
  Running run{.task = task,
              .begin = call.task.start,
              .end = call.task.start,
              .output = std::move(call.output)};
  for (Running& other : running_) other.end = work_.ends(other.task).value_or(other.end);
  if (const auto end = work_.ends(task)) {
    run.end = *end;
    running_.push_back(std::move(run));
    return {};
  }
  run.end = now();
  return ended(std::move(run), report);
}

Status Worker::run_pair(Call& first, Call& second, StepReport& report) {
  const Status status = guarded([&] {
    begin(first);
    begin(second);
    return work_.run_pair(first, second);
  });
  if (!status.ok()) {
    return {status.code(), core::task_name(facts_, first.task.task) + " and " +
                               core::task_name(facts_, second.task.task) +
                               " failed: " + status.message()};
  }
  const core::Time end = now();
  for (Call* call : {&first, &second}) {
    Status s = ended({.task = call->task.task,
                      .begin = call->task.start,
                      .end = end,
                      .output = std::move(call->output)},
                     report);
    if (!s.ok()) return s;
  }
  return {};
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
