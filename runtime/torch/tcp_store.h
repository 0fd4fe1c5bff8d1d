// TcpStore: the store of the processes of several hosts. It is a c10d TCPStore, which rank 0 or
// torchrun's agent serves.
//
// Anyone who can reach the store's port can read and change all its contents, as with c10d itself,
// so the network between the hosts must be trusted. A claim is a lease. Its holder increases a
// count beside the claim twice a second, in a thread of its own. The claim is silent for a process
// that does not see the count change for five seconds of its own clock; pauses of the store, or of
// that process, do not count. A claim is `unseen` until its count has been seen to change once, so
// a claim of an earlier run is never taken for alive; claim() waits that long. At its end the
// process that serves the store waits, for two seconds at most, until the others have left, since
// they may want to read why the run failed. Failures other than a refused claim mean that the store
// cannot be reached any more. It is then lost to this process; the message names the ended server.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/network/store.h"

namespace ripeline::runtime {

class TcpStoreClient;
class Termination;

struct TcpStoreOptions {
  std::string host;  // the store's name or address
  int port = 0;
  bool serves = false;       // whether this process serves the store
  bool is_of_agent = false;  // served by torchrun's agent, not by rank 0
  std::string prefix = {};   // in front of all keys; other keys are not touched
  // How long a process waits for the store, if the process starts before the store.
  std::chrono::nanoseconds connect_limit = std::chrono::seconds(30);
  // How long the store may take to answer: c10d resolves the names of its clients one by one.
  std::chrono::nanoseconds answer_limit = std::chrono::seconds(30);
  // Borrowed. If this is not null, calls that wait for the store fail soon after the process is
  // told to end.
  const Termination* termination = nullptr;
};

class TcpStore final : public network::Store {
 public:
  static constexpr std::chrono::seconds kSilence{5};

  static core::Status open(const TcpStoreOptions& options, std::unique_ptr<TcpStore>& store);
  ~TcpStore() override;  // ends this process's claims
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
    std::chrono::steady_clock::time_point at{};        // when the count was last read
    std::chrono::steady_clock::duration still_for{0};  // without a change, summed between reads
  };

  TcpStore(TcpStoreOptions options, std::unique_ptr<TcpStoreClient> client);
  [[nodiscard]] std::string path_of(const std::string& key) const { return options_.prefix + key; }
  [[nodiscard]] std::string pulse_of(const std::string& holder) const;
  // Takes the key for `mine`; `there` becomes the stored value that the key had before.
  core::Status take(const std::string& key, const std::string& mine, std::string& there);
  network::Claim see(const std::string& key, const std::string& holder);
  void wait_for_guests();

  const TcpStoreOptions options_;
  const std::unique_ptr<TcpStoreClient> client_;
  const std::string
      guest_;  // a key of this process, which is set while it runs unless it serves the store
  std::map<std::string, std::string> claims_;  // holders of this process's claims, by key
  std::map<std::string, Sighting> sightings_;  // by key
};

}  // namespace ripeline::runtime
