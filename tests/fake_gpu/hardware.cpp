#include "tests/fake_gpu/hardware.h"

namespace fake_gpu {

int Hardware::queue_of_new_stream(int device) {
  const int stream = streams_[device]++;
  return connections_ == 0 ? stream : stream % connections_;
}

std::int64_t Hardware::launch(int device, int queue) {
  queues_[{device, queue}].insert(launched_);
  return launched_++;
}

std::int64_t Hardware::head(int device, int queue) const {
  const auto found = queues_.find({device, queue});
  return found == queues_.end() || found->second.empty() ? -1 : *found->second.begin();
}

std::size_t Hardware::waiting(int device, int queue) const {
  const auto found = queues_.find({device, queue});
  return found == queues_.end() ? 0 : found->second.size();
}

bool Hardware::fits(int device, int blocks) const {
  const auto found = occupied_.find(device);
  return blocks_ == 0 || (found == occupied_.end() ? 0 : found->second) + blocks <= blocks_;
}

}  // namespace fake_gpu
