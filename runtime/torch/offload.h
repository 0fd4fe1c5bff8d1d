// Offloads: what ops `offload` and `reload` do on LibTorch stages; of TorchWork.
//
// The forward gives it what it keeps of a microbatch (runtime/torch/kept_tensors.h), `offload`
// takes that to an arena of the host's memory, `reload` brings it back. On a GPU the arena is
// pinned, and both enqueue copies on the streams of their engines. The arena's buffers are used
// again, so that there are as many as microbatches are ever away at once, which the program bounds.
// A `reload` that needs the gradients of other stages keeps them for the backward.
//
// Any thread, one for each microbatch at a time: a program in which that is not so is refused by
// runtime/train_rules.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/facts.h"
#include "runtime/place.h"
#include "runtime/torch/kept_tensors.h"
#include "runtime/torch/torch_device.h"
#include "runtime/work.h"

namespace ripeline::runtime {

// Bytes of what a rank's stages that offload keep for their backwards; the most of all steps.
struct OffloadReport {
  std::int64_t microbatch = 0;  // one microbatch's, at one stage
  std::int64_t here = 0;        // on the device, of all of them together
  std::int64_t away = 0;        // in the arena
};

class Offloads {
 public:
  // Null: the host's processor.
  explicit Offloads(TorchDevice* device) : device_(device) {}

  void begin_step();
  void keep(const TaskInfo& forward, std::shared_ptr<KeptTensors> kept);
  // Copies, or enqueues them: they are over when their tasks have ended.
  core::Status offload(const TaskInfo& task);
  core::Status reload(Call& call);
  // To be called for each task of the rank.
  void ended(const TaskInfo& task);
  // Takes what its reload got from other stages.
  [[nodiscard]] std::vector<Input> take_inputs(const TaskInfo& backward);

  [[nodiscard]] OffloadReport report() const;

 private:
  using Key = std::pair<int, int>;  // stage, microbatch
  struct Microbatch {
    std::shared_ptr<KeptTensors> kept;
    std::vector<Input> inputs = {};
    bool is_used = false;  // its backward has begun
  };

  // Null: its forward kept nothing.
  [[nodiscard]] std::shared_ptr<KeptTensors> kept_of(const TaskInfo& task);
  void count();

  [[nodiscard]] Place& arena();
  core::Status copy(TorchDevice::Direction direction, void* onto, const void* from,
                    std::size_t size, const TaskInfo& task);

  TorchDevice* device_;
  HostPlace own_arena_;  // for the host's processor
  mutable std::mutex mutex_;
  // Guarded by the mutex.
  std::map<Key, Microbatch> microbatches_;
  OffloadReport report_;
};

// Whether the stage has an op `offload`.
[[nodiscard]] bool is_offloaded(const core::ProgramFacts& facts, int stage);

}  // namespace ripeline::runtime
