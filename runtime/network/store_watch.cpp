#include "runtime/network/store_watch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace ripeline::runtime::network {
namespace {

constexpr std::chrono::milliseconds kLongestPause{500};

}  // namespace

StoreWatch::~StoreWatch() {
  *alive_ = false;
  asio::error_code ignored;
  descriptor_.close(ignored);
  timer_.cancel();
}

void StoreWatch::start(int descriptor, std::function<void()> look) {
  look_ = std::move(look);
  if (descriptor >= 0) {
    pause_ = kLongestPause;
    descriptor_.assign(descriptor);
    descriptor_.non_blocking(true);
    wait_for_change();
  }
  wait_for_time();
}

void StoreWatch::wait_for_change() {
  descriptor_.async_wait(descriptor_.wait_read, [this, alive = alive_](asio::error_code error) {
    if (!*alive || error) return;
    std::array<char, 4096> ignored;
    while (read(descriptor_.native_handle(), ignored.data(), ignored.size()) > 0) {
    }
    look_();
    wait_for_change();
  });
}

void StoreWatch::wait_for_time() {
  timer_.expires_after(pause_);
  pause_ = std::min(2 * pause_, kLongestPause);
  timer_.async_wait([this, alive = alive_](asio::error_code stopped) {
    if (!*alive || stopped) return;
    look_();
    wait_for_time();
  });
}

}  // namespace ripeline::runtime::network
