#include "lower/facts.h"

#include <algorithm>

#include "spec/indexing.h"

namespace ripeline::lower {
namespace {

using Bounds = std::vector<std::optional<std::int64_t>>;

std::vector<core::LaneFacts> lanes_of(const spec::Program& program) {
  std::vector<core::LaneFacts> lanes;
  for (const spec::Lane& l : program.lanes) {
    lanes.push_back({l.op, l.stage, l.rank, l.chunk, l.engine, l.once, l.share});
  }
  return lanes;
}

std::vector<core::EdgeFacts> edges_of(const spec::Program& program) {
  std::vector<core::EdgeFacts> edges;
  for (const spec::Edge& e : program.edges) {
    edges.push_back(
        {e.producer, e.consumer, e.of, e.inbox, e.fifo, e.rendezvous, program.crosses_shares(e)});
  }
  return edges;
}

std::vector<core::UseFacts> uses_of(const spec::Program& program) {
  std::vector<core::UseFacts> uses;
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    for (const spec::Use& use : spec::uses_of(at(program.lanes, lane))) {
      uses.push_back({lane, use.pool, use.acquires, use.releases, use.leaving});
    }
  }
  return uses;
}

// The places of a hint as facts, which refer to the chunks in `places`.
std::vector<core::PlaceFacts> places_of(const std::vector<spec::HintPlace>& places) {
  std::vector<core::PlaceFacts> found;
  for (const spec::HintPlace& place : places) {
    found.push_back({.op = place.op, .chunk = place.chunk, .by_microbatch = place.tells_apart()});
  }
  return found;
}

// The views in the result refer to the program and to the places.
core::DispatchFacts dispatch_of(const spec::Program& program,
                                const std::vector<core::PlaceFacts>& places,
                                const std::vector<core::PlaceFacts>& fill) {
  const spec::Dispatch& dispatch = program.dispatch;
  core::DispatchFacts facts{.in_order = dispatch.in_order, .keeps_room = dispatch.keeps >= 0};
  if (dispatch.in_order) return facts;
  const spec::Hint& hint = dispatch.hint;
  facts.rule = hint.rule;
  facts.places = places;
  facts.fill = fill;
  facts.binds =
      hint.rule == core::HintRule::order && at(program.orders, hint.order).file.has_value();
  if (hint.patience) {
    facts.patience = {.patience = hint.patience->patience.value(),
                      .yield = hint.patience->yield.value(),
                      .forecasts = hint.patience->forecasts,
                      .learns = hint.patience->learns};
  }
  return facts;
}

bool has_one_engine(const spec::Program& program) {
  return program.pairs.empty() &&
         std::none_of(program.edges.begin(), program.edges.end(),
                      [](const spec::Edge& e) { return e.rendezvous; }) &&
         std::all_of(program.lanes.begin(), program.lanes.end(),
                     [](const spec::Lane& lane) { return lane.engine == core::Engine::compute; });
}

// The facts; `bounds` is null if nothing was proved.
core::OwnedFacts facts(const spec::Program& program, const Bounds* bounds) {
  const int members = program.tensor_parallel.members;
  std::vector<core::LaneId> collectives;
  for (int lane = 0; lane < size_of(program.lanes) && members > 1; ++lane) {
    if (at(program.lanes, lane).collectives > 0) collectives.push_back(lane);
  }
  std::vector<core::LaneId> reductions;
  for (int lane = 0; lane < size_of(program.lanes) && !program.dispatch.in_order; ++lane) {
    if (program.reduces(lane)) reductions.push_back(lane);
  }
  std::vector<core::OpFacts> ops;
  for (const spec::Op& op : program.ops) ops.push_back({op.name, op.kind, op.sequential});
  std::vector<core::PairFacts> pairs;
  for (const spec::Pair& pair : program.pairs) pairs.push_back({pair.first, pair.second});
  std::vector<core::InboxFacts> inboxes;
  for (const spec::Inbox& inbox : program.inboxes) {
    inboxes.push_back({inbox.channel, inbox.rank, inbox.stage, inbox.slots});
  }
  std::vector<core::PoolFacts> pools;
  for (int pool = 0; pool < size_of(program.pools); ++pool) {
    const spec::Pool& p = at(program.pools, pool);
    const spec::Resource& resource = at(program.resources, p.resource);
    const std::int64_t bound = bounds != nullptr ? at(*bounds, pool).value_or(-1) : -1;
    pools.push_back(
        {resource.name, resource.unit, p.rank, p.stage, bound, p.capacity.value_or(-1)});
  }
  const std::vector<core::PlaceFacts> places = places_of(program.dispatch.hint.places);
  const std::vector<core::PlaceFacts> fill = places_of(program.dispatch.hint.fill);
  const std::vector<core::LaneFacts> lanes = lanes_of(program);
  const std::vector<core::EdgeFacts> edges = edges_of(program);
  const std::vector<core::UseFacts> uses = uses_of(program);
  return core::OwnedFacts({.core_version = core::kCoreVersion,
                           .name = program.name,
                           .hash = program.hash,
                           .proved = bounds != nullptr,
                           .ranks = program.ranks,
                           .stages = size_of(program.stages),
                           .min_microbatches = program.microbatches.min,
                           .max_microbatches = program.microbatches.max.value_or(0),
                           .ops = ops,
                           .lanes = lanes,
                           .edges = edges,
                           .pools = pools,
                           .uses = uses,
                           .inboxes = inboxes,
                           .inputs = program.inputs,
                           .pairs = pairs,
                           .members = members,
                           .agree = members == 1 || program.dispatch.in_order
                                        ? core::Agree::none
                                        : program.tensor_parallel.agree,
                           .collectives = collectives,
                           .replicas = program.data_parallel.replicas,
                           .reductions = reductions,
                           .dispatch = dispatch_of(program, places, fill),
                           .one_engine = has_one_engine(program)});
}

}  // namespace

core::OwnedFacts facts_of(const spec::Program& program) { return facts(program, nullptr); }

core::OwnedFacts facts_of(const verify::ProvedProgram& proved) {
  return facts(proved.program(), &proved.peaks());
}

core::OwnedFacts facts_with_bounds_for_testing(const spec::Program& program, const Bounds& bounds) {
  return facts(program, &bounds);
}

}  // namespace ripeline::lower
