// The runtime's use of CUDA: streams and events, as values that end what they hold.
//
// Nothing here waits for the device but sync() and what ends a stream. A call that does not come
// back is named by the guard of its thread (runtime/call_guard.h), so calls of CUDA elsewhere that
// may block, be it for a lock of the driver, are a GuardedCall as well. All fail by status with
// what was asked of CUDA and what it said. An Event is of the device that was current when it was
// made. Streams are not the legacy one and do not wait for it. Any thread may use them, one at a
// time.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>
#include <utility>

#include "core/status.h"

namespace ripeline::runtime {

// `what` was asked: "record an event". An error is dealt with by whoever gets the status, and no
// longer the thread's last one.
[[nodiscard]] core::Status status_of(cudaError_t error, std::string_view what);

// Counts the devices that this process can use; refused: CUDA cannot be used here at all.
core::Status count_devices(int& devices);
// Makes the device current in this thread. Refused: there is none of that number, or none at all.
core::Status use_device(int device);
// Names a device on its host, whatever number it has there: its place on the PCI bus.
core::Status name_device(int device, std::string& name);

// Makes a device current in this thread, and in the end the one that was: for what may be called in
// threads that have never used the device. Events are made on the current one, and the first use
// makes a context there.
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
  // Waits for all that it has been given.
  core::Status sync() const;

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  // Whether it has the time at which it was reached; one without costs the device less.
  enum class Time { none, reached };
  static core::Status make(Event& event, Time time = Time::reached);
  Event() = default;
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();

  // After what the stream has been given until now.
  core::Status record(cudaStream_t stream);
  // The stream does nothing further before this is reached.
  core::Status hold_up(cudaStream_t stream) const;
  // Never blocks.
  core::Status query(bool& reached) const;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace ripeline::runtime
