// UcxTransport: data over UCX, all else over another transport. Private to network/ucx.
//
// While they connect, processes tell each other over the transport inside, by the signal Connect:
// to each neighbour an address with the token that messages to it carry; along the tree who is
// connected; or to each neighbour why this process, or another one, is not.
//
// One thread, but for wake().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/network/peers.h"
#include "runtime/network/readiness.h"
#include "runtime/network/ucx.h"
#include "runtime/network/ucx_worker.h"

namespace ripeline::runtime::network {

class UcxTransport final : public Transport, private UcxWorker::Receiver {
 public:
  UcxTransport(const UcxOptions& options, std::unique_ptr<Transport> inner, Place* place);
  ~UcxTransport() override;

  // Once, before anything else.
  core::Status connect();

  [[nodiscard]] int self() const override { return inner_->self(); }
  [[nodiscard]] int processes() const override { return inner_->processes(); }
  [[nodiscard]] const std::vector<int>& neighbours() const override { return neighbours_; }
  core::Status send(int to, const Envelope& envelope, Payload payload) override;
  core::Status poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) override;
  void wake() override;
  [[nodiscard]] std::size_t queued(int to) const override;
  [[nodiscard]] core::Time heard(int from) const override;
  [[nodiscard]] core::Time ahead() const override { return inner_->ahead(); }
  core::Status finish(std::chrono::nanoseconds limit) override;
  void flush(std::chrono::nanoseconds limit) override { inner_->flush(limit); }

 private:
  enum class Word : std::int32_t { address, ready, refusal };
  struct Peer {
    std::uint64_t token_in = 0;  // in messages that come from it
    std::uint64_t token_out = 0;
    bool has_address = false;
    bool came = false;    // a message over UCX has
    core::Time heard{0};  // over UCX
    // Gone, and why; told when what it has sent is here.
    std::optional<Delivery> loss;
    core::Time told_at{0};
    bool told = false;
    // UCX has failed with it; whoever is gone is named by the transport inside, if it is in time.
    std::string broken;
    core::Time broken_until{0};
  };

  std::optional<UcxWorker::Arrival> begins(std::span<const std::byte> header, std::size_t bytes,
                                           bool at_sender) override;
  void came(UcxWorker::Arrival&& arrival) override;
  void broke(int process, const std::string& how) override;

  core::Status open();
  core::Status meet();
  // Sends a word about UCX over the transport inside; `code` is a refusal's.
  void say(int to, Word word, Payload payload = {}, core::StatusCode code = core::StatusCode::ok);
  void hear(int from, const signals::Connect& said, Payload payload);
  void call(int process, const Blob& text);
  // A neighbour that has not been reached; -1: none.
  [[nodiscard]] int first_missing() const;
  template <class Condition>
  core::Status look_until(core::Time limit, const Condition& done);

  // Moves what can be moved; waits first, if nothing is there.
  core::Status look(std::chrono::nanoseconds wait);
  core::Status look_until(core::Time limit);
  void take(Delivery&& delivery);
  // Room for the parts of a message, whose frame is whole but for them.
  core::Status make_room(std::span<const std::byte> sizes, std::size_t bytes, Frame& frame);
  void send_frame(int to, Frame frame);

  void lose(int process, const std::string& how);
  void tell_losses();
  [[nodiscard]] core::Time next_loss() const;
  // A process that has not taken all that was sent to it; -1: none.
  [[nodiscard]] int first_sending() const;
  [[nodiscard]] bool is_breaking(const Peer& peer) const;
  [[nodiscard]] const Peer& peer(int process) const {
    return peers_[static_cast<std::size_t>(process)];
  }
  [[nodiscard]] Peer& peer(int process) { return peers_[static_cast<std::size_t>(process)]; }

  UcxOptions options_;
  std::unique_ptr<Transport> inner_;
  HostPlace own_place_;
  Place& place_;
  std::vector<int> neighbours_;
  std::vector<Peer> peers_;  // by process
  std::unique_ptr<UcxWorker> worker_;
  std::vector<Delivery> inbox_;
  std::vector<Delivery> from_inner_;
  Readiness readiness_;
  core::Status failure_;  // while it connects
  bool is_connected_ = false;
  Looks looks_;
  bool goodbye_ = false;  // said
  bool finished_ = false;
  std::atomic<bool> woken_ = false;
};

}  // namespace ripeline::runtime::network
