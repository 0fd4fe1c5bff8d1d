#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

#include "tests/fake_gpu/fake_gpu.h"

// What CUDA declares and leaves to its library.
struct CUevent_st {
  std::int64_t recorded = 0;  // how often
  std::int64_t reached = 0;
  std::chrono::steady_clock::time_point at{};
};

namespace {

using Clock = std::chrono::steady_clock;
using Events = std::shared_ptr<CUevent_st>;

struct Op {
  enum class Kind { copy, call, record, wait } kind = Kind::copy;
  const void* from = nullptr;
  void* onto = nullptr;
  std::size_t size = 0;
  cudaHostFn_t call = nullptr;
  void* argument = nullptr;
  Events event = nullptr;
  std::int64_t version = 0;
};

}  // namespace

struct CUstream_st {
  std::deque<Op> ops;
};

namespace {

thread_local bool in_host_function = false;

class Device {
 public:
  explicit Device(const fake_gpu::Options& options) : options_(options), draw_(options.seed) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  // What a device that failed could not give back goes with it.
  ~Device() {
    for (const auto& [at, size] : device_) std::free(at);
    for (const auto& [at, size] : pinned_) std::free(at);
  }

  cudaError_t refuse(const char* call) {
    misuse(std::string(call) + " out of a host function");
    return cudaErrorNotPermitted;
  }
  // Before each call; not cudaSuccess: what it says.
  cudaError_t enter() {
    if (calls_++ == options_.fails_at) failed_ = cudaErrorLaunchFailure;
    return failed_;
  }

  bool can_go(const CUstream_st& stream) const {
    if (stream.ops.empty()) return false;
    const Op& op = stream.ops.front();
    return op.kind != Op::Kind::wait || op.event->reached >= op.version;
  }

  // One thing of one stream; false: nothing can go on.
  bool step() {
    std::vector<CUstream_st*> ready;
    for (const auto& stream : streams_) {
      if (can_go(*stream)) ready.push_back(stream.get());
    }
    if (ready.empty()) return false;
    CUstream_st& stream = *ready[draw_() % ready.size()];
    Op op = std::move(stream.ops.front());
    stream.ops.pop_front();
    carry_out(op);
    end_destroyed();
    return true;
  }

  void some_steps() {
    const auto steps = draw_() % 8;
    for (std::uint64_t i = 0; i + 4 < steps && step(); ++i) {
    }
  }

  void carry_out(const Op& op) {
    if (op.kind == Op::Kind::record) {
      op.event->reached = std::max(op.event->reached, op.version);
      op.event->at = Clock::now();
    } else if (op.kind == Op::Kind::copy) {
      check_memory(op.from, op.size);
      check_memory(op.onto, op.size);
      if (failed_ == cudaSuccess) std::memcpy(op.onto, op.from, op.size);
    } else if (op.kind == Op::Kind::call && failed_ == cudaSuccess) {
      in_host_function = true;
      op.call(op.argument);
      in_host_function = false;
    }
  }

  template <class Done>
  cudaError_t run_until(const char* what, const Done& done) {
    while (!done()) {
      if (step()) continue;
      misuse(std::string(what) + " waits for what will never be");
      return failed_ = cudaErrorLaunchFailure;
    }
    return failed_;
  }
  bool is_idle() const {
    return std::all_of(streams_.begin(), streams_.end(),
                       [](const auto& stream) { return stream->ops.empty(); });
  }

  bool is_within(const std::map<std::byte*, std::size_t>& memory, const void* at,
                 std::size_t size) const {
    const auto* const first = static_cast<const std::byte*>(at);
    auto next = memory.upper_bound(const_cast<std::byte*>(first));
    if (next == memory.begin()) return false;
    --next;
    return first + size <= next->first + next->second;
  }
  void check_memory(const void* at, std::size_t size) {
    if (!is_within(device_, at, size) && !is_within(pinned_, at, size)) {
      misuse("a copy of " + std::to_string(size) +
             " bytes from or to memory that is neither the device's nor pinned");
    }
  }
  void misuse(const std::string& what) { misuses_.push_back(what); }

  void end_destroyed() {
    std::erase_if(streams_, [this](const auto& stream) {
      return stream->ops.empty() && destroyed_.erase(stream.get()) > 0;
    });
  }

  fake_gpu::Options options_;
  std::mt19937_64 draw_;
  cudaError_t failed_ = cudaSuccess;
  std::int64_t calls_ = 0;
  std::vector<std::unique_ptr<CUstream_st>> streams_;
  std::map<CUstream_st*, bool> destroyed_;
  std::map<cudaEvent_t, Events> events_;
  std::map<std::byte*, std::size_t> device_;
  std::map<std::byte*, std::size_t> pinned_;
  std::vector<std::string> misuses_;
};

std::mutex mutex;
std::unique_ptr<Device> device = std::make_unique<Device>(fake_gpu::Options{});

cudaError_t allocate(std::map<std::byte*, std::size_t>& memory, void** data, std::size_t size) {
  auto* const made = static_cast<std::byte*>(std::aligned_alloc(256, (size + 255) / 256 * 256));
  if (made == nullptr) return cudaErrorMemoryAllocation;
  std::memset(made, 0xA5, size);  // nobody may count on zeros
  memory[made] = size;
  *data = made;
  return cudaSuccess;
}

cudaError_t release(std::map<std::byte*, std::size_t>& memory, void* data) {
  if (data == nullptr) return cudaSuccess;
  const auto found = memory.find(static_cast<std::byte*>(data));
  if (found == memory.end()) {
    device->misuse("memory is freed that was not allocated");
    return cudaErrorInvalidValue;
  }
  while (device->step()) {
  }
  std::memset(data, 0x5A, found->second);
  std::free(data);
  memory.erase(found);
  return cudaSuccess;
}

}  // namespace

namespace fake_gpu {

void begin(const Options& options) {
  const std::lock_guard lock(mutex);
  device = std::make_unique<Device>(options);
}

Usage usage() {
  const std::lock_guard lock(mutex);
  Usage usage{.streams = static_cast<int>(device->streams_.size()),
              .events = static_cast<int>(device->events_.size())};
  for (const auto& [at, size] : device->device_) usage.device_bytes += size;
  for (const auto& [at, size] : device->pinned_) usage.pinned_bytes += size;
  return usage;
}

std::int64_t calls() {
  const std::lock_guard lock(mutex);
  return device->calls_;
}

std::vector<std::string> misuses() {
  const std::lock_guard lock(mutex);
  return device->misuses_;
}

void step(int steps) {
  const std::lock_guard lock(mutex);
  for (int i = 0; i < steps && device->step(); ++i) {
  }
}

}  // namespace fake_gpu

// Each call has the lock, but one out of a host function, which the device runs with the lock held;
// and says the device's error if it has failed.
#define ENTER(call)                                  \
  if (in_host_function) return device->refuse(call); \
  const std::lock_guard lock(mutex);                 \
  if (const cudaError_t error = device->enter(); error != cudaSuccess) return error

extern "C" {

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorNotReady:
      return "not ready";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorLaunchFailure:
      return "the fake device was told to fail";
    default:
      return "an error of the fake device";
  }
}

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorLaunchFailure ? "cudaErrorLaunchFailure" : "cudaErrorUnknown";
}

cudaError_t cudaGetDeviceCount(int* count) {
  ENTER("cudaGetDeviceCount");
  *count = device->options_.devices;
  return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t cudaGetDevice(int* number) {
  ENTER("cudaGetDevice");
  *number = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int number) {
  ENTER("cudaSetDevice");
  return number < device->options_.devices ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  ENTER("cudaDeviceGetStreamPriorityRange");
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, size_t size) {
  ENTER("cudaMalloc");
  return allocate(device->device_, data, size);
}

cudaError_t cudaFree(void* data) {
  ENTER("cudaFree");
  return release(device->device_, data);
}

cudaError_t cudaHostAlloc(void** data, size_t size, unsigned int) {
  ENTER("cudaHostAlloc");
  return allocate(device->pinned_, data, size);
}

cudaError_t cudaFreeHost(void* data) {
  ENTER("cudaFreeHost");
  return release(device->pinned_, data);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int, int) {
  ENTER("cudaStreamCreateWithPriority");
  device->streams_.push_back(std::make_unique<CUstream_st>());
  *stream = device->streams_.back().get();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  ENTER("cudaStreamDestroy");
  device->destroyed_[stream] = true;
  device->end_destroyed();
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ENTER("cudaStreamSynchronize");
  return device->run_until("cudaStreamSynchronize", [stream] { return stream->ops.empty(); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int) {
  ENTER("cudaEventCreateWithFlags");
  auto made = std::make_shared<CUevent_st>();
  *event = made.get();
  device->events_[*event] = std::move(made);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  ENTER("cudaEventDestroy");
  return device->events_.erase(event) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  ENTER("cudaEventRecord");
  stream->ops.push_back(
      {.kind = Op::Kind::record, .event = device->events_.at(event), .version = ++event->recorded});
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  ENTER("cudaEventQuery");
  device->some_steps();
  if (device->failed_ != cudaSuccess) return device->failed_;
  if (device->options_.fault == fake_gpu::Fault::events_at_once) return cudaSuccess;
  return event->reached >= event->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ENTER("cudaEventSynchronize");
  return device->run_until("cudaEventSynchronize",
                           [event] { return event->reached >= event->recorded; });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  ENTER("cudaEventElapsedTime");
  *ms = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  ENTER("cudaStreamWaitEvent");
  if (device->options_.fault == fake_gpu::Fault::no_waits) return cudaSuccess;
  stream->ops.push_back(
      {.kind = Op::Kind::wait, .event = device->events_.at(event), .version = event->recorded});
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* onto, const void* from, size_t size, cudaMemcpyKind,
                            cudaStream_t stream) {
  ENTER("cudaMemcpyAsync");
  device->check_memory(from, size);
  device->check_memory(onto, size);
  stream->ops.push_back({.kind = Op::Kind::copy, .from = from, .onto = onto, .size = size});
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void* argument) {
  ENTER("cudaLaunchHostFunc");
  stream->ops.push_back({.kind = Op::Kind::call, .call = call, .argument = argument});
  return cudaSuccess;
}

}  // extern "C"
