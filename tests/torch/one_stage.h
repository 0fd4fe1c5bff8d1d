// Runs the tasks of one LibTorch stage, one after another in the caller's thread, and measures the
// memory that they still occupy.
#pragma once

#include <torch/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/torch/torch_work.h"
#include "tests/torch/pipeline.h"

namespace ripeline::testing_support {

// Stage 1 of 3 stages, each on its own rank. The program's ops must be named as run() expects.
class OneStage {
 public:
  // Expects that the stage supports the program.
  OneStage(const std::string& program, runtime::TorchStage stage);

  // Runs `op` of the microbatch. A forward gets `input`; an op that computes gradients gets one
  // gradient for each output of the stage. given() is the task's decoded output, if it has one.
  core::Status run(char op, int microbatch, const torch::IValue& input = {});
  [[nodiscard]] const torch::IValue& given() const { return given_; }
  void drop_given() { given_ = {}; }
  [[nodiscard]] runtime::TorchWork& work() { return work_; }

 private:
  Pipeline pipeline_;
  runtime::TorchWork work_;
  torch::IValue given_;
};

// The bytes of LibTorch's host memory that the thread has allocated since the construction and that
// are still in use; earlier memory does not count.
class TakenBytes {
 public:
  TakenBytes();
  ~TakenBytes();
  TakenBytes(const TakenBytes&) = delete;
  TakenBytes& operator=(const TakenBytes&) = delete;
  [[nodiscard]] std::int64_t now() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ripeline::testing_support
