#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

#include "tests/fake_gpu/device.h"
#include "tests/fake_gpu/fake_gpu.h"
#include "tests/fake_gpu/hardware.h"
#include "tests/fake_gpu/memory.h"

// An event; CUDA declares the type and leaves its definition to the library.
struct CUevent_st {
  int device = 0;
  bool has_time = true;
  bool is_after_writes = false;  // the stream has written to another process's memory
  std::int64_t recorded = 0;     // how many times it was recorded
  std::int64_t reached = 0;
  std::chrono::steady_clock::time_point at{};
};

namespace {

using Clock = std::chrono::steady_clock;
using Events = std::shared_ptr<CUevent_st>;

struct Op {
  enum class Kind { copy, call, kernel, record, wait } kind = Kind::copy;
  const void* from = nullptr;
  void* onto = nullptr;
  std::size_t size = 0;
  cudaHostFn_t call = nullptr;
  void* argument = nullptr;
  Events event = nullptr;
  std::int64_t version = 0;
  std::shared_ptr<fake_gpu::Kernel> kernel = nullptr;
  std::int64_t place = -1;  // in the hardware's queue; -1 if it needs none

  [[nodiscard]] bool is_work() const { return kind <= Kind::kernel; }
};

}  // namespace

struct CUstream_st {
  int device = 0;
  int queue = 0;      // the hardware's queue
  int launching = 0;  // threads of NCCL that are about to launch
  int process = -1;
  bool writes_to_others = false;
  std::deque<Op> ops;
};

namespace {

thread_local bool in_host_function = false;
thread_local bool is_host = false;  // whether this thread is a Host, whose calls others may await
thread_local int current_device = 0;
thread_local int current_process = -1;

// A thread that waits in a call.
struct Waiting {
  std::string who;
  std::function<bool()> done;
};

class Device {
 public:
  explicit Device(const fake_gpu::Options& options)
      : options_(options), draw_(options.seed), hardware_(options.connections, options.blocks) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  cudaError_t refuse(const char* call) {
    misuse(std::string(call) + " out of a host function");
    return cudaErrorNotPermitted;
  }
  // Called at the start of each call; a result other than cudaSuccess is the call's result.
  cudaError_t enter() {
    if (calls_++ == options_.fails_at) failed_ = cudaErrorLaunchFailure;
    return failed_;
  }

  bool can_go(const CUstream_st& stream) const {
    if (stream.ops.empty()) return false;
    const Op& op = stream.ops.front();
    if (op.kind == Op::Kind::record) return true;
    if (op.kind == Op::Kind::wait) return op.event->reached >= op.version;
    if (op.kind == Op::Kind::kernel) {
      if (op.kernel->is_over()) return true;
      if (op.kernel->started) return op.kernel->may_go_on();
      if (!op.kernel->may_start() || !hardware_.fits(stream.device, op.kernel->blocks))
        return false;
    }
    return hardware_.head(stream.device, stream.queue) == op.place;
  }

  // The possible moves: first streams that can proceed, then actions of the library's threads.
  struct Moves {
    std::vector<CUstream_st*> streams;
    std::vector<std::shared_ptr<fake_gpu::Action>> beside;
    [[nodiscard]] std::size_t size() const { return streams.size() + beside.size(); }
  };
  Moves moves() const {
    Moves moves;
    for (const auto& stream : streams_) {
      if (can_go(*stream)) moves.streams.push_back(stream.get());
    }
    for (const auto& action : beside_) {
      if (action->may_go_on()) moves.beside.push_back(action);
    }
    return moves;
  }

  // Makes one drawn move; returns false if nothing can proceed.
  bool step() {
    const Moves moves = this->moves();
    if (moves.size() == 0) return false;
    take(moves, draw_() % moves.size());
    return true;
  }

  void take(const Moves& moves, std::size_t which) {
    if (which >= moves.streams.size()) {
      moves.beside[which - moves.streams.size()]->go_on();
      std::erase_if(beside_, [](const auto& action) { return action->is_over(); });
    } else {
      go_on(*moves.streams[which]);
      end_destroyed();
    }
    tell_waiting();
  }

  void go_on(CUstream_st& stream) {
    Op& front = stream.ops.front();
    if (front.kind == Op::Kind::kernel && !go_on(stream, *front.kernel)) return;
    const Op op = std::move(front);
    if (op.is_work()) hardware_.leave(stream.device, stream.queue, op.place);
    stream.ops.pop_front();
    carry_out(op, stream.process);
  }

  // Makes one step of the kernel; returns whether the kernel is over.
  bool go_on(const CUstream_st& stream, fake_gpu::Kernel& kernel) {
    if (!kernel.is_over() && !kernel.started) {
      hardware_.leave(stream.device, stream.queue, stream.ops.front().place);
      hardware_.occupy(stream.device, kernel.blocks);
      kernel.started = true;
      kernel.start();
    } else if (!kernel.is_over()) {
      kernel.go_on();
    }
    if (kernel.is_over() && kernel.started) hardware_.vacate(stream.device, kernel.blocks);
    return kernel.is_over();
  }

  void some_steps() {
    if (!options_.by_itself) return;
    const auto steps = draw_() % 8;
    for (std::uint64_t i = 0; i + 4 < steps && step(); ++i) {
    }
  }

  void push(cudaStream_t stream, Op op) {
    if (op.is_work()) op.place = hardware_.launch(stream->device, stream->queue);
    stream->ops.push_back(std::move(op));
    tell_waiting();
  }
  bool has_room(cudaStream_t stream) const {
    return hardware_.waiting(stream->device, stream->queue) < options_.launches;
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

  // Makes moves until `done` returns true. Releases the lock only while it waits for a call of
  // another host. If all hosts wait, or this thread is not a host, the device fails.
  cudaError_t run_until(std::unique_lock<std::mutex>& lock, const std::string& who,
                        std::function<bool()> done) {
    tell_waiting();  // another call may wait for what this call has done
    const auto self = waiting_.insert(waiting_.end(), {who, std::move(done)});
    const auto patient_until = Clock::now() + options_.patience;
    while (failed_ == cudaSuccess && !self->done()) {
      if (step()) continue;
      if (is_host && may_be_helped()) {
        changed_.wait(lock);
        continue;
      }
      if (!is_host && Clock::now() < patient_until) {
        changed_.wait_until(lock, patient_until);
        continue;
      }
      misuse(who + " waits for what will never be");
      for (const std::string& wait : waits()) misuse(wait);
      failed_ = cudaErrorLaunchFailure;
      changed_.notify_all();
    }
    waiting_.erase(self);
    return failed_;
  }
  void tell_waiting() {
    if (!waiting_.empty()) changed_.notify_all();
  }
  bool may_be_helped() const {
    return waiting_.size() < static_cast<std::size_t>(hosts_) ||
           std::any_of(waiting_.begin(), waiting_.end(),
                       [](const Waiting& one) { return one.done(); });
  }
  // Whether the stream belongs to the current device and process; a call may wait for such streams.
  bool is_of_caller(const CUstream_st& stream) const {
    return stream.device == current_device &&
           (current_process < 0 || stream.process < 0 || stream.process == current_process);
  }
  bool is_idle_for_caller() const {
    return beside_.empty() &&
           std::all_of(streams_.begin(), streams_.end(), [this](const auto& stream) {
             return stream->ops.empty() || !is_of_caller(*stream);
           });
  }
  bool is_idle(int number = -1) const {
    return beside_.empty() &&
           std::all_of(streams_.begin(), streams_.end(), [&](const auto& stream) {
             return stream->ops.empty() || (number >= 0 && stream->device != number);
           });
  }
  // Reports a host that waits for a whole device on which a kernel may need another host.
  void note_synchronising(const char* call) {
    for (const auto& stream : streams_) {
      if (!is_of_caller(*stream) || stream->ops.empty()) continue;
      const Op& op = stream->ops.front();
      if (op.kind != Op::Kind::kernel || op.kernel->is_over()) continue;
      misuse(std::string(call) + " waits for device " + std::to_string(current_device) +
             " while it has " + op.kernel->name());
    }
  }

  std::vector<std::string> waits() const {
    std::vector<std::string> all;
    for (const auto& stream : streams_) {
      if (stream->ops.empty() || can_go(*stream)) continue;
      all.push_back("device " + std::to_string(stream->device) + ": " + why(*stream));
    }
    for (const auto& action : beside_) {
      if (!action->may_go_on()) all.push_back(action->name() + " waits for " + action->waits_for());
    }
    return all;
  }
  std::string why(const CUstream_st& stream) const {
    const Op& op = stream.ops.front();
    if (op.kind == Op::Kind::wait) return "a stream waits for an event";
    const std::string name = op.kind == Op::Kind::kernel ? op.kernel->name() : "a task";
    if (op.kind == Op::Kind::kernel && (op.kernel->started || !op.kernel->may_start())) {
      return name + " waits for " + op.kernel->waits_for();
    }
    const std::int64_t head = hardware_.head(stream.device, stream.queue);
    if (head == op.place) return name + " waits for room on its device";
    return name + " waits behind " + name_at(head) + " in the hardware's queue";
  }
  // The work that streams still have, and the order in which the hardware will start it.
  std::string state() const {
    std::map<std::int64_t, std::size_t> order;
    for (const auto& stream : streams_) {
      for (const Op& op : stream->ops) order[op.place] = 0;
    }
    std::size_t next = 0;
    for (auto& [place, number] : order) number = next++;
    std::string state;
    for (const auto& stream : streams_) {
      for (const Op& op : stream->ops) {
        state += std::to_string(static_cast<int>(op.kind)) + ":" + std::to_string(order[op.place]);
        if (op.kind == Op::Kind::kernel)
          state += (op.kernel->started ? "s" : "") + op.kernel->name();
      }
      state += ';';
    }
    return state;
  }
  std::string name_at(std::int64_t place) const {
    for (const auto& stream : streams_) {
      for (const Op& op : stream->ops) {
        if (op.place == place) return op.kind == Op::Kind::kernel ? op.kernel->name() : "a task";
      }
    }
    return "nothing";
  }

  std::byte* reach(const void* at, std::size_t size, int process) {
    std::byte* const reached = memory_.reach(at, size, process);
    if (reached == nullptr) {
      misuse("a copy of " + std::to_string(size) +
             " bytes from or to memory that is neither the device's nor pinned");
    }
    return reached;
  }
  // Called before memory is freed.
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
  fake_gpu::Hardware hardware_;
  std::vector<std::shared_ptr<fake_gpu::Action>> beside_;
  std::shared_ptr<void> library_;  // NCCL's state
  int hosts_ = 0;
  std::list<Waiting> waiting_;
  std::condition_variable changed_;
  fake_gpu::Memory memory_{misuses_};
};

using fake_gpu::Memory;

std::mutex mutex;
std::atomic<void (*)(cudaStream_t)> record_hook{nullptr};
// The device exists until the process ends, because threads may wait for the device until then.
std::unique_ptr<Device>& device =
    *new std::unique_ptr<Device>(std::make_unique<Device>(fake_gpu::Options{}));

// The state of hang().
struct Hanging {
  std::string call;  // empty if no call hangs
  int after = 0;
  std::chrono::milliseconds time{0};
  std::int64_t let_go = 0;  // the number of let_go() calls
  std::condition_variable changed;
};
Hanging& hanging = *new Hanging;

// Releases the lock while it waits.
void take_time(std::unique_lock<std::mutex>& lock, const char* call) {
  if (hanging.call.empty() || hanging.call != call || hanging.after-- > 0) return;
  const std::int64_t before = hanging.let_go;
  const auto is_let_go = [before] { return hanging.let_go != before; };
  if (hanging.time == std::chrono::milliseconds::max()) {
    hanging.changed.wait(lock, is_let_go);
  } else {
    hanging.changed.wait_for(lock, hanging.time, is_let_go);
  }
}

cudaError_t release(std::unique_lock<std::mutex>& lock, const char* call, Memory::Of of,
                    void* data) {
  if (data == nullptr) return cudaSuccess;
  if (!device->memory_.may_free(of, data)) return cudaErrorInvalidValue;
  device->check_copies(data);
  device->note_synchronising(call);
  while (device->step()) {
  }
  if (const cudaError_t error =
          device->run_until(lock, call, [] { return device->is_idle_for_caller(); });
      error != cudaSuccess) {
    return error;
  }
  device->memory_.free(data);
  return cudaSuccess;
}

cudaError_t room_on(std::unique_lock<std::mutex>& lock, cudaStream_t stream) {
  if (device->has_room(stream)) return cudaSuccess;
  return device->run_until(lock, "a launch into a full queue",
                           [stream] { return device->has_room(stream); });
}

}  // namespace

namespace fake_gpu {

void be_process(int number) { current_process = number; }

void begin(const Options& options) {
  std::unique_lock lock(mutex);
  // Calls of hosts that still wait for the old device fail, and their threads end.
  if (device->hosts_ > 0) device->failed_ = cudaErrorLaunchFailure;
  device->changed_.notify_all();
  device->changed_.wait(lock, [] { return device->hosts_ == 0; });
  device = std::make_unique<Device>(options);
}

void hang(const std::string& call, int after, std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex);
  hanging.call = call;
  hanging.after = after;
  hanging.time = time;
}

void let_go() {
  const std::lock_guard lock(mutex);
  hanging.call.clear();
  ++hanging.let_go;
  hanging.changed.notify_all();
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

std::size_t moves() {
  const std::lock_guard lock(mutex);
  return device->moves().size();
}

void take(std::size_t move) {
  const std::lock_guard lock(mutex);
  device->take(device->moves(), move);
}

bool is_idle(int number) {
  const std::lock_guard lock(mutex);
  return device->is_idle(number);
}

std::string state() {
  const std::lock_guard lock(mutex);
  return device->state();
}

std::vector<std::string> waits() {
  const std::lock_guard lock(mutex);
  return device->waits();
}

Host::Host() {
  const std::lock_guard lock(mutex);
  is_host = true;
  ++device->hosts_;
}

void before_records(void (*hook)(cudaStream_t stream)) { record_hook = hook; }

Host::~Host() {
  const std::lock_guard lock(mutex);
  is_host = false;
  --device->hosts_;
  device->changed_.notify_all();
}

Call::Call() : lock_(mutex, std::defer_lock) {
  if (!in_host_function) lock_.lock();
}
Call::~Call() {
  if (lock_.owns_lock()) device->tell_waiting();
}
cudaError_t Call::enter() {
  return in_host_function ? device->refuse("a call of NCCL") : device->enter();
}
bool Call::wait_until(const std::string& who, const std::function<bool()>& done) {
  return device->run_until(lock_, who, done) == cudaSuccess;
}
bool Call::wait_for_room(cudaStream_t stream) { return room_on(lock_, stream) == cudaSuccess; }

void launch(cudaStream_t stream, std::shared_ptr<Kernel> kernel) {
  device->push(stream, {.kind = Op::Kind::kernel, .kernel = std::move(kernel)});
}

void hold_up(cudaStream_t stream, cudaStream_t by) {
  const auto event = std::make_shared<CUevent_st>();
  event->recorded = 1;
  device->push(by, {.kind = Op::Kind::record, .event = event, .version = 1});
  device->push(stream, {.kind = Op::Kind::wait, .event = event, .version = 1});
}

void run_beside(std::shared_ptr<Action> action) { device->beside_.push_back(std::move(action)); }
void launching(cudaStream_t stream, int change) { stream->launching += change; }
void misuse(const std::string& what) { device->misuse(what); }
bool is_memory(const void* at, std::size_t size, int process) {
  return device->reach(at, size, process) != nullptr;
}
const Options& options() { return device->options_; }
int process_of(cudaStream_t stream) { return stream->process; }
std::shared_ptr<void>& beside() { return device->library_; }

}  // namespace fake_gpu

// Begins each call: takes the lock, and returns the device's error if the device has failed. A call
// from a host function, which the device runs with the lock held, is refused.
#define ENTER(call)                                  \
  if (in_host_function) return device->refuse(call); \
  std::unique_lock lock(mutex);                      \
  take_time(lock, call);                             \
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

// A single failure is returned by the call that fails; a failed device always returns its error.
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

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int number) {
  ENTER("cudaDeviceGetPCIBusId");
  if (number < 0 || number >= device->options_.devices) return cudaErrorInvalidDevice;
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", number);
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
  return release(lock, "cudaFree", Memory::Of::device, data);
}

cudaError_t cudaHostAlloc(void** data, size_t size, unsigned int) {
  ENTER("cudaHostAlloc");
  return device->memory_.allocate(Memory::Of::host, current_process, size, data);
}

cudaError_t cudaFreeHost(void* data) {
  ENTER("cudaFreeHost");
  return release(lock, "cudaFreeHost", Memory::Of::host, data);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int, int) {
  ENTER("cudaStreamCreateWithPriority");
  device->streams_.push_back(std::make_unique<CUstream_st>());
  device->streams_.back()->device = current_device;
  device->streams_.back()->queue = device->hardware_.queue_of_new_stream(current_device);
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
  return device->run_until(lock, "cudaStreamSynchronize", [stream] { return stream->ops.empty(); });
}

cudaError_t cudaDeviceSynchronize() {
  ENTER("cudaDeviceSynchronize");
  device->note_synchronising("cudaDeviceSynchronize");
  return device->run_until(lock, "cudaDeviceSynchronize",
                           [] { return device->is_idle_for_caller(); });
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
  if (void (*const hook)(cudaStream_t) = record_hook.load()) hook(stream);
  ENTER("cudaEventRecord");
  if (!device->is_stream(stream)) return cudaErrorInvalidResourceHandle;
  if (event->device != stream->device) return cudaErrorInvalidResourceHandle;
  event->is_after_writes = stream->writes_to_others;
  if (stream->launching > 0) {
    device->misuse("an event is recorded while a thread of NCCL is about to launch on its stream");
  }
  device->push(
      stream,
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
  return device->run_until(lock, "cudaEventSynchronize",
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
  device->push(
      stream,
      {.kind = Op::Kind::wait, .event = device->events_.at(event), .version = event->recorded});
  return cudaSuccess;
}

// An H100 with driver 580 refused a copy to the host from the host's memory with this error.
cudaError_t cudaMemcpyAsync(void* onto, const void* from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  ENTER("cudaMemcpyAsync");
  if (!device->is_stream(stream)) return cudaErrorInvalidResourceHandle;
  const bool leaves = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool comes = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  if (leaves && !device->memory_.is_of_device(from)) return cudaErrorInvalidValue;
  if (comes && !device->memory_.is_of_device(onto)) return cudaErrorInvalidValue;
  device->reach(from, size, stream->process);
  device->reach(onto, size, stream->process);
  if (const cudaError_t error = room_on(lock, stream); error != cudaSuccess) return error;
  if (device->memory_.is_of_another(onto)) stream->writes_to_others = true;
  device->push(stream, {.kind = Op::Kind::copy, .from = from, .onto = onto, .size = size});
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
  if (const cudaError_t error = room_on(lock, stream); error != cudaSuccess) return error;
  device->push(stream, {.kind = Op::Kind::call, .call = call, .argument = argument});
  return cudaSuccess;
}

}  // extern "C"
