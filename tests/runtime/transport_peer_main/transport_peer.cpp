// transport_peer NAME FOLDER BYTES COUNT: process 1 of 2 over the transport of that name.
//
// Sends COUNT messages of BYTES bytes to process 0 and prints `sent` when all have left. Then
// polls its transport until it is killed, which happens when its parent ends.
#include <sys/prctl.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "tests/runtime/each_transport.h"

namespace ripeline {
namespace {

using namespace std::chrono_literals;

int run(const std::string& name, const std::string& folder, std::size_t size, int count) {
  std::unique_ptr<runtime::Transport> transport;
  core::Status status = testing_support::connect(name, 1, 2, folder, {}, transport);
  for (int m = 0; m < count && status.ok(); ++m) {
    const runtime::Envelope envelope{.signal = runtime::signals::Data{{0, {0, m}}}};
    status = transport->send(0, envelope, runtime::payload_of(runtime::Blob(size, std::byte{7})));
  }
  bool has_said = false;
  std::vector<runtime::Delivery> deliveries;
  while (status.ok()) {
    status = transport->poll(1ms, deliveries);
    if (has_said || transport->queued(0) > 0) continue;
    has_said = true;
    std::cout << "sent" << std::endl;
  }
  std::cerr << status.message() << std::endl;
  return 1;
}

}  // namespace
}  // namespace ripeline

int main(int count, char** words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (count != 5) return 2;
  return ripeline::run(words[1], words[2], std::strtoul(words[3], nullptr, 10),
                       std::atoi(words[4]));
}
