// Tests LibTorch's sync debug mode by the function that its calls use before they wait for a GPU.
// The test needs no GPU, only LibTorch's library for GPUs.
#include "runtime/torch/sync_debug.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "runtime/torch/value_codec.h"
#include "tests/torch/one_stage.h"

namespace ripeline::runtime {
namespace {

using testing_support::OneStage;
using torch::Tensor;

const char* const kProgram =
    "pipeline p { param ranks = 3; microbatches any; stages ranks; place s on s;\n"
    "op F forward { needs F at prev; } op B backward { needs F at here, B at next; }\n"
    "dispatch ready; }";

class SyncDebugTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void* const half = dlopen("libc10_cuda.so", RTLD_NOW | RTLD_GLOBAL);
    if (half == nullptr) GTEST_SKIP() << "this LibTorch has no half for GPUs: " << dlerror();
    ask_ = reinterpret_cast<void (*)()>(dlsym(half, "_ZN3c104cuda21warn_or_error_on_syncEv"));
    ASSERT_NE(ask_, nullptr);
  }
  void TearDown() override { unsetenv("RIPELINE_SYNC_DEBUG"); }

  // The error of this pass's forward, which waits for the GPU; empty if there is none.
  std::string run(std::int64_t pass) {
    Call call;
    call.task = {.op = "F",
                 .kind = core::OpKind::forward,
                 .stage = 1,
                 .stages = 3,
                 .microbatch = 4,
                 .microbatches = 8,
                 .step = pass};
    Input& input = call.inputs.emplace_back();
    input.kind = core::OpKind::forward;
    input.microbatch = 4;
    EXPECT_TRUE(encode_value(torch::ones({2}), input.payload).ok());
    return stage_.work().run(call).message();
  }

  TorchStage waiting_stage() {
    TorchStage stage;
    stage.forward = [this](const Tensor& x) {
      std::optional<AllowedSync> allowed;
      if (is_own_) allowed.emplace();
      ask_();
      return x * 2;
    };
    return stage;
  }

  void (*ask_)() = nullptr;
  bool is_own_ = false;
  OneStage stage_{kProgram, waiting_stage()};
};

TEST_F(SyncDebugTest, a_task_that_waits_for_the_gpu_fails_from_the_third_pass_on) {
  setenv("RIPELINE_SYNC_DEBUG", "error", 1);
  const core::Status status = read_sync_debug();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(run(0), "");
  EXPECT_EQ(run(1), "");
  EXPECT_EQ(run(2).find("1F4: called a synchronizing CUDA operation"), 0U) << run(2);
  ask_();  // called between tasks
  is_own_ = true;
  EXPECT_EQ(run(3), "");
  is_own_ = false;
  EXPECT_NE(run(4), "") << "and again";
}

TEST_F(SyncDebugTest, it_may_wait_where_nothing_else_was_asked_for) {
  ASSERT_TRUE(read_sync_debug().ok());
  EXPECT_EQ(run(2), "");
}

TEST_F(SyncDebugTest, other_texts_are_refused) {
  setenv("RIPELINE_SYNC_DEBUG", "warn", 1);
  const core::Status status = read_sync_debug();
  EXPECT_EQ(status.code(), core::StatusCode::refused);
  EXPECT_EQ(status.message(), "RIPELINE_SYNC_DEBUG is 'warn'; it may be error");
}

}  // namespace
}  // namespace ripeline::runtime
