// Timers: actions to run later, inside an io_context. Private to network/socket.
//
// One thread, that of the io_context. No action runs after the end of the Timers.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace ripeline::runtime::network {

class Timers {
 public:
  explicit Timers(asio::io_context& io) : io_(io) {}
  ~Timers() {
    *alive_ = false;
    for (const auto& timer : timers_) timer->cancel();
  }
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  void after(std::chrono::nanoseconds time, std::function<void()> action) {
    const auto timer = std::make_shared<asio::steady_timer>(io_, time);
    timers_.push_back(timer);
    timer->async_wait(
        [this, timer, action = std::move(action), alive = alive_](asio::error_code stopped) {
          if (stopped || !*alive) return;
          std::erase(timers_, timer);
          action();
        });
  }

 private:
  asio::io_context& io_;
  std::vector<std::shared_ptr<asio::steady_timer>> timers_;
  // Handlers still queued when this object ends check this first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ripeline::runtime::network
