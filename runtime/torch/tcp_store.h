// TcpStore: the store of the processes of several hosts: a c10d TCPStore, which rank 0 serves, or
// torchrun's agent.
//
// Who can reach its port can read and change all that is in it, as with c10d itself: the network
// between the hosts must be trusted. A claim is a lease: its process counts up beside it twice a
// second, in a thread of its own, and a process that does not see the count move for five seconds
// of its own clock finds the claim silent; a pause of the store, or of this process, is not
// counted. A claim that is found is `unseen` until its count has moved once, so that what is left
// of an earlier run is never taken for alive; claim() waits that long. The process that serves the
// store waits at its end, two seconds at most, until the others have left: they may want to read
// why the run failed. Any other failure is that the store cannot be reached any more, which is the
// end of it for this process; the message says whose end that is.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/store.h"

namespace ripeline::runtime {

class TcpLine;
class Termination;

struct TcpStoreOptions {
  std::string host;  // where it is: a name or an address
  int port = 0;
  bool serves = false;       // this process does
  bool is_of_agent = false;  // served by torchrun's agent, not by rank 0
  std::string prefix = {};   // in front of all keys: what else is in the store is not touched
  // How long whoever comes before the store waits for it.
  std::chrono::nanoseconds connect_limit = std::chrono::seconds(30);
  // How long it may take to answer: c10d looks up the name of whoever connects, one after another.
  std::chrono::nanoseconds answer_limit = std::chrono::seconds(30);
  // Borrowed: what waits for the store fails soon when the process is told to end. Null: nothing
  // does.
  const Termination* termination = nullptr;
};

class TcpStore final : public Store {
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
  [[nodiscard]] Claim claim_of(const std::string& key) override;
  void started() override;
  [[nodiscard]] int watch() override { return -1; }

 private:
  // The observations of another process's count.
  struct Sighting {
    std::string holder;
    std::string count;
    bool has_moved = false;
    std::chrono::steady_clock::time_point at{};        // the last look
    std::chrono::steady_clock::duration still_for{0};  // between looks
  };

  TcpStore(TcpStoreOptions options, std::unique_ptr<TcpLine> line);
  [[nodiscard]] std::string path_of(const std::string& key) const { return options_.prefix + key; }
  [[nodiscard]] std::string pulse_of(const std::string& holder) const;
  // Also what was `there` before, as it is stored.
  core::Status take(const std::string& key, const std::string& mine, std::string& there);
  Claim see(const std::string& key, const std::string& holder);
  void wait_for_guests();

  const TcpStoreOptions options_;
  const std::unique_ptr<TcpLine> line_;
  const std::string
      guest_;  // a key that is there while this process is, unless it serves the store
  std::map<std::string, std::string> claims_;  // own ones: who holds them
  std::map<std::string, Sighting> sightings_;  // by key
};

}  // namespace ripeline::runtime
