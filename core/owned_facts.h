// OwnedFacts: a copy of a ProgramFacts, with all the data that its views point to.
//
// For facts that are in no generated file: those of an elaborated program, or of a trace. Owns its
// tables and names; facts() is valid while the object, or the target of its move, lives. Immutable.
#pragma once

#include <string>
#include <vector>

#include "core/facts.h"

namespace ripeline::core {

class OwnedFacts {
 public:
  OwnedFacts() = default;
  explicit OwnedFacts(const ProgramFacts& facts);
  OwnedFacts(OwnedFacts&&) = default;
  OwnedFacts& operator=(OwnedFacts&&) = default;
  OwnedFacts(const OwnedFacts&) = delete;
  OwnedFacts& operator=(const OwnedFacts&) = delete;
  ~OwnedFacts() = default;

  [[nodiscard]] const ProgramFacts& facts() const { return facts_; }

 private:
  // These are never resized once views into them exist; a move leaves the viewed data in place.
  std::vector<std::string> names_;
  std::vector<std::vector<ShareWord>> share_words_;
  std::vector<OpFacts> ops_;
  std::vector<LaneFacts> lanes_;
  std::vector<EdgeFacts> edges_;
  std::vector<PoolFacts> pools_;
  std::vector<UseFacts> uses_;
  std::vector<InboxFacts> inboxes_;
  std::vector<PairFacts> pairs_;
  std::vector<LaneId> collectives_;
  std::vector<LaneId> reductions_;
  std::vector<PlaceFacts> places_;
  std::vector<PlaceFacts> fill_;
  std::vector<std::vector<int>> chunks_;  // the chunks of places_, then of fill_
  ProgramFacts facts_{};
};

}  // namespace ripeline::core
