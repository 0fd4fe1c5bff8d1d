#include "python/worker.h"

#include <algorithm>
#include <utility>

#include "lower/facts.h"
#include "python/failure.h"
#include "runtime/instruments.h"
#include "runtime/network/host_address.h"
#include "runtime/network/socket.h"
#include "runtime/protocol/neighbours.h"
#include "runtime/training/carried.h"
#include "runtime/training/train_rules.h"
#include "spec/diagnostics.h"

namespace ripeline::python {

using core::Status;
using core::StatusCode;

namespace {

std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

[[noreturn]] void refuse(const std::string& why) { throw Failure({spec::failure(why)}); }

// Throws unless PyTorch's stages can run the program, on all ranks alike.
void check_rules(const core::ProgramFacts& facts) {
  using core::OpKind;
  const runtime::training::TrainRules rules(facts);
  for (core::LaneId lane = 0; lane < static_cast<core::LaneId>(facts.lanes.size()); ++lane) {
    if (const auto why = rules.why_not(lane)) refuse(*why);
    const OpKind kind = rules.kind_of(lane);
    if (kind == OpKind::forward || kind == OpKind::backward || kind == OpKind::backward_input ||
        kind == OpKind::backward_weight) {
      continue;
    }
    refuse(std::string("PyTorch's stages run no op of the kind `") + core::name_of(kind) + "`");
  }
}

runtime::network::SocketOptions options_of(const Joining& joining, const core::ProgramFacts& facts,
                                           std::vector<int> neighbours) {
  runtime::network::SocketOptions options;
  options.rank = joining.rank;
  options.ranks = joining.ranks;
  options.neighbours = std::move(neighbours);
  options.program_hash = facts.hash;
  options.connect_limit = nanoseconds(joining.connect_seconds);
  return options;
}

Status connect(const Joining& joining, runtime::network::SocketOptions options,
               std::unique_ptr<runtime::Transport>& transport) {
  namespace network = runtime::network;
  if (!joining.folder.empty()) {
    return network::connect_in_folder(std::move(options), joining.folder, transport);
  }
  std::string address = joining.address;
  if (address.empty()) {
    if (const Status s = network::address_towards(joining.towards, address); !s.ok()) {
      return {s.code(), "rank " + std::to_string(joining.rank) + " cannot say where it listens: " +
                            s.message() + "; set RIPELINE_ADDRESS to its address in their network"};
    }
  }
  const bool is_ipv6 = address.find(':') != std::string::npos;
  options.address = "tcp:" + (is_ipv6 ? '[' + address + ']' : address) + ":0";
  return network::connect_sockets(std::move(options), joining.store, transport);
}

}  // namespace

struct Worker::Part {
  Part(const verify::ProvedProgram& proved, int process)
      : program(proved.program()),
        facts(lower::facts_of(proved)),
        arbiter(program, facts.facts(), core::layout_of(facts.facts()).at(process).rank) {}

  spec::Program program;
  core::OwnedFacts facts;
  simulate::TableArbiter arbiter;
  std::unique_ptr<runtime::protocol::Rank> rank;  // set once the run exists
  runtime::BeforeTask before_task;                // null if no delays are injected
  std::int64_t step = 0;                          // the next step
};

Worker::Worker(const std::vector<Verdict>& programs, const Joining& joining) {
  for (const Verdict& verdict : programs) {
    if (!verdict.proved()) refuse("only a proved program is run");
    parts_.push_back(std::make_unique<Part>(*verdict.proved(), joining.rank));
  }
  const core::ProgramFacts& facts = parts_.front()->facts.facts();
  const core::Layout layout = core::layout_of(facts);
  std::vector<int> neighbours;
  for (const auto& part : parts_) {
    const core::ProgramFacts& own = part->facts.facts();
    if (!(core::layout_of(own) == layout) || layout.processes() != joining.ranks) {
      refuse("program '" + std::string(own.name) + "' has " + core::layout_of(own).text() +
             ", and the run has " + std::to_string(joining.ranks) + " processes");
    }
    check_rules(own);
    neighbours = runtime::protocol::united(
        std::move(neighbours), runtime::protocol::neighbours_of(joining.rank, layout, own));
  }
  const Status joined =
      connect(joining, options_of(joining, facts, std::move(neighbours)), transport_);
  if (!joined.ok()) throw RunFailure(joined);
  run_ = std::make_unique<runtime::Run>(
      *transport_, runtime::RunOptions{.layout = layout,
                                       .limits = {.silence = nanoseconds(joining.silence_seconds),
                                                  .stall = nanoseconds(joining.stall_seconds)}});
  runtime::Instruments instruments = runtime::instruments_of_environment();
  if (!joining.traces) instruments.trace.clear();
  for (const auto& part : parts_) {
    runtime::protocol::RankOptions options;
    if (const Status s =
            runtime::install(instruments, part->facts.facts(), *run_, options, part->before_task);
        !s.ok()) {
      refuse(s.message());
    }
    instruments.trace.clear();
    part->rank = std::make_unique<runtime::protocol::Rank>(part->arbiter, run_->layout(),
                                                           run_->self(), std::move(options));
  }
  pump_ = std::make_unique<runtime::Pump>(*run_);
}

Worker::~Worker() = default;

void Worker::check_environment(const Verdict& trains) {
  if (!trains.proved()) return;
  const core::OwnedFacts facts = lower::facts_of(*trains.proved());
  if (const Status s = runtime::check_instruments_of_environment(facts.facts()); !s.ok()) {
    refuse(s.message());
  }
}

std::vector<Lane> Worker::lanes(std::size_t program) const {
  const core::ProgramFacts& facts = parts_.at(program)->facts.facts();
  const auto [first, end] = facts.lanes_of(parts_.at(program)->arbiter.rank());
  std::vector<Lane> lanes(facts.lanes.size());
  const auto kind_of = [&](core::LaneId lane) {
    return facts.ops[static_cast<std::size_t>(facts.lanes[static_cast<std::size_t>(lane)].op)].kind;
  };
  for (core::LaneId id = first; id < end; ++id) {
    const core::LaneFacts& lane = facts.lanes[static_cast<std::size_t>(id)];
    lanes[static_cast<std::size_t>(id)] = {
        .op = std::string(facts.ops[static_cast<std::size_t>(lane.op)].name),
        .kind = core::name_of(kind_of(id)),
        .stage = lane.stage,
        .outputs = {}};
  }
  for (const core::EdgeFacts& edge : facts.edges) {
    const int to = facts.lanes[static_cast<std::size_t>(edge.consumer)].stage;
    const bool is_own = edge.producer >= first && edge.producer < end;
    if (!is_own || to == facts.lanes[static_cast<std::size_t>(edge.producer)].stage) continue;
    if (!carries(kind_of(edge.producer), kind_of(edge.consumer))) continue;
    lanes[static_cast<std::size_t>(edge.producer)].outputs.push_back(to);
  }
  return lanes;
}

bool carries(core::OpKind producer, core::OpKind consumer) {
  return runtime::training::carried(producer, consumer) != runtime::training::Carried::nothing;
}

void Worker::begin(std::size_t program, int microbatches) {
  Part& part = *parts_.at(program);
  if (program != program_) {
    std::vector<runtime::Blob> all;
    const std::string tag = "the ranks, for program '" + std::string(part.facts.facts().name) + "'";
    if (const Status s = run_->gather(tag, {}, all); !s.ok()) throw RunFailure(s);
    program_ = program;
  }
  const Status begun = pump_->begin(*part.rank, part.step++, microbatches);
  if (!begun.ok()) throw RunFailure(begun);
}

void Worker::before_task(const runtime::TaskInfo& task) const {
  const runtime::BeforeTask& before = parts_.at(program_)->before_task;
  if (before) before(task);
}

std::string Worker::fail(const std::string& why) {
  return pump_->fail({StatusCode::failed, why}).message();
}

void Worker::leave(double seconds) { (void)run_->leave(nanoseconds(seconds)); }

}  // namespace ripeline::python
