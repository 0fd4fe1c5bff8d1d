#include "runtime/cuda/nccl/plugin.h"

#include <nccl.h>

#include <cstring>
#include <string>
#include <string_view>

namespace ripeline::runtime::cuda {
namespace {

using core::Status;
using core::StatusCode;

static_assert(sizeof(ncclUniqueId) == sizeof(NcclId));

Status status_of(ncclResult_t result, std::string_view what, ncclComm_t comm = nullptr) {
  if (result == ncclSuccess) return {};
  std::string why = "NCCL could not " + std::string(what) + ": " + ncclGetErrorString(result);
  const char* const more = ncclGetLastError(comm);
  if (more != nullptr && *more != '\0') why += std::string(" (") + more + ")";
  // ncclRemoteError means that, as far as NCCL knows, another process has failed.
  const bool is_remote = result == ncclRemoteError;
  return {is_remote ? StatusCode::lost : StatusCode::failed, std::move(why)};
}

ncclDataType_t type_of(NcclType type) {
  switch (type) {
    case NcclType::float16:
      return ncclFloat16;
    case NcclType::bfloat16:
      return ncclBfloat16;
    case NcclType::float32:
      return ncclFloat32;
    case NcclType::float64:
      return ncclFloat64;
    case NcclType::int32:
      return ncclInt32;
    case NcclType::int64:
      return ncclInt64;
  }
  return ncclChar;
}

class Comm final : public NcclComm {
 public:
  explicit Comm(ncclComm_t comm) : comm_(comm) {}
  ~Comm() override { Comm::abort(); }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  Status send(const void* data, std::size_t bytes, int rank, cudaStream_t stream) override {
    if (comm_ == nullptr) return ended();
    return status_of(ncclSend(data, bytes, ncclChar, rank, comm_, stream), "send", comm_);
  }
  Status receive(void* data, std::size_t bytes, int rank, cudaStream_t stream) override {
    if (comm_ == nullptr) return ended();
    return status_of(ncclRecv(data, bytes, ncclChar, rank, comm_, stream), "receive", comm_);
  }
  Status send_parts(std::span<const NcclPart> parts, int rank, cudaStream_t stream) override {
    return at_once(parts,
                   [&](const NcclPart& part) { return send(part.data, part.bytes, rank, stream); });
  }
  Status receive_parts(std::span<const NcclPart> parts, int rank, cudaStream_t stream) override {
    return at_once(
        parts, [&](const NcclPart& part) { return receive(part.data, part.bytes, rank, stream); });
  }
  Status reduce(const void* from, void* onto, std::size_t count, NcclType type, NcclSum sum,
                cudaStream_t stream) override {
    if (comm_ == nullptr) return ended();
    const ncclRedOp_t op = sum == NcclSum::sum ? ncclSum : ncclMax;
    return status_of(ncclAllReduce(from, onto, count, type_of(type), op, comm_, stream),
                     "reduce a tensor", comm_);
  }
  Status health() override {
    if (comm_ == nullptr) return ended();
    ncclResult_t error = ncclSuccess;
    if (Status s = status_of(ncclCommGetAsyncError(comm_, &error), "say how it is", comm_);
        !s.ok()) {
      return s;
    }
    return status_of(error, "go on", comm_);
  }
  void abort() override {
    if (comm_ != nullptr) ncclCommAbort(comm_);
    comm_ = nullptr;
  }
  Status finish() override {
    if (comm_ == nullptr) return ended();
    if (Status s = status_of(ncclCommFinalize(comm_), "finish a communicator", comm_); !s.ok()) {
      return s;
    }
    const ncclResult_t result = ncclCommDestroy(comm_);
    comm_ = nullptr;
    return status_of(result, "destroy a communicator");
  }

 private:
  // Makes the calls in one group, which NCCL launches as one kernel. A failed call ends the group.
  template <class Each>
  Status at_once(std::span<const NcclPart> parts, const Each& each) {
    if (comm_ == nullptr) return ended();
    Status status = status_of(ncclGroupStart(), "begin a group");
    if (!status.ok()) return status;
    for (const NcclPart& part : parts) {
      if (status.ok()) status = each(part);
    }
    Status launched = status_of(ncclGroupEnd(), "launch a group", comm_);
    return status.ok() ? launched : status;
  }

  static Status ended() { return {StatusCode::failed, "a communicator of NCCL was ended"}; }
  ncclComm_t comm_;
};

class Library final : public NcclLibrary {
 public:
  int version() const override {
    int version = 0;
    return ncclGetVersion(&version) == ncclSuccess ? version : 0;
  }
  Status make_id(NcclId& id) const override {
    ncclUniqueId unique{};
    if (Status s = status_of(ncclGetUniqueId(&unique), "name a communicator"); !s.ok()) return s;
    std::memcpy(id.data(), &unique, sizeof unique);
    return {};
  }
  // Makes blocking communicators: with `blocking = 0` another thread launches kernels, and an event
  // that is recorded after a call may precede its kernel. Communicators share no resources, since
  // the kernels of communicators that share resources run one after another.
  Status connect(const NcclId& id, const NcclCommOptions& options,
                 std::unique_ptr<NcclComm>& comm) const override {
    ncclUniqueId unique{};
    std::memcpy(&unique, id.data(), sizeof unique);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    config.splitShare = 0;
    if (options.most_blocks > 0) config.maxCTAs = options.most_blocks;
    ncclComm_t made = nullptr;
    if (Status s =
            status_of(ncclCommInitRankConfig(&made, options.size, unique, options.rank, &config),
                      "connect " + std::to_string(options.size) + " processes");
        !s.ok()) {
      return s;
    }
    comm = std::make_unique<Comm>(made);
    return {};
  }
};

}  // namespace
}  // namespace ripeline::runtime::cuda

const ripeline::runtime::cuda::NcclLibrary* ripeline_nccl_library() {
  static const ripeline::runtime::cuda::Library library;
  return &library;
}
