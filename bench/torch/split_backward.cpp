// What it costs to compute a backward in two halves.
//
// Two GPT blocks of each width, forward and backward by turns in one piece and in two halves; each
// ratio is that of a pair, of CPU time on one thread; the table has their quartiles. Beside it the
// same with torch::autograd::grad called twice, for the input and again for the parameters, which
// takes no graph apart. Memory is what one microbatch keeps: after its forward, after the input
// half, and after the weight half, of the tensors that the forward and the first half made.
#include <c10/core/CPUAllocator.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

#include "runtime/torch/split_backward.h"

namespace ripeline {
namespace {

using runtime::backward_inputs;
using runtime::ParameterBackward;
using torch::Tensor;

// Counts what tensors hold. The size of each lies before it.
class Counting final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const std::size_t rounded = (bytes + 2 * kAlign - 1) / kAlign * kAlign;
    auto* const at = static_cast<std::byte*>(std::aligned_alloc(kAlign, rounded)) + kAlign;
    std::memcpy(at - kAlign, &bytes, sizeof bytes);
    held += static_cast<std::int64_t>(bytes);
    return {at, at, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
  static inline std::atomic<std::int64_t> held = 0;  // bytes

 private:
  static constexpr std::size_t kAlign = 64;
  static void release(void* at) {
    std::size_t bytes = 0;
    std::memcpy(&bytes, static_cast<std::byte*>(at) - kAlign, sizeof bytes);
    held -= static_cast<std::int64_t>(bytes);
    std::free(static_cast<std::byte*>(at) - kAlign);
  }
};

struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(std::int64_t width)
      : first(torch::nn::LayerNormOptions({width})),
        second(torch::nn::LayerNormOptions({width})),
        in(width, 3 * width),
        out(width, width),
        up(width, 4 * width),
        down(4 * width, width) {
    register_module("first", first);
    register_module("second", second);
    register_module("in", in);
    register_module("out", out);
    register_module("up", up);
    register_module("down", down);
  }
  Tensor forward(Tensor x) {
    const auto heads = [](const Tensor& t) {
      return t.view({t.size(0), t.size(1), 8, t.size(2) / 8}).transpose(1, 2);
    };
    const auto parts = in(first(x)).chunk(3, -1);
    const Tensor a = torch::scaled_dot_product_attention(heads(parts[0]), heads(parts[1]),
                                                         heads(parts[2]), {}, 0, true);
    x = x + out(a.transpose(1, 2).reshape(x.sizes()));
    return x + down(torch::gelu(up(second(x))));
  }
  torch::nn::LayerNorm first, second;
  torch::nn::Linear in, out, up, down;
};
TORCH_MODULE(Block);

struct Size {
  std::int64_t width;
  std::int64_t batch;
  int pairs;
};
constexpr std::array kSizes = {Size{64, 1, 400}, Size{128, 4, 200}, Size{256, 4, 100},
                               Size{512, 8, 30}};
constexpr std::int64_t kLength = 64;

double seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

class Subject {
 public:
  explicit Subject(const Size& size) : blocks_(Block(size.width), Block(size.width)) {
    input_ = torch::randn({size.batch, kLength, size.width});
    gradient_ = torch::randn_like(input_);
  }

  // CPU seconds of the backward.
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
    split();  // gradients are there
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
