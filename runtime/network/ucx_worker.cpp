// The only source that includes UCX's headers. UCX's functions are C: no exception may cross them.
#include "runtime/network/ucx_worker.h"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace ripeline::runtime::network {

using core::Status;
using core::StatusCode;

namespace {

constexpr unsigned kMessageId = 0;
constexpr auto kClosingLimit = std::chrono::seconds(1);
constexpr int kMostProgress = 1000;

Status failure(const char* what, ucs_status_t status) {
  return {StatusCode::failed, std::string("UCX ") + what + ": " + ucs_status_string(status)};
}

// Reads UCX's settings; adds the runtime's where the user has set none, and disables keepalive.
ucs_status_t read_settings(ucp_config_t*& config) {
  // Without these variables UCX uses TCP even within a host, since over shared memory it could not
  // notice that a process is gone; only the environment can set them. With them UCX copies messages
  // through shared memory in pieces of 8 KiB, so that the death of a process harms no other.
  static std::once_flag once;
  std::call_once(once, [] {
    setenv("UCX_POSIX_ERROR_HANDLING", "y", 0);
    setenv("UCX_SYSV_ERROR_HANDLING", "y", 0);
    setenv("UCX_TCP_PUT_ENABLE", "n", 0);  // the reason is given below
  });
  const ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return status;
  // No keepalive is needed: the inner transport reports lost peers, and calls report UCX's errors.
  ucp_config_modify(config, "KEEPALIVE_INTERVAL", "inf");
  // UCX 1.13 ends the process if the other end of a TCP connection goes away while UCX sends over
  // that connection without a copy.
  if (std::getenv("UCX_ZCOPY_THRESH") == nullptr) ucp_config_modify(config, "ZCOPY_THRESH", "inf");
  if (std::getenv("UCX_LOG_LEVEL") == nullptr) ucp_config_modify(config, "LOG_LEVEL", "fatal");
  return UCS_OK;
}

// The parts in UCX's form: a single piece as a buffer, several as a list.
class Pieces {
 public:
  explicit Pieces(const std::vector<Bytes>& parts) {
    for (const Bytes& part : parts) {
      if (part.size > 0) list_.push_back({part.data, part.size});
    }
  }
  [[nodiscard]] void* buffer() {
    return list_.empty() ? nullptr : is_one() ? list_[0].buffer : list_.data();
  }
  [[nodiscard]] std::size_t count() const { return is_one() ? list_[0].length : list_.size(); }
  void describe(ucp_request_param_t& params) const {
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    params.datatype = is_one() || list_.empty() ? ucp_dt_make_contig(1) : ucp_dt_make_iov();
    params.memory_type = UCS_MEMORY_TYPE_HOST;
  }

 private:
  [[nodiscard]] bool is_one() const { return list_.size() == 1; }

  std::vector<ucp_dt_iov_t> list_;
};

}  // namespace

struct UcxWorker::Sending {
  UcxWorker* worker;
  int process;
  std::vector<std::byte> header;
  Payload payload;
  Pieces pieces;
  std::list<Sending>::iterator self;

  [[nodiscard]] std::size_t bytes() const { return header.size() + payload.size(); }
};

struct UcxWorker::Receiving {
  UcxWorker* worker;
  Arrival arrival;
  Pieces pieces;
  std::list<Receiving>::iterator self;
};

struct UcxWorker::Callbacks {
  static void sent(void* request, ucs_status_t /*status*/, void* data) {
    auto& sending = *static_cast<Sending*>(data);
    ucp_request_free(request);
    sending.worker->peer(sending.process).bytes -= sending.bytes();
    sending.worker->sendings_.erase(sending.self);
  }

  static ucs_status_t begins(void* arg, const void* header, std::size_t header_bytes, void* data,
                             std::size_t bytes, const ucp_am_recv_param_t* about) {
    auto& worker = *static_cast<UcxWorker*>(arg);
    const bool at_sender = (about->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    auto arrival = worker.receiver_.begins({static_cast<const std::byte*>(header), header_bytes},
                                           bytes, at_sender);
    if (!arrival) return UCS_OK;  // UCX tells a sender that waits
    if (at_sender) return fetch(worker, std::move(*arrival), data);
    const auto* from = static_cast<const std::byte*>(data);
    for (const Bytes& part : arrival->frame.payload.parts) {
      if (part.size > 0) std::memcpy(part.data, from, part.size);
      from += part.size;
    }
    worker.receiver_.came(std::move(*arrival));
    return UCS_OK;
  }

  static ucs_status_t fetch(UcxWorker& worker, Arrival arrival, void* data) {
    Pieces pieces(arrival.frame.payload.parts);
    Receiving& receiving = worker.receivings_.emplace_back(
        Receiving{&worker, std::move(arrival), std::move(pieces), {}});
    receiving.self = std::prev(worker.receivings_.end());
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.cb.recv_am = &fetched;
    params.user_data = &receiving;
    receiving.pieces.describe(params);
    const ucs_status_ptr_t request = ucp_am_recv_data_nbx(
        worker.worker_, data, receiving.pieces.buffer(), receiving.pieces.count(), &params);
    // The data may have been fetched and the request freed, so only the pointer itself is examined.
    if (request == nullptr) {
      finish(receiving, UCS_OK);
    } else if (UCS_PTR_IS_ERR(request)) {
      finish(receiving, UCS_PTR_STATUS(request));
    }
    return UCS_INPROGRESS;
  }

  static void fetched(void* request, ucs_status_t status, std::size_t /*bytes*/, void* data) {
    ucp_request_free(request);
    finish(*static_cast<Receiving*>(data), status);
  }

  static void finish(Receiving& receiving, ucs_status_t status) {
    UcxWorker& worker = *receiving.worker;
    Arrival arrival = std::move(receiving.arrival);
    worker.receivings_.erase(receiving.self);
    if (status == UCS_OK) {
      worker.receiver_.came(std::move(arrival));
    } else if (worker.peer(arrival.from).endpoint != nullptr) {
      worker.receiver_.broke(arrival.from, ucs_status_string(status));
    }
  }

  static void broke(void* arg, ucp_ep_h endpoint, ucs_status_t status) {
    auto& worker = *static_cast<UcxWorker*>(arg);
    for (std::size_t process = 0; process < worker.peers_.size(); ++process) {
      if (worker.peers_[process].endpoint != endpoint) continue;
      worker.receiver_.broke(static_cast<int>(process), ucs_status_string(status));
    }
  }

  // Called at the end of a flush or a close; decrements the count of those in progress.
  static void done(void* request, ucs_status_t /*status*/, void* count) {
    ucp_request_free(request);
    --*static_cast<int*>(count);
  }
  static ucp_request_param_t counted(int& count) {
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.cb.send = &done;
    params.user_data = &count;
    return params;
  }
};

UcxWorker::UcxWorker(int processes, Receiver& receiver)
    : receiver_(receiver), peers_(static_cast<std::size_t>(processes)) {}

Status UcxWorker::open(int processes, Receiver& receiver, std::unique_ptr<UcxWorker>& worker) {
  std::unique_ptr<UcxWorker> result(new UcxWorker(processes, receiver));
  Status status = result->start();
  if (status.ok()) worker = std::move(result);
  return status;
}

Status UcxWorker::start() {
  ucp_config_t* config = nullptr;
  ucs_status_t status = read_settings(config);
  if (status != UCS_OK) return failure("cannot read its settings", status);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  status = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  if (status != UCS_OK) return failure("cannot start", status);

  ucp_worker_params_t worker_params{};
  worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker_params.thread_mode = UCS_THREAD_MODE_SINGLE;
  status = ucp_worker_create(context_, &worker_params, &worker_);
  if (status != UCS_OK) return failure("cannot open its transports", status);
  status = ucp_worker_get_efd(worker_, &descriptor_);
  if (status != UCS_OK) return failure("has no descriptor to wait for", status);

  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  status = ucp_worker_query(worker_, &attributes);
  if (status != UCS_OK) return failure("does not say what it can do", status);
  if (attributes.max_am_header < kLargestHeader) {
    return {StatusCode::refused, "UCX takes headers of at most " +
                                     std::to_string(attributes.max_am_header) + " bytes; " +
                                     std::to_string(kLargestHeader) + " are needed"};
  }
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kMessageId;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = &Callbacks::begins;
  handler.arg = this;
  status = ucp_worker_set_am_recv_handler(worker_, &handler);
  return status == UCS_OK ? Status() : failure("takes no messages", status);
}

UcxWorker::~UcxWorker() {
  if (worker_ != nullptr) {
    for (int process = 0; process < static_cast<int>(peers_.size()); ++process) close(process);
    const auto limit = std::chrono::steady_clock::now() + kClosingLimit;
    while (closings_ > 0 && std::chrono::steady_clock::now() < limit) progress();
    ucp_worker_destroy(worker_);
  }
  if (context_ != nullptr) ucp_cleanup(context_);
}

std::vector<std::byte> UcxWorker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  if (ucp_worker_get_address(worker_, &address, &bytes) != UCS_OK) return {};
  const auto* begin = reinterpret_cast<const std::byte*>(address);
  std::vector<std::byte> result(begin, begin + bytes);
  ucp_worker_release_address(worker_, address);
  return result;
}

void UcxWorker::connect(int process, std::span<const std::byte> address) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {&Callbacks::broke, this};
  const ucs_status_t status = ucp_ep_create(worker_, &params, &peer(process).endpoint);
  if (status == UCS_OK) return;
  peer(process).endpoint = nullptr;
  receiver_.broke(process, ucs_status_string(status));
}

void UcxWorker::send(int process, std::vector<std::byte> header, Payload payload) {
  Peer& to = peer(process);
  if (to.endpoint == nullptr) return;
  Pieces pieces(payload.parts);
  Sending& sending = sendings_.emplace_back(
      Sending{this, process, std::move(header), std::move(payload), std::move(pieces), {}});
  sending.self = std::prev(sendings_.end());
  to.bytes += sending.bytes();
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = &Callbacks::sent;
  params.user_data = &sending;
  sending.pieces.describe(params);
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(to.endpoint, kMessageId, sending.header.data(), sending.header.size(),
                      sending.pieces.buffer(), sending.pieces.count(), &params);
  if (request != nullptr && !UCS_PTR_IS_ERR(request)) return;
  to.bytes -= sending.bytes();
  sendings_.erase(sending.self);
  if (request != nullptr) receiver_.broke(process, ucs_status_string(UCS_PTR_STATUS(request)));
}

void UcxWorker::flush(int process) {
  Peer& to = peer(process);
  if (to.endpoint == nullptr) return;
  const ucp_request_param_t params = Callbacks::counted(to.flushes);
  const ucs_status_ptr_t request = ucp_ep_flush_nbx(to.endpoint, &params);
  if (request != nullptr && !UCS_PTR_IS_ERR(request)) ++to.flushes;
}

void UcxWorker::close(int process) {
  ucp_ep* const endpoint = std::exchange(peer(process).endpoint, nullptr);
  if (endpoint == nullptr) return;
  ucp_request_param_t params = Callbacks::counted(closings_);
  params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  const ucs_status_ptr_t request = ucp_ep_close_nbx(endpoint, &params);
  if (request != nullptr && !UCS_PTR_IS_ERR(request)) ++closings_;
}

void UcxWorker::progress() {
  for (int i = 0; i < kMostProgress && ucp_worker_progress(worker_) != 0; ++i) {
  }
}

bool UcxWorker::arm() { return ucp_worker_arm(worker_) != UCS_ERR_BUSY; }

}  // namespace ripeline::runtime::network
