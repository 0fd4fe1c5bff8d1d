// The costs of recomputation and autocast for a stage, and their savings.
//
// A stage of two GPT blocks of each width runs the tasks of a microbatch: forward, input half and
// weight half. Times are CPU times of all three on one thread, alternately with a stage without
// options. A ratio compares two such runs, and the table has the median. Memory is that of the
// microbatch's tensors after each task, including its input.
#include <torch/nn/modules/container/sequential.h>
#include <torch/utils.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "bench/torch/gpt_blocks.h"
#include "runtime/torch/torch_work.h"
#include "runtime/torch/value_codec.h"

namespace ripeline {
namespace {

using core::OpKind;
using torch::Tensor;

constexpr std::int64_t kLength = 64;

struct Size {
  std::int64_t width;
  std::int64_t batch;
  int pairs;
};
constexpr std::array kSizes = {Size{128, 4, 100}, Size{256, 4, 50}, Size{512, 8, 15}};

struct Options {
  const char* name;
  bool recompute;
  std::optional<torch::ScalarType> autocast;
};
const std::array<Options, 4> kOptions = {
    Options{"as it is", false, std::nullopt}, Options{"recompute", true, std::nullopt},
    Options{"bfloat16", false, torch::kBFloat16}, Options{"both", true, torch::kBFloat16}};

// The memory after each of the three tasks, in MiB.
struct Held {
  std::array<double, 3> mib = {};
};

// Stage 1 of 3, with the options to be measured.
class Subject {
 public:
  Subject(const Size& size, const Options& options) : size_(size), work_(model_of(size, options)) {
    if (!work_.begin_step(0, 1).ok()) std::abort();
  }

  // Runs the three tasks; returns the CPU seconds.
  double run(Held& held) {
    const std::int64_t before = Counting::held;
    const double start = seconds();
    int task = 0;
    for (const OpKind kind : {OpKind::forward, OpKind::backward_input, OpKind::backward_weight}) {
      run(kind);
      held.mib[static_cast<std::size_t>(task++)] =
          static_cast<double>(Counting::held - before) / (1 << 20);
    }
    return seconds() - start;
  }

 private:
  static runtime::TorchModel model_of(const Size& size, const Options& options) {
    runtime::TorchModel model;
    model.autocast = options.autocast;
    model.stages[1] =
        runtime::make_stage(torch::nn::Sequential(Block(size.width), Block(size.width)));
    model.stages[1].recompute = options.recompute;
    return model;
  }

  void run(OpKind kind) {
    runtime::Call call;
    call.task = {.op = "T", .kind = kind, .stage = 1, .stages = 3, .microbatches = 1};
    if (kind != OpKind::backward_weight) {
      runtime::Input& input = call.inputs.emplace_back();
      input.kind = kind;
      input.stage = kind == OpKind::forward ? 0 : 2;
      const Tensor tensor = torch::ones({size_.batch, kLength, size_.width});
      const torch::IValue value =
          kind == OpKind::forward ? torch::IValue(tensor) : torch::IValue(std::make_tuple(tensor));
      if (!runtime::encode_value(value, input.payload).ok()) std::abort();
    }
    if (const core::Status status = work_.run(call); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      std::abort();
    }
  }

  Size size_;
  runtime::TorchWork work_;
};

void measure(const Size& size) {
  Held plain_held;
  Subject plain(size, kOptions[0]);
  for (const Options& options : kOptions) {
    Subject subject(size, options);
    std::vector<double> times;
    std::vector<double> ratios;
    Held held;
    for (int pair = -3; pair < size.pairs; ++pair) {
      const double one = plain.run(plain_held);
      const double two = subject.run(held);
      if (pair < 0) continue;
      times.push_back(1e3 * two);
      ratios.push_back(two / one);
    }
    std::printf("%5d %5d  %-9s  %8.2f  %6.3f  %8.2f  %8.2f  %8.2f\n", static_cast<int>(size.width),
                static_cast<int>(size.batch), options.name, quantile(times, 0.5),
                quantile(ratios, 0.5), held.mib[0], held.mib[1], held.mib[2]);
    std::fflush(stdout);
  }
}

void run() {
  torch::set_num_threads(1);
  torch::manual_seed(1);
  static Counting counting;
  c10::SetCPUAllocator(&counting, 100);
  std::printf("a stage of two blocks, %d positions, one thread, CPU time; MiB of one microbatch\n",
              static_cast<int>(kLength));
  std::printf("%5s %5s  %-9s  %8s  %6s  %8s  %8s  %8s\n", "width", "batch", "options", "ms",
              "ratio", "after F", "after I", "after W");
  for (const Size& size : kSizes) measure(size);
}

}  // namespace
}  // namespace ripeline

int main() {
  ripeline::run();
  return 0;
}
