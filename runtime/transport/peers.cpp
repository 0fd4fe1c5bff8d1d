#include "runtime/transport/peers.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace ripeline::runtime {

core::Status check_receiver(const Transport& transport, int to) {
  const std::vector<int>& neighbours = transport.neighbours();
  if (std::binary_search(neighbours.begin(), neighbours.end(), to)) return {};
  return {core::StatusCode::invalid, "process " + std::to_string(transport.self()) +
                                         " cannot send to process " + std::to_string(to) + " of " +
                                         std::to_string(transport.processes())};
}

Delivery loss_of(int process, const std::string& how, core::Time at) {
  Delivery delivery{.from = process, .envelope = {}, .payload = {}, .at = at};
  delivery.envelope.signal = Signal::lost;
  delivery.payload.head.resize(how.size());
  std::memcpy(delivery.payload.head.data(), how.data(), how.size());
  return delivery;
}

}  // namespace ripeline::runtime
