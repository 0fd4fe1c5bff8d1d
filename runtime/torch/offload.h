// Offloads: what ops `offload` and `reload` do on LibTorch stages; a part of TorchWork.
//
// The forward hands over what it keeps of a microbatch (runtime/torch/kept_tensors.h); `offload`
// copies that to an arena of the host's memory, `reload` copies it back. On a GPU the arena is
// pinned, and both enqueue copies on the streams of their engines. The arena's buffers are used
// again, so it has as many as microbatches are ever away at once, which the program bounds.
// A `reload` that needs the gradients of other stages keeps them for the backward.
//
// Any thread may call, but only one at a time for each microbatch; runtime/training/train_rules.h
// refuses a program in which that does not hold.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/facts.h"
#include "runtime/network/place.h"
#include "runtime/torch/kept_tensors.h"
#include "runtime/torch/torch_device.h"
#include "runtime/work.h"

namespace ripeline::runtime {

// Bytes that a rank's offloaded stages keep for their backwards; the maxima over all steps.
struct OffloadReport {
  std::int64_t microbatch = 0;  // those of one microbatch at one stage
  std::int64_t here = 0;        // on the device, of all microbatches and stages together
  std::int64_t away = 0;        // in the arena, of all together
};

class Offloads {
 public:
  // Null: the host's processor.
  explicit Offloads(TorchDevice* device) : device_(device) {}

  void begin_step();
  void keep(const TaskInfo& forward, std::shared_ptr<KeptTensors> kept);
  // Make the copies, or enqueue them: a copy is over when its task has ended.
  core::Status offload(const TaskInfo& task);
  core::Status reload(Call& call);
  // To be called for each task of the rank.
  void ended(const TaskInfo& task);
  // Takes the inputs that this microbatch's reload got from other stages.
  [[nodiscard]] std::vector<Input> take_inputs(const TaskInfo& backward);

  [[nodiscard]] OffloadReport report() const;

 private:
  using Key = std::pair<int, int>;  // stage, microbatch
  struct Microbatch {
    std::shared_ptr<KeptTensors> kept;
    std::vector<Input> inputs = {};
    bool is_used = false;  // its backward has begun
  };

  // Null if the forward of the task's microbatch kept nothing.
  [[nodiscard]] std::shared_ptr<KeptTensors> kept_of(const TaskInfo& task);
  void count();

  [[nodiscard]] network::Place& arena();
  core::Status copy(TorchDevice::Direction direction, void* onto, const void* from,
                    std::size_t size, const TaskInfo& task);

  TorchDevice* device_;
  network::HostPlace own_arena_;  // for the host's processor
  mutable std::mutex mutex_;
  // Guarded by the mutex.
  std::map<Key, Microbatch> microbatches_;
  OffloadReport report_;
};

// Whether the stage has an op `offload`.
[[nodiscard]] bool is_offloaded(const core::ProgramFacts& facts, int stage);

}  // namespace ripeline::runtime
