// Runs whose messages are carried by the fake of NCCL: ranks are threads, each of which counts as a
// process together with the thread in which it connects.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "tests/fake_gpu/fake_nccl.h"
#include "tests/fake_gpu/fake_run.h"
#include "tests/nccl/fake_library.h"

namespace ripeline::testing_support {

// Makes this thread a part of the process, and a host: others may wait for what the thread does.
inline void be_host(int process) {
  thread_local std::optional<fake_gpu::Host> host;
  fake_gpu::be_process(process);
  if (process < 0) host.reset();
  if (process >= 0 && !host) host.emplace();
}

// A communicator that forwards every call; derived classes break a rule.
class AroundComm : public runtime::cuda::NcclComm {
 public:
  explicit AroundComm(std::shared_ptr<runtime::cuda::NcclComm> inner) : inner_(std::move(inner)) {}
  core::Status send(const void* data, std::size_t bytes, int rank, cudaStream_t stream) override {
    return inner_->send(data, bytes, rank, stream);
  }
  core::Status receive(void* data, std::size_t bytes, int rank, cudaStream_t stream) override {
    return inner_->receive(data, bytes, rank, stream);
  }
  core::Status send_parts(std::span<const runtime::cuda::NcclPart> parts, int rank,
                          cudaStream_t stream) override {
    return inner_->send_parts(parts, rank, stream);
  }
  core::Status receive_parts(std::span<const runtime::cuda::NcclPart> parts, int rank,
                             cudaStream_t stream) override {
    return inner_->receive_parts(parts, rank, stream);
  }
  core::Status reduce(const void* from, void* onto, std::size_t count, runtime::cuda::NcclType type,
                      runtime::cuda::NcclSum sum, cudaStream_t stream) override {
    return inner_->reduce(from, onto, count, type, sum, stream);
  }
  core::Status health() override { return inner_->health(); }
  void abort() override { inner_->abort(); }
  core::Status finish() override { return inner_->finish(); }

 protected:
  std::shared_ptr<runtime::cuda::NcclComm> inner_;
};

// The fake's library, as one process sees it.
class ProcessLibrary : public runtime::cuda::NcclLibrary {
 public:
  explicit ProcessLibrary(int process) : process_(process) {}
  [[nodiscard]] int version() const override { return fake_nccl().version(); }
  [[nodiscard]] core::Status make_id(runtime::cuda::NcclId& id) const override {
    be_host(process_);
    return fake_nccl().make_id(id);
  }
  [[nodiscard]] core::Status connect(
      const runtime::cuda::NcclId& id, const runtime::cuda::NcclCommOptions& options,
      std::unique_ptr<runtime::cuda::NcclComm>& comm) const override {
    be_host(process_);
    return fake_nccl().connect(id, options, comm);
  }

 private:
  int process_;
};

// The library of a process; the array suffices for the largest test.
template <class Library = ProcessLibrary>
const runtime::cuda::NcclLibrary* library_of(int process) {
  static const std::array<Library, 5> all = {Library(0), Library(1), Library(2), Library(3),
                                             Library(4)};
  return &all.at(static_cast<std::size_t>(process));
}

inline DeviceRunOptions by_nccl() {
  DeviceRunOptions options;
  options.enter = be_host;
  options.carrier = runtime::cuda::CarrierKind::nccl;
  options.nccl = library_of<>;
  return options;
}

}  // namespace ripeline::testing_support
