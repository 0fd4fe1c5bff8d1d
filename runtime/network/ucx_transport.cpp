#include "runtime/network/ucx_transport.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <thread>
#include <tuple>
#include <utility>

#include "runtime/duration.h"
#include "runtime/termination.h"

namespace ripeline::runtime::network {

using core::Status;
using core::StatusCode;
using core::Time;

namespace {

// After a peer's loss, or its last message, other messages from it may arrive for this long, since
// they are still in the memory or the kernel of this host.
constexpr auto kQuiet = std::chrono::milliseconds(20);
// How long the inner transport may take to report how a process has ended.
constexpr auto kBroken = std::chrono::seconds(2);
// The interval between two checks, while connecting, whether the process is told to end.
constexpr auto kHeed = std::chrono::milliseconds(100);
// How long to wait for peers that fetch from this process's memory, which is reused afterwards.
constexpr auto kLastMoments = std::chrono::milliseconds(100);
constexpr std::size_t kTokenBytes = sizeof(std::uint64_t);

Time now() { return std::chrono::steady_clock::now().time_since_epoch(); }

std::uint64_t draw_token() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

void append(std::vector<std::byte>& to, const void* data, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  to.insert(to.end(), begin, begin + bytes);
}

std::uint64_t token_of(std::span<const std::byte> bytes) {
  std::uint64_t token = 0;
  std::memcpy(&token, bytes.data(), sizeof token);
  return token;
}

std::string text_of(const Blob& bytes) {
  std::string text(bytes.size(), '\0');
  std::memcpy(text.data(), bytes.data(), bytes.size());
  return text;
}

}  // namespace

UcxTransport::UcxTransport(const UcxOptions& options, std::unique_ptr<Transport> inner,
                           BufferPool* pool)
    : options_(options),
      inner_(std::move(inner)),
      pool_(pool == nullptr ? own_pool_ : *pool),
      neighbours_(inner_->neighbours()),
      peers_(static_cast<std::size_t>(inner_->processes())),
      readiness_(inner_->self(), inner_->processes()) {}

UcxTransport::~UcxTransport() {
  inner_.reset();  // first, so that nobody begins to fetch from memory that is freed
  const Time limit = now() + kLastMoments;
  while (worker_ && !finished_ && first_sending() >= 0 && now() < limit) {
    worker_->progress();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  worker_.reset();
}

Status UcxTransport::connect() {
  Status status = open();
  if (status.ok()) status = meet();
  is_connected_ = status.ok();
  if (is_connected_) return {};
  // Each failure is passed on from neighbour to neighbour.
  for (const int process : neighbours_) {
    send_connect(process, ConnectKind::refusal, abandon_text(status), status.code());
  }
  // The worker is kept until the process ends, since UCX 1.13 ends a process that closes a
  // connection while it is made, or that attaches memory which has just been removed.
  std::ignore = worker_.release();
  return status;
}

Status UcxTransport::open() {
  if (Status s = UcxWorker::open(processes(), *this, worker_); !s.ok()) return s;
  if (Status s = inner_->watch(worker_->descriptor()); !s.ok()) return s;
  const std::vector<std::byte> address = worker_->address();
  for (const int process : neighbours_) {
    peer(process).token_in = draw_token();
    Blob text;
    append(text, &peer(process).token_in, kTokenBytes);
    append(text, address.data(), address.size());
    send_connect(process, ConnectKind::address, payload_of(std::move(text)));
  }
  return {};
}

Status UcxTransport::meet() {
  const std::string within = " within " + seconds_text(options_.connect_limit);
  const auto name_of = [](int process) { return "rank " + std::to_string(process); };
  const Time limit = now() + options_.connect_limit;
  if (Status s = look_until(limit, [this] { return first_missing() < 0; }); !s.ok()) return s;
  if (const int process = first_missing(); process >= 0) {
    return {StatusCode::timeout, name_of(process) + " was not reached over UCX" + within};
  }
  readiness_.connected();
  if (Status s = look_until(limit + kLateRanks, [this] { return readiness_.all(); }); !s.ok()) {
    return s;
  }
  if (readiness_.all()) return {};
  return {StatusCode::timeout,
          name_of(readiness_.late().front()) + " did not connect over UCX" + within};
}

int UcxTransport::first_missing() const {
  const auto missing = std::find_if(neighbours_.begin(), neighbours_.end(),
                                    [this](int process) { return !peer(process).came; });
  return missing == neighbours_.end() ? -1 : *missing;
}

template <class Condition>
Status UcxTransport::look_until(Time limit, const Condition& done) {
  for (;;) {
    for (const int process : readiness_.take_to_notify()) send_connect(process, ConnectKind::ready);
    if (!failure_.ok()) return failure_;
    if (done() || now() >= limit) return {};
    if (Status s = Termination::status_at_start(options_.termination, self()); !s.ok()) return s;
    if (Status s = look_until(std::min(limit, now() + kHeed)); !s.ok()) return s;
  }
}

void UcxTransport::send_connect(int to, ConnectKind kind, Payload payload, StatusCode code) {
  const Envelope envelope{
      .signal = signals::Connect{.kind = static_cast<std::int32_t>(kind), .code = code}};
  // A Connect to a peer that is gone is dropped; in that case another failure has been noted.
  Status status = inner_->send(to, envelope, std::move(payload));
  if (failure_.ok()) failure_ = std::move(status);
}

void UcxTransport::receive_connect(int from, const signals::Connect& connect, Payload payload) {
  const auto kind = static_cast<ConnectKind>(connect.kind);
  if (kind == ConnectKind::refusal) {
    const Status why = abandon_status(from, connect.code, payload);
    if (is_connected_) return lose(from, why.message());
    if (failure_.ok()) failure_ = why;
  } else if (kind == ConnectKind::ready) {
    readiness_.received_from(from);
  } else if (kind == ConnectKind::address) {
    call(from, blob_of(std::move(payload)));
  }
}

void UcxTransport::call(int process, const Blob& text) {
  Peer& p = peer(process);
  if (is_connected_ || !failure_.ok() || p.token_out != 0 || text.size() <= kTokenBytes) return;
  p.token_out = token_of(text);
  worker_->connect(process, std::span(text).subspan(kTokenBytes));
  // A hello has a header's greatest length: UCX sends that much only when both ends are connected.
  Frame hello{.content = Hello{}};
  hello.payload.head.resize(kLargestHead);
  send_frame(process, std::move(hello));
  worker_->flush(process);
}

Status UcxTransport::send(int to, const Envelope& envelope, Payload payload) {
  if (role_of(kind_of(envelope)) != ConnectionRole::data) {
    return inner_->send(to, envelope, std::move(payload));
  }
  if (Status status = check_receiver(*this, to); !status.ok()) return status;
  if (Status status = check_on_host(payload); !status.ok()) return status;
  send_frame(to, {.content = Envelope{.signal = envelope.signal, .sent = envelope.sent - ahead()},
                  .payload = std::move(payload)});
  return {};
}

void UcxTransport::send_frame(int to, Frame frame) {
  if (peer(to).loss || !peer(to).broken.empty()) return;
  const Header header = encode_header(frame);
  const std::vector<std::byte> sizes = encode_sizes(frame.payload);
  std::vector<std::byte> bytes;
  bytes.reserve(kTokenBytes + kHeaderBytes + sizes.size() + frame.payload.head.size());
  append(bytes, &peer(to).token_out, kTokenBytes);
  append(bytes, header.data(), header.size());
  append(bytes, sizes.data(), sizes.size());
  append(bytes, frame.payload.head.data(), frame.payload.head.size());
  frame.payload.head.clear();
  worker_->send(to, std::move(bytes), std::move(frame.payload));
}

std::optional<UcxWorker::Arrival> UcxTransport::begins(std::span<const std::byte> header,
                                                       std::size_t bytes, bool at_sender) {
  if (inner_ == nullptr) return std::nullopt;                           // this process is ending
  if (header.size() < kTokenBytes + kHeaderBytes) return std::nullopt;  // a stranger's header
  const std::uint64_t token = token_of(header);
  UcxWorker::Arrival arrival;
  for (const int process : neighbours_) {
    if (peer(process).token_in == token) arrival.from = process;
  }
  if (arrival.from < 0) return std::nullopt;
  Peer& from = peer(arrival.from);
  // Messages of a lost process are dropped after its loss is reported, unfetched ones even before.
  if (from.is_loss_reported || (from.loss && at_sender)) return std::nullopt;
  header = header.subspan(kTokenBytes);
  Frame& frame = arrival.frame;
  Header first;
  std::copy_n(header.begin(), kHeaderBytes, first.begin());
  PayloadShape shape;
  Status status = decode_header(first, frame, shape);
  if (status.ok() && std::holds_alternative<Hello>(frame.content)) {
    from.came = true;
    return std::nullopt;
  }
  const std::size_t size_bytes = shape.parts * sizeof(std::uint64_t);
  if (status.ok() && (role_of(kind_of(frame.content)) != ConnectionRole::data ||
                      header.size() != kHeaderBytes + size_bytes + shape.head)) {
    status = {StatusCode::invalid, "a frame that is no message's"};
  }
  if (status.ok()) {
    const auto head = header.subspan(kHeaderBytes + size_bytes);
    frame.payload.head.assign(head.begin(), head.end());
    status = make_room(header.subspan(kHeaderBytes, size_bytes), bytes, frame);
  }
  if (status.ok()) return arrival;
  lose(arrival.from, status.message());
  return std::nullopt;
}

Status UcxTransport::make_room(std::span<const std::byte> sizes, std::size_t bytes, Frame& frame) {
  if (bytes > options_.largest_payload) return over_limit(options_.largest_payload);
  std::size_t left = bytes;
  const std::vector<std::uint64_t> all = decode_sizes(sizes);
  bool fits = true;
  for (const std::uint64_t size : all) {
    fits = fits && size <= left;
    if (fits) left -= size;
  }
  if (!fits || left > 0) return {StatusCode::invalid, "a frame whose parts are not what came"};
  for (const std::uint64_t size : all) {
    Status status = add_part(pool_, edge_of(frame.content), size, frame.payload);
    if (!status.ok()) return status;
  }
  return {};
}

void UcxTransport::came(UcxWorker::Arrival&& arrival) {
  if (inner_ == nullptr) return;  // this process is ending
  Peer& from = peer(arrival.from);
  if (from.is_loss_reported) return;
  from.heard = now();
  from.report_loss_at = std::max(from.report_loss_at, now() + kQuiet);
  Frame& frame = arrival.frame;
  auto& envelope = std::get<Envelope>(frame.content);  // begins() admits no other content
  envelope.sent = to_own(envelope.sent, ahead());
  inbox_.push_back(
      {arrival.from, envelope, std::move(frame.payload), looks_.came(envelope.sent, now())});
}

void UcxTransport::broke(int process, const std::string& how) {
  Peer& p = peer(process);
  if (!p.broken.empty()) return;
  p.broken = how;
  p.broken_until = now() + kBroken;
}

void UcxTransport::take(Delivery&& delivery) {
  Peer& from = peer(delivery.from);
  if (from.loss) return;
  if (const auto* const connect = std::get_if<signals::Connect>(&delivery.envelope.signal)) {
    receive_connect(delivery.from, *connect, std::move(delivery.payload));
  } else if (delivery.envelope.is<signals::Lost>()) {
    lose(delivery.from, text_of(blob_of(std::move(delivery.payload))));
    from.report_loss_at = now() + kQuiet;
  } else {
    inbox_.push_back(std::move(delivery));
  }
}

void UcxTransport::lose(int process, const std::string& how) {
  Peer& p = peer(process);
  if (p.loss) return;
  p.loss = loss_of(process, how, now());
  p.report_loss_at = now();
  if (!is_connected_ && failure_.ok()) {
    failure_ = {StatusCode::lost, "rank " + std::to_string(process) + " was lost (" + how + ")"};
  }
}

bool UcxTransport::is_breaking(const Peer& peer) const {
  // A failure of UCX does not count after this process's goodbye, when its peers may end.
  return !peer.broken.empty() && !peer.loss && !goodbye_;
}

void UcxTransport::report_losses() {
  for (const int process : neighbours_) {
    Peer& p = peer(process);
    if (is_breaking(p) && now() >= p.broken_until) lose(process, "UCX: " + p.broken);
    if (!p.loss || p.is_loss_reported || now() < p.report_loss_at) continue;
    p.is_loss_reported = true;
    worker_->close(process);
    inbox_.push_back(*p.loss);
  }
}

Time UcxTransport::next_loss() const {
  Time next = Time::max();
  for (const Peer& p : peers_) {
    if (p.loss && !p.is_loss_reported) next = std::min(next, p.report_loss_at);
    if (is_breaking(p)) next = std::min(next, p.broken_until);
  }
  return next;
}

Status UcxTransport::look(std::chrono::nanoseconds wait) {
  from_inner_.clear();
  Status status = inner_->poll(wait, from_inner_);
  for (Delivery& delivery : from_inner_) take(std::move(delivery));
  // Called after the inner transport's poll, so that nothing is fetched from a lost process.
  worker_->progress();
  report_losses();
  return status;
}

Status UcxTransport::look_until(Time limit) {
  if (!worker_->arm()) return look(Time{0});
  return look(std::max(Time{0}, std::min(limit, next_loss()) - now()));
}

Status UcxTransport::poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) {
  const Time limit = wait < Time::max() - now() ? now() + wait : Time::max();
  Status status = look(Time{0});
  looks_.waits = true;
  while (status.ok() && inbox_.empty() && !woken_ && now() < limit) status = look_until(limit);
  looks_.waits = false;
  woken_ = false;
  looks_.last = now();
  std::move(inbox_.begin(), inbox_.end(), std::back_inserter(deliveries));
  inbox_.clear();
  return status;
}

void UcxTransport::wake() {
  woken_ = true;
  inner_->wake();
}

std::size_t UcxTransport::queued(int to) const { return inner_->queued(to) + worker_->queued(to); }

Time UcxTransport::heard(int from) const { return std::max(inner_->heard(from), peer(from).heard); }

int UcxTransport::first_sending() const {
  const auto sending = std::find_if(neighbours_.begin(), neighbours_.end(),
                                    [this](int process) { return worker_->is_sending(process); });
  return sending == neighbours_.end() ? -1 : *sending;
}

Status UcxTransport::finish(std::chrono::nanoseconds limit) {
  const Time until = now() + limit;
  // The goodbye follows all messages, unless a process is lost: then messages may never be sent
  // completely.
  const auto first_open = [this] {
    const auto breaking = std::find_if(neighbours_.begin(), neighbours_.end(),
                                       [this](int process) { return is_breaking(peer(process)); });
    return breaking == neighbours_.end() ? first_sending() : *breaking;
  };
  const bool all_here =
      std::none_of(peers_.begin(), peers_.end(), [](const Peer& p) { return p.loss.has_value(); });
  for (const int process : neighbours_) {
    if (!goodbye_ && all_here) worker_->flush(process);
  }
  while (!goodbye_ && all_here && first_open() >= 0) {
    if (now() >= until || !inbox_.empty() || woken_) {
      return {StatusCode::timeout, "rank " + std::to_string(first_open()) + " has not finished"};
    }
    if (Status status = look_until(until); !status.ok()) return status;
  }
  goodbye_ = true;
  for (;;) {
    const bool armed = worker_->arm();
    Status status = inner_->finish(armed ? std::max(Time{0}, until - now()) : Time{0});
    if (Status looked = look(Time{0}); !looked.ok()) return looked;
    finished_ = status.ok();
    if (status.code() != StatusCode::timeout || !inbox_.empty() || woken_ || now() >= until) {
      return status;
    }
  }
}

}  // namespace ripeline::runtime::network
