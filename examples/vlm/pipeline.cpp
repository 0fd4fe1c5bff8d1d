#include "pipeline.h"

#include <torch/optim/adamw.h>

#include <cstring>
#include <thread>

namespace vlm {

using ripeline::core::LaneFacts;
using ripeline::core::OpKind;
using ripeline::core::Status;
using ripeline::runtime::Blob;
using ripeline::runtime::TaskInfo;
using ripeline::runtime::TorchModel;
using ripeline::runtime::TrainerOptions;

namespace {

std::vector<int> stages_of(const Schedule& schedule, int rank) {
  std::vector<int> stages;
  for (const LaneFacts& lane : schedule.facts.lanes) {
    if (lane.rank == rank && (stages.empty() || stages.back() != lane.stage)) {
      stages.push_back(lane.stage);
    }
  }
  return stages;
}

// Sleeps in place of computing, for a time in proportion to the patches. Text has no patches.
void sleep(std::chrono::microseconds of_patch, const Batches& batches, const Schedule& schedule,
           const TaskInfo& task) {
  if (task.stage == kText) return;
  const auto picked =
      batches.pick(schedule.facts.inputs, task.step, task.microbatches, task.microbatch);
  const int times = task.kind == OpKind::backward ? 2 : 1;
  std::this_thread::sleep_for(of_patch * batches.patches(picked) * times);
}

}  // namespace

TorchModel make_model(const Options& options, const Schedule& schedule,
                      const std::vector<int>& wanted, std::shared_ptr<const Batches> batches) {
  TorchModel model;
  for (const int stage : wanted) {
    model.stages[stage] =
        make_stage({.vocabulary = batches->vocabulary(), .seed = options.seed}, stage);
  }
  const auto picked = [batches, order = schedule.facts.inputs, count = options.microbatches](
                          std::int64_t step, int microbatch) {
    return batches->pick(order, step, count, microbatch);
  };
  model.inputs[kFirstOfVision] = [=](std::int64_t step, int microbatch) {
    return batches->images(picked(step, microbatch));
  };
  model.inputs[kText] = [=](std::int64_t step, int microbatch) {
    return batches->captions(picked(step, microbatch));
  };
  model.labels = [=](std::int64_t step, int microbatch) {
    return batches->labels(picked(step, microbatch));
  };
  model.loss = loss;
  return model;
}

Pipeline::Pipeline(const Options& options, const Schedule& schedule, ripeline::runtime::Run& run,
                   const std::shared_ptr<const Batches>& batches)
    : arbiter_(schedule.make_arbiter(run.self())) {
  work_.emplace(make_model(options, schedule, stages_of(schedule, run.self()), batches));
  std::vector<torch::Tensor> parameters;
  for (const auto& [number, stage] : work_->model().stages) {
    for (const auto& parameter : stage.parameters) parameters.push_back(parameter.tensor);
  }
  optimizer_ = std::make_unique<torch::optim::AdamW>(parameters, options.rate);
  TrainerOptions trainer{.clip = options.clip};
  if (options.sleep.count() > 0) {
    trainer.before_task = [of_patch = options.sleep, batches, &schedule](const TaskInfo& task) {
      sleep(of_patch, *batches, schedule, task);
    };
  }
  trainer_.emplace(*arbiter_, run, *work_, optimizer_.get(), trainer);
}

Pipeline::~Pipeline() = default;

Status gather(ripeline::runtime::Run& run, const std::string& mine, std::vector<std::string>& all) {
  Blob bytes(mine.size());
  if (!mine.empty()) std::memcpy(bytes.data(), mine.data(), mine.size());
  std::vector<Blob> blobs;
  if (Status status = run.gather("text", std::move(bytes), blobs); !status.ok()) return status;
  all.clear();
  for (const Blob& theirs : blobs) {
    std::string& text = all.emplace_back(theirs.size(), '\0');
    if (!theirs.empty()) std::memcpy(text.data(), theirs.data(), theirs.size());
  }
  return {};
}

Status gather_memory(ripeline::runtime::Run& run, Pipeline& pipeline, const Schedule& schedule,
                     std::string& text) {
  // Stage s is on rank s, so the ranks' texts are in the order of the stages.
  std::string mine;
  std::string proved;
  const auto& pools = schedule.facts.pools;
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    proved += std::to_string(pools[pool].bound) + ' ';
    if (pools[pool].rank != run.self()) continue;
    mine += std::to_string(pipeline.trainer().rank().ledger().peak(static_cast<int>(pool))) + ' ';
  }
  std::vector<std::string> all;
  if (Status status = gather(run, mine, all); !status.ok()) return status;
  text = proved + "proved, ";
  for (const std::string& theirs : all) text += theirs;
  text += "held";
  return {};
}

}  // namespace vlm
