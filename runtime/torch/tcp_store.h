// TcpStore: the store of the processes of several hosts: a c10d TCPStore, which rank 0 serves, or
// torchrun's agent.
//
// Anyone who can reach its port can read and change all that is in it, as with c10d itself: the
// network between the hosts must be trusted. A claim is a lease: its process increases a count
// beside it twice a second, in a thread of its own, and another process that does not see the count
// move for five seconds of its own clock finds the claim silent; pauses of the store, or of that
// process, do not count. A claim that is found is `unseen` until its count has moved once, so that
// a claim left by an earlier run is never taken for alive; claim() waits that long. At its end the
// process that serves the store waits, for two seconds at most, until the others have left: they
// may want to read why the run failed. Any other failure means that the store cannot be reached any
// more; it is then lost to this process, and the message says which server has ended.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/network/store.h"

namespace ripeline::runtime {

class TcpLine;
class Termination;

struct TcpStoreOptions {
  std::string host;  // the store's: a name or an address
  int port = 0;
  bool serves = false;       // whether this process serves the store
  bool is_of_agent = false;  // served by torchrun's agent, not by rank 0
  std::string prefix = {};   // in front of all keys: the store's other keys are not touched
  // How long a process that starts before the store waits for it.
  std::chrono::nanoseconds connect_limit = std::chrono::seconds(30);
  // How long the store may take to answer: c10d looks up the names of its clients one by one.
  std::chrono::nanoseconds answer_limit = std::chrono::seconds(30);
  // Borrowed: calls that wait for the store fail soon after the process is told to end. Null: they
  // do not.
  const Termination* termination = nullptr;
};

class TcpStore final : public network::Store {
 public:
  static constexpr std::chrono::seconds kSilence{5};

  static core::Status open(const TcpStoreOptions& options, std::unique_ptr<TcpStore>& store);
  ~TcpStore() override;  // ends its claims
  TcpStore(const TcpStore&) = delete;
  TcpStore& operator=(const TcpStore&) = delete;

  [[nodiscard]] std::string name() const override;
  core::Status set(const std::string& key, const Blob& value) override;
  core::Status set_if_absent(const std::string& key, const Blob& value, Blob& there) override;
  core::Status get(const std::string& key, std::optional<Blob>& value) override;
  void remove(const std::string& key) override;
  core::Status claim(const std::string& key, const Blob& value, Blob& there) override;
  void release(const std::string& key) override;
  [[nodiscard]] network::Claim claim_of(const std::string& key) override;
  void started() override;
  [[nodiscard]] int watch() override { return -1; }

 private:
  // This process's observations of another process's count.
  struct Sighting {
    std::string holder;
    std::string count;
    bool has_moved = false;
    std::chrono::steady_clock::time_point at{};        // the last look
    std::chrono::steady_clock::duration still_for{0};  // without a change, summed between looks
  };

  TcpStore(TcpStoreOptions options, std::unique_ptr<TcpLine> line);
  [[nodiscard]] std::string path_of(const std::string& key) const { return options_.prefix + key; }
  [[nodiscard]] std::string pulse_of(const std::string& holder) const;
  // Takes the key for `mine`; `there` is the stored value that the key had before.
  core::Status take(const std::string& key, const std::string& mine, std::string& there);
  network::Claim see(const std::string& key, const std::string& holder);
  void wait_for_guests();

  const TcpStoreOptions options_;
  const std::unique_ptr<TcpLine> line_;
  const std::string
      guest_;  // a key that is set while this process runs, unless it serves the store
  std::map<std::string, std::string> claims_;  // holders of this process's claims, by key
  std::map<std::string, Sighting> sightings_;  // by key
};

}  // namespace ripeline::runtime
