// The backward of a stage in two halves, of any module: the gradients of its inputs now, those of
// its parameters later (Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 2).
//
//   ParameterBackward later;
//   const std::vector<torch::Tensor> sent = backward_inputs(outputs, gradients, inputs, later);
//   ...
//   later.run();
//
// No operator is rewritten: the graph that autograd has recorded is cut. Its *chain* is what leads
// from the outputs to the inputs. A node of the chain with a side that leads to parameters alone is
// where it is cut: backward_inputs() keeps the gradients that arrive there, computes on along the
// chain only, and takes off the edges into the chain. What is left is a graph for the parameters
// alone, which run() computes from the gradients kept. Nodes that are not cut release what they
// have saved as they run. Where no input takes a gradient, the chain is what leads to more than one
// parameter.
//
// Gradients are bitwise those of backward(): the same nodes compute them, and what several uses of
// a parameter give is summed by the engine in the same order. Normalisations compute all their
// gradients in one go, so theirs are computed by backward_inputs(), and added by run(). So is a
// checkpointed region, which is one node: its parameters' gradients are computed *and added* by
// backward_inputs(). Hooks on parameters run in run(); one on a value inside may run in both
// halves, and where that would change a gradient it is refused.
//
// A graph is cut once; it cannot be run again afterwards. LibTorch's exceptions pass, and what is
// refused throws std::invalid_argument. One thread at a time.
#pragma once

#include <torch/csrc/autograd/edge.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace ripeline::runtime {

// The half that is left for later, with what it keeps alive.
class ParameterBackward {
 public:
  // Adds the parameters' gradients to their .grad(), and keeps nothing any more.
  void run();

  // Gradients that are kept, beside what the nodes that are left have saved.
  [[nodiscard]] std::int64_t bytes() const;
  // Parameters that the graph leads to, and those of them whose gradients the first half has
  // computed, which are among those that are kept.
  [[nodiscard]] std::size_t parameters() const { return parameters_; }
  [[nodiscard]] std::size_t computed() const;

 private:
  friend std::vector<torch::Tensor> backward_inputs(const std::vector<torch::Tensor>& outputs,
                                                    const std::vector<torch::Tensor>& gradients,
                                                    const std::vector<torch::Tensor>& inputs,
                                                    ParameterBackward& later);

  std::vector<torch::autograd::Edge> roots_;
  std::vector<torch::Tensor> gradients_;  // by root
  std::size_t parameters_ = 0;
};

// `outputs` need gradients, and `gradients` has one for each; `inputs` are leaves. Returns the
// gradient of each input; undefined where it takes none or does not lead to the outputs.
std::vector<torch::Tensor> backward_inputs(const std::vector<torch::Tensor>& outputs,
                                           const std::vector<torch::Tensor>& gradients,
                                           const std::vector<torch::Tensor>& inputs,
                                           ParameterBackward& later);

}  // namespace ripeline::runtime
