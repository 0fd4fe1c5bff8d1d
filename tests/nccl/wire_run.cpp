#include "tests/nccl/wire_run.h"

#include <nccl.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "tests/fake_gpu/fake_gpu.h"
#include "tests/fake_gpu/fake_nccl.h"

namespace ripeline::testing_support {

using wire::WireAction;
using wire::WireKernels;
using wire::WireLayout;
using wire::WireOptions;
using wire::WireProgram;
using Kind = WireAction::Kind;

namespace {

// Identifies the communicator of a rank's action.
using Key = std::vector<int>;

Key key_of(const WireAction& action, int rank, WireLayout layout) {
  if (action.kind == Kind::collective) return {-1, action.group};
  if (layout == WireLayout::group) return {};
  if (layout == WireLayout::pair) {
    return {std::min(rank, action.peer), std::max(rank, action.peer)};
  }
  const bool sends = action.kind == Kind::send;
  return sends ? Key{rank, action.peer, 0} : Key{action.peer, rank, 0};
}

class FakeNcclRun {
 public:
  FakeNcclRun(const WireProgram& program, const WireOptions& options, std::uint64_t seed)
      : program_(program), options_(options), random_(seed), ranks_(program.ranks.size()) {
    fake_gpu::begin({.seed = seed,
                     .devices = static_cast<int>(ranks_.size()),
                     .connections = options.kernels == WireKernels::per_stream ? 0 : 1,
                     .blocks = options.kernels == WireKernels::serial ? 1 : 0,
                     .credits = static_cast<int>(options.credits),
                     .connected = true,
                     .by_itself = false});
    for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) {
      cudaSetDevice(r);
      void* data = nullptr;
      cudaMalloc(&data, 2 * sizeof(int));
      of(r).data = static_cast<int*>(data);
    }
    make_communicators();
  }

  WireRun run() {
    for (std::vector<int> left = unfinished(); !left.empty(); left = unfinished()) {
      issue_next(left[random_() % left.size()]);
      fake_gpu::step(static_cast<int>(random_() % 4));
    }
    fake_gpu::step(1 << 20);
    WireRun result{.ended = fake_gpu::is_idle(), .waits = {}, .misuses = fake_gpu::misuses()};
    for (const std::string& wait : fake_gpu::waits()) result.waits += wait + "\n";
    return result;
  }

 private:
  struct Rank {
    std::size_t next = 0;  // the next action to issue
    int* data = nullptr;   // on the device: the numbers to send, and those received
    std::map<int, cudaStream_t> streams;
    std::map<Key, ncclComm_t> comms;
    std::vector<cudaEvent_t> done;  // by action
  };
  Rank& of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const std::vector<WireAction>& actions(int rank) const {
    return program_.ranks[static_cast<std::size_t>(rank)];
  }

  std::vector<int> unfinished() {
    std::vector<int> left;
    for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) {
      if (of(r).next < actions(r).size()) left.push_back(r);
    }
    return left;
  }

  // The ranks of the communicator, in the communicator's own order.
  std::vector<int> members(const Key& key) const {
    if (!key.empty() && key[0] < 0) {
      return program_.groups[static_cast<std::size_t>(key[1])].members;
    }
    if (!key.empty()) return {key[0], key[1]};
    std::vector<int> all;
    for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) all.push_back(r);
    return all;
  }
  int place(const Key& key, int rank) const {
    const std::vector<int> all = members(key);
    return static_cast<int>(std::find(all.begin(), all.end(), rank) - all.begin());
  }

  void make_communicators() {
    std::set<Key> keys;
    for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) {
      for (const WireAction& action : actions(r)) {
        if (action.kind != Kind::compute) keys.insert(key_of(action, r, options_.layout));
      }
    }
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.maxCTAs = 1;
    ncclGroupStart();
    for (const Key& key : keys) {
      ncclUniqueId id{};
      ncclGetUniqueId(&id);
      const std::vector<int> all = members(key);
      for (int i = 0; i < static_cast<int>(all.size()); ++i) {
        ncclCommInitRankConfig(&of(all[static_cast<std::size_t>(i)]).comms[key],
                               static_cast<int>(all.size()), id, i, &config);
      }
    }
    ncclGroupEnd();
  }

  cudaStream_t make_stream() {
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0);
    return stream;
  }
  cudaStream_t stream_of(int rank, int number) {
    if (number < 0) return make_stream();
    cudaStream_t& stream = of(rank).streams[number];
    if (stream == nullptr) stream = make_stream();
    return stream;
  }
  // An event that follows all work given to the stream so far.
  cudaEvent_t mark(cudaStream_t stream) {
    cudaEvent_t event = nullptr;
    cudaEventCreateWithFlags(&event, cudaEventDefault);
    cudaEventRecord(event, stream);
    return event;
  }

  // Issues the rank's next action, or the batch that begins with it.
  void issue_next(int rank) {
    cudaSetDevice(rank);
    const std::size_t first = of(rank).next;
    std::size_t end = first + 1;
    const int batch = actions(rank)[first].batch;
    while (batch >= 0 && end < actions(rank).size() && actions(rank)[end].batch == batch) ++end;
    of(rank).next = end;
    of(rank).done.resize(end);
    if (batch >= 0) {
      issue_batch(rank, first, end);
    } else {
      issue_alone(rank, first);
    }
  }

  void wait_for_needs(int rank, const WireAction& action, cudaStream_t stream) {
    for (const int before : action.after) {
      cudaStreamWaitEvent(stream, of(rank).done[static_cast<std::size_t>(before)], 0);
    }
  }

  void issue_alone(int rank, std::size_t index) {
    const WireAction& action = actions(rank)[index];
    const cudaStream_t stream = stream_of(rank, action.stream);
    wait_for_needs(rank, action, stream);
    if (action.kind == Kind::compute) {
      cudaLaunchHostFunc(
          stream, [](void*) {}, nullptr);
    } else {
      call(rank, action, stream);
    }
    of(rank).done[index] = mark(stream);
  }

  void issue_batch(int rank, std::size_t first, std::size_t end) {
    std::map<Key, cudaStream_t> streams;  // streams of kernels, by communicator
    for (std::size_t i = first; i < end; ++i) {
      const WireAction& action = actions(rank)[i];
      cudaStream_t& stream = streams[key_of(action, rank, options_.layout)];
      if (stream == nullptr) stream = make_stream();
      wait_for_needs(rank, action, stream);
      if (action.stream < 0) continue;
      cudaStreamWaitEvent(stream, mark(stream_of(rank, action.stream)), 0);
    }
    ncclGroupStart();
    for (std::size_t i = first; i < end; ++i) {
      const WireAction& action = actions(rank)[i];
      call(rank, action, streams[key_of(action, rank, options_.layout)]);
    }
    ncclGroupEnd();
    for (std::size_t i = first; i < end; ++i) {
      const WireAction& action = actions(rank)[i];
      const cudaEvent_t done = mark(streams[key_of(action, rank, options_.layout)]);
      of(rank).done[i] = done;
      if (action.stream >= 0) cudaStreamWaitEvent(stream_of(rank, action.stream), done, 0);
    }
  }

  void call(int rank, const WireAction& action, cudaStream_t stream) {
    const Key key = key_of(action, rank, options_.layout);
    const ncclComm_t comm = of(rank).comms[key];
    int* const data = of(rank).data;
    fake_gpu::tag_next(action.payload);
    if (action.kind == Kind::send) {
      ncclSend(data, 1, ncclInt, place(key, action.peer), comm, stream);
    } else if (action.kind == Kind::receive) {
      ncclRecv(data + 1, 1, ncclInt, place(key, action.peer), comm, stream);
    } else {
      ncclAllReduce(data, data + 1, 1, ncclInt, ncclSum, comm, stream);
    }
  }

  const WireProgram& program_;
  const WireOptions& options_;
  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
};

}  // namespace

WireRun run_wire(const WireProgram& program, const WireOptions& options, std::uint64_t seed) {
  return FakeNcclRun(program, options, seed).run();
}

bool has_batch_of_several(const WireProgram& program, WireLayout layout) {
  for (int r = 0; r < static_cast<int>(program.ranks.size()); ++r) {
    const auto& actions = program.ranks[static_cast<std::size_t>(r)];
    for (std::size_t i = 1; i < actions.size(); ++i) {
      if (actions[i].batch < 0 || actions[i].batch != actions[i - 1].batch) continue;
      if (key_of(actions[i], r, layout) != key_of(actions[i - 1], r, layout)) return true;
    }
  }
  return false;
}

}  // namespace ripeline::testing_support
