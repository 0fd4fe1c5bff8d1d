// Common parts of the benchmarks of LibTorch stages: a GPT block, the memory of tensors, CPU time.
#pragma once

#include <c10/core/CPUAllocator.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

namespace ripeline {

// Counts the bytes of live tensors. Each allocation's size is stored in front of its data.
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
  torch::Tensor forward(torch::Tensor x) {
    const auto heads = [](const torch::Tensor& t) {
      return t.view({t.size(0), t.size(1), 8, t.size(2) / 8}).transpose(1, 2);
    };
    const auto parts = in(first(x)).chunk(3, -1);
    const torch::Tensor a = torch::scaled_dot_product_attention(heads(parts[0]), heads(parts[1]),
                                                                heads(parts[2]), {}, 0, true);
    x = x + out(a.transpose(1, 2).reshape(x.sizes()));
    return x + down(torch::gelu(up(second(x))));
  }
  torch::nn::LayerNorm first, second;
  torch::nn::Linear in, out, up, down;
};
TORCH_MODULE(Block);

// The CPU time of this process, over all threads.
inline double seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

}  // namespace ripeline
