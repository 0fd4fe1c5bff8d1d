// TorchTrainer: steps of training on one rank: the program's tasks, then the update.
//
//   TorchTrainer trainer(*arbiter, run, work, &optimizer, {.clip = 1.0});
//   for (int i = 0; i < steps; ++i)
//     if (Status status = trainer.step(microbatches, report); !status.ok()) ...
//
// Every process calls the same methods in the same order. Loss and gradient norm are those of the
// whole model and equal on all: the norms of all parameters are gathered and combined on the host,
// in stage order, as torch::nn::utils::clip_grad_norm_ does for an unpipelined model there. A loss
// or norm that is not finite is a failure that names the stage and step, and for a loss also the
// rank and microbatch. With loss scaling, a norm that is not finite is no failure: the step makes
// no update, on all ranks. After a failure every later call fails. Tasks run in a separate thread
// for the trainer's whole life, so that messages move meanwhile; all calls are made from one other
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/arbiter.h"
#include "runtime/configuration.h"
#include "runtime/environment.h"
#include "runtime/instruments.h"
#include "runtime/protocol/rank.h"
#include "runtime/run.h"
#include "runtime/torch/groups.h"
#include "runtime/torch/loss_scale.h"
#include "runtime/torch/torch_device.h"
#include "runtime/torch/torch_work.h"

namespace torch::optim {
class Optimizer;
}

namespace ripeline::runtime {

struct TrainerOptions {
  double clip = 0;  // the largest gradient norm; 0 for no limit
  // Gradient accumulation: a step is this many passes of the pipeline, and its loss is the mean
  // over their microbatches. For data, labels and draws, microbatches are numbered consecutively
  // over the passes. Each pass is a step of the program, and of its trace.
  int passes = 1;
  std::optional<LossScaling> loss_scaling = std::nullopt;
  protocol::RankOptions rank = {};
  BeforeTask before_task = nullptr;
  // The run's trace and injected delays; if nullopt, those of RIPELINE_TRACE and RIPELINE_DELAY.
  std::optional<Instruments> instruments = std::nullopt;
  Groups* groups = nullptr;  // borrowed; closed when a step fails; null if there are none
};

struct TrainReport {
  double loss = 0;             // mean over the microbatches
  double gradient_norm = 0;    // before clipping
  double loss_scale = 1;       // the scale in this step
  bool skipped = false;        // no update, since a gradient was not finite at that scale
  protocol::StepReport tasks;  // the report of the rank, over all passes
};

class TorchTrainer {
 public:
  // All are borrowed and must outlive the trainer. `optimizer` has this rank's parameters; if it is
  // null, the caller makes the updates, but not after a step that was skipped.
  TorchTrainer(core::Arbiter& arbiter, Run& run, TorchWork& work,
               torch::optim::Optimizer* optimizer, TrainerOptions options = {});

  // Calls accumulate() and then update().
  core::Status step(int microbatches, TrainReport& report);

  // Zeroes the gradients and runs all tasks of all passes: then parameters' .grad() hold this
  // rank's part of the gradient of the mean loss, unscaled. `microbatches` are those of one pass.
  core::Status accumulate(int microbatches, TrainReport& report);
  // Completes the report, clips, and steps the optimizer. It is a barrier between steps.
  core::Status update(TrainReport& report);

  [[nodiscard]] const protocol::Rank& rank() const { return rank_; }

 private:
  core::Status begin();
  core::Status begin_step();
  core::Status close_groups();
  core::Status run_passes(int microbatches, TrainReport& report);
  void trace_deferrals();
  core::Status apply(TrainReport& report);
  core::Status apply_on_stream(TrainReport& report);

  core::Arbiter& arbiter_;
  Run& run_;
  TorchWork& work_;
  torch::optim::Optimizer* optimizer_;
  TrainerOptions options_;
  core::Status installed_;  // the status of the instruments; it precedes members that use these
  LossScale loss_scale_;
  std::unique_ptr<TaskEngine> engine_;
  protocol::Rank rank_;
  std::int64_t step_ = 0;  // the program's step, which is a pass
  core::Status failure_;
};

struct JoinOptions {
  std::chrono::nanoseconds connect_limit = std::chrono::seconds(30);  // how long to wait for others
  const Termination* termination = nullptr;  // borrowed, as in SocketOptions; may be null
  TorchDevice* device = nullptr;             // the model's device, borrowed
};

// Joins the run: reads the rank's environment, sets LibTorch's number of threads to cores / ranks
// unless OMP_NUM_THREADS is set, keeps freed memory (runtime/training/heap.h), and connects to the
// other processes, with carriers for parts on the model's device. Fails if the number of processes
// is not that of the program's layout, if processes differ in the configuration, which includes
// RIPELINE_TRACE and RIPELINE_DELAY, or if one of these two cannot be used (runtime/instruments.h).
// If ranks are on several hosts, `environment` then has the address at which the others reach this
// one.
core::Status join_run(const core::ProgramFacts& facts, RankEnvironment& environment,
                      std::unique_ptr<Transport>& transport, Configuration configuration = {},
                      const JoinOptions& join = {});

}  // namespace ripeline::runtime
