#include "runtime/cuda/device.h"

#include <string>

#include "runtime/watchdog/call_guard.h"

namespace ripeline::runtime::cuda {

using core::Status;
using core::StatusCode;

Status status_of(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // clears the error, so that the next call does not report it as its own
  return {StatusCode::failed, "CUDA could not " + std::string(what) + ": " +
                                  cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")"};
}

Status count_devices(int& devices) {
  devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  return {StatusCode::refused,
          std::string("CUDA has no device here: ") + cudaGetErrorString(error)};
}

Status use_device(int device) {
  int devices = 0;
  if (Status s = count_devices(devices); !s.ok()) return s;
  if (device < 0 || device >= devices) {
    return {StatusCode::refused, "CUDA has " + std::to_string(devices) +
                                     (devices == 1 ? " device" : " devices") + " here, and none " +
                                     "with the number " + std::to_string(device)};
  }
  const watchdog::GuardedCall call("cudaSetDevice");
  return status_of(cudaSetDevice(device), "use device " + std::to_string(device));
}

CurrentDevice::CurrentDevice(int device) {
  const watchdog::GuardedCall call("cudaSetDevice");
  cudaGetDevice(&before_);
  changed_ = before_ != device && cudaSetDevice(device) == cudaSuccess;
}

CurrentDevice::~CurrentDevice() {
  if (!changed_) return;
  const watchdog::GuardedCall call("cudaSetDevice");
  cudaSetDevice(before_);
}

Status name_device(int device, std::string& name) {
  char text[32] = {};
  const Status status = status_of(cudaDeviceGetPCIBusId(text, sizeof text, device),
                                  "say where device " + std::to_string(device) + " is");
  if (status.ok()) name = text;
  return status;
}

Status Stream::make(Priority priority, Stream& stream) {
  int least = 0;
  int greatest = 0;
  if (Status s = status_of(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                           "say which priorities streams have");
      !s.ok()) {
    return s;
  }
  Stream made;
  const watchdog::GuardedCall call("cudaStreamCreateWithPriority");
  if (Status s =
          status_of(cudaStreamCreateWithPriority(&made.stream_, cudaStreamNonBlocking,
                                                 priority == Priority::highest ? greatest : least),
                    "make a stream");
      !s.ok()) {
    return s;
  }
  stream = std::move(made);
  return {};
}

Stream::~Stream() {
  if (stream_ == nullptr) return;
  const watchdog::GuardedCall call("cudaStreamDestroy");
  cudaStreamDestroy(stream_);
}

Status Stream::sync() const {
  const watchdog::GuardedCall call("cudaStreamSynchronize");
  return status_of(cudaStreamSynchronize(stream_), "wait for a stream");
}

Status Event::make(Event& event, Time time) {
  Event made;
  const watchdog::GuardedCall call("cudaEventCreateWithFlags");
  const unsigned int flags = time == Time::none ? cudaEventDisableTiming : cudaEventDefault;
  if (Status s = status_of(cudaEventCreateWithFlags(&made.event_, flags), "make an event");
      !s.ok()) {
    return s;
  }
  event = std::move(made);
  return {};
}

Event::~Event() {
  if (event_ == nullptr) return;
  const watchdog::GuardedCall call("cudaEventDestroy");
  cudaEventDestroy(event_);
}

Status Event::record(cudaStream_t stream) {
  const watchdog::GuardedCall call("cudaEventRecord");
  return status_of(cudaEventRecord(event_, stream), "record an event");
}

Status Event::hold_up(cudaStream_t stream) const {
  const watchdog::GuardedCall call("cudaStreamWaitEvent");
  return status_of(cudaStreamWaitEvent(stream, event_, 0), "make a stream wait for an event");
}

Status Event::query(bool& reached) const {
  const watchdog::GuardedCall call("cudaEventQuery");
  const cudaError_t error = cudaEventQuery(event_);
  reached = error == cudaSuccess;
  if (error == cudaErrorNotReady) return {};
  return status_of(error, "finish what a stream was given");
}

}  // namespace ripeline::runtime::cuda
