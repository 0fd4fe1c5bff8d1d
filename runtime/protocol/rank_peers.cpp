#include "runtime/protocol/rank_peers.h"

#include <algorithm>
#include <string>

#include "core/vocabulary/index.h"
#include "runtime/protocol/ballot_codec.h"
#include "runtime/protocol/neighbours.h"

namespace ripeline::runtime::protocol {

using core::Status;
using core::StatusCode;

RankPeers::RankPeers(const core::ProgramFacts& facts, const core::Layout& layout, int self)
    : facts_(facts), layout_(layout), self_(self) {
  for (const core::EdgeFacts& edge : facts_.edges) {
    const int from = process_of(edge.producer);
    const int to = process_of(edge.consumer);
    if (from == to) continue;
    if (from == self) begun_by_[to] = {};
    if (to == self) senders_.insert(from);
  }
  for (const core::Engine engine : core::kAllEngines) {
    agreeing_[static_cast<std::size_t>(engine)] = agreeing_with(self, layout, facts_, engine);
  }
  for (const int partner : partners_of(self, layout, facts_)) {
    begun_by_[partner] = {};
    senders_.insert(partner);
  }
}

int RankPeers::process_of(core::LaneId lane) const {
  return layout_.of_rank(self_, facts_.lanes[index(lane)].rank);
}

void RankPeers::begin_step(std::int64_t step, int microbatches) {
  if (step_ < 0) {
    for (auto& [process, begun] : begun_by_) begun.step = std::max(begun.step, step - 1);
  }
  step_ = step;
  microbatches_ = microbatches;
}

Status RankPeers::accept_begun(int from, const signals::Begun& begun) {
  const auto of = begun_by_.find(from);
  const auto& [step, microbatches] = begun;
  if (of == begun_by_.end() || step < 0) {
    return {StatusCode::invalid, layout_.name(from) + " says that step " + std::to_string(step) +
                                     " has begun, which concerns nothing here"};
  }
  // The process has also begun all earlier steps, whose messages may still arrive. A process
  // without tasks in its steps can be far ahead.
  if (step > of->second.step) of->second = {step, microbatches};
  return check_count(from, step, microbatches);
}

bool RankPeers::have_begun(std::int64_t step) const {
  return std::all_of(begun_by_.begin(), begun_by_.end(),
                     [step](const auto& of) { return of.second.step >= step; });
}

std::vector<int> RankPeers::behind(std::int64_t step) const {
  std::vector<int> processes;
  for (const auto& [process, begun] : begun_by_) {
    if (begun.step < step) processes.push_back(process);
  }
  return processes;
}

// A message comes from its edge's producer, a grant from its consumer, a notice from either.
Status RankPeers::check_sender(int from, const Signal& signal, core::EdgeId edge) const {
  const auto refused = [&](const std::string& why) {
    return Status(StatusCode::invalid, layout_.name(from) + " sent a message of edge " +
                                           std::to_string(edge) + ", " + why);
  };
  if (edge < 0 || index(edge) >= facts_.edges.size()) return refused("which there is not");
  const core::EdgeFacts& e = facts_.edges[index(edge)];
  const int producer = process_of(e.producer);
  const int consumer = process_of(e.consumer);
  const bool of_producer = from == producer && !std::holds_alternative<signals::Grant>(signal);
  const bool of_consumer = from == consumer && (std::holds_alternative<signals::Grant>(signal) ||
                                                std::holds_alternative<signals::Notice>(signal));
  const bool fits = of_producer || of_consumer;
  return fits ? Status()
              : refused("which leads from " + layout_.name(producer) + " to " +
                        layout_.name(consumer));
}

Status RankPeers::check_step(int from, std::int64_t step, std::int64_t present) const {
  if (present < 0 || step <= present + 1) return {};
  return {StatusCode::invalid, layout_.name(from) + " sent a message of step " +
                                   std::to_string(step) + " while " + layout_.name(self_) +
                                   " is in step " + std::to_string(present)};
}

Status RankPeers::check_count(int process, std::int64_t step, int microbatches) const {
  if (step != step_ || microbatches == microbatches_) return {};
  return {StatusCode::refused, "the ranks have different numbers of microbatches in step " +
                                   std::to_string(step) + ": " + layout_.name(process) + " has " +
                                   std::to_string(microbatches) + ", " + layout_.name(self_) +
                                   " has " + std::to_string(microbatches_)};
}

Status RankPeers::check_counts() const {
  for (const auto& [process, begun] : begun_by_) {
    if (begun.microbatches < 0) continue;
    if (Status s = check_count(process, begun.step, begun.microbatches); !s.ok()) return s;
  }
  return {};
}

Status RankPeers::accept_ballot(int from, std::int64_t step, std::int64_t present,
                                const Payload& payload, core::Ballot& ballot) const {
  const auto refused = [&] {
    return Status(StatusCode::invalid, layout_.name(from) + " sent " + layout_.name(self_) +
                                           " a ballot, and has nothing to agree on with it");
  };
  // The ballot of a process that is no peer is not read.
  if (!begun_by_.contains(from)) return refused();
  if (Status s = check_step(from, step, present); !s.ok()) return s;
  int microbatches = 0;
  const int rank = layout_.at(self_).rank;
  if (Status s = decode_ballot(facts_, rank, payload, microbatches, ballot); !s.ok()) return s;
  if (Status s = check_count(from, step, microbatches); !s.ok()) return s;
  const std::vector<int>& others = agreeing(ballot.engine);
  return std::count(others.begin(), others.end(), from) == 0 ? refused() : Status();
}

}  // namespace ripeline::runtime::protocol
