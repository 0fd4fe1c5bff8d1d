#include "runtime/network/peers.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace ripeline::runtime::network {

core::Status check_receiver(const Transport& transport, int to) {
  const std::vector<int>& neighbours = transport.neighbours();
  if (std::binary_search(neighbours.begin(), neighbours.end(), to)) return {};
  return {core::StatusCode::invalid, "process " + std::to_string(transport.self()) +
                                         " cannot send to process " + std::to_string(to) + " of " +
                                         std::to_string(transport.processes())};
}

core::Status check_on_host(const Payload& payload) {
  for (const Bytes& part : payload.parts) {
    if (part.device < 0) continue;
    return {core::StatusCode::invalid, "a part of a message is on device " +
                                           std::to_string(part.device) +
                                           "; this transport sends from the host's memory"};
  }
  return {};
}

core::Status over_limit(std::uint64_t largest_payload) {
  return {core::StatusCode::invalid, "a frame whose parts take more than the limit of " +
                                         std::to_string(largest_payload) + " bytes"};
}

core::Status add_part(BufferPool& pool, core::EdgeId edge, std::size_t size, Payload& payload) {
  Bytes part = pool.take(edge, size);
  if (part.data == nullptr) {
    return {core::StatusCode::failed,
            "there is no memory for a message of " + std::to_string(size) + " bytes"};
  }
  payload.parts.push_back(std::move(part));
  return {};
}

Delivery loss_of(int process, const std::string& how, core::Time at) {
  Delivery delivery{
      .from = process, .envelope = {.signal = signals::Lost{}}, .payload = {}, .at = at};
  delivery.payload.head.resize(how.size());
  std::memcpy(delivery.payload.head.data(), how.data(), how.size());
  return delivery;
}

}  // namespace ripeline::runtime::network
