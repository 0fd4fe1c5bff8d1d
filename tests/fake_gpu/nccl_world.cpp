#include "tests/fake_gpu/nccl_world.h"

#include <algorithm>
#include <cstring>

#include "tests/fake_gpu/fake_nccl.h"
#include "tests/fake_gpu/nccl_sum.h"

bool ncclComm::is_idle() const {
  return std::all_of(plans.begin(), plans.end(), [](const auto& plan) { return plan->is_over(); });
}

namespace fake_gpu {

World& world() {
  std::shared_ptr<void>& kept = beside();
  if (!kept) kept = std::make_shared<World>();
  return *static_cast<World*>(kept.get());
}

bool Clique::is_complete() const {
  return std::none_of(members.begin(), members.end(), [](const auto* comm) { return !comm; });
}

bool SplitRound::is_complete() const {
  return std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.came; });
}

std::shared_ptr<Clique> World::make_clique(std::size_t ranks) {
  auto made = std::make_shared<Clique>();
  made->number = static_cast<int>(cliques.size());
  // The order of hashes differs from that of creation, but is the same in each run.
  made->hash = (static_cast<std::uint64_t>(made->number) + 1) * 0x9E3779B97F4A7C15U;
  made->members.resize(ranks);
  cliques.push_back(made);
  return made;
}

ncclComm& World::make_comm(std::shared_ptr<Clique> clique, int rank, const ncclConfig_t* config,
                           const ncclComm* parent) {
  ncclComm& made = *comms.emplace_back(std::make_unique<ncclComm>());
  clique->members[static_cast<std::size_t>(rank)] = &made;
  made.clique = std::move(clique);
  made.rank = rank;
  const bool shares = parent != nullptr && parent->split_share;
  made.resources = shares ? parent->resources : std::make_shared<Resources>();
  if (parent != nullptr) {
    made.blocking = parent->blocking;
    made.split_share = parent->split_share;
    made.blocks = parent->blocks;
  }
  if (config == nullptr) return made;
  if (config->blocking != NCCL_CONFIG_UNDEF_INT) made.blocking = config->blocking != 0;
  if (config->splitShare != NCCL_CONFIG_UNDEF_INT) made.split_share = config->splitShare != 0;
  if (config->maxCTAs != NCCL_CONFIG_UNDEF_INT) made.blocks = config->maxCTAs;
  return made;
}

int communicators() {
  const Call call;
  const auto& comms = world().comms;
  return static_cast<int>(
      std::count_if(comms.begin(), comms.end(), [](const auto& comm) { return comm->alive; }));
}

std::string communicators_state() {
  const Call call;
  std::string state;
  for (const auto& clique : world().cliques) {
    for (const auto& [ranks, channel] : clique->channels) {
      state += std::to_string(channel.sends.size()) + "," + std::to_string(channel.receives.size());
      for (const auto& send : channel.sends) state += send.left ? 'l' : '.';
      for (const auto& receive : channel.receives) state += receive.posted ? 'p' : '.';
    }
    for (const ncclComm* comm : clique->members) {
      for (const auto& plan : comm->plans) state += plan->is_over() ? 'o' : 'w';
      state += comm->state == ncclSuccess ? ';' : '?';
    }
  }
  return state;
}

Plan::Plan(ncclComm& comm, std::vector<Part> parts, int process)
    : Kernel(comm.blocks), comm_(comm), parts_(std::move(parts)), process_(process) {
  std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
    return a.kind == Part::Kind::sum && b.kind != Part::Kind::sum;
  });
  for (Part& part : parts_) number(part);
  before_ = comm.resources->last;
}

Channel& Plan::channel(const Part& part) const {
  const bool sends = part.kind == Part::Kind::send;
  return comm_.clique
      ->channels[sends ? std::pair{comm_.rank, part.peer} : std::pair{part.peer, comm_.rank}];
}

void Plan::number(Part& part) {
  if (part.kind == Part::Kind::send) {
    part.number = channel(part).sends.size();
    channel(part).sends.push_back({.tag = part.tag, .left = false, .data = {}});
  } else if (part.kind == Part::Kind::receive) {
    part.number = channel(part).receives.size();
    channel(part).receives.push_back({.tag = part.tag, .posted = false});
  } else {
    std::vector<Sum>& sums = comm_.clique->sums;
    part.number = comm_.sums++;
    if (part.number == sums.size()) {
      sums.push_back({.count = part.size, .type = part.type, .operation = part.operation});
      sums.back().inputs.resize(comm_.clique->members.size());
    }
    const Sum& sum = sums[part.number];
    const bool is_same =
        sum.count == part.size && sum.type == part.type && sum.operation == part.operation;
    if (!is_same) misuse(name_of(part) + " is of another size, type or operation at another rank");
  }
}

bool Plan::may_start() const { return !before_ || before_->is_over(); }

void Plan::start() {
  before_.reset();
  for (const Part& part : parts_) {
    if (part.kind == Part::Kind::sum) start_sum(part);
  }
  post();
}

void Plan::start_sum(const Part& part) {
  Sum& sum = comm_.clique->sums[part.number];
  sum.inputs[static_cast<std::size_t>(comm_.rank)] = part.from;
  if (std::count(sum.inputs.begin(), sum.inputs.end(), nullptr) > 0) return;
  const std::size_t bytes = sum.count * size_of(sum.type);
  for (const void* input : sum.inputs) {
    if (!is_memory(input, bytes, -1)) return;
  }
  sum.result.resize(bytes);
  reduce(sum.type, sum.operation, sum.inputs, sum.result);
}

void Plan::post() {
  const bool has_sum = std::any_of(parts_.begin(), parts_.end(), [](const Part& part) {
    return part.kind == Part::Kind::sum && !part.ended;
  });
  if (posted_ || has_sum) return;
  posted_ = true;
  for (const Part& part : parts_) {
    if (part.kind == Part::Kind::receive) channel(part).receives[part.number].posted = true;
  }
}

bool Plan::may_end(const Part& part) const {
  if (part.ended) return false;
  if (part.kind == Part::Kind::sum) {
    const auto& inputs = comm_.clique->sums[part.number].inputs;
    return std::count(inputs.begin(), inputs.end(), nullptr) == 0;
  }
  if (!posted_) return false;
  const Channel& between = channel(part);
  if (part.kind == Part::Kind::receive) {
    return part.number < between.sends.size() && between.sends[part.number].left;
  }
  const auto credits = static_cast<std::size_t>(options().credits);
  if (part.number < credits) return true;
  const std::size_t needed = part.number - credits;
  return needed < between.receives.size() && between.receives[needed].posted;
}

bool Plan::may_go_on() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [this](const Part& part) { return may_end(part); });
}

void Plan::go_on() {
  const auto next = std::find_if(parts_.begin(), parts_.end(),
                                 [this](const Part& part) { return may_end(part); });
  end(*next);
  next->ended = true;
  post();
}

void Plan::end(Part& part) {
  if (part.kind == Part::Kind::receive) {
    take(part);
  } else if (part.kind == Part::Kind::sum) {
    const auto& result = comm_.clique->sums[part.number].result;
    if (is_memory(part.onto, result.size(), process_) && !result.empty()) {
      std::memcpy(part.onto, result.data(), result.size());
    }
  } else {
    Channel::Send& send = channel(part).sends[part.number];
    send.left = true;
    if (!is_memory(part.from, part.size, process_)) return;
    const auto* const from = static_cast<const std::byte*>(part.from);
    send.data.assign(from, from + part.size);
  }
}

void Plan::take(const Part& part) {
  Channel::Send& send = channel(part).sends[part.number];
  if (send.data.size() != part.size) {
    misuse(name_of(part) + " is of " + std::to_string(part.size) + " bytes, and its send of " +
           std::to_string(send.data.size()));
  }
  if (send.tag >= 0 && part.tag >= 0 && send.tag != part.tag) {
    misuse(name_of(part) + " expects " + std::to_string(part.tag) + " and is given " +
           std::to_string(send.tag));
  }
  if (is_memory(part.onto, part.size, process_)) {
    std::memcpy(part.onto, send.data.data(), std::min(part.size, send.data.size()));
  }
  send.data = {};
}

bool Plan::is_over() const {
  return comm_.aborted ||
         std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.ended; });
}

std::string Plan::name_of(const Part& part) const {
  const std::string number = std::to_string(part.number);
  const std::string self = std::to_string(comm_.rank);
  const std::string peer = std::to_string(part.peer);
  const std::string where = " on communicator " + std::to_string(comm_.clique->number);
  if (part.kind == Part::Kind::sum) return "sum " + number + " of rank " + self + where;
  const bool sends = part.kind == Part::Kind::send;
  return (sends ? "send " : "receive ") + number + " from rank " + (sends ? self : peer) +
         " to rank " + (sends ? peer : self) + where;
}

std::string Plan::name() const {
  std::string all;
  for (const Part& part : parts_) {
    if (!part.ended) all += (all.empty() ? "" : ", ") + name_of(part);
  }
  return all;
}

std::string Plan::waits_for() const {
  if (!may_start()) return before_->name() + ", launched before it with the same resources";
  for (const Part& part : parts_) {
    if (part.ended || may_end(part)) continue;
    if (part.kind == Part::Kind::sum) return "the kernels of all ranks";
    return part.kind == Part::Kind::send ? "its receive to be on its device" : "its send to leave";
  }
  return "nothing";
}

}  // namespace fake_gpu
