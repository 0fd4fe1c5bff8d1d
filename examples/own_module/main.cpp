#include <torch/torch.h>

#include <cstdio>
#include <string>

#include "runtime/exit_code.h"
#include "runtime/torch/train.h"
#include "schedule.h"

using namespace ripeline;
namespace nn = torch::nn;

core::Status train() {
  runtime::RankEnvironment self;
  std::unique_ptr<runtime::Transport> transport;
  const int microbatches = 8;  // must be equal on all ranks, which compare it
  if (auto status = runtime::join_run(schedule::facts, self, transport,
                                      {{"microbatches", std::to_string(microbatches)}});
      !status.ok())
    return status;

  torch::manual_seed(self.rank);  // your module: this rank's stage of it
  auto module = self.rank == 0 ? nn::Sequential(nn::Linear(2, 64), nn::Tanh())
                               : nn::Sequential(nn::Linear(64, 64), nn::Tanh(), nn::Linear(64, 1));
  auto points = [](int64_t step, int microbatch) {  // the same on every rank
    torch::manual_seed(1000 * step + microbatch);
    return torch::rand({32, 2}) * 2 - 1;
  };
  runtime::TorchModel model;
  model.stages[self.rank] = runtime::make_stage(module);
  model.inputs[0] = points;
  model.labels = [=](int64_t step, int mb) { return points(step, mb).prod(1, /*keepdim=*/true); };
  model.loss = [](auto& output, auto& labels) { return torch::mse_loss(output, labels); };

  runtime::TorchWork work(model);
  torch::optim::Adam adam(module->parameters(), 1e-2);
  auto arbiter = schedule::make_arbiter(self.rank);
  runtime::Run run(*transport);
  runtime::TorchTrainer trainer(*arbiter, run, work, &adam, {.clip = 1.0});
  for (int step = 0; step < 100; ++step) {
    runtime::TrainReport report;
    if (auto status = trainer.step(microbatches, report); !status.ok()) return status;
    if (self.rank == 0 && step % 20 == 19) std::printf("step %2d  loss %.4f\n", step, report.loss);
  }
  return run.finish(std::chrono::seconds(10));
}

int main() {
  const core::Status status = train();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return runtime::exit_code_of(status.code());
}
