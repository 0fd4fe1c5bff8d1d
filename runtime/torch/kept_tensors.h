// KeptTensors: what the forward of a microbatch keeps for its backward, which may be away from the
// memory of the device in between.
//
//   KeptTensors kept;
//   {
//     const SavingRegion region(kept.saved());
//     output = forward(input);
//   }
//   status = kept.settle(device, given, is_sent, parameters);
//   status = kept.offload(arena, copy);  // begins to copy it to the arena
//   kept.offloaded();                    // it is there, and no longer on the device
//   status = kept.reload(copy);          // begins to copy the same bytes back
//   kept.reloaded();                     // they are on the device again
//   … a backward …
//   kept.used();                         // and it is over
//
// A storage goes once, however many tensors that share it were saved, and it goes whole. What
// stays is what would be on the device all the same: the parameters of the stage, and what others
// hold besides, as a module holds its buffers, and a data set on the device the batches in it, be
// they given to other stages or not.
//
// Who gives memory back. A copy on a stream of the device goes on after offload() and reload() have
// returned, and LibTorch's allocator knows nothing of it: memory that is given back it gives out at
// once to the stream for which it was allocated, whoever else still uses it. So:
//   - what is copied from stays until the host has seen the copy end, which is when offloaded() and
//     reloaded() are called. Then nothing reads it, and any stream may have it.
//   - what reload() allocates is for the copying stream, and a backward on another one uses it and
//     would give it back while it is enqueued, to the next reload(), which would write to what the
//     backward still reads. So it stays until used() is called, when the host has seen the end of
//     that task, and nothing else holds it.
// No stream waits for another one, and copies run beside what computes. What is held at once is no
// more than by the program, since its resources are released at the same ends.
//
// The calls may come from several threads, one after another; those without a status one at a time,
// bytes_here() among them, which may come at any time. Nothing is shared with those of other
// microbatches.
#pragma once

#include <c10/core/Storage.h>
#include <torch/types.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "core/status.h"
#include "runtime/place.h"
#include "runtime/torch/saved_tensors.h"

namespace ripeline::runtime {

class KeptTensors {
 public:
  KeptTensors() = default;
  KeptTensors(const KeptTensors&) = delete;
  KeptTensors& operator=(const KeptTensors&) = delete;

  // The tensors that autograd saves; until it is settled.
  [[nodiscard]] SavingRegion::Saved& saved() { return saved_; }
  // A tensor that goes and comes likewise, with the data of `tensor` and without its graph; until
  // let_go(), after which it is the caller's alone.
  [[nodiscard]] torch::Tensor add(const torch::Tensor& tensor);
  void let_go() { added_.clear(); }

  // Decides what goes, once nothing is left of the forward but `given`, what it gave to others:
  // that goes also as long as a message holds it. `is_sent`: messages hold it already. What lies
  // elsewhere than on `device` stays, as the state of a random generator that an operator saves on
  // the host. Fails if something was kept that cannot go.
  core::Status settle(c10::Device device, const std::vector<torch::Tensor>& given, bool is_sent,
                      const std::vector<torch::Tensor>& parameters);

  // Enqueues a copy of bytes, on the host or to it, or makes it.
  using Copy = std::function<core::Status(void* onto, const void* from, std::size_t size)>;
  core::Status offload(Place& arena, const Copy& copy);
  void offloaded();
  core::Status reload(const Copy& copy);
  void reloaded();
  // A task that computes with reloaded tensors has ended: the first one, or a later one.
  void used();

  // Bytes of all that goes and comes, of its part on the device, and of its part in the arena.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t bytes_here() const;
  [[nodiscard]] std::size_t bytes_away() const { return away_bytes_; }
  // Nothing is left for used() to let go.
  [[nodiscard]] bool is_let_go() const;

 private:
  // Those that share a storage.
  struct Group {
    std::size_t size = 0;
    SavingRegion::Saved tensors;
    c10::Storage leaving = {};    // is copied from
    c10::Storage back = {};       // was copied to
    bool is_back_in_use = false;  // by the graph, as far as the host has seen
  };
  enum class State { here, leaving, away, coming };

  SavingRegion::Saved saved_;
  std::vector<std::shared_ptr<SavedTensor>> added_;
  c10::Device device_ = c10::kCPU;
  std::vector<Group> groups_;  // as they were settled
  std::size_t bytes_ = 0;
  std::atomic<State> state_{State::here};
  std::atomic<std::size_t> away_bytes_{0};
  Bytes away_;
};

}  // namespace ripeline::runtime
