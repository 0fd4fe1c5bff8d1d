#include "runtime/cuda/carriers/staged_carrier.h"

#include <string>
#include <utility>

#include "runtime/watchdog/call_guard.h"

namespace ripeline::runtime::cuda {

using core::Status;

namespace {

void* take_pinned(std::size_t size) {
  void* data = nullptr;
  const watchdog::GuardedCall call("cudaHostAlloc");
  return cudaHostAlloc(&data, size, cudaHostAllocPortable) == cudaSuccess ? data : nullptr;
}

void free_pinned(void* data) {
  const watchdog::GuardedCall call("cudaFreeHost");
  cudaFreeHost(data);
}

Status copy(const Bytes& from, const Bytes& onto, cudaMemcpyKind kind, cudaStream_t stream) {
  const watchdog::GuardedCall call("cudaMemcpyAsync");
  return status_of(cudaMemcpyAsync(onto.data, from.data, from.size, kind, stream),
                   kind == cudaMemcpyDeviceToHost ? "copy a message from the device"
                                                  : "copy a message to the device");
}

// The failure if pinned memory cannot be allocated, with the error that CUDA reported.
Status no_pinned_memory(std::size_t size) {
  const cudaError_t error = cudaGetLastError();
  return status_of(error == cudaSuccess ? cudaErrorMemoryAllocation : error,
                   "pin " + std::to_string(size) + " bytes for a message");
}

}  // namespace

network::HostBufferPool make_pinned_pool() {
  return network::HostBufferPool({.take = take_pinned, .give = free_pinned});
}

StagedCarrier::StagedCarrier(Transport& control, int peer, network::BufferPool& pinned,
                             DeviceMemory& memory, cudaStream_t to_host, cudaStream_t to_device)
    : Carrier(control, peer),
      pinned_(pinned),
      memory_(memory),
      to_host_(to_host),
      to_device_(to_device) {}

Status StagedCarrier::launch(Message& message, cudaStream_t& stream) {
  stream = message.is_to_peer ? to_host_ : to_device_;
  return message.is_to_peer ? copy_to_host(message) : copy_to_device(message);
}

Status StagedCarrier::copy_to_host(Message& message) {
  const signals::OfMessage* const of = message_of(message.envelope.signal);
  const core::EdgeId edge = of != nullptr ? of->message.edge : -1;
  for (const Bytes& part : message.payload.parts) {
    Bytes& onto = message.onto.emplace_back(part);
    if (part.device < 0) continue;
    onto = pinned_.take(edge, part.size);
    if (onto.data == nullptr) return no_pinned_memory(part.size);
    if (Status s = copy(part, onto, cudaMemcpyDeviceToHost, to_host_); !s.ok()) return s;
  }
  return {};
}

Status StagedCarrier::copy_to_device(Message& message) {
  for (const Bytes& part : message.payload.parts) {
    Bytes& onto = message.onto.emplace_back();
    if (Status s = memory_.take(part.size, to_device_, onto); !s.ok()) return s;
    if (Status s = copy(part, onto, cudaMemcpyHostToDevice, to_device_); !s.ok()) return s;
  }
  return {};
}

Status StagedCarrier::landed(Message message) {
  Payload payload{.head = std::move(message.payload.head), .parts = std::move(message.onto)};
  if (message.is_to_peer) return control().send(peer(), message.envelope, std::move(payload));
  deliver({.envelope = message.envelope, .payload = std::move(payload)});
  return {};
}

}  // namespace ripeline::runtime::cuda
