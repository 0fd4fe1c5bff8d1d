// The ranks of a group share one mutex: they are few, and a message is a move of its payload.
#include "runtime/transport/local.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/duration.h"

#include "runtime/transport/frame.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

struct Group {
  struct Rank {
    std::condition_variable changed;  // what concerns this rank
    std::deque<Delivery> inbox;
    std::map<std::int64_t, Payload>
        gathers;  // by the number of the call; dropped when all have read it
    bool finished = false;
    bool gone = false;  // finished, abandoned or destroyed
    Status why;         // of abandon
  };
  explicit Group(int n) : ranks(static_cast<std::size_t>(n)) {}

  void notify_all() {
    for (Rank& rank : ranks) rank.changed.notify_one();  // its one thread
  }

  std::mutex mutex;
  // Guarded by the mutex.
  std::vector<Rank> ranks;
  std::map<std::int64_t, int> readers;  // of each call of all_gather: ranks that have read it
};

class LocalTransport final : public Transport {
 public:
  LocalTransport(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}
  ~LocalTransport() override {
    const std::lock_guard lock(group_->mutex);
    self().gone = true;
    group_->notify_all();
  }

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(group_->ranks.size()); }

  Status send(int to_rank, const Envelope& envelope, Payload payload) override {
    std::unique_lock lock(group_->mutex);
    if (!failure_.ok()) return failure_;
    if (to_rank < 0 || to_rank >= ranks() || to_rank == rank_) {
      return {StatusCode::invalid,
              "rank " + std::to_string(rank_) + " cannot send to rank " + std::to_string(to_rank)};
    }
    const core::Time now = std::chrono::steady_clock::now().time_since_epoch();
    of(to_rank).inbox.push_back({envelope, std::move(payload), now});
    lock.unlock();  // the woken rank would only wait for it
    of(to_rank).changed.notify_one();
    return {};
  }

  Status poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) override {
    std::unique_lock lock(group_->mutex);
    if (!failure_.ok()) return failure_;
    const auto has_news = [this] { return !self().inbox.empty() || someone_is_lost(); };
    if (wait.count() > 0) self().changed.wait_for(lock, wait, has_news);
    if (self().inbox.empty()) return failure_ = loss();
    std::move(self().inbox.begin(), self().inbox.end(), std::back_inserter(deliveries));
    self().inbox.clear();
    return {};
  }

  Status all_gather(const Payload& mine, std::chrono::nanoseconds limit,
                    std::vector<Payload>& all) override {
    std::unique_lock lock(group_->mutex);
    if (!failure_.ok()) return failure_;
    const std::int64_t call = calls_++;
    self().gathers[call] = mine;
    group_->notify_all();
    const auto is_complete = [&] {
      return std::all_of(group_->ranks.begin(), group_->ranks.end(),
                         [call](const Group::Rank& r) { return r.gathers.contains(call); });
    };
    self().changed.wait_for(lock, limit, [&] { return is_complete() || someone_is_lost(); });
    if (!is_complete()) {
      failure_ = loss();
      if (failure_.ok())
        failure_ =
            silence(limit, [call](const Group::Rank& r) { return r.gathers.contains(call); });
      return failure_;
    }
    all.clear();
    for (const Group::Rank& rank : group_->ranks) all.push_back(rank.gathers.at(call));
    if (++group_->readers[call] == ranks()) {
      for (Group::Rank& rank : group_->ranks) rank.gathers.erase(call);
      group_->readers.erase(call);
    }
    return {};
  }

  Status finish(std::chrono::nanoseconds limit) override {
    std::unique_lock lock(group_->mutex);
    if (!failure_.ok()) return failure_;
    self().finished = true;
    group_->notify_all();
    const auto all_finished = [this] {
      return std::all_of(group_->ranks.begin(), group_->ranks.end(),
                         [](const Group::Rank& r) { return r.finished; });
    };
    self().changed.wait_for(lock, limit, [&] { return all_finished() || someone_is_lost(); });
    if (all_finished()) return {};
    failure_ = loss();
    if (failure_.ok()) failure_ = silence(limit, [](const Group::Rank& r) { return r.finished; });
    return failure_;
  }

  void abandon(const Status& why) override {
    const std::lock_guard lock(group_->mutex);
    if (self().gone) return;
    if (failure_.ok()) failure_ = why;
    self().why = why;
    self().gone = true;
    group_->notify_all();
  }

 private:
  // All below: with the mutex held.
  Group::Rank& of(int rank) { return group_->ranks[static_cast<std::size_t>(rank)]; }
  Group::Rank& self() { return of(rank_); }

  bool is_lost(int rank) { return rank != rank_ && of(rank).gone && !of(rank).finished; }
  bool someone_is_lost() {
    for (int rank = 0; rank < ranks(); ++rank) {
      if (is_lost(rank)) return true;
    }
    return false;
  }

  // Who was lost; a rank that said why comes after one that did not, since it is only the
  // messenger.
  Status loss() {
    Status told;
    for (int rank = 0; rank < ranks(); ++rank) {
      if (!is_lost(rank)) continue;
      if (of(rank).why.ok()) {
        return {StatusCode::lost,
                "rank " + std::to_string(rank) + " was lost (it ended without a word)"};
      }
      if (told.ok()) {
        told = told_status(rank, of(rank).why);
      }
    }
    return told;
  }

  template <class Came>
  Status silence(std::chrono::nanoseconds limit, const Came& came) {
    std::string missing;
    for (int rank = 0; rank < ranks(); ++rank) {
      if (!came(of(rank))) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    }
    return {StatusCode::timeout, "rank " + std::to_string(rank_) + " waited " +
                                     seconds_text(limit) + " for rank " + missing};
  }

  std::shared_ptr<Group> group_;
  int rank_;
  std::int64_t calls_ = 0;
  Status failure_;
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

}  // namespace ripeline::runtime
