#include "runtime/torch/train.h"

#include <ATen/Parallel.h>
#include <c10/core/StreamGuard.h>
#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "runtime/network/host_address.h"
#include "runtime/network/socket.h"
#include "runtime/network/ucx.h"
#include "runtime/protocol/neighbours.h"
#include "runtime/termination.h"
#include "runtime/torch/gradient_summary.h"
#include "runtime/torch/tcp_store.h"
#include "runtime/training/heap.h"
#include "runtime/watchdog/call_guard.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

template <class Factor>
void multiply_gradients(const TorchModel& model, const Factor& factor) {
  for (const auto& [number, stage] : model.stages) {
    for (const NamedTensor& parameter : stage.parameters) {
      const torch::Tensor& gradient = parameter.tensor.grad();
      if (gradient.defined()) gradient.data().mul_(factor);
    }
  }
}

void clip(const TorchModel& model, const torch::Tensor& norm, double largest) {
  multiply_gradients(model, torch::clamp(largest / (norm + 1e-6), std::nullopt, 1.0));
}

std::unique_ptr<TaskEngine> make_engine(TorchWork& work, const core::ProgramFacts& facts, Run& run,
                                        const BeforeTask& before_task) {
  TorchDevice* const device = work.model().device;
  if (stream_of(device)) run.guard_calls();
  const auto wake = [&run] { run.wake(); };
  if (device != nullptr) return device->make_engine(work, facts, wake, before_task);
  return std::make_unique<ThreadEngine>(work, wake, before_task);
}

}  // namespace

TorchTrainer::TorchTrainer(core::Arbiter& arbiter, Run& run, TorchWork& work,
                           torch::optim::Optimizer* optimizer, TrainerOptions options)
    : arbiter_(arbiter),
      run_(run),
      work_(work),
      optimizer_(optimizer),
      options_(std::move(options)),
      installed_(install(options_.instruments.value_or(instruments_of_environment()),
                         arbiter.facts(), run, options_.rank, options_.before_task)),
      engine_(make_engine(work, arbiter.facts(), run, options_.before_task)),
      rank_(arbiter, run.layout(), run.self(), options_.rank) {}

Status TorchTrainer::step(int microbatches, TrainReport& report) {
  if (Status status = accumulate(microbatches, report); !status.ok()) return status;
  return update(report);
}

Status TorchTrainer::accumulate(int microbatches, TrainReport& report) {
  if (!failure_.ok()) return failure_;
  if (step_ == 0) {
    if (Status s = begin(); !s.ok()) return failure_ = run_.fail(std::move(s));
  }
  const TorchDevice* const device = work_.model().device;
  if (Status s = begin_step(); !s.ok()) return failure_ = run_.fail(std::move(s));
  work_.set_loss_scale(loss_scale_.value());
  report.loss_scale = loss_scale_.value();
  report.tasks = {};
  if (Status s = run_passes(microbatches, report); !s.ok()) return s;
  if (loss_scale_.value() != 1) {
    const c10::OptionalStreamGuard guard(stream_of(device));
    multiply_gradients(work_.model(), 1 / loss_scale_.value());
  }
  Status status = lead_caller(device);
  return status.ok() ? status : failure_ = run_.fail(std::move(status));
}

Status TorchTrainer::run_passes(int microbatches, TrainReport& report) {
  for (int pass = 0; pass < options_.passes; ++pass) {
    failure_ = run_.step(rank_, *engine_, step_, microbatches);
    if (!failure_.ok()) return close_groups();
    const protocol::StepReport& of_pass = rank_.report();
    trace_deferrals();
    ++step_;
    report.tasks.duration += of_pass.duration;
    report.tasks.busy += of_pass.busy;
    report.tasks.tasks += of_pass.tasks;
  }
  return {};
}

// Closes the groups, since a task may wait in a group for a process that is gone.
Status TorchTrainer::close_groups() {
  if (options_.groups != nullptr) options_.groups->close();
  return failure_;
}

Status TorchTrainer::begin_step() {
  const watchdog::GuardedCall call("the beginning of the step");
  if (Status s = follow_caller(work_.model().device); !s.ok()) return s;
  work_.zero_gradients();
  return {};
}

// To be called before the first task.
Status TorchTrainer::begin() {
  if (!installed_.ok()) return installed_;
  if (options_.passes < 1) {
    return {StatusCode::invalid,
            "a step has at least 1 pass, not " + std::to_string(options_.passes)};
  }
  if (options_.loss_scaling) loss_scale_ = LossScale(*options_.loss_scaling);
  if (Status s = loss_scale_.check(); !s.ok()) return s;
  work_.set_passes(options_.passes);
  return work_.check(arbiter_.facts(), arbiter_.rank());
}

// Adds the work's deferrals to the tasks that the rank has recorded for this pass.
void TorchTrainer::trace_deferrals() {
  if (options_.rank.trace == nullptr) return;
  std::vector<trace::TaskEvent>& events = options_.rank.trace->tasks;
  for (auto event = events.rbegin(); event != events.rend() && event->step == step_; ++event) {
    for (const DeferredTask& one : work_.deferrals()) {
      if (one.task == event->task) event->deferral = one.deferral;
    }
  }
}

Status TorchTrainer::update(TrainReport& report) {
  if (!failure_.ok()) return failure_;
  try {
    failure_ = apply(report);
  } catch (const c10::Error& error) {
    failure_ = Status(StatusCode::failed,
                      std::string("the update failed: ") + error.what_without_backtrace());
  } catch (const std::exception& error) {
    failure_ = Status(StatusCode::failed, std::string("the update failed: ") + error.what());
  }
  if (!failure_.ok()) failure_ = run_.fail(std::move(failure_));
  return failure_;
}

Status TorchTrainer::apply(TrainReport& report) {
  const TorchDevice* const device = work_.model().device;
  if (Status s = follow_caller(device); !s.ok()) return s;
  {
    const c10::OptionalStreamGuard guard(stream_of(device));
    if (Status s = apply_on_stream(report); !s.ok()) return s;
  }
  return lead_caller(device);
}

Status TorchTrainer::apply_on_stream(TrainReport& report) {
  Blob mine;
  {
    const watchdog::GuardedCall call("the norm of the gradients");
    mine = encode(summarise(work_));
  }
  std::vector<Blob> all;
  if (Status s = run_.gather("summary", std::move(mine), all); !s.ok()) return s;
  const watchdog::GuardedCall call("the update");
  GradientSummary total;
  if (Status s = add_up(all, run_.layout(), total); !s.ok()) return s;
  const std::int64_t step = (step_ - 1) / options_.passes;
  if (Status s = check_loss(total, step); !s.ok()) return s;
  if (Status s = loss_scale_.ended(check_norms(total, step), report.skipped); !s.ok()) return s;
  const torch::Tensor norm = total_norm(total);
  report.loss = total.loss.sum;
  report.gradient_norm = norm.item<double>();
  if (report.skipped) return {};
  if (options_.clip > 0) clip(work_.model(), norm, options_.clip);
  if (optimizer_ != nullptr) optimizer_->step();
  return {};
}

namespace {

// Finds the address at which the others reach this host.
Status find_address(const RankEnvironment& environment, std::string& address) {
  if (!address.empty()) return {};
  const Status status = network::address_towards(environment.store.host, address);
  if (status.ok()) return {};
  return {status.code(), "rank " + std::to_string(environment.rank) +
                             " cannot say where it listens: " + status.message() +
                             "; set RIPELINE_ADDRESS to its address in their network"};
}

// Opens the store of ranks on several hosts, and sets the address on which this rank listens.
Status meet_hosts(RankEnvironment& environment, network::SocketOptions& options,
                  std::shared_ptr<network::Store>& store) {
  if (Status s = find_address(environment, environment.address); !s.ok()) return s;
  const std::string& address = environment.address;
  const bool is_ipv6 = address.find(':') != std::string::npos;
  options.address = "tcp:" + (is_ipv6 ? '[' + address + ']' : address) + ":0";
  const StoreAddress& server = environment.store;
  TcpStoreOptions of_store;
  of_store.host = server.host;
  of_store.port = server.port;
  of_store.serves = environment.rank == 0 && !server.is_of_agent;
  of_store.is_of_agent = server.is_of_agent;
  of_store.prefix = "ripeline/" + server.attempt + "/";
  of_store.connect_limit = options.connect_limit;
  of_store.termination = options.termination;
  std::unique_ptr<TcpStore> opened;
  Status status = TcpStore::open(of_store, opened);
  store = std::move(opened);
  if (!status.ok()) {
    if (Status s = Termination::status_at_start(options.termination, options.rank); !s.ok())
      return s;
  }
  if (status.ok() || status.code() == StatusCode::lost) return status;
  return {status.code(),
          "rank " + std::to_string(environment.rank) + " cannot join the run: " + status.message()};
}

Status connect(network::SocketOptions& options, RankEnvironment& environment,
               std::unique_ptr<Transport>& transport, network::BufferPool* pool) {
  if (!environment.folder.empty()) {
    return network::connect_in_folder(options, environment.folder, transport, pool);
  }
  std::shared_ptr<network::Store> store;
  if (Status s = meet_hosts(environment, options, store); !s.ok()) return s;
  return network::connect_sockets(options, store, transport, pool);
}

}  // namespace

Status join_run(const core::ProgramFacts& facts, RankEnvironment& environment,
                std::unique_ptr<Transport>& transport, Configuration configuration,
                const JoinOptions& join) {
  if (Status status = read_rank_environment(environment); !status.ok()) return status;
  const core::Layout layout = core::layout_of(facts);
  if (environment.ranks != layout.processes()) {
    const std::string wanted = std::to_string(layout.processes());
    std::string text = "program '" + std::string(facts.name) + "' has " + layout.text();
    if (!layout.is_flat()) text += ", " + wanted + " processes";
    text += ", the world has " + std::to_string(environment.ranks) + ": launch with -n " + wanted;
    if (layout.is_flat()) {
      text += ", or generate the program with -D ranks=" + std::to_string(environment.ranks);
    }
    return {StatusCode::refused, text};
  }
  if (Status status = check_instruments_of_environment(facts); !status.ok()) return status;
  const Instruments instruments = instruments_of_environment();
  configuration.push_back({"RIPELINE_TRACE", instruments.trace.empty() ? "none" : "a file"});
  configuration.push_back(
      {"RIPELINE_DELAY", instruments.delay.empty() ? "none" : instruments.delay});
  const char* threads = std::getenv("OMP_NUM_THREADS");  // LibTorch has read it
  if (threads == nullptr || *threads == '\0') torch::set_num_threads(environment.default_threads());
  training::keep_freed_memory();
  network::SocketOptions options;
  options.rank = environment.rank;
  options.ranks = environment.ranks;
  options.neighbours = protocol::neighbours_of(environment.rank, layout, facts);
  options.program_hash = facts.hash;
  options.configuration = std::move(configuration);
  options.connect_limit = join.connect_limit;
  options.termination = join.termination;
  network::BufferPool* const pool = join.device == nullptr ? nullptr : join.device->receive_pool();
  if (Status s = connect(options, environment, transport, pool); !s.ok()) return s;
  if (Status s = network::use_chosen_transport(
          {.connect_limit = options.connect_limit, .termination = options.termination}, transport,
          pool);
      !s.ok()) {
    return s;
  }
  if (join.device == nullptr) return {};
  return join.device->carry(transport, join.connect_limit, join.termination);
}

}  // namespace ripeline::runtime
