// The tasks of one LibTorch stage, one after another in the caller's thread, and the memory that
// they leave.
#pragma once

#include <torch/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/torch/torch_work.h"
#include "tests/torch/pipeline.h"

namespace ripeline::testing_support {

// Stage 1 of 3, each on a rank of its own, of a program whose ops have the letters of `run`.
class OneStage {
 public:
  // Expects that the stage can do what the program says.
  OneStage(const std::string& program, runtime::TorchStage stage);

  // 0F1 is `F` of microbatch 1: forwards are given `input`, what computes gradients one for each
  // output. What comes is decoded; none of other ops.
  core::Status run(char op, int microbatch, const torch::IValue& input = {});
  [[nodiscard]] const torch::IValue& given() const { return given_; }
  void drop_given() { given_ = {}; }
  [[nodiscard]] runtime::TorchWork& work() { return work_; }

 private:
  Pipeline pipeline_;
  runtime::TorchWork work_;
  torch::IValue given_;
};

// Bytes of LibTorch's memory of the host that were taken and not given back since it was made, in
// its thread, by what was taken since.
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
