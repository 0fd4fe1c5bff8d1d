#include "proptests/torch/threaded_run.h"

#include <torch/utils.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "core/draw.h"
#include "runtime/network/local.h"
#include "runtime/protocol/delay.h"
#include "runtime/protocol/neighbours.h"
#include "runtime/torch/train.h"
#include "simulate/interpreter.h"
#include "tests/runtime/ranks.h"

namespace ripeline::proptests {
namespace {

using namespace std::chrono_literals;
using core::Status;

// Messages often overtake each other, as a third of them are late by more than a task's time.
constexpr const char* kDelays = "jitter=0.9,rare=30:0.4";

using Transports = std::vector<std::unique_ptr<runtime::Transport>>;

// Connects each process with its neighbours only, as join_run() does.
Status connect(Link link, const core::ProgramFacts& facts, Transports& transports) {
  const core::Layout layout = core::layout_of(facts);
  if (link == Link::local) {
    transports = runtime::network::make_local_group(layout.processes());
    return {};
  }
  transports.resize(static_cast<std::size_t>(layout.processes()));
  std::vector<Status> statuses(transports.size());
  const testing_support::TemporaryFolder folder;
  testing_support::in_threads(layout.processes(), [&](int self) {
    const auto at = static_cast<std::size_t>(self);
    runtime::network::SocketOptions options =
        testing_support::socket_options(self, layout.processes());
    options.neighbours = runtime::protocol::neighbours_of(self, layout, facts);
    options.connect_limit = 60s;
    statuses[at] =
        link == Link::tcp_sockets
            ? testing_support::connect_by_tcp(options, folder.path(), transports[at])
            : runtime::network::connect_in_folder(options, folder.path(), transports[at]);
  });
  for (const Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return {};
}

// Delays a third of the tasks, which are drawn for each process separately.
runtime::BeforeTask late_tasks(std::uint64_t timing) {
  return [timing](const runtime::TaskInfo& task) {
    const std::uint64_t bits = core::draw_bits(
        timing, {static_cast<std::uint64_t>(task.step), static_cast<std::uint64_t>(task.task.lane),
                 static_cast<std::uint64_t>(task.microbatch)});
    if (bits % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(bits / 3 % 400));
  };
}

Status train_one(const spec::Program& program, const GraphModel& model, const RunPlan& plan,
                 runtime::Run& run, Trained& result) {
  const core::ProgramFacts& facts = model.facts;
  const int rank = run.layout().at(run.self()).rank;
  std::unique_ptr<runtime::Groups> groups;
  if (Status s = runtime::Groups::connect(run, facts, "", groups); !s.ok()) return s;
  runtime::TorchModel own = make_model(model, rank, groups->members());
  own.replicas = groups->replicas();
  runtime::TorchWork work(std::move(own));
  // No stage may run while another is made, since all threads share LibTorch's generator.
  std::vector<runtime::Blob> all;
  if (Status s = run.gather("all models", {}, all); !s.ok()) return s;

  const std::uint64_t timing =
      core::draw_bits(plan.timing, {static_cast<std::uint64_t>(run.self())});
  runtime::protocol::DelayPlan delays;
  if (Status s = runtime::protocol::DelayPlan::parse(kDelays, timing, delays); !s.ok()) return s;
  runtime::TrainerOptions options{.passes = plan.passes};
  options.rank.due = runtime::protocol::due_of(delays, facts);
  options.before_task = late_tasks(timing);
  options.groups = groups.get();
  simulate::InterpretedArbiter arbiter(program, facts, rank);
  runtime::TorchTrainer trainer(arbiter, run, work, nullptr, options);
  runtime::TrainReport report;
  if (Status s = trainer.step(plan.microbatches, report); !s.ok()) return s;
  result.loss = report.loss;
  result.live = work.live();
  for (const auto& [number, stage] : work.model().stages) {
    result.parameters[number] = stage.parameters;
  }
  return run.finish(20s);
}

}  // namespace

std::vector<Trained> train(const spec::Program& program, const GraphModel& model,
                           const RunPlan& plan) {
  const core::Layout layout = core::layout_of(model.facts);
  std::vector<Trained> results(static_cast<std::size_t>(layout.processes()));
  Transports transports;
  if (Status status = connect(plan.link, model.facts, transports); !status.ok()) {
    results.front().status = status;
    return results;
  }
  testing_support::in_threads(layout.processes(), [&](int self) {
    torch::set_num_threads(1);
    const auto at = static_cast<std::size_t>(self);
    const std::unique_ptr<runtime::Transport> transport = std::move(transports[at]);
    runtime::Run run(*transport, {.layout = layout, .limits = {.stall = 60s}});
    results[at].status = train_one(program, model, plan, run, results[at]);
  });
  return results;
}

}  // namespace ripeline::proptests
