// Roster: which ranks of a run are there while they start, as its store says. Private to
// network/socket.
//
// A rank joins by claiming its entry, which says what it runs; that of rank 0 has the run's token,
// which it draws, and is what all others must agree with. The first failure of all is kept in the
// store: every rank fails with that one. One thread.
//
// | key | |
// |---|---|
// | `rank-N` | claimed by rank N: its entry |
// | `address-N` | where rank N listens |
// | `socket-N` | its socket |
// | `failure` | why the run does not start |
// | `ended-N` | how the process of rank N has ended, if who started it says so |
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "runtime/network/socket.h"
#include "runtime/network/store.h"

namespace ripeline::runtime::network {

class Roster {
 public:
  Roster(std::shared_ptr<Store> store, SocketOptions options);
  ~Roster();
  Roster(const Roster&) = delete;
  Roster& operator=(const Roster&) = delete;

  // Claims the rank, unless another process has it.
  core::Status join();
  core::Status listens_at(const std::string& address);

  // Asks the store again: why the run has failed, by then told to all; `awaited` are the ranks
  // whose end no connection will tell.
  core::Status look(const std::vector<int>& awaited);
  // The run's token; none before rank 0 is there.
  [[nodiscard]] std::optional<std::uint64_t> token() const { return token_; }
  // Where a rank listens that is alive; empty: nowhere yet.
  core::Status address_of(int rank, std::string& address);

  // Tells all that the run cannot start; returns why that is, which may be what failed first
  // elsewhere.
  core::Status fail(core::Status why);
  // The same for ranks that did not connect in time; `why`, if it is not empty, is known of them.
  core::Status fail_late(const std::vector<int>& ranks, std::chrono::nanoseconds limit,
                         const std::string& why);

  // All ranks are connected.
  void started() {
    started_ = true;
    store_->started();
  }
  [[nodiscard]] int watch() { return store_->watch(); }

 private:
  struct Entry;
  void forget_old_failure(bool has_been_here);
  // The state of another rank, as far as it is known.
  struct Member {
    bool seen_alive = false;
    std::optional<std::chrono::steady_clock::time_point> dead_since;
  };

  [[nodiscard]] Entry own_entry() const;
  core::Status read_entry(int rank, std::optional<Entry>& entry);
  core::Status meet_first();
  core::Status check_alive(int rank);
  core::Status check_started(int rank);
  // Empty, or how this rank's entry differs from that of rank 0.
  [[nodiscard]] std::string difference(const Entry& mine, const Entry& first) const;
  [[nodiscard]] bool anybody_left();

  std::shared_ptr<Store> store_;
  SocketOptions options_;
  std::vector<Member> members_;
  std::optional<std::uint64_t> token_;
  bool joined_ = false;
  bool started_ = false;
};

}  // namespace ripeline::runtime::network
