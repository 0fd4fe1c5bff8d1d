#include "tests/torch/one_stage.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gtest/gtest.h>

#include <utility>

#include "runtime/torch/value_codec.h"

namespace ripeline::testing_support {

using core::OpKind;
using core::Status;
using runtime::Call;
using torch::IValue;

namespace {

runtime::TorchModel model_of(runtime::TorchStage stage) {
  runtime::TorchModel model;
  model.stages[1] = std::move(stage);
  return model;
}

}  // namespace

OneStage::OneStage(const std::string& program, runtime::TorchStage stage)
    : pipeline_(program), work_(model_of(std::move(stage))) {
  const Status status = work_.check(pipeline_.facts(), 1);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(work_.begin_step(0, 8).ok());
}

Status OneStage::run(char op, int microbatch, const IValue& input) {
  const core::ProgramFacts& facts = pipeline_.facts();
  Call call;
  for (const core::LaneFacts& lane : facts.lanes) {
    const core::OpFacts& of = facts.ops[static_cast<std::size_t>(lane.op)];
    if (lane.stage != 1 || of.name != std::string_view(&op, 1)) continue;
    call.task = {.op = of.name,
                 .kind = of.kind,
                 .stage = 1,
                 .stages = 3,
                 .microbatch = microbatch,
                 .microbatches = 8,
                 .engine = lane.engine};
  }
  const bool is_forward = call.task.kind == OpKind::forward;
  if (!input.isNone()) {
    // A forward's input is from the stage before; a backward's gradient is from the stage after.
    const OpKind kind = is_forward ? OpKind::forward : OpKind::backward;
    runtime::Input& one = call.inputs.emplace_back();
    one.kind = kind;
    one.stage = is_forward ? 0 : 2;
    one.microbatch = microbatch;
    EXPECT_TRUE(runtime::encode_value(input, one.payload).ok());
  }
  const bool gives =
      is_forward || call.task.kind == OpKind::backward || call.task.kind == OpKind::backward_input;
  if (gives) {
    runtime::Output& one = call.outputs.emplace_back();
    one.kind = call.task.kind;
    one.stage = is_forward ? 2 : 0;
  }
  const Status status = work_.run(call);
  if (status.ok()) work_.ended(call.task);
  if (status.ok() && gives) {
    EXPECT_TRUE(runtime::decode_value(call.outputs[0].payload, given_).ok());
  }
  return status;
}

struct TakenBytes::Parts {
  struct Sum final : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void* /*data*/, std::int64_t size, std::size_t /*allocated*/,
                           std::size_t /*reserved*/, c10::Device /*device*/) override {
      bytes += size;
    }
    [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }
    std::int64_t bytes = 0;
  };
  std::shared_ptr<Sum> sum = std::make_shared<Sum>();
  c10::DebugInfoGuard guard{c10::DebugInfoKind::PROFILER_STATE, sum};
};

TakenBytes::TakenBytes() : parts_(std::make_unique<Parts>()) {}
TakenBytes::~TakenBytes() = default;
std::int64_t TakenBytes::now() const { return parts_->sum->bytes; }

}  // namespace ripeline::testing_support
