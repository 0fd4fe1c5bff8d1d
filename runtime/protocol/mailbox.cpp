#include "runtime/protocol/mailbox.h"

#include <utility>

#include "core/vocabulary/index.h"

namespace ripeline::runtime::protocol {

Mailbox::Mailbox(const core::ProgramFacts& facts)
    : facts_(facts), inputs_of_(facts.lanes.size()), outputs_of_(facts.lanes.size()) {
  for (std::size_t i = 0; i < facts_.edges.size(); ++i) {
    const auto producer = index(facts_.edges[i].producer);
    const auto consumer = index(facts_.edges[i].consumer);
    if (facts_.lanes[producer].stage == facts_.lanes[consumer].stage) continue;
    inputs_of_[consumer].push_back(static_cast<core::EdgeId>(i));
    outputs_of_[producer].push_back(static_cast<core::EdgeId>(i));
  }
}

void Mailbox::begin_step(std::int64_t step, int microbatches) {
  step_ = step;
  microbatches_ = microbatches;
  tasks_left_.clear();
  for (std::size_t lane = 0; lane < facts_.lanes.size(); ++lane) {
    tasks_left_.push_back(facts_.tasks_of(static_cast<core::LaneId>(lane), microbatches));
  }
}

void Mailbox::put(std::int64_t step, core::Message message, Payload payload) {
  payloads_[{step, message.edge, message.microbatch}] = std::move(payload);
}

Payload Mailbox::take(core::Message message) {
  auto node = payloads_.extract({step_, message.edge, message.microbatch});
  return node.empty() ? Payload() : std::move(node.mapped());
}

void Mailbox::put_outputs(Call call) {
  for (Output& output : call.outputs) {
    put(step_, {output.edge, call.task.task.microbatch}, std::move(output.payload));
  }
  call.inputs.clear();  // which frees their payloads now
  spare_.push_back(std::move(call));
}

Call Mailbox::call_of(core::Task task, core::Time now) {
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
               .step = step_,
               .task = task,
               .engine = lane.engine,
               .start = now};
  take_inputs(task, call.inputs);
  add_outputs(task, call.outputs);
  return call;
}

void Mailbox::take_inputs(core::Task task, std::vector<Input>& inputs) {
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
      const auto found = payloads_.find({step_, id, m});
      if (found != payloads_.end()) {
        // If all tasks of a lane need the payload, only the last of them takes it out.
        if (edge.of == core::Of::all && !is_last) {
          input.payload = found->second;
        } else {
          input.payload = std::move(found->second);
          payloads_.erase(found);
        }
      }
      inputs.push_back(std::move(input));
    }
  }
}

void Mailbox::add_outputs(core::Task task, std::vector<Output>& outputs) const {
  outputs.clear();
  for (const core::EdgeId edge : outputs_of_[index(task.lane)]) {
    if (facts_.needed_by(edge, task.microbatch, microbatches_) < 0) continue;
    const core::LaneFacts& to = facts_.lanes[index(facts_.edges[index(edge)].consumer)];
    const core::OpFacts& of = facts_.ops[index(to.op)];
    outputs.push_back(
        {.op = of.name, .kind = of.kind, .stage = to.stage, .edge = edge, .payload = {}});
  }
}

}  // namespace ripeline::runtime::protocol
