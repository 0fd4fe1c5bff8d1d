// Offloads: carries out the ops `offload` and `reload` for LibTorch stages; a part of TorchWork.
//
// The forward hands over the tensors that it keeps of a microbatch (runtime/torch/kept_tensors.h).
// `offload` copies them to an arena in the host's memory, `reload` copies them back. On a GPU the
// arena is pinned, and both enqueue copies on the streams of their engines. The arena's buffers are
// reused, so it has buffers for as many microbatches as are ever away at once; the program bounds
// this number. A `reload` that needs the gradients of other stages keeps those for the backward.
//
// Calls may come from any thread, but only one at a time for each microbatch;
// runtime/training/train_rules.h refuses a program for which that is not certain.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/facts.h"
#include "runtime/network/buffer_pool.h"
#include "runtime/torch/kept_tensors.h"
#include "runtime/torch/torch_device.h"
#include "runtime/work.h"

namespace ripeline::runtime {

// The bytes that a rank's offloaded stages keep for their backwards; each is the most in any step.
struct OffloadReport {
  std::int64_t microbatch = 0;  // for one microbatch at one stage
  std::int64_t here = 0;        // on the device, of all microbatches and stages together
  std::int64_t away = 0;        // in the arena, of all microbatches and stages together
};

class Offloads {
 public:
  // A null `device` is the host's processor.
  explicit Offloads(TorchDevice* device) : device_(device) {}

  void begin_step();
  void keep(const TaskInfo& forward, std::shared_ptr<KeptTensors> kept);
  // offload() and reload() copy or, on a GPU, enqueue a copy, which is complete at the task's end.
  core::Status offload(const TaskInfo& task);
  core::Status reload(Call& call);
  // Must be called at the end of each task of the rank.
  void ended(const TaskInfo& task);
  // Takes the inputs that the reload of this microbatch got from other stages.
  [[nodiscard]] std::vector<Input> take_inputs(const TaskInfo& backward);

  [[nodiscard]] OffloadReport report() const;

 private:
  using Key = std::pair<int, int>;  // stage, microbatch
  struct Microbatch {
    std::shared_ptr<KeptTensors> kept;
    std::vector<Input> inputs = {};
    bool is_used = false;  // the microbatch's backward has begun
  };

  // Returns null if the forward of the task's microbatch kept nothing.
  [[nodiscard]] std::shared_ptr<KeptTensors> kept_of(const TaskInfo& task);
  void count();

  [[nodiscard]] network::BufferPool& arena();
  core::Status copy(TorchDevice::Direction direction, void* onto, const void* from,
                    std::size_t size, const TaskInfo& task);

  TorchDevice* device_;
  network::HostBufferPool own_arena_;  // for the host's processor
  mutable std::mutex mutex_;
  // Guarded by the mutex.
  std::map<Key, Microbatch> microbatches_;
  OffloadReport report_;
};

// Whether the stage has an op `offload`.
[[nodiscard]] bool is_offloaded(const core::ProgramFacts& facts, int stage);

}  // namespace ripeline::runtime
