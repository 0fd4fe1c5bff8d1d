#include "runtime/cuda/carriers/nccl_start.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/network/system_name.h"

namespace ripeline::runtime::cuda {

using core::Status;
using core::StatusCode;
using namespace std::chrono_literals;

namespace {

// The time between two checks of what the connecting thread has done.
constexpr auto kLook = 1ms;
// The time in which a thread that is no longer needed must return, as it does if its peer is gone.
constexpr auto kGrace = 300ms;

// An edge's two ranks; position() is its position in the order in which directions are connected.
struct Direction {
  int from = 0;
  int to = 0;
  [[nodiscard]] auto position() const {
    const int first = std::min(from, to);
    return std::tuple(std::max(from, to) - first, first % 2, first, from > to);
  }
};

// The state that the connecting thread shares with the thread that started it.
struct Shared {
  struct Edge {
    Direction direction;
    DeviceMemory::Own byte;
    NcclWay way;
  };
  Shared() = default;
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  // Destroys the communicators first: no memory may be freed while one has something under way.
  ~Shared() {
    for (Edge& edge : edges) edge.way.comm = nullptr;
  }
  // Used by the connecting thread alone until that thread ends.
  int self = 0;
  int device = 0;
  int blocks = 0;
  std::vector<Edge> edges;

  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by the mutex.
  std::map<int, NcclId> names;               // the names received, by peer
  std::vector<std::pair<int, NcclId>> made;  // the names to be sent, with the peers
  Direction at;                              // the direction that is being connected
  bool is_given_up = false;
  bool is_over = false;
  Status status;
};

// Makes the communicator's name, or waits for the peer's. If the start is given up, `id` is unset.
Status name_of(Shared& shared, const NcclLibrary& library, const Direction& direction,
               std::optional<NcclId>& id) {
  if (direction.from == shared.self) {
    NcclId made{};
    if (Status s = library.make_id(made); !s.ok()) return s;
    const std::lock_guard lock(shared.mutex);
    shared.made.emplace_back(direction.to, made);
    id = made;
    return {};
  }
  std::unique_lock lock(shared.mutex);
  shared.changed.wait(lock,
                      [&] { return shared.is_given_up || shared.names.contains(direction.from); });
  if (!shared.is_given_up) id = shared.names.at(direction.from);
  return {};
}

Status connect_one(Shared& shared, const NcclLibrary& library, Shared::Edge& edge) {
  std::optional<NcclId> id;
  if (Status s = name_of(shared, library, edge.direction, id); !s.ok() || !id) return s;
  const bool sends = edge.direction.from == shared.self;
  const NcclCommOptions options{.rank = sends ? 0 : 1, .size = 2, .most_blocks = shared.blocks};
  if (Status s = library.connect(*id, options, edge.way.comm); !s.ok()) return s;
  const cudaStream_t stream = edge.way.stream.get();
  Status status = sends ? edge.way.comm->send(edge.byte.data(), 1, 1, stream)
                        : edge.way.comm->receive(edge.byte.data(), 1, 0, stream);
  return status.ok() ? edge.way.stream.sync() : status;
}

Status connect_all(Shared& shared, const NcclLibrary& library) {
  if (Status s = use_device(shared.device); !s.ok()) return s;
  for (Shared::Edge& edge : shared.edges) {
    {
      const std::lock_guard lock(shared.mutex);
      if (shared.is_given_up) return {};
      shared.at = edge.direction;
    }
    if (Status s = connect_one(shared, library, edge); !s.ok()) return s;
  }
  return {};
}

std::string pair_text(const Direction& direction) {
  return rank_text(std::min(direction.from, direction.to)) + " and " +
         rank_text(std::max(direction.from, direction.to));
}

std::uint64_t draw() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

// Sets `text` to a name of the device that is unique among the devices of all hosts.
Status device_text(int device, std::string& text) {
  std::string name;
  const Status status = name_device(device, name);
  if (status.ok()) text = network::system_name() + " " + name;
  return status;
}

// Refuses settings of the environment, which take precedence in NCCL over the caller's, if they
// would break a rule of runtime/cuda/carriers/nccl_carrier.h.
Status check_environment(int blocks) {
  const auto has = [](const char* name, long from, long to) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') return false;
    const long number = std::strtol(value, nullptr, 10);
    return from <= number && number <= to;
  };
  constexpr long kMost = std::numeric_limits<long>::max();
  struct Setting {
    const char* name;
    long from;
    long to;
    const char* why;
  };
  for (const Setting& one : std::initializer_list<Setting>{
           {"NCCL_COMM_BLOCKING", 0, 0, "events would come before what they follow"},
           {"NCCL_LAUNCH_ORDER_IMPLICIT", 1, kMost, "messages would wait for each other"},
           {"NCCL_MIN_CTAS", blocks + 1, kMost, "kernels need not fit on a device"},
           {"NCCL_MAX_CTAS", blocks + 1, kMost, "kernels need not fit on a device"},
           {"CUDA_LAUNCH_BLOCKING", 1, kMost, "each launch would wait for the other end"}}) {
    if (!has(one.name, one.from, one.to)) continue;
    return {StatusCode::refused, std::string("messages cannot go by NCCL with ") + one.name + "=" +
                                     std::getenv(one.name) + " in the environment: " + one.why};
  }
  return {};
}

class Start {
 public:
  Start(CarrierMeeting& meeting, const NcclOptions& options)
      : meeting_(meeting), options_(options), shared_(std::make_shared<Shared>()) {}

  Status meet(const DeviceMemory& memory, std::map<int, NcclPair>& pairs) {
    if (Status s = check_environment(options_.blocks); !s.ok()) return s;
    if (Status s = check_room(); !s.ok()) return s;
    if (Status s = say_hello(memory.device()); !s.ok()) return s;
    if (Status s = make_edges(memory); !s.ok()) return s;
    Status status = wait();
    for (Shared::Edge& edge : shared_->edges) {
      if (!status.ok()) break;
      const bool sends = edge.direction.from == meeting_.self();
      NcclPair& pair = pairs[sends ? edge.direction.to : edge.direction.from];
      (sends ? pair.out : pair.in) = std::move(edge.way);
      edge.byte = {};  // freed while no operation is under way for which cudaFree() would wait
    }
    return status;
  }

 private:
  Status check_room() const {
    const int each = 2 * options_.blocks;
    const int neighbours = static_cast<int>(meeting_.neighbours().size());
    if (neighbours * each <= options_.most_blocks) return {};
    return {StatusCode::refused,
            no_way(rank_text(meeting_.self()) + " has " + std::to_string(neighbours) +
                   " neighbours, and by NCCL it may have " +
                   std::to_string(options_.most_blocks / each) +
                   ": kernels of more need not fit on a device beside each other")};
  }

  Status say_hello(int device) {
    protocol::NcclHello hello{.device = options_.device, .process = options_.process};
    static const std::uint64_t process = draw();
    if (hello.process == 0) hello.process = process;
    if (hello.device.empty()) {
      if (Status s = device_text(device, hello.device); !s.ok()) return s;
    }
    if (Status s = meeting_.send_to_all(hello); !s.ok()) return s;
    std::vector<CarrierMeeting::Message> messages = meeting_.take_kept();
    while (true) {
      for (const CarrierMeeting::Message& message : messages) {
        if (Status s = receive(message); !s.ok()) return s;
      }
      if (hellos_.size() == meeting_.neighbours().size()) break;
      messages.clear();
      if (Status s = meeting_.next(kAlways, messages); !s.ok()) return in_time(s, "say hello");
    }
    return share_device(hello);
  }

  // NCCL refuses two ranks of one host with the same device, unless NCCL_HOSTID claims that their
  // hosts differ; NCCL reads that variable in a process's first call.
  Status share_device(const protocol::NcclHello& own) const {
    for (const auto& [peer, hello] : hellos_) {
      if (hello.device != own.device) continue;
      if (hello.process == own.process) {
        return {StatusCode::refused,
                no_way(pair_text({meeting_.self(), peer}) +
                       " are of one process and use one device, which NCCL does not connect")};
      }
      setenv("NCCL_HOSTID", (network::system_name() + " " + std::to_string(own.process)).c_str(),
             0);
      setenv("NCCL_MNNVL_ENABLE", "0", 0);
    }
    return {};
  }

  Status receive(const CarrierMeeting::Message& message) {
    bool is_first = false;
    if (const auto* const hello = std::get_if<protocol::NcclHello>(&message.content)) {
      is_first = hellos_.emplace(message.from, *hello).second;
    } else if (const auto* const name = std::get_if<protocol::NcclName>(&message.content)) {
      const std::lock_guard lock(shared_->mutex);
      is_first = shared_->names.emplace(message.from, name->id).second;
      shared_->changed.notify_all();
    }
    if (is_first) return {};
    return {StatusCode::lost,
            rank_text(message.from) + " was lost (it said something that is said once or not now)"};
  }

  Status make_edges(const DeviceMemory& memory) {
    const int self = meeting_.self();
    shared_->self = self;
    shared_->device = memory.device();
    shared_->blocks = options_.blocks;
    for (const int peer : meeting_.neighbours()) {
      for (const Direction& direction : {Direction{self, peer}, Direction{peer, self}}) {
        shared_->edges.push_back({.direction = direction, .byte = {}, .way = {}});
      }
    }
    std::sort(shared_->edges.begin(), shared_->edges.end(), [](const auto& a, const auto& b) {
      return a.direction.position() < b.direction.position();
    });
    for (Shared::Edge& edge : shared_->edges) {
      if (Status s = Stream::make(Stream::Priority::highest, edge.way.stream); !s.ok()) return s;
      DeviceMemory from = memory;
      if (Status s = from.allocate(1, edge.byte); !s.ok()) return s;
    }
    return {};
  }

  // Runs the thread, and waits until the thread has ended or this process must not start.
  Status wait() {
    std::thread thread([shared = shared_, library = options_.library] {
      Status status = connect_all(*shared, *library);
      const std::lock_guard lock(shared->mutex);
      shared->status = std::move(status);
      shared->is_over = true;
      shared->changed.notify_all();
    });
    Status status;
    std::vector<CarrierMeeting::Message> messages;
    while (status.ok()) {
      const bool was_over = say_names(status);
      if (was_over || !status.ok()) break;
      messages.clear();
      status = meeting_.next(kLook, messages);
      for (const CarrierMeeting::Message& message : messages) {
        if (status.ok()) status = receive(message);
      }
      if (!status.ok()) status = in_time(status, "be connected");
    }
    return join(std::move(thread), std::move(status));
  }

  // Sends the names that the thread has made. Returns whether the thread had ended before that.
  bool say_names(Status& status) {
    std::vector<std::pair<int, NcclId>> made;
    bool is_over = false;
    {
      const std::lock_guard lock(shared_->mutex);
      made = std::exchange(shared_->made, {});
      is_over = shared_->is_over;
    }
    for (const auto& [peer, id] : made) {
      if (status.ok()) status = meeting_.send(peer, protocol::NcclName{id});
    }
    return is_over;
  }

  Status join(std::thread thread, Status status) {
    std::unique_lock lock(shared_->mutex);
    shared_->is_given_up = !status.ok();
    shared_->changed.notify_all();
    const bool is_over = shared_->changed.wait_for(lock, kGrace, [&] { return shared_->is_over; });
    if (status.ok() && !shared_->status.ok()) {
      status = {shared_->status.code() == StatusCode::lost ? StatusCode::lost : StatusCode::refused,
                no_way(those() + " could not connect by NCCL: " + shared_->status.message())};
    }
    lock.unlock();
    is_over ? thread.join() : thread.detach();
    return status;
  }

  Status in_time(const Status& status, const std::string& what) const {
    if (status.code() != StatusCode::timeout) return status;
    const std::lock_guard lock(shared_->mutex);
    return {StatusCode::timeout, no_way(those() + " took too long to " + what + " by NCCL")};
  }
  // Names the two ranks that are being connected, or else this rank. Needs the lock.
  [[nodiscard]] std::string those() const {
    const bool is_at_one = shared_->at.from != shared_->at.to;
    return is_at_one ? pair_text(shared_->at) : rank_text(meeting_.self());
  }
  static std::string no_way(const std::string& why) {
    return why + "; RIPELINE_CARRIER=staged goes without NCCL";
  }

  static constexpr auto kAlways = std::chrono::nanoseconds::max();

  CarrierMeeting& meeting_;
  const NcclOptions& options_;
  std::map<int, protocol::NcclHello> hellos_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace

Status connect_by_nccl(CarrierMeeting& meeting, const NcclOptions& options,
                       const DeviceMemory& memory, std::map<int, NcclPair>& pairs) {
  return Start(meeting, options).meet(memory, pairs);
}

}  // namespace ripeline::runtime::cuda
