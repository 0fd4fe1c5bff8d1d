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

// Of a parameter's gradient.
struct Norm {
  float norm = 0;
  bool is_shard = false;
};

// What each process tells the others at the end of a step, as doubles: its part of the loss, then
// for each of its stages the stage's number, how many norms follow, and the norms, each with
// whether it is of a share.
struct Summary {
  double loss = 0;
  std::map<int, std::vector<Norm>> norms;  // by stage, in the parameters' order
};

Summary summarise(const TorchWork& work) {
  Summary summary{.loss = work.loss(), .norms = {}};
  for (const auto& [number, stage] : work.model().stages) {
    std::vector<Norm>& norms = summary.norms[number];
    for (const NamedTensor& parameter : stage.parameters) {
      const torch::Tensor& gradient = parameter.tensor.grad();
      if (!gradient.defined()) continue;
      norms.push_back({gradient.norm(2).item<float>(), parameter.share.is_part()});
    }
  }
  return summary;
}

Blob encode(const Summary& summary) {
  std::vector<double> numbers = {summary.loss};
  for (const auto& [number, norms] : summary.norms) {
    numbers.push_back(number);
    numbers.push_back(static_cast<double>(norms.size()));
    for (const Norm& norm : norms) {
      numbers.push_back(norm.norm);
      numbers.push_back(norm.is_shard ? 1 : 0);
    }
  }
  Blob bytes(numbers.size() * sizeof(double));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

// Of a parameter of which members have a share each, the norm of all shares; what all have alike
// counts once, as member 0 says it.
bool add(const Summary& part, int member, Summary& total) {
  if (member == 0) total.loss += part.loss;
  for (const auto& [stage, norms] : part.norms) {
    std::vector<Norm>& all = total.norms[stage];
    if (member == 0) {
      all.insert(all.end(), norms.begin(), norms.end());
      continue;
    }
    if (all.size() != norms.size()) return false;
    for (std::size_t i = 0; i < norms.size(); ++i) {
      if (norms[i].is_shard) all[i].norm = std::hypot(all[i].norm, norms[i].norm);
    }
  }
  return true;
}

// What a peer sent; false when it is malformed.
bool decode(const Blob& payload, Summary& summary) {
  std::vector<double> numbers(payload.size() / sizeof(double));
  if (numbers.empty() || payload.size() % sizeof(double) != 0) return false;
  std::memcpy(numbers.data(), payload.data(), payload.size());
  summary.loss = numbers[0];
  for (std::size_t i = 1; i < numbers.size();) {
    if (i + 2 > numbers.size()) return false;
    const double stage = numbers[i];
    const double count = numbers[i + 1];
    i += 2;
    if (!(stage >= 0 && stage < 1e9) || !(count >= 0) ||
        2 * count > static_cast<double>(numbers.size() - i)) {
      return false;
    }
    std::vector<Norm>& norms = summary.norms[static_cast<int>(stage)];
    for (const std::size_t end = i + 2 * static_cast<std::size_t>(count); i < end; i += 2) {
      norms.push_back({static_cast<float>(numbers[i]), numbers[i + 1] != 0});
    }
  }
  return true;
}

Status check_finite(const Summary& total) {
  if (!std::isfinite(total.loss)) {
    return {StatusCode::failed, "the loss is " + std::to_string(total.loss)};
  }
  for (const auto& [stage, norms] : total.norms) {
    for (const Norm& norm : norms) {
      if (!std::isfinite(norm.norm)) {
        return {StatusCode::failed, "the norm of a gradient of stage " + std::to_string(stage) +
                                        " is " + std::to_string(norm.norm)};
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
    for (const Norm& norm : of_stage) norms.push_back(norm.norm);
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
  // A task may wait in one for a process that is gone.
  if (!failure_.ok() && options_.groups != nullptr) options_.groups->close();
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
  for (int process = 0; process < run_.processes(); ++process) {
    Summary part;
    if (!decode(all[static_cast<std::size_t>(process)], part) ||
        !add(part, run_.layout().at(process).member, total)) {
      return {StatusCode::invalid, run_.layout().name(process) + " sent a malformed summary"};
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
  if (!address.empty()) return {};
  const Status status = address_towards(environment.store.host, address);
  if (status.ok()) return {};
  return {status.code(), "rank " + std::to_string(environment.rank) +
                             " cannot say where it listens: " + status.message() +
                             "; set RIPELINE_ADDRESS to its address in their network"};
}

// The store of ranks on several hosts, and where this one listens.
Status meet_hosts(RankEnvironment& environment, SocketOptions& options,
                  std::shared_ptr<Store>& store) {
  if (Status s = find_address(environment, environment.address); !s.ok()) return s;
  const std::string& address = environment.address;
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

Status connect(SocketOptions& options, RankEnvironment& environment,
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
  const char* threads = std::getenv("OMP_NUM_THREADS");  // LibTorch has read it
  if (threads == nullptr || *threads == '\0') torch::set_num_threads(environment.default_threads());
  SocketOptions options;
  options.rank = environment.rank;
  options.ranks = environment.ranks;
  options.neighbours = neighbours_of(environment.rank, layout, facts);
  options.program_hash = facts.hash;
  options.configuration = std::move(configuration);
  options.connect_limit = join.connect_limit;
  options.termination = join.termination;
  if (Status s = connect(options, environment, transport); !s.ok()) return s;
  return use_chosen_transport(
      {.connect_limit = options.connect_limit, .termination = options.termination}, transport);
}

}  // namespace ripeline::runtime
