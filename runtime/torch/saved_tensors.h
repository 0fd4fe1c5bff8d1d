// The tensors that autograd saves while any function runs, such as a module's forward. Each is
// saved behind a hook, so that its data can be exchanged while the graph holds the tensor.
//
//   std::vector<std::weak_ptr<SavedTensor>> saved;
//   {
//     const SavingRegion region(saved);
//     output = forward(input);
//   }
//
// The graph owns the saved tensors, and releases each as the backward uses it. A backward throws if
// it needs a tensor whose data is away, or one that was written to in place after it was saved.
//
// LibTorch asks its autograd engine for hooks. So the first region of a process installs an engine
// that wraps the present one, even that of a Python interpreter. The new engine forwards every
// request, and answers requests for hooks itself only in the thread of a region. If another engine
// is installed later, as when Python loads torch afterwards, a region throws, since it would see no
// saved tensor.
//
// A region sees neither tensors that a custom autograd::Function keeps in another way than by
// save_for_backward(), nor those of threads that a forward starts. It belongs to one thread.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ripeline::runtime {

struct SavedTensor {
  explicit SavedTensor(const torch::Tensor& saved);
  [[nodiscard]] bool was_written_to() const { return tensor._version() != version; }

  torch::Tensor tensor;  // shares the data of the saved tensor, but not its graph
  std::uint32_t version = 0;
  bool is_away = false;
  // For a tensor without a storage, such as a sparse one: tells whether others still hold it.
  std::optional<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> original;
};

class SavingRegion {
 public:
  using Saved = std::vector<std::weak_ptr<SavedTensor>>;
  // Appends to `saved` as long as the region lives.
  explicit SavingRegion(Saved& saved);
  ~SavingRegion();
  SavingRegion(const SavingRegion&) = delete;
  SavingRegion& operator=(const SavingRegion&) = delete;

 private:
  Saved* outer_;
};

// The functions below make tensors that have a place in the graph but no data, to be stored beside
// a stage's graph. This one replaces an output, and passes on its gradient as `output` does.
[[nodiscard]] torch::Tensor output_without_data(const torch::Tensor& output);
// A leaf in place of `input`; it gets the gradient of `input` after link_leaf(input, leaf).
[[nodiscard]] torch::Tensor leaf_without_data(const torch::Tensor& input);
// Makes `input` require a gradient if the leaf does, and pass that gradient to the leaf. The
// returned object must live until the graph has been recorded.
[[nodiscard]] std::shared_ptr<void> link_leaf(const torch::Tensor& input,
                                              const torch::Tensor& leaf);

}  // namespace ripeline::runtime
