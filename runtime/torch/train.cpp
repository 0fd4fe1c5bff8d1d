#include "runtime/torch/train.h"

#include <torch/torch.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/host_address.h"
#include "runtime/neighbours.h"
#include "runtime/termination.h"
#include "runtime/torch/tcp_store.h"
#include "runtime/transport/socket.h"
#include "runtime/transport/ucx.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

// What each rank tells the others at the end of a step, as doubles: its part of the loss, then
// for each of its stages the stage's number, how many norms follow, and the norms.
struct Summary {
  double loss = 0;
  std::map<int, std::vector<float>> norms;  // by stage, in the parameters' order
};

Summary summarise(const TorchWork& work) {
  Summary summary{.loss = work.loss(), .norms = {}};
  for (const auto& [number, stage] : work.model().stages) {
    std::vector<float>& norms = summary.norms[number];
    for (const NamedTensor& parameter : stage.parameters) {
      const torch::Tensor& gradient = parameter.tensor.grad();
      if (gradient.defined()) norms.push_back(gradient.norm(2).item<float>());
    }
  }
  return summary;
}

Blob encode(const Summary& summary) {
  std::vector<double> numbers = {summary.loss};
  for (const auto& [number, norms] : summary.norms) {
    numbers.push_back(number);
    numbers.push_back(static_cast<double>(norms.size()));
    numbers.insert(numbers.end(), norms.begin(), norms.end());
  }
  Blob bytes(numbers.size() * sizeof(double));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

// Adds what a peer sent to `total`; false when it is malformed.
bool add(const Blob& payload, Summary& total) {
  std::vector<double> numbers(payload.size() / sizeof(double));
  if (numbers.empty() || payload.size() % sizeof(double) != 0) return false;
  std::memcpy(numbers.data(), payload.data(), payload.size());
  total.loss += numbers[0];
  for (std::size_t i = 1; i < numbers.size();) {
    if (i + 2 > numbers.size()) return false;
    const double stage = numbers[i];
    const double count = numbers[i + 1];
    i += 2;
    if (!(stage >= 0 && stage < 1e9) || !(count >= 0) ||
        count > static_cast<double>(numbers.size() - i)) {
      return false;
    }
    std::vector<float>& norms = total.norms[static_cast<int>(stage)];
    for (const std::size_t end = i + static_cast<std::size_t>(count); i < end; ++i) {
      norms.push_back(static_cast<float>(numbers[i]));
    }
  }
  return true;
}

Status check_finite(const Summary& total) {
  if (!std::isfinite(total.loss)) {
    return {StatusCode::failed, "the loss is " + std::to_string(total.loss)};
  }
  for (const auto& [stage, norms] : total.norms) {
    for (float norm : norms) {
      if (!std::isfinite(norm)) {
        return {StatusCode::failed, "the norm of a gradient of stage " + std::to_string(stage) +
                                        " is " + std::to_string(norm)};
      }
    }
  }
  return {};
}

// The total norm, by the operations of clip_grad_norm_ on all parameters in stage order, so that
// it is bitwise that of the unpipelined model.
torch::Tensor total_norm(const Summary& total) {
  std::vector<float> norms;
  for (const auto& [stage, of_stage] : total.norms) {
    norms.insert(norms.end(), of_stage.begin(), of_stage.end());
  }
  if (norms.empty()) return torch::zeros({});
  if (norms.size() == 1) return torch::tensor(norms[0]);
  return torch::tensor(norms).norm(2);
}

void clip(const TorchModel& model, const torch::Tensor& norm, double largest) {
  const torch::Tensor factor = torch::clamp(largest / (norm + 1e-6), std::nullopt, 1.0);
  for (const auto& [number, stage] : model.stages) {
    for (const NamedTensor& parameter : stage.parameters) {
      const torch::Tensor& gradient = parameter.tensor.grad();
      if (gradient.defined()) gradient.data().mul_(factor);
    }
  }
}

}  // namespace

TorchTrainer::TorchTrainer(core::Arbiter& arbiter, Run& run, TorchWork& work,
                           torch::optim::Optimizer* optimizer, TrainerOptions options)
    : arbiter_(arbiter),
      run_(run),
      work_(work),
      optimizer_(optimizer),
      options_(std::move(options)),
      engine_(
          work, [&run] { run.wake(); }, options_.before_task),
      worker_(arbiter, run, engine_, options_.rank) {}

Status TorchTrainer::step(int microbatches, TrainReport& report) {
  if (Status status = accumulate(microbatches, report); !status.ok()) return status;
  return update(report);
}

Status TorchTrainer::accumulate(int microbatches, TrainReport& report) {
  if (!failure_.ok()) return failure_;
  if (step_ == 0) {
    if (Status s = work_.check(arbiter_.facts(), arbiter_.rank()); !s.ok()) {
      return failure_ = run_.fail(std::move(s));
    }
  }
  work_.zero_gradients();
  failure_ = worker_.step(step_++, microbatches, report.tasks);
  return failure_;
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
  std::vector<Blob> all;
  if (Status s = run_.gather("summary", encode(summarise(work_)), all); !s.ok()) return s;
  Summary total;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!add(all[rank], total)) {
      return {StatusCode::invalid, "rank " + std::to_string(rank) + " sent a malformed summary"};
    }
  }
  if (Status s = check_finite(total); !s.ok()) return s;
  const torch::Tensor norm = total_norm(total);
  report.loss = total.loss;
  report.gradient_norm = norm.item<double>();
  if (options_.clip > 0) clip(work_.model(), norm, options_.clip);
  if (optimizer_ != nullptr) optimizer_->step();
  return {};
}

namespace {

// By which the others reach this host.
Status find_address(const RankEnvironment& environment, std::string& address) {
  address = environment.address;
  if (!address.empty()) return {};
  const Status status = address_towards(environment.store.host, address);
  if (status.ok()) return {};
  return {status.code(), "rank " + std::to_string(environment.rank) +
                             " cannot say where it listens: " + status.message() +
                             "; set RIPELINE_ADDRESS to its address in their network"};
}

// The store of ranks on several hosts, and where this one listens.
Status meet_hosts(const RankEnvironment& environment, SocketOptions& options,
                  std::shared_ptr<Store>& store) {
  std::string address;
  if (Status s = find_address(environment, address); !s.ok()) return s;
  const bool is_ipv6 = address.find(':') != std::string::npos;
  options.address = "tcp:" + (is_ipv6 ? '[' + address + ']' : address) + ":0";
  const StorePlace& place = environment.store;
  TcpStoreOptions of_store;
  of_store.host = place.host;
  of_store.port = place.port;
  of_store.serves = environment.rank == 0 && !place.is_of_agent;
  of_store.is_of_agent = place.is_of_agent;
  of_store.prefix = "ripeline/" + place.attempt + "/";
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

Status connect(SocketOptions& options, const RankEnvironment& environment,
               std::unique_ptr<Transport>& transport) {
  if (!environment.folder.empty()) return connect_in_folder(options, environment.folder, transport);
  std::shared_ptr<Store> store;
  if (Status s = meet_hosts(environment, options, store); !s.ok()) return s;
  return connect_sockets(options, store, transport);
}

}  // namespace

Status join_run(const core::ProgramFacts& facts, RankEnvironment& environment,
                std::unique_ptr<Transport>& transport, Configuration configuration,
                const JoinOptions& join) {
  if (Status status = read_rank_environment(environment); !status.ok()) return status;
  if (environment.ranks != facts.ranks) {
    return {StatusCode::refused,
            "program '" + std::string(facts.name) + "' has " + std::to_string(facts.ranks) +
                " ranks, the world has " + std::to_string(environment.ranks) + ": launch with -n " +
                std::to_string(facts.ranks) +
                ", or generate the program with -D ranks=" + std::to_string(environment.ranks)};
  }
  const char* threads = std::getenv("OMP_NUM_THREADS");  // LibTorch has read it
  if (threads == nullptr || *threads == '\0') torch::set_num_threads(environment.default_threads());
  SocketOptions options;
  options.rank = environment.rank;
  options.ranks = environment.ranks;
  options.neighbours = neighbours_of(environment.rank, {.ranks = environment.ranks}, facts);
  options.program_hash = facts.hash;
  options.configuration = std::move(configuration);
  options.connect_limit = join.connect_limit;
  options.termination = join.termination;
  if (Status s = connect(options, environment, transport); !s.ok()) return s;
  return use_chosen_transport(
      {.connect_limit = options.connect_limit, .termination = options.termination}, transport);
}

}  // namespace ripeline::runtime
