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
//   host functions are not called after an error, and may not call CUDA       Execution Control
//   an error of the device is what every later call says                      Error Handling
//   an event is recorded on streams of its own device                         Event Management
//   a time between events is told once both were reached                      Event Management
//   an event without timing has none                                          Event Management
//   what a process may do with another's memory is in memory.h               Device Management
// Misuse is reported, not undefined: memory that is not there, or not pinned, or freed while a copy
// still has to use it; a stream that was destroyed; a call out of a host function; a stream that
// waits for what will never be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fake_gpu {

// What the device does differently: for tests that must notice.
enum class Fault : std::uint8_t {
  none,
  events_at_once,  // an event is said to be reached as soon as it is recorded
  no_waits,        // a stream does not wait for an event
  // Events without a time only: of a stream that writes to memory of another process, of others.
  writes_at_once,
  readers_at_once,
  no_closes,  // memory of another process stays open when it is closed
};

// What processes can do with each other's memory.
enum class Ipc : std::uint8_t { works, no_handles, no_opening };

struct Options {
  std::uint64_t seed = 1;
  Fault fault = Fault::none;
  int devices = 1;  // of which each thread uses one at a time; they share their memory and pace
  std::size_t memory = std::size_t{1} << 30;
  std::int64_t fails_at = -1;  // the call with this number; -1: none
  Ipc ipc = Ipc::works;
};

// A new device. All that was made on the one before must be gone.
void begin(const Options& options);

// From now on this thread is one of the process with that number, which owns what it makes.
void be_process(int number);

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

}  // namespace fake_gpu
