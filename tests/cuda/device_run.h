// DeviceRun: runs a proved program on the toy model, with messages on a device. Processes are
// threads, each with its own streams and memory on one device.
//
// The toy computes in host functions of the compute stream, between copies of its inputs to the
// host and of its outputs to the device. So this works on any device, also on the fake one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/carriers/device_transport.h"
#include "runtime/cuda/stream_engine.h"
#include "tests/runtime/toy_run.h"

namespace ripeline::testing_support {

// Enqueues the toy's computation, and then releases the inputs at once, as a LibTorch work does.
// Only a forward's inputs are kept until the last task of its microbatch at the stage.
class DeviceToyWork final : public runtime::Work {
 public:
  // All references are borrowed. `bytes` is the size of each payload of the toy. With `varies`, a
  // payload is sent as one or two parts, some of which are longer than their content.
  DeviceToyWork(runtime::ToyWork& toy, std::size_t bytes, bool varies, cudaStream_t stream,
                runtime::cuda::DeviceMemory& memory, runtime::network::BufferPool& pinned);
  ~DeviceToyWork() override;

  core::Status begin_step(std::int64_t step, int microbatches) override;
  core::Status run(runtime::Call& call) override;

 private:
  struct Job;
  core::Status take_inputs(runtime::Call& call, Job& job);
  core::Status give_outputs(runtime::Call& call, Job& job);
  void keep(runtime::Call& call);
  // A part of a task's output: the number of output bytes in it, and its length.
  struct Part {
    std::size_t used;
    std::size_t size;
  };
  [[nodiscard]] std::vector<Part> parts_of(int microbatch) const;

  runtime::ToyWork& toy_;
  std::size_t bytes_;
  bool varies_;
  cudaStream_t stream_;
  runtime::cuda::DeviceMemory& memory_;
  runtime::network::BufferPool& pinned_;
  std::vector<std::unique_ptr<Job>> jobs_;  // the jobs of this step
  // The inputs of forwards, by stage and microbatch.
  std::map<std::pair<int, int>, std::vector<runtime::Input>> kept_;
};

struct DeviceRunOptions {
  int device = 0;
  bool own_devices = false;  // each rank's device has the rank's number
  bool varies = false;       // payloads have various sizes
  std::optional<runtime::cuda::CarrierKind> carrier = std::nullopt;
  // The NCCL library of a rank. If null, the rank does not use NCCL.
  std::function<const runtime::cuda::NcclLibrary*(int rank)> nccl = nullptr;
  // Called first in each rank's thread. The constructor also calls it before it makes each rank's
  // objects, and with -1 when all are made. May be null.
  std::function<void(int rank)> enter = nullptr;
  // The host of a rank. If null, all ranks are on this host.
  std::function<std::string(int rank)> host = nullptr;
  // Puts a transport in front of the rank's own. May be null.
  std::function<std::unique_ptr<runtime::Transport>(std::unique_ptr<runtime::Transport>)> before =
      nullptr;
  // Puts a transport between the rank's own and the one that connects ranks. May be null.
  std::function<std::unique_ptr<runtime::Transport>(runtime::Transport&)> behind = nullptr;
};

class DeviceRun {
 public:
  // The model is wide, so that payloads have parts.
  DeviceRun(const ProvedText& proved, std::uint64_t seed, DeviceRunOptions options = {});
  ~DeviceRun();

  // Connects the ranks by sockets that meet in this folder; by default they share memory.
  void connect_in(const std::string& folder);
  // Runs until all steps are done, or all ranks have failed.
  void run(int steps, int microbatches);
  // Runs one rank, which meets the other ranks in the folder.
  void run_one(int rank, const std::string& folder, int steps, int microbatches);

  [[nodiscard]] ToyRun& toys() { return toys_; }
  // Whether gradients of the last step differ from those of one process, at any rank that reached
  // the end of that step.
  [[nodiscard]] bool differs(int steps, int microbatches);
  // Sums over the memories of all devices: the number of buffers that were allocated for a rank's
  // own data, and the bytes that are in use.
  [[nodiscard]] std::size_t allocations() const;
  [[nodiscard]] std::size_t taken() const;
  // The number of buffers that a rank allocated for others to write to, and its messages' carriers.
  [[nodiscard]] std::size_t exported(int rank) const;
  [[nodiscard]] const std::string& carriers(int rank) const;
  // An error if a device could not be prepared for the run.
  [[nodiscard]] const core::Status& status() const { return status_; }

 private:
  struct Rank;

  [[nodiscard]] std::unique_ptr<runtime::Transport> connect_one(int rank, int ranks,
                                                                const std::string& folder);
  [[nodiscard]] int device_of(int rank) const;
  [[nodiscard]] std::unique_ptr<runtime::Transport> wrap(runtime::Transport& transport);

  runtime::ToyModel model_;
  DeviceRunOptions options_;
  const core::ProgramFacts& facts_;
  ToyRun toys_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  core::Status status_;
};

}  // namespace ripeline::testing_support
