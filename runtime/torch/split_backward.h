// Splits the backward of a stage of any modules into two halves: first the gradients of inputs,
// later those of parameters (Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 2).
//
//   ParameterBackward later;
//   const std::vector<torch::Tensor> sent = backward_inputs(outputs, gradients, inputs, later);
//   ...
//   later.run();
//
// No operator is rewritten: the graph that autograd has recorded is cut. Its *chain* is the nodes
// on paths from the outputs to the inputs. The graph is cut at each node of the chain that also has
// an edge to parameters alone: backward_inputs() keeps the gradients that arrive at such a node,
// continues along the chain only, and removes the edges into the chain. The remaining graph leads
// to parameters alone, and run() computes it from the kept gradients. Nodes that are not cut
// release what they have saved as they run. If no input takes a gradient, the chain is the nodes
// that lead to more than one parameter.
//
// Gradients are bitwise those of backward(): the same nodes compute them, and the engine sums the
// contributions of several uses of a parameter in the same order. A normalisation computes all its
// gradients together, so backward_inputs() computes those of its parameters, and run() adds them. A
// checkpointed region is one node: backward_inputs() computes *and adds* the gradients of its
// parameters. Hooks on parameters run in run(); a hook on an inner value may run in both halves,
// and is refused if that would change a gradient.
//
// A graph is cut once, and cannot be run again afterwards. LibTorch's exceptions pass through; a
// refusal throws std::invalid_argument. One thread at a time.
#pragma once

#include <torch/csrc/autograd/edge.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace ripeline::runtime {

// The second half of a backward, with all that it keeps alive.
class ParameterBackward {
 public:
  // Adds the parameters' gradients to their .grad(), and then releases all that was kept.
  void run();

  // The bytes of the kept gradients, without the bytes that the remaining nodes have saved.
  [[nodiscard]] std::int64_t bytes() const;
  // The number of parameters that the graph leads to, and the number of those whose gradients the
  // first half has computed. The kept gradients include these.
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

// `outputs` require gradients, and `gradients` has one for each; `inputs` are leaves. Returns the
// gradient of each input, which is undefined if the input takes none or no output depends on it.
std::vector<torch::Tensor> backward_inputs(const std::vector<torch::Tensor>& outputs,
                                           const std::vector<torch::Tensor>& gradients,
                                           const std::vector<torch::Tensor>& inputs,
                                           ParameterBackward& later);

}  // namespace ripeline::runtime
