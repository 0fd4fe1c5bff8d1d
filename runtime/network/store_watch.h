// StoreWatch: calls whoever waits for a change of a store. Private to network/socket.
//
// At once where the store has something that tells changes, and twice a second at least: that a
// process has ended may be told a moment before it has. Otherwise at intervals that grow to that.
// It calls inside the io_context, to whose thread all belongs, and never after its end.
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

  // The descriptor is that of Store::watch(), and is taken over; -1: there is none.
  void start(int descriptor, std::function<void()> look);

 private:
  void wait_for_change();
  void wait_for_time();

  asio::posix::stream_descriptor descriptor_;
  asio::steady_timer timer_;
  std::chrono::milliseconds pause_{5};
  std::function<void()> look_;
  // Handlers that are queued when this ends look here first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ripeline::runtime::network
