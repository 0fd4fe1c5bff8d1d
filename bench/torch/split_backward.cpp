// The cost of computing a backward in two halves.
//
// Two GPT blocks of each width run a forward and a backward, alternately with the backward in one
// piece and in two halves. A ratio compares two such runs, in CPU time on one thread; the table has
// the quartiles of the ratios. Another column calls torch::autograd::grad twice instead, for the
// input and for the parameters, which does not split the graph. Memory is that of the tensors which
// one microbatch keeps after its forward, after the input half, and after the weight half.
#include <torch/autograd.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/utils.h>

#include <array>
#include <cstdio>
#include <vector>

#include "bench/torch/gpt_blocks.h"
#include "runtime/torch/split_backward.h"
#include "runtime/training/heap.h"

namespace ripeline {
namespace {

using runtime::backward_inputs;
using runtime::ParameterBackward;
using torch::Tensor;

struct Size {
  std::int64_t width;
  std::int64_t batch;
  int pairs;
};
constexpr std::array kSizes = {Size{64, 1, 400}, Size{128, 4, 200}, Size{256, 4, 100},
                               Size{512, 8, 30}};
constexpr std::int64_t kLength = 64;

class Subject {
 public:
  explicit Subject(const Size& size) : blocks_(Block(size.width), Block(size.width)) {
    input_ = torch::randn({size.batch, kLength, size.width});
    gradient_ = torch::randn_like(input_);
  }

  // The CPU seconds of the backward in one piece; split() and twice() time the other two ways.
  double fused() {
    const auto [x, y] = forward();
    const double start = seconds();
    y.backward(gradient_);
    return seconds() - start;
  }
  double split() {
    auto [x, y] = forward();
    const double start = seconds();
    ParameterBackward later;
    const auto of_input = backward_inputs({y}, {gradient_}, {x}, later);
    later.run();
    return seconds() - start;
  }
  double twice() {
    const auto [x, y] = forward();
    const double start = seconds();
    const auto of_input = torch::autograd::grad({y}, {x}, {gradient_}, true);
    const auto of_parameters = torch::autograd::grad({y}, blocks_->parameters(), {gradient_});
    return seconds() - start;
  }

  void print_memory() {
    split();  // so that the parameters have gradients
    const std::int64_t before = Counting::held;
    const auto held = [before] { return static_cast<double>(Counting::held - before) / (1 << 20); };
    ParameterBackward later;
    double after_forward = 0;
    {
      auto [x, y] = forward();
      after_forward = held();
      const auto of_input = backward_inputs({y}, {gradient_}, {x}, later);
    }
    const double after_input = held();
    later.run();
    std::printf("  %8.2f  %8.2f  %8.2f", after_forward, after_input, held());
  }

 private:
  std::pair<Tensor, Tensor> forward() {
    Tensor x = input_.detach().requires_grad_(true);
    Tensor y = blocks_->forward(x);
    return {x, y};
  }

  torch::nn::Sequential blocks_;
  Tensor input_;
  Tensor gradient_;
};

void run() {
  torch::set_num_threads(1);
  torch::manual_seed(1);
  runtime::training::keep_freed_memory();  // as in training
  static Counting counting;
  c10::SetCPUAllocator(&counting, 100);
  std::printf("two blocks, %d positions, one thread, CPU time; MiB of one microbatch\n",
              static_cast<int>(kLength));
  std::printf("%5s %5s  %9s  %22s  %8s  %8s  %8s  %8s\n", "width", "batch", "fused ms",
              "halves over fused", "grad x 2", "after F", "after I", "after W");
  for (const Size& size : kSizes) {
    Subject subject(size);
    std::vector<double> fused;
    std::vector<double> halves;
    std::vector<double> twice;
    for (int pair = -3; pair < size.pairs; ++pair) {
      const double one = subject.fused();
      const double two = subject.split();
      const double three = subject.twice();
      if (pair < 0) continue;
      fused.push_back(1e3 * one);
      halves.push_back(two / one);
      twice.push_back(three / one);
    }
    std::printf("%5d %5d  %9.2f  %6.3f (%.3f .. %.3f)  %8.3f", static_cast<int>(size.width),
                static_cast<int>(size.batch), quantile(fused, 0.5), quantile(halves, 0.5),
                quantile(halves, 0.25), quantile(halves, 0.75), quantile(twice, 0.5));
    subject.print_memory();
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace ripeline

int main() {
  ripeline::run();
  return 0;
}
