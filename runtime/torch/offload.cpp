#include "runtime/torch/offload.h"

#include <algorithm>
#include <cstring>

#include "core/print.h"
#include "runtime/torch/torch_calls.h"
#include "runtime/training/carried.h"

namespace ripeline::runtime {
namespace {

using core::LaneId;
using core::OpKind;
using core::ProgramFacts;
using core::Status;

Status named(const TaskInfo& task, const Status& status) {
  return status.ok() ? status : failed(task, status.message());
}

void raise(std::int64_t& most, std::size_t bytes) {
  most = std::max(most, static_cast<std::int64_t>(bytes));
}

const core::LaneFacts& lane_of(const ProgramFacts& facts, LaneId lane) {
  return facts.lanes[static_cast<std::size_t>(lane)];
}

OpKind kind_of(const ProgramFacts& facts, LaneId lane) {
  return facts.ops[static_cast<std::size_t>(lane_of(facts, lane).op)].kind;
}

// Whether tasks of this kind use the kept tensors. One engine runs all such tasks, one at a time:
// when one of them has ended, no later one of the same microbatch has been enqueued yet.
bool uses_kept(OpKind kind) {
  return training::computes_gradients(kind) || kind == OpKind::backward_weight ||
         kind == OpKind::recompute;
}

}  // namespace

void Offloads::begin_step() {
  const std::lock_guard lock(mutex_);
  microbatches_.clear();
}

void Offloads::keep(const TaskInfo& forward, std::shared_ptr<KeptTensors> kept) {
  const std::lock_guard lock(mutex_);
  raise(report_.microbatch, kept->bytes());
  microbatches_[{forward.stage, forward.microbatch}].kept = std::move(kept);
  count();
}

std::shared_ptr<KeptTensors> Offloads::kept_of(const TaskInfo& task) {
  const std::lock_guard lock(mutex_);
  const auto found = microbatches_.find({task.stage, task.microbatch});
  return found == microbatches_.end() ? nullptr : found->second.kept;
}

Status Offloads::offload(const TaskInfo& task) {
  const std::shared_ptr<KeptTensors> kept = kept_of(task);
  if (kept == nullptr) return failed(task, "its forward has not run in this step");
  Status status = kept->offload(arena(), [&](void* onto, const void* from, std::size_t size) {
    return copy(TorchDevice::Direction::to_host, onto, from, size, task);
  });
  const std::lock_guard lock(mutex_);
  count();
  return named(task, status);
}

Status Offloads::reload(Call& call) {
  const TaskInfo& task = call.task;
  const std::shared_ptr<KeptTensors> kept = kept_of(task);
  if (kept == nullptr) return failed(task, "its forward has not run in this step");
  Status status = kept->reload([&](void* onto, const void* from, std::size_t size) {
    return copy(TorchDevice::Direction::to_device, onto, from, size, task);
  });
  const std::lock_guard lock(mutex_);
  count();
  for (Input& input : call.inputs) {
    if (training::carried(input.kind, task.kind) != training::Carried::gradient) continue;
    microbatches_[{task.stage, task.microbatch}].inputs.push_back(std::move(input));
  }
  return named(task, status);
}

void Offloads::ended(const TaskInfo& task) {
  const std::lock_guard lock(mutex_);
  const auto found = microbatches_.find({task.stage, task.microbatch});
  if (found == microbatches_.end()) return;
  KeptTensors& kept = *found->second.kept;
  if (task.kind == OpKind::offload) {
    kept.offloaded();
  } else if (task.kind == OpKind::reload) {
    kept.reloaded();
  } else if (uses_kept(task.kind)) {
    kept.used();
  }
  count();
}

network::BufferPool& Offloads::arena() {
  network::BufferPool* const pinned = device_ == nullptr ? nullptr : device_->arena();
  return pinned == nullptr ? own_arena_ : *pinned;
}

Status Offloads::copy(TorchDevice::Direction direction, void* onto, const void* from,
                      std::size_t size, const TaskInfo& task) {
  if (device_ != nullptr) return device_->copy(direction, onto, from, size, task.engine);
  std::memcpy(onto, from, size);
  return {};
}

std::vector<Input> Offloads::take_inputs(const TaskInfo& backward) {
  const std::lock_guard lock(mutex_);
  const auto found = microbatches_.find({backward.stage, backward.microbatch});
  if (found == microbatches_.end()) return {};
  found->second.is_used = true;
  return std::exchange(found->second.inputs, {});
}

OffloadReport Offloads::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

// Updates the report. `here` is at its peak right after a forward or a reload, and `away` after an
// offload. Once a backward has begun, only the tensors that the rest of its graph needs count.
void Offloads::count() {
  std::size_t here = 0;
  std::size_t away = 0;
  for (auto it = microbatches_.begin(); it != microbatches_.end();) {
    const std::size_t bytes = it->second.kept->bytes_here();
    here += bytes;
    away += it->second.kept->bytes_away();
    const bool is_over = it->second.is_used && bytes == 0 && it->second.kept->is_let_go();
    it = is_over ? microbatches_.erase(it) : std::next(it);
  }
  raise(report_.here, here);
  raise(report_.away, away);
}

bool is_offloaded(const ProgramFacts& facts, int stage) {
  for (LaneId lane = 0; lane < static_cast<LaneId>(facts.lanes.size()); ++lane) {
    if (lane_of(facts, lane).stage == stage && kind_of(facts, lane) == OpKind::offload) return true;
  }
  return false;
}

}  // namespace ripeline::runtime
