#include "runtime/torch/nccl_communicator.h"

#ifdef RIPELINE_CUDA
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <torch/types.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "runtime/blob_io.h"
#include "runtime/cuda/nccl/nccl_group.h"
#include "runtime/duration.h"
#endif

namespace ripeline::runtime {

using core::Status;
using core::StatusCode;

#ifndef RIPELINE_CUDA

Status connect_nccl(Run& /*run*/, const TorchDevice& /*device*/,
                    const cuda::NcclLibrary& /*library*/, std::vector<CommunicatorPlan> /*plans*/,
                    const GroupOptions& /*options*/, Communicators& /*communicators*/) {
  return {StatusCode::refused, "this Ripeline was built without CUDA"};
}

#else

namespace {

cuda::NcclType type_of(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat16:
      return cuda::NcclType::float16;
    case torch::kBFloat16:
      return cuda::NcclType::bfloat16;
    case torch::kFloat32:
      return cuda::NcclType::float32;
    case torch::kFloat64:
      return cuda::NcclType::float64;
    case torch::kInt32:
      return cuda::NcclType::int32;
    case torch::kInt64:
      return cuda::NcclType::int64;
    default:
      throw std::invalid_argument(std::string("tensors of the type ") + c10::toString(type) +
                                  " are not added up over NCCL; float16, bfloat16, float32, "
                                  "float64, int32 and int64 are");
  }
}

class NcclCommunicator final : public Group::Communicator {
 public:
  NcclCommunicator(const CommunicatorPlan& plan, c10::Device device,
                   std::unique_ptr<cuda::NcclComm> comm)
      : Communicator(plan.self, plan.size),
        name_(plan.name),
        waits_(plan.among == CommunicatorPlan::Among::replicas),
        device_(device),
        group_(std::move(comm)) {}

  void reduce(torch::Tensor& tensor, Operation operation) override {
    reduce(tensor, operation, waits_);
  }
  // Adds once, which makes NCCL connect everything here, so that nothing connects later.
  Status first_sum() {
    torch::Tensor one = torch::ones({1}, torch::TensorOptions().device(device_));
    reduce(one, Operation::sum, true);
    const auto sum = one.item<float>();
    if (sum == static_cast<float>(size())) return {};
    return {StatusCode::failed,
            name_ + ": the sum of " + std::to_string(size()) + " ones is " + std::to_string(sum)};
  }
  void close() override { group_.close(); }

 private:
  void reduce(torch::Tensor& tensor, Operation operation, bool waits) {
    const c10::InferenceMode no_graph;
    const cuda::NcclType type = type_of(tensor.scalar_type());
    if (tensor.numel() == 0) return;
    torch::Tensor dense = tensor.to(device_).contiguous();
    const cuda::NcclNumbers numbers{.data = dense.mutable_data_ptr(),
                                    .count = static_cast<std::size_t>(dense.numel()),
                                    .type = type};
    const cuda::NcclSum sum =
        operation == Operation::sum ? cuda::NcclSum::sum : cuda::NcclSum::maximum;
    const c10::Stream current = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
    const auto stream = static_cast<cudaStream_t>(current.native_handle());
    const Status status =
        waits ? group_.reduce(numbers, sum, stream) : group_.enqueue(numbers, sum, stream);
    if (!status.ok()) {
      given_up_ = dense;
      throw GroupFailed(name_ + ": " + status.message());
    }
    if (!dense.is_same(tensor)) tensor.copy_(dense);
  }

  const std::string name_;
  const bool waits_;
  const c10::Device device_;
  torch::Tensor given_up_;  // the tensor of a failed call, kept until the group ends
  cuda::NcclGroup group_;
};

// A communicator that a thread connects. Nothing can end that thread while it waits in NCCL, so
// this object owns all that the thread uses.
struct Connecting {
  CommunicatorPlan plan;
  cuda::NcclId id{};
  const cuda::NcclLibrary* library = nullptr;
  c10::Stream stream;  // the stream on which stages compute
  std::mutex mutex = {};
  std::condition_variable changed = {};
  // Guarded by the mutex.
  bool has_ended = false;
  bool is_given_up = false;
  Status status = {};
  std::shared_ptr<NcclCommunicator> communicator = nullptr;
};

Status connect_communicator(Connecting& of) {
  if (Status s = cuda::use_device(of.stream.device_index()); !s.ok()) return s;
  std::unique_ptr<cuda::NcclComm> comm;
  const Status connected =
      of.library->connect(of.id, {.rank = of.plan.self, .size = of.plan.size}, comm);
  // As far as this process can know, another process is gone.
  if (!connected.ok()) return {StatusCode::lost, connected.message()};
  const auto communicator =
      std::make_shared<NcclCommunicator>(of.plan, of.stream.device(), std::move(comm));
  {
    const std::lock_guard lock(of.mutex);
    if (of.is_given_up) return {};
    of.communicator = communicator;
  }
  try {
    const c10::StreamGuard guard(of.stream);
    return communicator->first_sum();
  } catch (const GroupFailed& error) {
    return {StatusCode::lost, error.what()};
  } catch (const c10::Error& error) {
    return {StatusCode::failed, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return {StatusCode::failed, error.what()};
  }
}

Status connect_within(std::chrono::milliseconds limit, const std::shared_ptr<Connecting>& of) {
  std::thread([of] {
    Status status = connect_communicator(*of);
    const std::lock_guard lock(of->mutex);
    of->status = std::move(status);
    of->has_ended = true;
    of->changed.notify_all();
  }).detach();
  std::shared_ptr<NcclCommunicator> unfinished;
  {
    std::unique_lock lock(of->mutex);
    if (of->changed.wait_for(lock, limit, [&of] { return of->has_ended; })) return of->status;
    of->is_given_up = true;
    unfinished = of->communicator;
  }
  if (unfinished != nullptr) unfinished->close();
  // This is not `lost`: a process that is gone would have been reported sooner.
  return {StatusCode::failed,
          of->plan.name + " did not connect over NCCL within " + seconds_text(limit)};
}

// Connects the communicators in the order of their plans.
Status connect_communicators(const std::vector<std::shared_ptr<Connecting>>& all,
                             std::chrono::milliseconds limit) {
  for (const std::shared_ptr<Connecting>& of : all) {
    if (Status s = connect_within(limit, of); !s.ok()) {
      return {s.code(), "it cannot connect its groups: " + s.message()};
    }
  }
  return {};
}

// Makes the ids of the communicators in which this process is the first.
Status make_ids(const cuda::NcclLibrary& library, const std::vector<CommunicatorPlan>& plans,
                Blob& blob) {
  BlobWriter ids;
  for (const CommunicatorPlan& plan : plans) {
    if (plan.self != 0) continue;
    cuda::NcclId id{};
    if (Status s = library.make_id(id); !s.ok()) return s;
    ids.text(plan.name);
    ids.bytes(id.data(), id.size());
  }
  blob = ids.take();
  return {};
}

// Collects the ids that all processes have made, by the names of their communicators.
Status read_ids(const std::vector<Blob>& blobs, std::map<std::string, cuda::NcclId>& ids) {
  constexpr std::size_t kLongestName = 256;
  for (std::size_t process = 0; process < blobs.size(); ++process) {
    BlobReader from(blobs[process]);
    while (from.ok() && !from.is_done()) {
      const std::string name = from.text(kLongestName);
      const std::byte* const bytes = from.bytes(sizeof(cuda::NcclId));
      if (bytes != nullptr) std::copy_n(bytes, sizeof(cuda::NcclId), ids[name].begin());
    }
    if (from.ok()) continue;
    return {StatusCode::invalid,
            "what process " + std::to_string(process) + " gives are no groups of NCCL"};
  }
  return {};
}

}  // namespace

Status connect_nccl(Run& run, const TorchDevice& device, const cuda::NcclLibrary& library,
                    std::vector<CommunicatorPlan> plans, const GroupOptions& options,
                    Communicators& communicators) {
  const auto own = std::make_shared<Blob>();
  const int number = device.device().index();
  if (Status s = run.run_beside([&library, plans, own, number] {
        const Status used = cuda::use_device(number);
        return used.ok() ? make_ids(library, plans, *own) : used;
      });
      !s.ok()) {
    return s;
  }
  std::vector<Blob> all;
  if (Status s = run.gather("the groups of NCCL", std::move(*own), all); !s.ok()) return s;
  std::map<std::string, cuda::NcclId> ids;
  if (Status s = read_ids(all, ids); !s.ok()) return run.fail(s);
  std::vector<std::shared_ptr<Connecting>> connecting;
  for (const CommunicatorPlan& plan : plans) {
    const auto id = ids.find(plan.name);
    if (id == ids.end()) return run.fail({StatusCode::invalid, "nobody names " + plan.name});
    connecting.emplace_back(new Connecting{.plan = plan,
                                           .id = id->second,
                                           .library = &library,
                                           .stream = *device.stream(core::Engine::compute)});
  }
  Status status = run.run_beside([connecting, limit = options.connect_limit] {
    return connect_communicators(connecting, limit);
  });
  if (status.ok()) status = run.gather("the groups", {}, all);
  if (!status.ok()) return status;
  for (const std::shared_ptr<Connecting>& of : connecting)
    communicators.push_back(of->communicator);
  return {};
}

#endif

}  // namespace ripeline::runtime
