// A fake of libcudart, which tests link instead of the real one: one device in the memory of this
// process, whose threads may count as processes.
//
// Each stream does its work in order, one item at a time. A seed draws which stream proceeds, and
// when: each query of an event lets the device take a few steps, and possibly none for a long time.
// So a copy happens between the call and the moment at which an event reports its end, and a caller
// that uses or frees its bytes too early gets wrong data.
//
// Each rule is followed by the section of the CUDA Runtime API (toolkit 13.0) that states it.
//   a stream is in order; an event is reached after the stream's work before it  Stream Management
//   cudaStreamWaitEvent waits for the event's latest record at that call         Stream Management
//   an event that was never recorded counts as reached                           Event Management
//   the remaining work of a destroyed event or stream is still done              Event Management
//   cudaFree and cudaFreeHost may wait for the device; here they do              Memory Management
//   work that cannot start blocks its queue; a full queue blocks the caller      hardware.h
//   host functions are not called after an error, and may not call CUDA          Execution Control
//   after an error of the device, every later call returns it                    Error Handling
//   an event is recorded on streams of its own device only                       Event Management
//   the time between two events is known once both were reached                  Event Management
//   an event without timing has no time                                          Event Management
//   the rules for another process's memory are in memory.h                       Device Management
// Misuse is reported, where CUDA leaves it undefined: memory that does not exist, is not pinned, or
// is freed while a copy still has to use it; a destroyed stream; a call out of a host function; a
// stream that waits for ever; a call that waits for the device while a kernel there waits for
// another device; an event that is recorded before the launch that it should follow.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fake_gpu {

// The rule that the device breaks, in tests that must detect this.
enum class Fault : std::uint8_t {
  none,
  events_at_once,  // an event counts as reached as soon as it is recorded
  no_waits,        // a stream does not wait for an event
  // As events_at_once, but only for events after writes to a peer, or only for other untimed ones.
  writes_at_once,
  readers_at_once,
  no_closes,  // memory of another process stays open when it is closed
};

// Whether processes can use each other's memory, and which of the two calls fails if not.
enum class Ipc : std::uint8_t { works, no_handles, no_opening };

struct Options {
  std::uint64_t seed = 1;
  Fault fault = Fault::none;
  int devices = 1;  // a thread uses one at a time; all share memory and pace
  std::size_t memory = std::size_t{1} << 30;
  std::int64_t fails_at = -1;  // the number of the call that fails; -1 if none does
  // The number of queues that a device's streams share; 0 if each stream has its own (hardware.h).
  int connections = 0;
  int blocks = 0;               // the most that NCCL's kernels occupy on a device; 0: no limit
  std::size_t launches = 1024;  // the most launches in a queue; a further launch waits
  // For NCCL (fake_nccl.h): up to `credits` messages leave before a receive takes them; if
  // `connected`, all pairs of ranks are connected from the start.
  int credits = 0;
  bool connected = false;
  bool by_itself = true;  // false: the device moves only by step() and take()
  // The time that a call which cannot proceed waits for threads that are not hosts.
  std::chrono::milliseconds patience{0};
  Ipc ipc = Ipc::works;
};

// Makes a new device. Everything made on the previous device must be gone. Hosts that still wait
// for the previous device get an error, and begin() waits until they have ended.
void begin(const Options& options);

// Makes this thread a part of process `number`, which then owns what the thread makes.
void be_process(int number);

// After `after` more calls of the function `call`, each later call of it takes `time`, in any
// thread; by default it returns only after let_go(). Only one function at a time can hang.
void hang(const std::string& call, int after = 0,
          std::chrono::milliseconds time = std::chrono::milliseconds::max());
void let_go();

struct Usage {
  std::size_t device_bytes = 0;
  std::size_t pinned_bytes = 0;
  int streams = 0;
  int events = 0;
};
[[nodiscard]] Usage usage();
[[nodiscard]] std::int64_t calls();
// Descriptions of all misuses, one per line.
[[nodiscard]] std::vector<std::string> misuses();
// Lets the device take up to `steps` steps.
void step(int steps);
inline constexpr int kEverything = 1 << 20;  // more steps than any test needs
// moves() is the number of possible next moves, and take() makes one of them: a test can try each.
[[nodiscard]] std::size_t moves();
void take(std::size_t move);
// Whether the device with this number (-1: every device) and the threads of NCCL have no work left.
[[nodiscard]] bool is_idle(int device = -1);
// Describes the work that is left. Equal texts allow the same moves if memory and events are equal.
[[nodiscard]] std::string state();
// Describes each wait of a stream, or a thread of NCCL, that cannot proceed.
[[nodiscard]] std::vector<std::string> waits();

// Makes this thread a *host*. A host's call that cannot proceed waits for calls of other hosts. If
// all hosts wait, nothing can ever happen again, and each of their calls fails. In any other thread
// a call that cannot proceed fails at once, or after Options::patience.
class Host {
 public:
  Host();
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
};

}  // namespace fake_gpu
