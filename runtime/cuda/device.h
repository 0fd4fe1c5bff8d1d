// The runtime's use of CUDA: streams and events, as objects that destroy what they own.
//
// Only sync() and a Stream's destructor wait for the device. If a call does not return, the guard
// of its thread names the call (runtime/watchdog/call_guard.h). For this, other files wrap in a
// GuardedCall each call of CUDA that may block, even if only for a lock of the driver. A failure is
// a status with the request to CUDA and CUDA's answer. An Event belongs to the device that was
// current when it was made. No stream is the legacy default stream, or waits for it. Any thread may
// use a value, one thread at a time.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>
#include <utility>

#include "core/status.h"

namespace ripeline::runtime::cuda {

// Makes a status of an error; `what` is the request, such as "record an event". Also clears the
// thread's last error, since the caller handles it.
[[nodiscard]] core::Status status_of(cudaError_t error, std::string_view what);

// Counts the devices that this process can use. Refused if CUDA cannot be used here at all.
core::Status count_devices(int& devices);
// Makes the device current in this thread. Refused if no device has that number, or none exists.
core::Status use_device(int device);
// Names a device by its place on the host's PCI bus, independently of its number.
core::Status name_device(int device, std::string& name);

// Makes a device current in this thread, and restores the previous one in the destructor. Used in
// functions that may be called in threads that have never used the device: events are made on the
// current device, and the first use of a device makes a context there.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

class Stream {
 public:
  enum class Priority { usual, highest };
  static core::Status make(Priority priority, Stream& stream);
  Stream() = default;
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Stream();

  [[nodiscard]] cudaStream_t get() const { return stream_; }
  // Waits for all work that the stream has been given.
  core::Status sync() const;

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  // Whether the event records the time at which it is reached; without a time it costs less.
  enum class Time { none, reached };
  static core::Status make(Event& event, Time time = Time::reached);
  Event() = default;
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();

  // Records the event after all work that has been enqueued on the stream so far.
  core::Status record(cudaStream_t stream);
  // Makes the stream wait until the event is reached.
  core::Status hold_up(cudaStream_t stream) const;
  // Sets `reached` to whether the event is reached. Never blocks.
  core::Status query(bool& reached) const;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace ripeline::runtime::cuda
