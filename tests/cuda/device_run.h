// A proved program with the toy model, whose messages lie on a device: processes as threads, each
// with streams and memory of its own on one device.
//
// The toy computes in host functions of the compute stream, between copies of its inputs to the
// host and of its outputs to the device. So this runs on any device, and on the fake one.
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

// Enqueues what the toy does, and lets go of its inputs as soon as that is enqueued, as a work of
// LibTorch does: of those of a forward with the last task of its microbatch at the stage.
class DeviceToyWork final : public runtime::Work {
 public:
  // All are borrowed. `bytes`: of each payload of the toy. `varies`: it is sent as one part or two,
  // some of them longer than what is in them.
  DeviceToyWork(runtime::ToyWork& toy, std::size_t bytes, bool varies, cudaStream_t stream,
                runtime::cuda::DeviceMemory& memory, runtime::network::Place& pinned);
  ~DeviceToyWork() override;

  core::Status begin_step(std::int64_t step, int microbatches) override;
  core::Status run(runtime::Call& call) override;

 private:
  struct Job;
  core::Status take_inputs(runtime::Call& call, Job& job);
  core::Status give_outputs(runtime::Call& call, Job& job);
  void keep(runtime::Call& call);
  // A part of a task's output: how many bytes of the output are in it, and how long it is.
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
  runtime::network::Place& pinned_;
  std::vector<std::unique_ptr<Job>> jobs_;  // this step's
  // Inputs of forwards, by stage and microbatch.
  std::map<std::pair<int, int>, std::vector<runtime::Input>> kept_;
};

struct DeviceRunOptions {
  int device = 0;
  bool own_devices = false;  // each rank has one, of its own number
  bool varies = false;       // payloads have various sizes
  std::optional<runtime::cuda::CarrierKind> carrier = std::nullopt;
  // The library of a rank that goes by NCCL. Null: none.
  std::function<const runtime::cuda::NcclLibrary*(int rank)> nccl = nullptr;
  // Called first in a rank's thread, and in the constructor before and after (-1) it makes what is
  // a rank's. Null: nothing.
  std::function<void(int rank)> enter = nullptr;
  // On which host a rank is. Null: on this one.
  std::function<std::string(int rank)> host = nullptr;
  // Puts a transport before the rank's own. Null: none.
  std::function<std::unique_ptr<runtime::Transport>(std::unique_ptr<runtime::Transport>)> before =
      nullptr;
  // Puts one between that and the one that connects the ranks. Null: none.
  std::function<std::unique_ptr<runtime::Transport>(runtime::Transport&)> behind = nullptr;
};

class DeviceRun {
 public:
  // Payloads are parts, so the model is wide.
  DeviceRun(const ProvedText& proved, std::uint64_t seed, DeviceRunOptions options = {});
  ~DeviceRun();

  // The ranks meet in this folder and are connected by sockets; else they share their memory.
  void connect_in(const std::string& folder);
  // Until all steps are done, or all ranks have failed.
  void run(int steps, int microbatches);
  // The part of one rank, which meets the others in the folder.
  void run_one(int rank, const std::string& folder, int steps, int microbatches);

  [[nodiscard]] ToyRun& toys() { return toys_; }
  // Whether gradients of the last step are others than those of one process, as far as ranks have
  // come to its end.
  [[nodiscard]] bool differs(int steps, int microbatches);
  // Buffers of all devices' memories: allocated until now for what a rank itself puts there, and
  // bytes that are out.
  [[nodiscard]] std::size_t allocations() const;
  [[nodiscard]] std::size_t taken() const;
  // The buffers that a rank allocated for others to write to, and the carriers of its messages.
  [[nodiscard]] std::size_t exported(int rank) const;
  [[nodiscard]] const std::string& carriers(int rank) const;
  // Not ok: a device could not do what was asked before the run.
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
