// The calls of NCCL: groups, waits inside a call, and the work of the library's threads.
#include <nccl.h>

#include <algorithm>
#include <cstring>

#include "tests/fake_gpu/fake_nccl.h"
#include "tests/fake_gpu/nccl_sum.h"
#include "tests/fake_gpu/nccl_world.h"

namespace fake_gpu {
namespace {

// A send, receive or sum that waits for the end of its group.
struct Enqueued {
  ncclComm* comm = nullptr;
  cudaStream_t stream = nullptr;
  Part part;
};
struct Splitting {
  ncclComm* comm = nullptr;
  std::size_t round = 0;
  ncclComm_t* made = nullptr;
};
// The calls of this thread between ncclGroupStart() and ncclGroupEnd(), or a single call outside.
struct Group {
  int depth = 0;
  std::vector<Enqueued> enqueued;
  std::vector<ncclComm*> joining;
  std::vector<Splitting> splitting;
};
thread_local Group group;
thread_local std::int64_t next_tag = -1;

bool is_alive(const ncclComm* comm) {
  const auto& all = world().comms;
  return comm != nullptr && std::any_of(all.begin(), all.end(), [comm](const auto& one) {
           return one.get() == comm && one->alive;
         });
}

// The reason why a call on the communicator is refused; ncclSuccess if the call is allowed.
ncclResult_t refusal(const ncclComm* comm) {
  if (!is_alive(comm)) {
    misuse("a call on a communicator that is not there");
    return ncclInvalidArgument;
  }
  if (comm->inside != std::thread::id{}) {
    misuse("two threads are in one communicator at once");
    return ncclInvalidUsage;
  }
  if (comm->state != ncclSuccess) {
    misuse("a call on a communicator before the last one on it was over");
    return ncclInvalidArgument;
  }
  return ncclSuccess;
}

// Marks these communicators as being in a call of this thread.
class Inside {
 public:
  explicit Inside(std::vector<ncclComm*> comms) : comms_(std::move(comms)) {
    for (ncclComm* comm : comms_) comm->inside = std::this_thread::get_id();
  }
  ~Inside() {
    for (ncclComm* comm : comms_) comm->inside = {};
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  std::vector<ncclComm*> comms_;
};

// All communicators of these parts, each once, by ascending hash.
std::vector<ncclComm*> comms_of(const std::vector<Enqueued>& enqueued) {
  std::vector<ncclComm*> comms;
  for (const Enqueued& one : enqueued) {
    if (std::find(comms.begin(), comms.end(), one.comm) == comms.end()) comms.push_back(one.comm);
  }
  std::stable_sort(comms.begin(), comms.end(), [](const ncclComm* a, const ncclComm* b) {
    return a->clique->hash < b->clique->hash;
  });
  return comms;
}

Channel* channel_of(const Enqueued& one) {
  if (one.part.kind == Part::Kind::sum) return nullptr;
  const bool sends = one.part.kind == Part::Kind::send;
  const int self = one.comm->rank;
  return &one.comm->clique
              ->channels[sends ? std::pair{self, one.part.peer} : std::pair{one.part.peer, self}];
}

void come_to_connect(const std::vector<Enqueued>& enqueued) {
  for (const Enqueued& one : enqueued) {
    Channel* const channel = channel_of(one);
    if (channel == nullptr) continue;
    const bool sends = one.part.kind == Part::Kind::send;
    (sends ? channel->sender_in : channel->receiver_in) = true;
    if (options().connected) channel->sender_in = channel->receiver_in = true;
  }
}

// A part whose channel is neither connected nor given up; null if there is none.
const Enqueued* unconnected(const std::vector<Enqueued>& enqueued) {
  for (const Enqueued& one : enqueued) {
    const Channel* const channel = channel_of(one);
    if (channel != nullptr && !channel->is_connected() && !one.comm->aborted) return &one;
  }
  return nullptr;
}

std::string connecting(const std::vector<Enqueued>& enqueued) {
  const Enqueued* const one = unconnected(enqueued);
  if (one == nullptr) return "a call of NCCL";
  return "the first call with which rank " + std::to_string(one->comm->rank) +
         " connects with rank " + std::to_string(one->part.peer) + " on communicator " +
         std::to_string(one->comm->clique->number);
}

// Launches one kernel on the stream of its first part; the other parts' streams wait for the
// kernel, and the kernel waits for them.
void launch_plan(ncclComm& comm, const std::vector<Enqueued>& enqueued) {
  if (comm.aborted) return;
  std::vector<Part> parts;
  std::vector<cudaStream_t> streams;
  for (const Enqueued& one : enqueued) {
    if (one.comm != &comm) continue;
    parts.push_back(one.part);
    if (std::find(streams.begin(), streams.end(), one.stream) == streams.end()) {
      streams.push_back(one.stream);
    }
  }
  std::erase_if(comm.plans, [](const auto& plan) { return plan->is_over(); });
  const auto plan = std::make_shared<Plan>(comm, std::move(parts), process_of(streams[0]));
  comm.plans.push_back(plan);
  comm.resources->last = plan;
  for (std::size_t i = 1; i < streams.size(); ++i) hold_up(streams[0], streams[i]);
  launch(streams[0], plan);
  for (std::size_t i = 1; i < streams.size(); ++i) hold_up(streams[i], streams[0]);
}

// A launch in a thread of the library, for communicators that do not block.
class Launching final : public Action {
 public:
  explicit Launching(std::vector<Enqueued> enqueued) : enqueued_(std::move(enqueued)) {
    for (const Enqueued& one : enqueued_) {
      launching(one.stream, 1);
      one.comm->state = ncclInProgress;
    }
  }
  bool may_go_on() const override { return !is_over_ && unconnected(enqueued_) == nullptr; }
  void go_on() override {
    for (ncclComm* comm : comms_of(enqueued_)) launch_plan(*comm, enqueued_);
    for (const Enqueued& one : enqueued_) {
      launching(one.stream, -1);
      one.comm->state = ncclSuccess;
    }
    is_over_ = true;
  }
  bool is_over() const override { return is_over_; }
  std::string name() const override { return connecting(enqueued_); }
  std::string waits_for() const override { return "the other end"; }

 private:
  std::vector<Enqueued> enqueued_;
  bool is_over_ = false;
};

class Joining final : public Action {
 public:
  explicit Joining(ncclComm& comm) : comm_(comm) { comm_.state = ncclInProgress; }
  bool may_go_on() const override { return !is_over() && comm_.clique->is_complete(); }
  void go_on() override { comm_.state = ncclSuccess; }
  bool is_over() const override { return comm_.state == ncclSuccess || comm_.aborted; }
  std::string name() const override {
    return "rank " + std::to_string(comm_.rank) + " of a communicator";
  }
  std::string waits_for() const override { return "its other ranks to come"; }

 private:
  ncclComm& comm_;
};

bool join_all(Call& call, const std::vector<ncclComm*>& joining, ncclResult_t& result) {
  for (ncclComm* comm : joining) {
    if (!comm->blocking) {
      run_beside(std::make_shared<Joining>(*comm));
      result = ncclInProgress;
      continue;
    }
    if (!call.wait_until("rank " + std::to_string(comm->rank) + ", for all ranks to join",
                         [comm] { return comm->clique->is_complete(); })) {
      return false;
    }
  }
  return true;
}

bool split_all(Call& call, const std::vector<Splitting>& splitting) {
  for (const Splitting& one : splitting) {
    SplitRound& round = *one.comm->clique->splits[one.round];
    if (!call.wait_until("rank " + std::to_string(one.comm->rank) + ", for all ranks to split",
                         [&round] { return round.is_complete(); })) {
      return false;
    }
    const int self = one.comm->rank;
    const SplitRound::Part& own = round.parts[static_cast<std::size_t>(self)];
    if (own.color == NCCL_SPLIT_NOCOLOR) {
      *one.made = nullptr;
      continue;
    }
    std::size_t size = 0;
    int rank = 0;
    for (int other = 0; other < static_cast<int>(round.parts.size()); ++other) {
      const SplitRound::Part& part = round.parts[static_cast<std::size_t>(other)];
      if (part.color != own.color) continue;
      ++size;
      rank += std::pair(part.key, other) < std::pair(own.key, self) ? 1 : 0;
    }
    std::shared_ptr<Clique>& child = round.children[own.color];
    if (!child) child = world().make_clique(size);
    *one.made = &world().make_comm(child, rank, nullptr, one.comm);
  }
  return true;
}

ncclResult_t launch_all(Call& call, std::vector<Enqueued> enqueued) {
  if (enqueued.empty()) return ncclSuccess;
  const std::vector<ncclComm*> comms = comms_of(enqueued);
  for (const ncclComm* comm : comms) {
    if (const ncclResult_t result = refusal(comm); result != ncclSuccess) return result;
  }
  come_to_connect(enqueued);
  if (std::any_of(comms.begin(), comms.end(), [](const auto* comm) { return !comm->blocking; })) {
    run_beside(std::make_shared<Launching>(std::move(enqueued)));
    return ncclInProgress;
  }
  const Inside inside(comms);
  if (!call.wait_until(connecting(enqueued), [&] { return unconnected(enqueued) == nullptr; })) {
    return ncclSystemError;
  }
  for (const Enqueued& one : enqueued) {
    if (!call.wait_for_room(one.stream)) return ncclUnhandledCudaError;
  }
  for (ncclComm* comm : comms) launch_plan(*comm, enqueued);
  return ncclSuccess;
}

ncclResult_t end_group(Call& call) {
  const Group ended = std::exchange(group, {});
  ncclResult_t result = ncclSuccess;
  if (!join_all(call, ended.joining, result)) return ncclSystemError;
  if (!split_all(call, ended.splitting)) return ncclSystemError;
  const ncclResult_t launched = launch_all(call, ended.enqueued);
  return launched == ncclSuccess ? result : launched;
}

ncclResult_t enqueue(Call& call, ncclComm* comm, cudaStream_t stream, Part part) {
  if (call.enter() != cudaSuccess) return ncclUnhandledCudaError;
  if (const ncclResult_t result = refusal(comm); result != ncclSuccess) return result;
  part.tag = std::exchange(next_tag, -1);
  const int ranks = static_cast<int>(comm->clique->members.size());
  if (part.kind != Part::Kind::sum && (part.peer < 0 || part.peer >= ranks)) {
    return ncclInvalidArgument;
  }
  group.enqueued.push_back({.comm = comm, .stream = stream, .part = part});
  return group.depth == 0 ? end_group(call) : ncclSuccess;
}

std::int64_t id_of(const ncclUniqueId& id) {
  std::int64_t number = 0;
  std::memcpy(&number, id.internal, sizeof number);
  return number;
}

}  // namespace

void tag_next(std::int64_t tag) { next_tag = tag; }

}  // namespace fake_gpu

using fake_gpu::Call;
using fake_gpu::Part;
using fake_gpu::world;

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    default:
      return "an error of the fake NCCL";
  }
}

const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  Call call;
  if (call.enter() != cudaSuccess) return ncclUnhandledCudaError;
  const std::int64_t number = ++world().ids;
  *id = {};
  std::memcpy(id->internal, &number, sizeof number);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  Call call;
  if (call.enter() != cudaSuccess) return ncclUnhandledCudaError;
  if (ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  auto& clique = world().by_id[fake_gpu::id_of(id)];
  if (!clique) clique = world().make_clique(static_cast<std::size_t>(ranks));
  if (clique->members.size() != static_cast<std::size_t>(ranks) ||
      clique->members[static_cast<std::size_t>(rank)] != nullptr) {
    fake_gpu::misuse("a rank joins twice, or with another number of ranks");
    return ncclInvalidArgument;
  }
  *comm = &world().make_comm(clique, rank, config, nullptr);
  fake_gpu::group.joining.push_back(*comm);
  return fake_gpu::group.depth == 0 ? fake_gpu::end_group(call) : ncclSuccess;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t*) {
  Call call;
  if (call.enter() != cudaSuccess) return ncclUnhandledCudaError;
  if (const auto result = fake_gpu::refusal(comm); result != ncclSuccess) return result;
  auto& rounds = comm->clique->splits;
  const std::size_t round = comm->splits++;
  if (round == rounds.size()) {
    rounds.push_back(std::make_unique<fake_gpu::SplitRound>());
    rounds.back()->parts.resize(comm->clique->members.size());
  }
  rounds[round]->parts[static_cast<std::size_t>(comm->rank)] = {
      .color = color, .key = key, .came = true};
  fake_gpu::group.splitting.push_back({.comm = comm, .round = round, .made = made});
  return fake_gpu::group.depth == 0 ? fake_gpu::end_group(call) : ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  Call call;
  if (call.enter() != cudaSuccess) return ncclUnhandledCudaError;
  if (const auto result = fake_gpu::refusal(comm); result != ncclSuccess) return result;
  const fake_gpu::Inside inside({comm});
  const bool over =
      call.wait_until("the end of a communicator", [comm] { return comm->is_idle(); });
  return over ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (const ncclResult_t result = ncclCommFinalize(comm); result != ncclSuccess) return result;
  const Call call;
  comm->alive = false;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const Call call;
  if (!fake_gpu::is_alive(comm)) return ncclInvalidArgument;
  if (comm->inside != std::thread::id{}) {
    fake_gpu::misuse("a communicator is aborted while a thread is inside");
  }
  comm->aborted = true;
  comm->alive = false;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  Call call;
  if (call.enter() != cudaSuccess) return ncclUnhandledCudaError;
  if (!fake_gpu::is_alive(comm)) return ncclInvalidArgument;
  *error = comm->state;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++fake_gpu::group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (fake_gpu::group.depth == 0) return ncclInvalidUsage;
  if (--fake_gpu::group.depth > 0) return ncclSuccess;
  Call call;
  return fake_gpu::end_group(call);
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  Call call;
  return fake_gpu::enqueue(call, comm, stream,
                           {.kind = Part::Kind::send,
                            .peer = peer,
                            .from = from,
                            .size = count * fake_gpu::size_of(type)});
}

ncclResult_t ncclRecv(void* onto, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  Call call;
  return fake_gpu::enqueue(call, comm, stream,
                           {.kind = Part::Kind::receive,
                            .peer = peer,
                            .onto = onto,
                            .size = count * fake_gpu::size_of(type)});
}

ncclResult_t ncclAllReduce(const void* from, void* onto, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  if (!fake_gpu::can_reduce(type, op)) return ncclInvalidArgument;
  Call call;
  return fake_gpu::enqueue(call, comm, stream,
                           {.kind = Part::Kind::sum,
                            .from = from,
                            .onto = onto,
                            .size = count,
                            .type = type,
                            .operation = op});
}

}  // extern "C"
