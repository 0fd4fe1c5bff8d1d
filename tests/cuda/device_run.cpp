#include "tests/cuda/device_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/cuda/kept_buffer_pool.h"
#include "tests/runtime/ranks.h"

namespace ripeline::testing_support {

using core::Status;
using core::StatusCode;
using runtime::Bytes;
using runtime::Call;
using runtime::Payload;
using runtime::cuda::status_of;

namespace {

constexpr int kWidth = 600;  // in doubles; does not fit in a head
constexpr std::size_t kGranule = 256;

}  // namespace

// A task of the toy on the host, between its inputs and its output.
struct DeviceToyWork::Job {
  runtime::ToyWork* toy = nullptr;
  Call call;
  std::vector<Payload> inputs;  // a host function must not destroy an owner, which may call CUDA
  Bytes output;                 // pinned; empty if no task gets an output
  Status status;

  void run() {
    status = toy->run(call);
    if (!status.ok() || output.data == nullptr) return;
    const runtime::Blob blob = runtime::blob_of(call.outputs.front().payload);
    std::memcpy(output.data, blob.data(), std::min(blob.size(), output.size));
  }
};

DeviceToyWork::DeviceToyWork(runtime::ToyWork& toy, std::size_t bytes, bool varies,
                             cudaStream_t stream, runtime::cuda::DeviceMemory& memory,
                             runtime::network::BufferPool& pinned)
    : toy_(toy),
      bytes_(bytes),
      varies_(varies),
      stream_(stream),
      memory_(memory),
      pinned_(pinned) {}
DeviceToyWork::~DeviceToyWork() = default;

Status DeviceToyWork::begin_step(std::int64_t step, int microbatches) {
  for (const auto& job : jobs_) {
    if (!job->status.ok()) return job->status;
  }
  jobs_.clear();
  return toy_.begin_step(step, microbatches);
}

Status DeviceToyWork::run(Call& call) {
  Job& job = *jobs_.emplace_back(std::make_unique<Job>());
  job.toy = &toy_;
  job.call.task = call.task;
  job.call.outputs = call.outputs;
  if (Status s = take_inputs(call, job); !s.ok()) return s;
  if (!call.outputs.empty()) job.output = pinned_.take(-1, bytes_);
  const auto run_job = [](void* argument) { static_cast<Job*>(argument)->run(); };
  if (Status s = status_of(cudaLaunchHostFunc(stream_, run_job, &job), "enqueue a task"); !s.ok()) {
    return s;
  }
  return give_outputs(call, job);
}

Status DeviceToyWork::take_inputs(Call& call, Job& job) {
  for (runtime::Input& input : call.inputs) {
    runtime::Input& copy = job.call.inputs.emplace_back(input);
    const std::vector<Part> parts = parts_of(input.microbatch);
    if (parts.size() != copy.payload.parts.size()) return {StatusCode::invalid, "other parts"};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Bytes& part = copy.payload.parts[i];
      if (part.size != parts[i].size) return {StatusCode::invalid, "a part of another size"};
      Bytes onto = pinned_.take(-1, part.size);
      if (Status s = status_of(
              cudaMemcpyAsync(onto.data, part.data, part.size, cudaMemcpyDeviceToHost, stream_),
              "copy an input");
          !s.ok()) {
        return s;
      }
      onto.size = parts[i].used;
      part = onto;
    }
    job.inputs.push_back(copy.payload);
  }
  keep(call);
  return {};
}

void DeviceToyWork::keep(Call& call) {
  std::vector<runtime::Input>& kept = kept_[{call.task.stage, call.task.microbatch}];
  const core::OpKind kind = call.task.kind;
  if (kind == core::OpKind::forward) kept = std::move(call.inputs);
  if (kind == core::OpKind::backward || kind == core::OpKind::backward_weight) kept.clear();
  call.inputs.clear();
}

std::vector<DeviceToyWork::Part> DeviceToyWork::parts_of(int microbatch) const {
  if (!varies_) return {{bytes_, bytes_}};
  const std::size_t first = 1000;
  const std::size_t more = 500 * static_cast<std::size_t>(microbatch % 5);
  if (microbatch % 3 == 0) return {{bytes_, bytes_ + more}};
  return {{first, first + more}, {bytes_ - first, bytes_ - first}};
}

Status DeviceToyWork::give_outputs(Call& call, Job& job) {
  if (call.outputs.empty()) return {};
  Payload payload;
  const std::byte* from = job.output.data;
  for (const Part& part : parts_of(call.task.microbatch)) {
    Bytes& onto = payload.parts.emplace_back();
    if (Status s = memory_.take(part.size, stream_, onto); !s.ok()) return s;
    if (Status s =
            status_of(cudaMemcpyAsync(onto.data, from, part.used, cudaMemcpyHostToDevice, stream_),
                      "copy an output");
        !s.ok()) {
      return s;
    }
    from += part.used;
  }
  call.give(payload);
  return {};
}

struct DeviceRun::Rank {
  runtime::cuda::Stream compute;
  runtime::network::HostBufferPool pinned = runtime::cuda::make_pinned_pool();
  KeptBufferPool of_toy;
  std::unique_ptr<runtime::cuda::DeviceMemory> memory;
  std::unique_ptr<DeviceToyWork> work;
  std::string carriers;
  std::unique_ptr<runtime::Transport> behind;

  Status make(int device, runtime::ToyWork& toy, std::size_t bytes, bool varies) {
    using Priority = runtime::cuda::Stream::Priority;
    if (Status s = runtime::cuda::use_device(device); !s.ok()) return s;
    if (Status s = runtime::cuda::Stream::make(Priority::usual, compute); !s.ok()) return s;
    memory = std::make_unique<runtime::cuda::DeviceMemory>(
        device, std::vector<cudaStream_t>{compute.get()});
    work = std::make_unique<DeviceToyWork>(toy, bytes, varies, compute.get(), *memory, of_toy);
    return {};
  }
};

DeviceRun::DeviceRun(const ProvedText& proved, std::uint64_t seed, DeviceRunOptions options)
    : model_{.width = kWidth, .seed = seed},
      options_(std::move(options)),
      facts_(proved.facts()),
      toys_(proved, model_) {
  for (int r = 0; r < core::layout_of(proved.facts()).processes() && status_.ok(); ++r) {
    Rank& rank = *ranks_.emplace_back(std::make_unique<Rank>());
    if (options_.enter) options_.enter(r);
    status_ = rank.make(device_of(r), toys_.rank(r).toy, kWidth * sizeof(double), options_.varies);
  }
  if (options_.enter) options_.enter(-1);
  toys_.wrap = [this](runtime::Transport& transport) { return wrap(transport); };
  toys_.make_engine = [this, &proved](int r, runtime::Run& run) {
    Rank& rank = *ranks_[static_cast<std::size_t>(r)];
    return std::make_unique<runtime::cuda::StreamEngine>(
        *rank.work, proved.facts(), runtime::cuda::EngineStreams{rank.compute.get()},
        [&run] { run.wake(); }, toys_.rank(r).before_task);
  };
}
DeviceRun::~DeviceRun() = default;

int DeviceRun::device_of(int rank) const { return options_.own_devices ? rank : options_.device; }

// Called in the rank's thread. If a transport cannot connect, the run later gets the error.
std::unique_ptr<runtime::Transport> DeviceRun::wrap(runtime::Transport& transport) {
  const int self = transport.self();
  if (options_.enter) options_.enter(self);
  static_cast<void>(runtime::cuda::use_device(device_of(self)));
  Rank& rank = *ranks_[static_cast<std::size_t>(self)];
  runtime::cuda::DeviceTransportOptions with{.carrier = options_.carrier};
  with.ipc.granule = kGranule;
  if (options_.host) with.host = options_.host(self);
  if (options_.nccl) {
    with.nccl.library = options_.nccl(self);
    // For NCCL, each thread that counts as a process has a device of its own.
    if (options_.enter) with.nccl.device = "of rank " + std::to_string(self);
  }
  if (options_.behind) rank.behind = options_.behind(transport);
  auto device = std::make_unique<runtime::cuda::DeviceTransport>(
      rank.behind ? *rank.behind : transport, rank.pinned, *rank.memory, with);
  static_cast<void>(device->connect());
  rank.carriers = device->carriers();
  if (options_.before) return options_.before(std::move(device));
  return device;
}

std::unique_ptr<runtime::Transport> DeviceRun::connect_one(int rank, int ranks,
                                                           const std::string& folder) {
  std::unique_ptr<runtime::Transport> transport;
  const Status status =
      runtime::network::connect_in_folder(socket_options(rank, ranks), folder, transport,
                                          &ranks_[static_cast<std::size_t>(rank)]->pinned);
  EXPECT_TRUE(status.ok()) << status.message();
  return transport;
}

void DeviceRun::connect_in(const std::string& folder) {
  toys_.connect = [this, folder](int ranks) {
    std::vector<std::unique_ptr<runtime::Transport>> group(static_cast<std::size_t>(ranks));
    in_threads(ranks,
               [&](int r) { group[static_cast<std::size_t>(r)] = connect_one(r, ranks, folder); });
    return group;
  };
}

void DeviceRun::run_one(int rank, const std::string& folder, int steps, int microbatches) {
  const auto transport = connect_one(rank, static_cast<int>(ranks_.size()), folder);
  if (transport != nullptr) toys_.run_one(rank, *transport, steps, microbatches);
}

void DeviceRun::run(int steps, int microbatches) {
  if (status_.ok()) toys_.run(steps, microbatches);
}

bool DeviceRun::differs(int steps, int microbatches) {
  runtime::ToyModel model = model_;
  model.stages = facts_.stages;
  const runtime::ToyResult wanted = runtime::reference_gradients(model, steps - 1, microbatches);
  for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) {
    const ToyRank& rank = toys_.rank(r);
    if (rank.gradients.size() < static_cast<std::size_t>(steps)) continue;
    for (const auto& [stage, gradient] : rank.gradients.back()) {
      if (gradient != wanted.gradients[static_cast<std::size_t>(stage)]) return true;
    }
  }
  return false;
}

std::size_t DeviceRun::allocations() const {
  std::size_t all = 0;
  for (const auto& rank : ranks_) all += rank->memory->allocations() - rank->memory->owned();
  return all;
}

std::size_t DeviceRun::exported(int rank) const {
  return ranks_[static_cast<std::size_t>(rank)]->memory->owned();
}

const std::string& DeviceRun::carriers(int rank) const {
  return ranks_[static_cast<std::size_t>(rank)]->carriers;
}

std::size_t DeviceRun::taken() const {
  std::size_t all = 0;
  for (const auto& rank : ranks_) all += rank->memory->taken();
  return all;
}

}  // namespace ripeline::testing_support
