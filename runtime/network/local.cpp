// The ranks of a group share one mutex: they are few, and a message only moves its payload.
#include "runtime/network/local.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/duration.h"
#include "runtime/network/peers.h"

namespace ripeline::runtime::network {
namespace {

using core::Status;
using core::StatusCode;

core::Time now() { return std::chrono::steady_clock::now().time_since_epoch(); }

struct Group {
  struct Rank {
    std::condition_variable changed;  // notified of every change for this rank
    std::vector<Delivery> inbox;
    bool woken = false;
    bool finished = false;
    bool gone = false;  // destroyed
  };
  explicit Group(int n) : ranks(static_cast<std::size_t>(n)) {}

  std::mutex mutex;
  // Guarded by the mutex.
  std::vector<Rank> ranks;
};

class LocalTransport final : public Transport {
 public:
  LocalTransport(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {
    for (int other = 0; other < processes(); ++other) {
      if (other != rank) neighbours_.push_back(other);
    }
  }
  ~LocalTransport() override {
    const std::lock_guard lock(group_->mutex);
    of(rank_).gone = true;
    of(rank_).inbox.clear();
    if (!of(rank_).finished) {
      const Delivery lost = loss_of(rank_, "it ended without a word", now());
      for (Group::Rank& rank : group_->ranks) rank.inbox.push_back(lost);
    }
    for (Group::Rank& rank : group_->ranks) rank.changed.notify_one();  // each rank has one thread
  }

  int self() const override { return rank_; }
  int processes() const override { return static_cast<int>(group_->ranks.size()); }
  const std::vector<int>& neighbours() const override { return neighbours_; }

  Status send(int to, const Envelope& envelope, Payload payload) override {
    if (Status s = check_receiver(*this, to); !s.ok()) return s;
    {
      const std::lock_guard lock(group_->mutex);
      if (of(to).gone) return {};
      of(to).inbox.push_back({rank_, envelope, std::move(payload), now()});
    }  // unlocked first, or the woken rank would only wait for the lock
    of(to).changed.notify_one();
    return {};
  }

  Status poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) override {
    std::unique_lock lock(group_->mutex);
    Group::Rank& self = of(rank_);
    const auto has_news = [&] { return !self.inbox.empty() || self.woken; };
    if (wait.count() > 0) self.changed.wait_for(lock, wait, has_news);
    self.woken = false;
    std::move(self.inbox.begin(), self.inbox.end(), std::back_inserter(deliveries));
    self.inbox.clear();
    return {};
  }

  void wake() override {
    const std::lock_guard lock(group_->mutex);
    of(rank_).woken = true;
    of(rank_).changed.notify_one();
  }

  std::size_t queued(int /*to*/) const override { return 0; }
  // The rank is a thread of this process, so it is as alive as the caller.
  core::Time heard(int /*from*/) const override { return now(); }
  core::Time ahead() const override { return core::Time{0}; }

  Status finish(std::chrono::nanoseconds limit) override {
    std::unique_lock lock(group_->mutex);
    of(rank_).finished = true;
    for (Group::Rank& rank : group_->ranks) rank.changed.notify_one();
    const auto missing = [this] {
      std::string ranks;
      for (int rank = 0; rank < processes(); ++rank) {
        if (of(rank).finished) continue;
        ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
      }
      return ranks;
    };
    const auto is_over = [&] {
      return missing().empty() ||
             std::any_of(group_->ranks.begin(), group_->ranks.end(),
                         [](const Group::Rank& r) { return r.gone && !r.finished; });
    };
    const Group::Rank& self = of(rank_);
    of(rank_).changed.wait_for(lock, limit,
                               [&] { return is_over() || !self.inbox.empty() || self.woken; });
    if (missing().empty()) return {};
    for (int rank = 0; rank < processes(); ++rank) {
      if (of(rank).gone && !of(rank).finished) {
        return {StatusCode::lost,
                "rank " + std::to_string(rank) + " was lost (it ended without a word)"};
      }
    }
    return {StatusCode::timeout, "rank " + missing() + " has not finished"};
  }

  void flush(std::chrono::nanoseconds /*limit*/) override {}

 private:
  Group::Rank& of(int rank) { return group_->ranks[static_cast<std::size_t>(rank)]; }

  std::shared_ptr<Group> group_;
  int rank_;
  std::vector<int> neighbours_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_local_group(int ranks) {
  const auto group = std::make_shared<Group>(ranks);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < ranks; ++rank) {
    transports.push_back(std::make_unique<LocalTransport>(group, rank));
  }
  return transports;
}

}  // namespace ripeline::runtime::network
