// A fake of libcudart, linked instead of it: one device, in the memory of this process, whose
// threads may count as processes.
//
// Streams do what they are given in order, and one thing at a time; among streams a seed draws
// which goes on, and when: each question whether an event was reached lets the device take a few
// steps, and none may be taken for long. So a copy happens between the call and the moment when an
// event says that it is over, and who uses its bytes too early, or frees them, gets others.
//
// Where a rule is from: the CUDA Runtime API of toolkit 13.0, by the section that is named.
//   a stream is in order; an event is what its stream was given before it     Stream Management
//   cudaStreamWaitEvent waits for the event's latest record at that call      Stream Management
//   an event that was never recorded is reached                               Event Management
//   what an event or a stream that is destroyed still has to do is done       Event Management
//   cudaFree and cudaFreeHost may wait for the device, and do here             Memory Management
//   what cannot start holds up what shares its queue, a full queue blocks     hardware.h
//   host functions are not called after an error, and may not call CUDA       Execution Control
//   an error of the device is what every later call says                      Error Handling
//   an event is recorded on streams of its own device                         Event Management
//   a time between events is told once both were reached                      Event Management
//   an event without timing has none                                          Event Management
//   what a process may do with another's memory is in memory.h               Device Management
// Misuse is reported, not undefined: memory that is not there, or not pinned, or freed while a copy
// still has to use it; a stream that was destroyed; a call out of a host function; a stream that
// waits for what will never be; a call that waits for the device while a kernel on it waits for
// another one; an event recorded before what it is to follow was launched.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fake_gpu {

// The rule that the device breaks, for tests that must detect it.
enum class Fault : std::uint8_t {
  none,
  events_at_once,  // an event is said to be reached as soon as it is recorded
  no_waits,        // a stream does not wait for an event
  // Events without a time only: of a stream that writes to memory of another process, of others.
  writes_at_once,
  readers_at_once,
  no_closes,  // memory of another process stays open when it is closed
};

// The use that processes can make of each other's memory.
enum class Ipc : std::uint8_t { works, no_handles, no_opening };

struct Options {
  std::uint64_t seed = 1;
  Fault fault = Fault::none;
  int devices = 1;  // a thread uses one at a time; they share their memory and pace
  std::size_t memory = std::size_t{1} << 30;
  std::int64_t fails_at = -1;  // the call with this number; -1: none
  // Queues of a device, which its streams share; 0: each has its own (hardware.h).
  int connections = 0;
  int blocks = 0;               // NCCL's kernels on a device have at most so many; 0: any number
  std::size_t launches = 1024;  // a queue holds so many; the call that gives one more waits
  // For NCCL (fake_nccl.h): messages that leave though nobody takes them yet; and whether two ranks
  // are connected from the beginning.
  int credits = 0;
  bool connected = false;
  bool by_itself = true;  // else it goes on by step() and take() alone
  // How long a call that cannot go on waits for threads that are no hosts.
  std::chrono::milliseconds patience{0};
  Ipc ipc = Ipc::works;
};

// A new device. All that was made on the one before must be gone; hosts that still wait for it are
// told that it has failed, and end first.
void begin(const Options& options);

// From now on this thread is one of the process with that number, which owns what it makes.
void be_process(int number);

// From now on a call of this name, once so many have been made, takes that long, in whatever
// thread, or does not come back before let_go(). One name at a time.
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
// In words, one a line.
[[nodiscard]] std::vector<std::string> misuses();
// Lets the device take so many steps, if it can.
void step(int steps);
// All that it can do next, and to do one of these: to try each.
[[nodiscard]] std::size_t moves();
void take(std::size_t move);
// Nothing is left to do on the device with this number (-1: on any), nor in a thread of NCCL.
[[nodiscard]] bool is_idle(int device = -1);
// The work that is left: if equal, the same can happen from here on, memory and events apart.
[[nodiscard]] std::string state();
// In words, for each stream or thread of NCCL that cannot go on: what it waits for.
[[nodiscard]] std::vector<std::string> waits();

// A thread that may do what others wait for. While one is, a call in another one that cannot go on
// waits for it; when all hosts wait, nothing ever happens again, and each call fails. Without hosts
// a call that cannot go on fails at once, or when its patience is over.
class Host {
 public:
  Host();
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
};

}  // namespace fake_gpu
