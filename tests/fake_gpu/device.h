// The part of the fake device that the fake of NCCL needs. One lock guards both fakes.
//
// The lock must be held in all functions except those of Call: a Call holds it, and the device
// holds it while it runs actions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "tests/fake_gpu/fake_gpu.h"

namespace fake_gpu {

// An activity that proceeds by steps, in a kernel or a thread of the library. The device takes a
// step when a seed draws it.
class Action {
 public:
  virtual ~Action() = default;
  [[nodiscard]] virtual bool may_go_on() const = 0;
  virtual void go_on() = 0;
  [[nodiscard]] virtual bool is_over() const = 0;
  // The action's name, such as "send 3 from rank 0 to rank 1", and the reason why it cannot go on.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string waits_for() const = 0;
};

// A kernel occupies blocks of its device from its start to its end, and may wait for other devices.
class Kernel : public Action {
 public:
  explicit Kernel(int room) : blocks(room) {}
  // The kernel may start once it is first in its stream and its hardware queue, and its blocks fit.
  [[nodiscard]] virtual bool may_start() const = 0;
  virtual void start() = 0;
  const int blocks;
  bool started = false;
};

// A call of the library, which holds the lock except while it waits.
class Call {
 public:
  Call();
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  // Counts the call among the device's calls, and returns the error of a device that has failed.
  [[nodiscard]] cudaError_t enter();
  // Waits until `done` returns true. Returns false if `done` never will, or if the device has
  // failed. `who` names the caller and what it waits for.
  [[nodiscard]] bool wait_until(const std::string& who, const std::function<bool()>& done);
  // Waits until the launch queue of the stream has room.
  [[nodiscard]] bool wait_for_room(cudaStream_t stream);

 private:
  std::unique_lock<std::mutex> lock_;
};

void launch(cudaStream_t stream, std::shared_ptr<Kernel> kernel);
// Makes the stream wait for all work that `by` has been given so far.
void hold_up(cudaStream_t stream, cudaStream_t by);
// Runs the action as in a thread of the library, until the action is over.
void run_beside(std::shared_ptr<Action> action);
// `change` is 1 if a thread of the library will launch on the stream, -1 once it has launched.
void launching(cudaStream_t stream, int change);
void misuse(const std::string& what);
// Sets a hook that is called, without the lock, before an event is recorded on a stream. So a
// caller can enqueue late the work that precedes the event. If null, there is no hook.
void before_records(void (*hook)(cudaStream_t stream));
// Whether the process can access this memory, on the device or pinned. If not, reports a misuse.
[[nodiscard]] bool is_memory(const void* at, std::size_t size, int process);
[[nodiscard]] const Options& options();
[[nodiscard]] int process_of(cudaStream_t stream);
// The library's own state, which the device stores and which ends with the device.
[[nodiscard]] std::shared_ptr<void>& beside();

}  // namespace fake_gpu
