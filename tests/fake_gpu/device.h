// The part of the fake device that the fake of NCCL needs. One lock guards both.
//
// All functions but Call's are called with the lock held: by a Call, or by the device itself, which
// runs actions with it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "tests/fake_gpu/fake_gpu.h"

namespace fake_gpu {

// Something that goes on by steps, which the device takes when a seed draws it: a kernel, or what a
// thread of the library does.
class Action {
 public:
  virtual ~Action() = default;
  [[nodiscard]] virtual bool may_go_on() const = 0;
  virtual void go_on() = 0;
  [[nodiscard]] virtual bool is_over() const = 0;
  // "send 3 from rank 0 to rank 1"; and why it cannot go on.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string waits_for() const = 0;
};

// Occupies blocks of its device from its start until it is over, and may wait for other devices.
class Kernel : public Action {
 public:
  explicit Kernel(int room) : blocks(room) {}
  // Once it is at the head of its stream and of the hardware's queue, and there is room.
  [[nodiscard]] virtual bool may_start() const = 0;
  virtual void start() = 0;
  const int blocks;
  bool started = false;
};

// A call of the library: it has the lock but while it waits.
class Call {
 public:
  Call();
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  // Counts it among the device's calls, and says what the device says.
  [[nodiscard]] cudaError_t enter();
  // Until it is so; false: it never will be, or the device has failed. `who` in words, with what it
  // waits for.
  [[nodiscard]] bool wait_until(const std::string& who, const std::function<bool()>& done);
  // Until the launch queue of the stream has room.
  [[nodiscard]] bool wait_for_room(cudaStream_t stream);

 private:
  std::unique_lock<std::mutex> lock_;
};

void launch(cudaStream_t stream, std::shared_ptr<Kernel> kernel);
// The stream does nothing further before what `by` was given until now.
void hold_up(cudaStream_t stream, cudaStream_t by);
// In a thread of the library's own, until it is over.
void run_beside(std::shared_ptr<Action> action);
// Such a thread is about to launch on the stream (1), or has done so (-1).
void launching(cudaStream_t stream, int change);
void misuse(const std::string& what);
// Called without the lock before each event that is recorded on a stream: for who gives the stream
// late what comes before it. Null: nothing.
void before_records(void (*hook)(cudaStream_t stream));
// Reports memory that is neither the device's nor pinned, or not of the process.
[[nodiscard]] bool is_memory(const void* at, std::size_t size, int process);
[[nodiscard]] const Options& options();
[[nodiscard]] int process_of(cudaStream_t stream);
// The library's own state, which is kept beside the device and goes with it.
[[nodiscard]] std::shared_ptr<void>& beside();

}  // namespace fake_gpu
