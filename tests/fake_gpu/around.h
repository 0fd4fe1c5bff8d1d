// Transports around others, for what a test wants to be different.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "runtime/transport/transport.h"

namespace ripeline::testing_support {

// A transport around another one, which it may own.
class Around : public runtime::Transport {
 public:
  explicit Around(runtime::Transport& inner) : inner_(inner) {}
  explicit Around(std::unique_ptr<runtime::Transport> inner)
      : own_(std::move(inner)), inner_(*own_) {}
  [[nodiscard]] int self() const override { return inner_.self(); }
  [[nodiscard]] int processes() const override { return inner_.processes(); }
  [[nodiscard]] const std::vector<int>& neighbours() const override { return inner_.neighbours(); }
  core::Status send(int to, const runtime::Envelope& envelope, runtime::Payload payload) override {
    return inner_.send(to, envelope, std::move(payload));
  }
  core::Status poll(std::chrono::nanoseconds wait,
                    std::vector<runtime::Delivery>& deliveries) override {
    return inner_.poll(wait, deliveries);
  }
  void wake() override { inner_.wake(); }
  [[nodiscard]] std::size_t queued(int to) const override { return inner_.queued(to); }
  [[nodiscard]] core::Time heard(int from) const override { return inner_.heard(from); }
  [[nodiscard]] core::Time ahead() const override { return inner_.ahead(); }
  core::Status finish(std::chrono::nanoseconds limit) override { return inner_.finish(limit); }
  void flush(std::chrono::nanoseconds limit) override { inner_.flush(limit); }

 private:
  std::unique_ptr<runtime::Transport> own_;

 protected:
  runtime::Transport& inner_;
};

// Gives what comes in another order, and late.
class Shuffled final : public Around {
 public:
  Shuffled(runtime::Transport& inner, std::uint64_t seed) : Around(inner), draw_(seed) {}
  core::Status poll(std::chrono::nanoseconds wait,
                    std::vector<runtime::Delivery>& deliveries) override {
    core::Status status = inner_.poll(held_.empty() ? wait : std::chrono::nanoseconds(0), held_);
    std::shuffle(held_.begin(), held_.end(), draw_);
    for (std::size_t left = draw_() % (held_.size() + 1); left > 0; --left) {
      deliveries.push_back(std::move(held_.back()));
      held_.pop_back();
    }
    return status;
  }
  core::Status finish(std::chrono::nanoseconds limit) override {
    if (held_.empty()) return inner_.finish(limit);
    return {core::StatusCode::timeout, "something is held back"};
  }

 private:
  std::mt19937_64 draw_;
  std::vector<runtime::Delivery> held_;
};

}  // namespace ripeline::testing_support
