// StoreWatch: calls a function when a store may have changed. Private to network/socket.
//
// If the store has a descriptor, calls the function at each change and at least twice a second,
// since a process's end may be reported a moment early. Otherwise calls it at intervals that grow
// to 0.5 s. All belongs to the io_context's thread. No call is made after the end of this object.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>

namespace ripeline::runtime::network {

class StoreWatch {
 public:
  explicit StoreWatch(asio::io_context& io) : descriptor_(io), timer_(io) {}
  ~StoreWatch();
  StoreWatch(const StoreWatch&) = delete;
  StoreWatch& operator=(const StoreWatch&) = delete;

  // Takes ownership of the descriptor from Store::watch(), which is -1 if there is none.
  void start(int descriptor, std::function<void()> look);

 private:
  void wait_for_change();
  void wait_for_time();

  asio::posix::stream_descriptor descriptor_;
  asio::steady_timer timer_;
  std::chrono::milliseconds pause_{5};
  std::function<void()> look_;
  // Handlers still queued when this object ends check this first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ripeline::runtime::network
