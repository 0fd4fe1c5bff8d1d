// How long a device is idle between two tasks of a rank that always has a ready task.
//
// One rank of `bf` runs the runtime's own loop with an interpreted arbiter, on streams. A task is a
// copy of a chosen size on the device, so the enqueuing thread has almost nothing to do. Between
// the end of one task and the begin of the next, on the device's clock, the host sees the end,
// chooses, and wakes the enqueuing thread. A task begins with an event, so its time includes the
// call that enqueues the copy after that event, which takes some microseconds. The exit code is 77
// if there is no device.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "lower/facts.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/stream_engine.h"
#include "runtime/network/local.h"
#include "runtime/run.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "spec/library.h"
#include "trace/record.h"

namespace ripeline::runtime::cuda {
namespace {

using core::Status;
using namespace std::chrono_literals;

constexpr int kNoDevice = 77;
constexpr int kMicrobatches = 128;

void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_device_idle: %s\n", status.message().c_str());
  std::exit(1);
}
void must(cudaError_t error, const char* what) { must(status_of(error, what)); }

// Work whose tasks copy one half of its memory to the other.
class Copies final : public Work {
 public:
  explicit Copies(std::size_t most) : most_(most), bytes_(most) {
    must(Stream::make(Stream::Priority::usual, stream_));
    void* data = nullptr;
    must(cudaMalloc(&data, 2 * most), "allocate");
    memory_ = static_cast<std::byte*>(data);
  }
  ~Copies() override { cudaFree(memory_); }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  Status begin_step(std::int64_t /*step*/, int /*microbatches*/) override { return {}; }
  Status run(Call& /*call*/) override {
    return status_of(
        cudaMemcpyAsync(memory_ + most_, memory_, bytes_, cudaMemcpyDeviceToDevice, stream_.get()),
        "copy on the device");
  }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  void set_bytes(std::size_t bytes) { bytes_ = std::min(bytes, most_); }

 private:
  Stream stream_;
  std::byte* memory_ = nullptr;
  std::size_t most_;
  std::size_t bytes_;
};

struct Times {
  std::vector<double> idle;  // microseconds
  std::vector<double> task;
};

double at(std::vector<double>& values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

Times times_of(const trace::Record& record, int from_step) {
  const auto in_us = [](core::Time time) {
    return std::chrono::duration<double, std::micro>(time).count();
  };
  Times times;
  for (std::size_t i = 1; i < record.tasks.size(); ++i) {
    const trace::TaskEvent& before = record.tasks[i - 1];
    const trace::TaskEvent& task = record.tasks[i];
    if (task.step < from_step || before.step != task.step) continue;
    times.idle.push_back(in_us(task.start - before.end));
    times.task.push_back(in_us(task.end - task.start));
  }
  return times;
}

// Runs one step that does not count, and then `steps` steps.
Times measure(const spec::Program& program, const core::ProgramFacts& facts, Copies& copies,
              int steps) {
  simulate::InterpretedArbiter arbiter(program, facts, 0);
  const auto transports = network::make_local_group(1);
  Run run(*transports.front());
  StreamEngine engine(copies, facts, {copies.stream()}, [&run] { run.wake(); });
  trace::Record record;
  protocol::Rank rank(arbiter, run.layout(), run.self(), {.trace = &record});
  for (int step = 0; step <= steps; ++step) {
    must(run.step(rank, engine, step, kMicrobatches));
  }
  must(run.finish(60s));
  return times_of(record, 1);
}

int run(int steps) {
  int count = 0;
  if (const Status s = status_of(cudaGetDeviceCount(&count), "count the GPUs");
      !s.ok() || count == 0) {
    std::fprintf(stderr, "bench_device_idle: skipped: %s\n",
                 s.ok() ? "no GPU is visible" : s.message().c_str());
    return kNoDevice;
  }
  must(use_device(0));
  const auto text = spec::library_text("bf");
  const auto program =
      spec::compile({"bf.ripe", text.value()}, {.defines = {{"ranks", 1}}, .dispatch = {}});
  const core::OwnedFacts facts = lower::facts_of(program.value());
  // `most` is the number of bytes that the device copies in a millisecond.
  constexpr std::size_t kTried = std::size_t{64} << 20;
  Copies tried(kTried);
  Times known = measure(program.value(), facts.facts(), tried, 1);
  const auto most = static_cast<std::size_t>(static_cast<double>(kTried) /
                                             std::max(at(known.task, 0.5), 1.) * 1000);
  Copies copies(most);
  std::printf("%-12s %20s %20s\n", "a task", "idle before the next", "ninth decile");
  for (const std::size_t bytes : {most / 10, most}) {
    copies.set_bytes(bytes);
    Times times = measure(program.value(), facts.facts(), copies, steps);
    std::printf("%9.0f us %17.1f us %17.1f us\n", at(times.task, 0.5), at(times.idle, 0.5),
                at(times.idle, 0.9));
  }
  return 0;
}

}  // namespace
}  // namespace ripeline::runtime::cuda

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 5;
  if (steps < 1) {
    std::fprintf(stderr, "usage: bench_device_idle [STEPS]   of 256 tasks each; 5 if not said\n");
    return 2;
  }
  return ripeline::runtime::cuda::run(steps);
}
