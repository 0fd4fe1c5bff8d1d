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
#include "tests/fake_gpu/memory.h"

// What CUDA declares and leaves to its library.
struct CUevent_st {
  int device = 0;
  bool has_time = true;
  bool is_after_writes = false;  // to memory of another process
  std::int64_t recorded = 0;     // how often
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
  int device = 0;
  int process = -1;
  bool writes_to_others = false;
  std::deque<Op> ops;
};

namespace {

thread_local bool in_host_function = false;
thread_local int current_device = 0;
thread_local int current_process = -1;

class Device {
 public:
  explicit Device(const fake_gpu::Options& options) : options_(options), draw_(options.seed) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

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
    carry_out(op, stream.process);
    end_destroyed();
    return true;
  }

  void some_steps() {
    const auto steps = draw_() % 8;
    for (std::uint64_t i = 0; i + 4 < steps && step(); ++i) {
    }
  }

  void carry_out(const Op& op, int process) {
    if (op.kind == Op::Kind::record) {
      op.event->reached = std::max(op.event->reached, op.version);
      op.event->at = Clock::now();
    } else if (op.kind == Op::Kind::copy) {
      const std::byte* const from = reach(op.from, op.size, process);
      std::byte* const onto = reach(op.onto, op.size, process);
      const bool is_there = from != nullptr && onto != nullptr;
      if (is_there && failed_ == cudaSuccess) std::memcpy(onto, from, op.size);
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

  std::byte* reach(const void* at, std::size_t size, int process) {
    std::byte* const reached = memory_.reach(at, size, process);
    if (reached == nullptr) {
      misuse("a copy of " + std::to_string(size) +
             " bytes from or to memory that is neither the device's nor pinned");
    }
    return reached;
  }
  // Before it is freed.
  void check_copies(const void* data) {
    for (const auto& stream : streams_) {
      for (const Op& op : stream->ops) {
        if (op.kind != Op::Kind::copy) continue;
        if (!memory_.is_in(op.from, data) && !memory_.is_in(op.onto, data)) continue;
        misuse("memory is freed that a copy still has to read or write");
      }
    }
  }
  bool is_stream(cudaStream_t stream) {
    const bool is_there = std::any_of(streams_.begin(), streams_.end(),
                                      [&](const auto& one) { return one.get() == stream; });
    if (is_there && !destroyed_.contains(stream)) return true;
    misuse("a stream is used that is not there");
    return false;
  }
  void misuse(const std::string& what) { misuses_.push_back(what); }
  [[nodiscard]] bool is_told_at_once(const CUevent_st& event) const {
    switch (options_.fault) {
      case fake_gpu::Fault::events_at_once:
        return true;
      case fake_gpu::Fault::writes_at_once:
        return event.is_after_writes;
      case fake_gpu::Fault::readers_at_once:
        return !event.is_after_writes && !event.has_time;
      default:
        return false;
    }
  }

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
  std::vector<std::string> misuses_;
  fake_gpu::Memory memory_{misuses_};
};

using fake_gpu::Memory;

std::mutex mutex;
std::unique_ptr<Device> device = std::make_unique<Device>(fake_gpu::Options{});

cudaError_t release(Memory::Of of, void* data) {
  if (data == nullptr) return cudaSuccess;
  if (!device->memory_.may_free(of, data)) return cudaErrorInvalidValue;
  device->check_copies(data);
  while (device->step()) {
  }
  device->memory_.free(data);
  return cudaSuccess;
}

}  // namespace

namespace fake_gpu {

void be_process(int number) { current_process = number; }

void begin(const Options& options) {
  const std::lock_guard lock(mutex);
  device = std::make_unique<Device>(options);
}

Usage usage() {
  const std::lock_guard lock(mutex);
  Usage usage{.streams = static_cast<int>(device->streams_.size()),
              .events = static_cast<int>(device->events_.size())};
  usage.device_bytes = device->memory_.bytes(Memory::Of::device);
  usage.pinned_bytes = device->memory_.bytes(Memory::Of::host);
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

// Calls that fail once are dealt with where they do; a device that has failed says so for ever.
cudaError_t cudaGetLastError() {
  ENTER("cudaGetLastError");
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  ENTER("cudaGetDeviceCount");
  *count = device->options_.devices;
  return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t cudaGetDevice(int* number) {
  ENTER("cudaGetDevice");
  *number = current_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int number) {
  ENTER("cudaSetDevice");
  if (number >= device->options_.devices) return cudaErrorInvalidDevice;
  current_device = number;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  ENTER("cudaDeviceGetStreamPriorityRange");
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, size_t size) {
  ENTER("cudaMalloc");
  const std::size_t taken = device->memory_.bytes(Memory::Of::device);
  if (taken + size > device->options_.memory) return cudaErrorMemoryAllocation;
  return device->memory_.allocate(Memory::Of::device, current_process, size, data);
}

cudaError_t cudaFree(void* data) {
  ENTER("cudaFree");
  return release(Memory::Of::device, data);
}

cudaError_t cudaHostAlloc(void** data, size_t size, unsigned int) {
  ENTER("cudaHostAlloc");
  return device->memory_.allocate(Memory::Of::host, current_process, size, data);
}

cudaError_t cudaFreeHost(void* data) {
  ENTER("cudaFreeHost");
  return release(Memory::Of::host, data);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int, int) {
  ENTER("cudaStreamCreateWithPriority");
  device->streams_.push_back(std::make_unique<CUstream_st>());
  device->streams_.back()->device = current_device;
  device->streams_.back()->process = current_process;
  *stream = device->streams_.back().get();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  ENTER("cudaStreamDestroy");
  if (!device->is_stream(stream)) return cudaErrorInvalidResourceHandle;
  device->destroyed_[stream] = true;
  device->end_destroyed();
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ENTER("cudaStreamSynchronize");
  if (!device->is_stream(stream)) return cudaErrorInvalidResourceHandle;
  return device->run_until("cudaStreamSynchronize", [stream] { return stream->ops.empty(); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  ENTER("cudaEventCreateWithFlags");
  auto made = std::make_shared<CUevent_st>();
  made->device = current_device;
  made->has_time = (flags & cudaEventDisableTiming) == 0;
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
  if (!device->is_stream(stream)) return cudaErrorInvalidResourceHandle;
  if (event->device != stream->device) return cudaErrorInvalidResourceHandle;
  event->is_after_writes = stream->writes_to_others;
  stream->ops.push_back(
      {.kind = Op::Kind::record, .event = device->events_.at(event), .version = ++event->recorded});
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  ENTER("cudaEventQuery");
  device->some_steps();
  if (device->failed_ != cudaSuccess) return device->failed_;
  if (device->is_told_at_once(*event)) return cudaSuccess;
  return event->reached >= event->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ENTER("cudaEventSynchronize");
  return device->run_until("cudaEventSynchronize",
                           [event] { return event->reached >= event->recorded; });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  ENTER("cudaEventElapsedTime");
  if (!begin->has_time || !end->has_time) return cudaErrorInvalidResourceHandle;
  if (begin->recorded == 0 || end->recorded == 0) return cudaErrorInvalidResourceHandle;
  const bool reached = begin->reached >= begin->recorded && end->reached >= end->recorded;
  if (!reached && device->options_.fault != fake_gpu::Fault::events_at_once) {
    return cudaErrorNotReady;
  }
  *ms = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  ENTER("cudaStreamWaitEvent");
  if (!device->is_stream(stream)) return cudaErrorInvalidResourceHandle;
  if (device->options_.fault == fake_gpu::Fault::no_waits) return cudaSuccess;
  stream->ops.push_back(
      {.kind = Op::Kind::wait, .event = device->events_.at(event), .version = event->recorded});
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* onto, const void* from, size_t size, cudaMemcpyKind,
                            cudaStream_t stream) {
  ENTER("cudaMemcpyAsync");
  if (!device->is_stream(stream)) return cudaErrorInvalidResourceHandle;
  device->reach(from, size, stream->process);
  device->reach(onto, size, stream->process);
  if (device->memory_.is_of_another(onto)) stream->writes_to_others = true;
  stream->ops.push_back({.kind = Op::Kind::copy, .from = from, .onto = onto, .size = size});
  return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* data) {
  ENTER("cudaIpcGetMemHandle");
  if (device->options_.ipc == fake_gpu::Ipc::no_handles) return cudaErrorNotSupported;
  return device->memory_.export_it(data, *handle);
}

cudaError_t cudaIpcOpenMemHandle(void** data, cudaIpcMemHandle_t handle, unsigned int flags) {
  ENTER("cudaIpcOpenMemHandle");
  if (flags != cudaIpcMemLazyEnablePeerAccess) return cudaErrorInvalidValue;
  if (device->options_.ipc == fake_gpu::Ipc::no_opening) return cudaErrorMapBufferObjectFailed;
  return device->memory_.open(handle, current_process, data);
}

cudaError_t cudaIpcCloseMemHandle(void* data) {
  ENTER("cudaIpcCloseMemHandle");
  if (device->options_.fault == fake_gpu::Fault::no_closes) return cudaSuccess;
  return device->memory_.close(data, current_process);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void* argument) {
  ENTER("cudaLaunchHostFunc");
  if (!device->is_stream(stream)) return cudaErrorInvalidResourceHandle;
  stream->ops.push_back({.kind = Op::Kind::call, .call = call, .argument = argument});
  return cudaSuccess;
}

}  // extern "C"
