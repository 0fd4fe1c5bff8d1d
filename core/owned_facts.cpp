#include "core/owned_facts.h"

namespace ripeline::core {

OwnedFacts::OwnedFacts(const ProgramFacts& facts)
    : ops_(facts.ops.begin(), facts.ops.end()),
      lanes_(facts.lanes.begin(), facts.lanes.end()),
      edges_(facts.edges.begin(), facts.edges.end()),
      pools_(facts.pools.begin(), facts.pools.end()),
      uses_(facts.uses.begin(), facts.uses.end()),
      inboxes_(facts.inboxes.begin(), facts.inboxes.end()),
      pairs_(facts.pairs.begin(), facts.pairs.end()),
      collectives_(facts.collectives.begin(), facts.collectives.end()),
      reductions_(facts.reductions.begin(), facts.reductions.end()),
      places_(facts.dispatch.places.begin(), facts.dispatch.places.end()),
      fill_(facts.dispatch.fill.begin(), facts.dispatch.fill.end()),
      facts_(facts) {
  // Reserves room for all names first, since views of names must stay valid.
  names_.reserve(1 + ops_.size() + 2 * pools_.size() + inboxes_.size());
  const auto own = [this](std::string_view& name) { name = names_.emplace_back(name); };
  own(facts_.name);
  for (OpFacts& op : ops_) own(op.name);
  for (PoolFacts& pool : pools_) {
    own(pool.resource);
    own(pool.unit);
  }
  for (InboxFacts& inbox : inboxes_) own(inbox.channel);
  share_words_.reserve(lanes_.size());
  for (LaneFacts& lane : lanes_) {
    if (!lane.share.is_long()) continue;
    const ShareWord* const words = lane.share.words;
    lane.share.words = share_words_.emplace_back(words, words + lane.share.word_count()).data();
  }
  chunks_.reserve(places_.size() + fill_.size());
  for (std::vector<PlaceFacts>* const list : {&places_, &fill_}) {
    for (PlaceFacts& place : *list) {
      place.chunk = chunks_.emplace_back(place.chunk.begin(), place.chunk.end());
    }
  }
  facts_.ops = ops_;
  facts_.lanes = lanes_;
  facts_.edges = edges_;
  facts_.pools = pools_;
  facts_.uses = uses_;
  facts_.inboxes = inboxes_;
  facts_.pairs = pairs_;
  facts_.collectives = collectives_;
  facts_.reductions = reductions_;
  facts_.dispatch.places = places_;
  facts_.dispatch.fill = fill_;
}

}  // namespace ripeline::core
