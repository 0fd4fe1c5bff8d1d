// KeptTensors: the tensors that the forward of a microbatch keeps for its backward. In between,
// they may be moved out of the device's memory.
//
//   KeptTensors kept;
//   {
//     const SavingRegion region(kept.saved());
//     output = forward(input);
//   }
//   status = kept.settle(device, given, is_sent, parameters);
//   status = kept.offload(arena, copy);  // begins to copy the tensors to the arena
//   kept.offloaded();                    // the copy is over; the device's memory is given back
//   status = kept.reload(copy);          // begins to copy the same bytes back
//   kept.reloaded();                     // the tensors are on the device again
//   … a backward …
//   kept.used();                         // the backward is over
//
// A storage is moved once, however many saved tensors share it, and it is moved whole. A storage
// stays if it would remain on the device anyway: the storage of a parameter of the stage, or one
// that others own too, such as a module's buffer or a batch of a data set on the device, whether or
// not the stage sends it to other stages.
//
// Memory must not be freed too soon. A copy on a stream continues after offload() or reload() has
// returned, and LibTorch's allocator does not know of the copy: it gives freed memory out again at
// once to the stream for which the memory was allocated, whoever else still uses that memory. So:
//   - the source of a copy is kept until the host has seen the copy end, which is when offloaded()
//     and reloaded() are called. Then nothing reads it, and any stream may have it.
//   - reload() allocates for the copying stream, but a backward on another stream uses the memory.
//     If freed while that backward is only enqueued, it would be given to the next reload(), which
//     would overwrite what the backward still reads. So the memory is kept until used() is called
//     after the host has seen the end of that task, and nothing else holds the memory.
// No stream waits for another, and copies run beside the compute stream. No more is held at once
// than the program accounts for, since its resources are released at the same ends of tasks.
//
// The calls may come from several threads, one after another. The calls that return no Status, such
// as bytes_here(), must not overlap each other. bytes_here() may be called in any state.
// KeptTensors of different microbatches share nothing.
#pragma once

#include <c10/core/Storage.h>
#include <torch/types.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "core/status.h"
#include "runtime/network/buffer_pool.h"
#include "runtime/torch/saved_tensors.h"

namespace ripeline::runtime {

class KeptTensors {
 public:
  KeptTensors() = default;
  KeptTensors(const KeptTensors&) = delete;
  KeptTensors& operator=(const KeptTensors&) = delete;

  // The list to which autograd's saved tensors are added, until settle() is called.
  [[nodiscard]] SavingRegion::Saved& saved() { return saved_; }
  // Returns a tensor with the data of `tensor`, without its graph, that is moved away and back with
  // the saved ones. After let_go() only the caller holds this tensor.
  [[nodiscard]] torch::Tensor add(const torch::Tensor& tensor);
  void let_go() { added_.clear(); }

  // Decides which storages are moved. At the call, `given` (the outputs for other stages) must be
  // all that is left of the forward. The storages of `given` are moved even if messages hold them,
  // as messages do if `is_sent`. A storage outside `device` stays, such as a random generator's
  // state that an operator saves on the host. Fails if a kept tensor cannot be moved.
  core::Status settle(c10::Device device, const std::vector<torch::Tensor>& given, bool is_sent,
                      const std::vector<torch::Tensor>& parameters);

  // Copies `size` bytes between the device and the arena, or enqueues that copy.
  using Copy = std::function<core::Status(void* onto, const void* from, std::size_t size)>;
  core::Status offload(network::BufferPool& arena, const Copy& copy);
  void offloaded();
  core::Status reload(const Copy& copy);
  void reloaded();
  // Call this after the end of each task that computes with reloaded tensors.
  void used();

  // The bytes of all storages that are moved, of those on the device, and of those in the arena.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t bytes_here() const;
  [[nodiscard]] std::size_t bytes_away() const { return away_bytes_; }
  // True if nothing is left for used() to free.
  [[nodiscard]] bool is_let_go() const;

 private:
  // The saved tensors that share a storage.
  struct Group {
    std::size_t size = 0;
    SavingRegion::Saved tensors;
    c10::Storage leaving = {};    // the source of offload()'s copy
    c10::Storage back = {};       // the target of reload()'s copy
    bool is_back_in_use = false;  // the graph uses `back`, as far as the host has seen
  };
  enum class State { here, leaving, away, coming };

  SavingRegion::Saved saved_;
  std::vector<std::shared_ptr<SavedTensor>> added_;
  c10::Device device_ = c10::kCPU;
  std::vector<Group> groups_;  // as settle() found them
  std::size_t bytes_ = 0;
  std::atomic<State> state_{State::here};
  std::atomic<std::size_t> away_bytes_{0};
  Bytes away_;
};

}  // namespace ripeline::runtime
