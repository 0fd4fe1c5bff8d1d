#include "runner.h"

#include <torch/optim/adamw.h>

namespace gpt {

using ripeline::core::LaneFacts;
using ripeline::core::Status;
using ripeline::runtime::TorchModel;
using ripeline::runtime::TorchStage;
using ripeline::runtime::TrainerOptions;

namespace {

TorchModel make_model(const Options& options, const Schedule& schedule, int rank,
                      ripeline::runtime::TorchDevice& device,
                      const ripeline::runtime::Groups& groups,
                      const std::shared_ptr<const Batches>& batches) {
  const ripeline::runtime::Group members = groups.members();
  TorchModel model;
  model.replicas = groups.replicas();
  for (const LaneFacts& lane : schedule.facts.lanes) {
    if (lane.rank == rank && !model.stages.contains(lane.stage)) {
      TorchStage& stage = model.stages[lane.stage];
      stage =
          make_stage(options.model, lane.stage, schedule.facts.stages, device.device(), members);
      stage.recompute = options.recompute;
    }
  }
  model.inputs[0] = [batches](std::int64_t step, int microbatch) {
    return batches->input(step, microbatch);
  };
  model.labels = [batches](std::int64_t step, int microbatch) {
    return batches->labels(step, microbatch);
  };
  model.loss = loss(members);
  model.device = &device;
  model.seed = options.model.seed;
  model.autocast = options.autocast();
  return model;
}

}  // namespace

Runner::Runner(const Options& options, const Schedule& schedule, const Rank& rank,
               ripeline::runtime::Groups& groups, std::shared_ptr<const Batches> batches)
    : place_(rank.run.layout().at(rank.run.self())), arbiter_(schedule.make_arbiter(place_.rank)) {
  work_.emplace(make_model(options, schedule, arbiter_->rank(), rank.device, groups, batches));
  std::vector<torch::Tensor> parameters;
  for (const auto& [number, stage] : model().stages) {
    for (const auto& parameter : stage.parameters) parameters.push_back(parameter.tensor);
  }
  optimizer_ = std::make_unique<torch::optim::AdamW>(parameters, options.rate);
  TrainerOptions trainer;
  trainer.clip = options.clip;
  trainer.groups = &groups;
  trainer.passes = options.accumulate;
  trainer.loss_scaling = options.loss_scaling();
  trainer.instruments = options.instruments;
  trainer_.emplace(*arbiter_, rank.run, *work_, optimizer_.get(), trainer);
}

Runner::~Runner() = default;

std::int64_t Runner::parameters() const {
  std::int64_t count = 0;
  for (const auto& [number, stage] : model().stages) {
    for (const auto& parameter : stage.parameters) {
      const bool is_other_copy = !parameter.tied.empty() && number > 0;
      const bool counts = place_.replica == 0 && !is_other_copy &&
                          (place_.member == 0 || parameter.share.is_part());
      if (counts) count += parameter.tensor.numel();
    }
  }
  return count;
}

Status connect_groups(const Options& options, const Schedule& schedule, const Rank& rank,
                      std::unique_ptr<ripeline::runtime::Groups>& groups) {
  return ripeline::runtime::Groups::connect(
      rank.run, schedule.facts, rank.address, groups,
      {.limit = options.stall, .connect_limit = options.connect_limit, .device = &rank.device});
}

Status make_batches(const Options& options, std::shared_ptr<const Batches>& batches) {
  auto made = std::make_shared<Batches>();
  const auto least = static_cast<std::size_t>(options.model.context) + 1;
  if (Status status = read_text(options.text, least, made->text); !status.ok()) return status;
  made->batch = options.batch;
  made->context = options.model.context;
  made->seed = options.model.seed;
  batches = std::move(made);
  return {};
}

}  // namespace gpt
