// A proved program with the toy model, whose messages lie on a device: processes as threads, each
// with streams and memory of its own on one device.
//
// The toy computes in host functions of the compute stream, between copies of its inputs to the
// host and of its outputs to the device. So this runs on any device, and on the fake one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/staged_transport.h"
#include "runtime/cuda/stream_engine.h"
#include "tests/runtime/toy_run.h"

namespace ripeline::testing_support {

// Enqueues what the toy does, and lets go of its inputs at once, as a work of LibTorch does.
class DeviceToyWork final : public runtime::Work {
 public:
  // All are borrowed. `bytes`: of each payload of the toy.
  DeviceToyWork(runtime::ToyWork& toy, std::size_t bytes, cudaStream_t stream,
                runtime::DeviceMemory& memory, runtime::Place& pinned);
  ~DeviceToyWork() override;

  core::Status begin_step(std::int64_t step, int microbatches) override;
  core::Status run(runtime::Call& call) override;

 private:
  struct Job;
  core::Status take_inputs(runtime::Call& call, Job& job);
  core::Status give_outputs(runtime::Call& call, Job& job);

  runtime::ToyWork& toy_;
  std::size_t bytes_;
  cudaStream_t stream_;
  runtime::DeviceMemory& memory_;
  runtime::Place& pinned_;
  std::vector<std::unique_ptr<Job>> jobs_;  // of this step
};

class DeviceRun {
 public:
  // Payloads are parts, so the model is wide.
  explicit DeviceRun(const ProvedText& proved, std::uint64_t seed);
  ~DeviceRun();

  // Until all steps are done, or all ranks have failed.
  void run(int steps, int microbatches);

  [[nodiscard]] ToyRun& toys() { return toys_; }
  // Buffers of all devices' memories: allocated until now, and bytes that are out.
  [[nodiscard]] std::size_t allocations() const;
  [[nodiscard]] std::size_t taken() const;
  // Not ok: a device could not do what was asked before the run.
  [[nodiscard]] const core::Status& status() const { return status_; }

 private:
  struct Rank;

  runtime::ToyModel model_;
  ToyRun toys_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  core::Status status_;
};

}  // namespace ripeline::testing_support
