// The tensors that autograd saves as a function runs, of any module: each behind a hook, so that
// its data can be exchanged under it.
//
//   std::vector<std::weak_ptr<SavedTensor>> saved;
//   {
//     const SavingRegion region(saved);
//     output = forward(input);
//   }
//
// The graph owns what is saved, and ends it as the backward uses it. A backward throws where it
// needs a tensor whose data is away, or one that was written to in place after it was saved.
//
// LibTorch asks its autograd engine for hooks. So the first region of a process puts an engine
// before the one that is there, be it that of a Python interpreter: it passes on all that it is
// asked, and answers for hooks itself in the thread of a region alone. Where another engine is put
// before it later, as when Python loads torch afterwards, a region throws, since it would see
// nothing.
//
// What a custom autograd::Function keeps in another way than save_for_backward() is not seen, nor
// what a forward computes in threads of its own. A region belongs to one thread.
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

  torch::Tensor tensor;  // shares the data of what was saved, and nothing of its graph
  std::uint32_t version = 0;
  bool is_away = false;
  // For a tensor without a storage, such as a sparse one: to tell whether somebody else holds it.
  std::optional<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> original;
};

class SavingRegion {
 public:
  using Saved = std::vector<std::weak_ptr<SavedTensor>>;
  // Appends to it as long as the region lives.
  explicit SavingRegion(Saved& saved);
  ~SavingRegion();
  SavingRegion(const SavingRegion&) = delete;
  SavingRegion& operator=(const SavingRegion&) = delete;

 private:
  Saved* outer_;
};

// Tensors that keep a place in the graph and no data, for what a stage holds beside its graph.
// An output: its gradient goes where that of `output` goes.
[[nodiscard]] torch::Tensor output_without_data(const torch::Tensor& output);
// A leaf in place of `input`, which has its gradient if link_leaf() has told the input so.
[[nodiscard]] torch::Tensor leaf_without_data(const torch::Tensor& input);
// `input` takes a gradient if the leaf does, which gets it. What is returned must live until the
// graph is there.
[[nodiscard]] std::shared_ptr<void> link_leaf(const torch::Tensor& input,
                                              const torch::Tensor& leaf);

}  // namespace ripeline::runtime
