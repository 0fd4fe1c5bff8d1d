// KeptTensors: what the forward of a microbatch keeps for its backward, which may be away from the
// memory of the device in between.
//
//   KeptTensors kept;
//   {
//     const SavingRegion region(kept.saved());
//     output = forward(input);
//   }
//   status = kept.settle(given, parameters);
//   status = kept.offload(arena);  // copied to the arena, and no longer on the device
//   status = kept.reload();        // the same bytes are on the device again
//
// A storage goes once, however many tensors that share it were saved, and it goes whole. What
// stays is what would be on the device all the same: the parameters of the stage, and what others
// hold besides, as a module holds its buffers, and a data set on the device the batches in it.
//
// The calls may come from several threads, one after another, and bytes_here() from any at any
// time. Nothing is shared with those of other microbatches.
#pragma once

#include <torch/types.h>

#include <atomic>
#include <cstddef>
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

  // What autograd saves; until it is settled.
  [[nodiscard]] SavingRegion::Saved& saved() { return saved_; }
  // A tensor that goes and comes likewise, with the data of `tensor` and without its graph; until
  // let_go(), after which it is the caller's alone.
  [[nodiscard]] torch::Tensor add(const torch::Tensor& tensor);
  void let_go() { added_.clear(); }

  // Decides what goes, once nothing is left of the forward but `given`, what it gave to others:
  // that goes also as long as a message holds it. Fails if something was kept that cannot go.
  core::Status settle(const std::vector<torch::Tensor>& given,
                      const std::vector<torch::Tensor>& parameters);

  // When they return the copy has ended, and what was copied from is let go.
  core::Status offload(Place& arena);
  core::Status reload();

  // Of all that goes and comes, of what of it is on the device, and in the arena.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t bytes_here() const;
  [[nodiscard]] std::size_t bytes_away() const { return away_bytes_; }

 private:
  // Those that share a storage.
  struct Group {
    std::size_t size = 0;
    c10::Device device;
    SavingRegion::Saved tensors;
  };

  SavingRegion::Saved saved_;
  std::vector<std::shared_ptr<SavedTensor>> added_;
  std::vector<Group> groups_;  // as they were settled
  std::size_t bytes_ = 0;
  std::atomic<bool> is_here_{true};
  std::atomic<std::size_t> away_bytes_{0};
  Bytes away_;
};

}  // namespace ripeline::runtime
