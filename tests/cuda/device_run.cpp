#include "tests/cuda/device_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ripeline::testing_support {

using core::Status;
using core::StatusCode;
using runtime::Bytes;
using runtime::Call;
using runtime::Payload;
using runtime::status_of;

namespace {

constexpr int kWidth = 600;  // of doubles: more than a head holds

}  // namespace

// A task of the toy on the host, between what it read and what it gives.
struct DeviceToyWork::Job {
  runtime::ToyWork* toy = nullptr;
  Call call;
  Bytes output;  // pinned; none: nobody gets one
  Status status;

  void run() {
    status = toy->run(call);
    if (!status.ok() || output.data == nullptr) return;
    const runtime::Blob blob = runtime::blob_of(call.outputs.front().payload);
    std::memcpy(output.data, blob.data(), std::min(blob.size(), output.size));
  }
};

DeviceToyWork::DeviceToyWork(runtime::ToyWork& toy, std::size_t bytes, cudaStream_t stream,
                             runtime::DeviceMemory& memory, runtime::Place& pinned)
    : toy_(toy), bytes_(bytes), stream_(stream), memory_(memory), pinned_(pinned) {}
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
    for (Bytes& part : copy.payload.parts) {
      const Bytes onto = pinned_.take(-1, part.size);
      if (Status s = status_of(
              cudaMemcpyAsync(onto.data, part.data, part.size, cudaMemcpyDeviceToHost, stream_),
              "copy an input");
          !s.ok()) {
        return s;
      }
      part = onto;
    }
  }
  call.inputs.clear();
  return {};
}

Status DeviceToyWork::give_outputs(Call& call, Job& job) {
  if (call.outputs.empty()) return {};
  Payload payload;
  Bytes& onto = payload.parts.emplace_back();
  if (Status s = memory_.take(bytes_, stream_, onto); !s.ok()) return s;
  call.give(payload);
  return status_of(
      cudaMemcpyAsync(onto.data, job.output.data, bytes_, cudaMemcpyHostToDevice, stream_),
      "copy an output");
}

struct DeviceRun::Rank {
  runtime::Stream compute;
  runtime::Stream to_host;
  runtime::Stream to_device;
  runtime::HostPlace pinned = runtime::make_pinned_place();
  std::unique_ptr<runtime::DeviceMemory> memory;
  std::unique_ptr<DeviceToyWork> work;

  Status make(runtime::ToyWork& toy, std::size_t bytes) {
    using Priority = runtime::Stream::Priority;
    if (Status s = runtime::use_device(0); !s.ok()) return s;
    if (Status s = runtime::Stream::make(Priority::usual, compute); !s.ok()) return s;
    if (Status s = runtime::Stream::make(Priority::highest, to_host); !s.ok()) return s;
    if (Status s = runtime::Stream::make(Priority::highest, to_device); !s.ok()) return s;
    memory = std::make_unique<runtime::DeviceMemory>(0, std::vector<cudaStream_t>{compute.get()});
    work = std::make_unique<DeviceToyWork>(toy, bytes, compute.get(), *memory, pinned);
    return {};
  }
};

DeviceRun::DeviceRun(const ProvedText& proved, std::uint64_t seed)
    : model_{.width = kWidth, .seed = seed}, toys_(proved, model_) {
  for (int r = 0; r < core::layout_of(proved.facts()).processes() && status_.ok(); ++r) {
    Rank& rank = *ranks_.emplace_back(std::make_unique<Rank>());
    status_ = rank.make(toys_.rank(r).toy, kWidth * sizeof(double));
  }
  toys_.wrap = [this](runtime::Transport& transport) {
    Rank& rank = *ranks_[static_cast<std::size_t>(transport.self())];
    return std::make_unique<runtime::StagedTransport>(transport, rank.pinned, *rank.memory,
                                                      rank.to_host.get(), rank.to_device.get());
  };
  toys_.make_engine = [this, &proved](int r, runtime::Run& run) {
    Rank& rank = *ranks_[static_cast<std::size_t>(r)];
    return std::make_unique<runtime::StreamEngine>(
        *rank.work, proved.facts(), runtime::EngineStreams{rank.compute.get()},
        [&run] { run.wake(); }, toys_.rank(r).before_task);
  };
}
DeviceRun::~DeviceRun() = default;

void DeviceRun::run(int steps, int microbatches) {
  if (status_.ok()) toys_.run(steps, microbatches);
}

std::size_t DeviceRun::allocations() const {
  std::size_t all = 0;
  for (const auto& rank : ranks_) all += rank->memory->allocations();
  return all;
}

std::size_t DeviceRun::taken() const {
  std::size_t all = 0;
  for (const auto& rank : ranks_) all += rank->memory->taken();
  return all;
}

}  // namespace ripeline::testing_support
