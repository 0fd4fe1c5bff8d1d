// Transports for tests: some wrap another transport, and one has peers that the test plays.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/transport.h"

namespace ripeline::testing_support {

[[nodiscard]] inline runtime::Blob bytes(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

// A transport that wraps another transport and may own it.
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

// A wrapped transport that reports what has been sent.
class TellingTransport final : public Around {
 public:
  using Sent = std::function<void(int to, const runtime::Envelope&)>;
  // `inner` is borrowed.
  TellingTransport(runtime::Transport& inner, Sent sent) : Around(inner), sent_(std::move(sent)) {}

  core::Status send(int to, const runtime::Envelope& envelope, runtime::Payload payload) override {
    core::Status status = inner_.send(to, envelope, std::move(payload));
    sent_(to, envelope);
    return status;
  }

 private:
  Sent sent_;
};

// Delivers messages late and in another order.
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

// The transport of a process whose peers the test plays: all of their messages have arrived at the
// first poll, and the envelopes of messages to them are recorded.
class ScriptedTransport final : public runtime::Transport {
 public:
  ScriptedTransport(int self, int processes, std::vector<runtime::Delivery> inbox)
      : self_(self), processes_(processes), inbox_(std::move(inbox)) {
    for (int other = 0; other < processes; ++other) {
      if (other != self) neighbours_.push_back(other);
    }
  }

  [[nodiscard]] int self() const override { return self_; }
  [[nodiscard]] int processes() const override { return processes_; }
  [[nodiscard]] const std::vector<int>& neighbours() const override { return neighbours_; }
  core::Status send(int to, const runtime::Envelope& envelope, runtime::Payload) override {
    sent.emplace_back(to, envelope);
    return {};
  }
  core::Status poll(std::chrono::nanoseconds wait,
                    std::vector<runtime::Delivery>& deliveries) override {
    if (inbox_.empty()) std::this_thread::sleep_for(wait);
    std::move(inbox_.begin(), inbox_.end(), std::back_inserter(deliveries));
    inbox_.clear();
    return {};
  }
  void wake() override {}
  [[nodiscard]] std::size_t queued(int) const override { return 0; }
  [[nodiscard]] core::Time heard(int) const override { return core::Time{0}; }
  [[nodiscard]] core::Time ahead() const override { return clock_ahead; }
  core::Status finish(std::chrono::nanoseconds) override { return {}; }
  void flush(std::chrono::nanoseconds) override {}

  std::vector<std::pair<int, runtime::Envelope>> sent;
  core::Time clock_ahead{0};

 private:
  int self_;
  int processes_;
  std::vector<int> neighbours_;
  std::vector<runtime::Delivery> inbox_;
};

}  // namespace ripeline::testing_support
