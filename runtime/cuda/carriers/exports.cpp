// The program bounds how many buffers are in use at once. For a forward the bound is the slots of
// the link plus the proved peak of the activations at the consumer's stage. For a gradient it is
// one more than the slots. A link with a slot for each message has as many slots as microbatches.
#include "runtime/cuda/carriers/exports.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "runtime/watchdog/call_guard.h"

namespace ripeline::runtime::cuda {

using core::Status;
using core::StatusCode;

Status export_memory(void* memory, protocol::MemoryHandle& handle) {
  cudaIpcMemHandle_t made{};
  static_assert(sizeof made == sizeof(protocol::MemoryHandle));
  const watchdog::GuardedCall call("cudaIpcGetMemHandle");
  if (Status s = status_of(cudaIpcGetMemHandle(&made, memory), "export memory to other processes");
      !s.ok()) {
    return s;
  }
  std::memcpy(handle.data(), &made, sizeof made);
  return {};
}

class Exports::Pool {
 public:
  Pool(DeviceMemory memory, std::size_t granule, std::size_t largest)
      : memory_(std::move(memory)), granule_(granule), largest_(largest) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (auto& [id, buffer] : buffers_) {
      if (buffer.is_open) buffer.memory.leave();
      buffer.readers.wait();
    }
  }

  Status collect(protocol::BuffersGiven& given) {
    std::vector<Buffer> gone;  // freed without the lock, since owners wait for the lock
    const std::lock_guard lock(mutex_);
    while (!back_.empty()) {
      Buffer& buffer = buffers_.at(back_.front());
      bool over = false;
      if (Status s = buffer.readers.query(over); !s.ok()) return s;
      if (!over) break;
      if (buffer.is_open) {
        give(back_.front(), {}, given);
      } else {
        gone.push_back(std::move(buffers_.extract(back_.front()).mapped()));
      }
      back_.pop_front();
    }
    return {};
  }

  Status answer(const protocol::BuffersAsked& asked, protocol::BuffersGiven& given) {
    // Closed buffers are freed before others are allocated in their place, and without the lock.
    {
      std::vector<Buffer> gone;
      const std::lock_guard lock(mutex_);
      for (const std::uint32_t id : asked.closed) {
        if (Status s = closed(id, gone); !s.ok()) return s;
      }
    }
    const std::lock_guard lock(mutex_);
    // Buffers that had not reached the peer when it asked. It will use them for its sizes in order.
    std::multiset<std::uint64_t> coming;
    for (const auto& [id, buffer] : buffers_) {
      if (buffer.state == State::given && buffer.number > asked.seen) coming.insert(buffer.bytes);
    }
    for (const std::uint64_t size : asked.sizes) {
      const auto fits = coming.lower_bound(size);
      if (fits != coming.end()) {
        coming.erase(fits);
      } else if (Status s = make(size, given); !s.ok()) {
        return s;
      }
    }
    return {};
  }

  Status landed(const protocol::Landed::Part& part, std::byte*& data) {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(part.buffer);
    if (found == buffers_.end() || found->second.state != State::given) {
      return wrong("wrote to place " + std::to_string(part.buffer) + ", which it was not given");
    }
    if (part.size > found->second.bytes) {
      return wrong("wrote " + std::to_string(part.size) + " bytes to a place of " +
                   std::to_string(found->second.bytes));
    }
    found->second.state = State::out;
    data = found->second.memory.data();
    return {};
  }

  // Called by the last owner, in its thread. If the device has failed, the buffer is not reused.
  void come_back(std::uint32_t id) {
    const std::lock_guard lock(mutex_);
    Buffer& buffer = buffers_.at(id);
    buffer.state = State::back;
    if (memory_.note(buffer.readers).ok() && !is_stopped_) back_.push_back(id);
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    back_.clear();
  }

  bool is_waiting() const {
    const std::lock_guard lock(mutex_);
    return !back_.empty();
  }
  bool is_closed() const {
    const std::lock_guard lock(mutex_);
    return std::none_of(buffers_.begin(), buffers_.end(),
                        [](const auto& entry) { return entry.second.is_open; });
  }

  [[nodiscard]] int device() const { return memory_.device(); }

 private:
  enum class State { given, out, back };
  struct Buffer {
    DeviceMemory::Own memory;
    std::size_t bytes = 0;
    State state = State::given;
    std::uint64_t number = 0;  // the running number of its last giving, from 1
    bool is_open = false;      // at the peer, or about to be
    Readers readers;           // the readers at its release
  };

  static Status wrong(const std::string& what) {
    return {StatusCode::invalid, "the sender " + what};
  }

  void give(std::uint32_t id, std::optional<protocol::MemoryHandle> handle,
            protocol::BuffersGiven& given) {
    Buffer& buffer = buffers_.at(id);
    buffer.state = State::given;
    buffer.number = ++given_;
    buffer.is_open = true;
    given.buffers.push_back({.id = id, .bytes = buffer.bytes, .handle = std::move(handle)});
  }

  Status make(std::uint64_t size, protocol::BuffersGiven& given) {
    if (size > largest_) {
      return wrong("asked for a place of " + std::to_string(size) + " bytes; at most " +
                   std::to_string(largest_) + " are allowed");
    }
    Buffer buffer;
    buffer.bytes = std::max<std::size_t>(1, (size + granule_ - 1) / granule_) * granule_;
    if (Status s = memory_.allocate(buffer.bytes, buffer.memory); !s.ok()) return s;
    protocol::MemoryHandle handle{};
    if (Status s = export_memory(buffer.memory.data(), handle); !s.ok()) return s;
    buffers_.emplace(next_, std::move(buffer));
    give(next_++, handle, given);
    return {};
  }

  // Notes that the peer has closed a buffer. A buffer that is in use is freed at its release.
  Status closed(std::uint32_t id, std::vector<Buffer>& gone) {
    const auto found = buffers_.find(id);
    if (found == buffers_.end() || !found->second.is_open) {
      return wrong("closed place " + std::to_string(id) + ", which it does not have");
    }
    found->second.is_open = false;
    if (found->second.state == State::given) {
      gone.push_back(std::move(buffers_.extract(found).mapped()));
    }
    return {};
  }

  DeviceMemory memory_;
  const std::size_t granule_;
  const std::size_t largest_;
  mutable std::mutex mutex_;
  // Guarded by the mutex.
  std::map<std::uint32_t, Buffer> buffers_;  // by id
  std::deque<std::uint32_t> back_;           // in the order of their return
  std::uint32_t next_ = 0;
  std::uint64_t given_ = 0;
  bool is_stopped_ = false;
};

Exports::Exports(DeviceMemory memory, std::size_t granule, std::size_t largest)
    : pool_(std::make_shared<Pool>(std::move(memory), granule, largest)) {}
Exports::~Exports() { pool_->stop(); }

Status Exports::collect(protocol::BuffersGiven& given) { return pool_->collect(given); }

Status Exports::answer(const protocol::BuffersAsked& asked, protocol::BuffersGiven& given) {
  return pool_->answer(asked, given);
}

Status Exports::landed(const protocol::Landed::Part& part, Bytes& bytes) {
  std::byte* data = nullptr;
  if (Status s = pool_->landed(part, data); !s.ok()) return s;
  const auto come_back = [pool = pool_, id = part.buffer](std::byte*) { pool->come_back(id); };
  bytes = {.data = data,
           .size = part.size,
           .device = pool_->device(),
           .owner = std::shared_ptr<std::byte>(data, come_back)};
  return {};
}

void Exports::stop() { pool_->stop(); }
bool Exports::is_waiting() const { return pool_->is_waiting(); }
bool Exports::is_closed() const { return pool_->is_closed(); }

}  // namespace ripeline::runtime::cuda
