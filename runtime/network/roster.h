// Roster: which ranks of a run are present while the run starts, by the run's store. Private to
// network/socket.
//
// A rank joins by claiming its entry, which describes what the rank runs. Rank 0's entry also holds
// the run's token, which rank 0 draws; all other entries must agree with rank 0's. The store keeps
// the first failure of any rank, and every rank fails with that failure. One thread.
//
// | key | |
// |---|---|
// | `rank-N` | the entry of rank N, which that rank claims |
// | `address-N` | the address at which rank N listens |
// | `socket-N` | the socket of rank N |
// | `failure` | why the run does not start |
// | `ended-N` | how the process of rank N ended, if the process that started it reports that |
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

  // Claims the rank; fails if another process has claimed it.
  core::Status join();
  core::Status listens_at(const std::string& address);

  // Reads the store again. Fails if the run has failed or an awaited rank is lost, and reports that
  // to all ranks. `awaited` are the ranks whose end no connection of this rank would show.
  core::Status look(const std::vector<int>& awaited);
  // The run's token; nullopt until this rank has seen rank 0.
  [[nodiscard]] std::optional<std::uint64_t> token() const { return token_; }
  // The address of `rank`, if that rank is alive; empty if it is not known yet.
  core::Status address_of(int rank, std::string& address);

  // Reports to all ranks that the run cannot start. Returns the reason in the store, which may be
  // an earlier failure of another rank.
  core::Status fail(core::Status why);
  // Does the same for ranks that did not connect in `limit`; `why` is the cause, empty if unknown.
  core::Status fail_late(const std::vector<int>& ranks, std::chrono::nanoseconds limit,
                         const std::string& why);

  // To be called once all ranks are connected.
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
  // The difference between this rank's entry and that of rank 0; empty if there is none.
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
