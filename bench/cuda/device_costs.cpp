// The costs of the runtime's calls to a GPU, and the speed at which messages are copied.
//
// Each line is the median and the ninth decile of many calls, on the host's clock. A copy of a few
// bytes on the device is used in place of a kernel, so that no compiler for GPUs is needed. Copies
// between the host's pinned memory and the device have 64 MiB, in each direction alone and in both
// at once. The exit code is 77 if there is no device.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "runtime/cuda/device.h"

namespace ripeline::runtime::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNoDevice = 77;
constexpr std::size_t kLarge = std::size_t{64} << 20;

void must(const core::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_device_costs: %s\n", status.message().c_str());
  std::exit(1);
}
void must(cudaError_t error, const char* what) { must(status_of(error, what)); }

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Prints the microseconds of a call. `before` runs before each call and is not timed.
void measure(
    const char* what, int calls, const std::function<void()>& call,
    const std::function<void()>& before = [] {}) {
  std::vector<double> all;
  for (int i = 0; i < calls; ++i) {
    before();
    const Clock::time_point begin = Clock::now();
    call();
    all.push_back(since(begin));
  }
  std::sort(all.begin(), all.end());
  std::printf("%-52s %9.2f us   %9.2f us\n", what, all[all.size() / 2], all[all.size() * 9 / 10]);
}

struct Memory {
  std::byte* device = nullptr;
  std::byte* pinned = nullptr;
};

class Costs {
 public:
  explicit Costs(int calls) : calls_(calls) {
    must(Stream::make(Stream::Priority::highest, stream_));
    must(Stream::make(Stream::Priority::highest, other_));
    must(Event::make(event_));
    void* data = nullptr;
    must(cudaMalloc(&data, 2 * kLarge), "allocate");
    memory_.device = static_cast<std::byte*>(data);
    must(cudaHostAlloc(&data, 2 * kLarge, cudaHostAllocPortable), "pin memory");
    memory_.pinned = static_cast<std::byte*>(data);
    woken_ = eventfd(0, EFD_CLOEXEC);
  }
  ~Costs() {
    cudaFree(memory_.device);
    cudaFreeHost(memory_.pinned);
    close(woken_);
  }
  Costs(const Costs&) = delete;
  Costs& operator=(const Costs&) = delete;

  void of_calls() {
    const auto idle = [this] { must(stream_.sync()); };
    measure("enqueue a small copy on the device", calls_, [this] { work(); });
    measure("record an event", calls_, [this] { must(event_.record(stream_.get())); });
    measure(
        "ask an event that was reached", calls_, [this] { ask(); }, idle);
    measure("make a stream wait for an event", calls_,
            [this] { must(event_.hold_up(other_.get())); });
    measure("enqueue a copy of 64 B to the host", calls_,
            [this] { copy(cudaMemcpyDeviceToHost, 64, stream_); });
    measure("make and end an event", calls_, [] {
      Event event;
      must(Event::make(event));
    });
    must(stream_.sync());
    must(other_.sync());
  }

  // Measures from the call until the host has seen the end of the enqueued work.
  void of_ends() {
    const auto idle = [this] { must(stream_.sync()); };
    measure(
        "small copy, seen by asking its event", calls_,
        [this] {
          work();
          must(event_.record(stream_.get()));
          while (!ask()) {
          }
        },
        idle);
    measure(
        "small copy, told to a sleeping host by a function", calls_,
        [this] {
          work();
          must(cudaLaunchHostFunc(stream_.get(), &wake, this), "launch a host function");
          sleep();
        },
        idle);
    measure(
        "small copy, waited for", calls_,
        [this] {
          work();
          must(stream_.sync());
        },
        idle);
  }

  void of_large_copies() {
    const int copies = std::max(calls_ / 100, 3);
    of_copies("64 MiB to the host", copies,
              [this] { copy(cudaMemcpyDeviceToHost, kLarge, stream_); });
    of_copies("64 MiB to the device", copies,
              [this] { copy(cudaMemcpyHostToDevice, kLarge, stream_); });
    of_copies("both at once, each", copies, [this] {
      copy(cudaMemcpyDeviceToHost, kLarge, stream_);
      copy(cudaMemcpyHostToDevice, kLarge, other_);
    });
    of_copies("64 MiB on the device", copies, [this] {
      must(cudaMemcpyAsync(memory_.device + kLarge, memory_.device, kLarge,
                           cudaMemcpyDeviceToDevice, stream_.get()),
           "copy on the device");
    });
  }

 private:
  void of_copies(const char* what, int copies, const std::function<void()>& enqueue) {
    std::vector<double> all;
    for (int i = 0; i < copies; ++i) {
      must(stream_.sync());
      must(other_.sync());
      const Clock::time_point begin = Clock::now();
      enqueue();
      must(stream_.sync());
      must(other_.sync());
      all.push_back(since(begin));
    }
    std::sort(all.begin(), all.end());
    std::printf("%-52s %9.2f GB/s\n", what,
                static_cast<double>(kLarge) / all[all.size() / 2] * 1e-3);
  }

  void work() {
    must(cudaMemcpyAsync(memory_.device + 64, memory_.device, 4, cudaMemcpyDeviceToDevice,
                         stream_.get()),
         "copy on the device");
  }
  bool ask() {
    bool reached = false;
    must(event_.query(reached));
    return reached;
  }
  // Each direction uses its own half of the pinned memory and of the device's memory.
  void copy(cudaMemcpyKind kind, std::size_t size, const Stream& stream) {
    const bool to_host = kind == cudaMemcpyDeviceToHost;
    void* const onto = to_host ? memory_.pinned : memory_.device + kLarge;
    const void* const from = to_host ? memory_.device : memory_.pinned + kLarge;
    must(cudaMemcpyAsync(onto, from, size, kind, stream.get()), "copy");
  }
  static void wake(void* costs) {
    const std::uint64_t one = 1;
    if (write(static_cast<Costs*>(costs)->woken_, &one, sizeof one) != sizeof one) std::abort();
  }
  // Sleeps until wake() is called. A fake device works only when it is polled, so sleep() polls it.
  void sleep() {
    pollfd readable{.fd = woken_, .events = POLLIN, .revents = 0};
    while (::poll(&readable, 1, 1) == 0) ask();
    std::uint64_t count = 0;
    if (read(woken_, &count, sizeof count) != sizeof count) std::abort();
  }

  int calls_;
  Stream stream_;
  Stream other_;
  Event event_;
  Memory memory_;
  int woken_ = -1;
};

int run(int calls) {
  int count = 0;
  if (const core::Status s = status_of(cudaGetDeviceCount(&count), "count the GPUs");
      !s.ok() || count == 0) {
    std::fprintf(stderr, "bench_device_costs: skipped: %s\n",
                 s.ok() ? "no GPU is visible" : s.message().c_str());
    return kNoDevice;
  }
  must(use_device(0));
  std::printf("%-52s %12s   %12s\n", "", "median", "ninth decile");
  Costs costs(calls);
  costs.of_calls();
  costs.of_ends();
  costs.of_large_copies();
  return 0;
}

}  // namespace
}  // namespace ripeline::runtime::cuda

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 2000;
  if (calls < 1) {
    std::fprintf(stderr, "usage: bench_device_costs [CALLS]   so many of each; 2000 if not said\n");
    return 2;
  }
  return ripeline::runtime::cuda::run(calls);
}
