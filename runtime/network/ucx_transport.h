// UcxTransport: data over UCX, all else over an inner transport. Private to network/ucx.
//
// While processes connect, they send the signal Connect over the inner transport. With it they send
// to each neighbour an address, and the token that messages from that neighbour must carry; along
// the tree, that ranks are connected; on failure, to each neighbour, who cannot connect, and why.
//
// All calls but wake() come from one thread.
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
  UcxTransport(const UcxOptions& options, std::unique_ptr<Transport> inner, BufferPool* pool);
  ~UcxTransport() override;

  // Must be called once, before anything else.
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
  enum class ConnectKind : std::int32_t { address, ready, refusal };
  struct Peer {
    std::uint64_t token_in = 0;  // in messages from the peer
    std::uint64_t token_out = 0;
    bool has_address = false;
    bool came = false;    // a message has arrived over UCX
    core::Time heard{0};  // the time of the last of these
    // Set when the peer is gone; reported once all that the peer sent has arrived.
    std::optional<Delivery> loss;
    core::Time report_loss_at{0};
    bool is_loss_reported = false;
    // Why UCX failed. Until broken_until the inner transport may report a better reason.
    std::string broken;
    core::Time broken_until{0};
  };

  std::optional<UcxWorker::Arrival> begins(std::span<const std::byte> header, std::size_t bytes,
                                           bool at_sender) override;
  void came(UcxWorker::Arrival&& arrival) override;
  void broke(int process, const std::string& how) override;

  core::Status open();
  core::Status meet();
  // Sends a Connect over the inner transport; `code` is the status code of a refusal.
  void send_connect(int to, ConnectKind kind, Payload payload = {},
                    core::StatusCode code = core::StatusCode::ok);
  void receive_connect(int from, const signals::Connect& connect, Payload payload);
  void call(int process, const Blob& text);
  // A neighbour that has not been reached; -1 if there is none.
  [[nodiscard]] int first_missing() const;
  template <class Condition>
  core::Status look_until(core::Time limit, const Condition& done);

  // Moves the bytes that can move now; first waits up to `wait` if there is nothing to move.
  core::Status look(std::chrono::nanoseconds wait);
  core::Status look_until(core::Time limit);
  void take(Delivery&& delivery);
  // Adds buffers for the parts of a message to its frame, which is complete but for the parts.
  core::Status make_room(std::span<const std::byte> sizes, std::size_t bytes, Frame& frame);
  void send_frame(int to, Frame frame);

  void lose(int process, const std::string& how);
  void report_losses();
  [[nodiscard]] core::Time next_loss() const;
  // A neighbour to which some messages have not been sent completely; -1 if there is none.
  [[nodiscard]] int first_sending() const;
  [[nodiscard]] bool is_breaking(const Peer& peer) const;
  [[nodiscard]] const Peer& peer(int process) const {
    return peers_[static_cast<std::size_t>(process)];
  }
  [[nodiscard]] Peer& peer(int process) { return peers_[static_cast<std::size_t>(process)]; }

  UcxOptions options_;
  std::unique_ptr<Transport> inner_;
  HostBufferPool own_pool_;
  BufferPool& pool_;
  std::vector<int> neighbours_;
  std::vector<Peer> peers_;  // by process
  std::unique_ptr<UcxWorker> worker_;
  std::vector<Delivery> inbox_;
  std::vector<Delivery> from_inner_;
  Readiness readiness_;
  core::Status failure_;  // the first failure while it connects
  bool is_connected_ = false;
  Looks looks_;
  bool goodbye_ = false;  // this process has said goodbye
  bool finished_ = false;
  std::atomic<bool> woken_ = false;
};

}  // namespace ripeline::runtime::network
