#include "runtime/network/readiness.h"

#include "runtime/protocol/tree.h"

namespace ripeline::runtime::network {

std::vector<int> Readiness::late() const {
  std::vector<int> ranks;
  for (const int child : protocol::children_of(self_, ranks_)) {
    if (!received_from_.contains(child)) ranks.push_back(child);
  }
  if (ranks.empty() && self_ > 0 && !received_from_.contains(protocol::parent_of(self_))) {
    ranks.push_back(protocol::parent_of(self_));
  }
  return ranks;
}

bool Readiness::all() const { return connected_ && late().empty(); }

std::vector<int> Readiness::take_to_notify() {
  const std::vector<int> late = this->late();
  const bool is_below = late.empty() || late.front() == protocol::parent_of(self_);
  std::vector<int> tell;
  if (connected_ && is_below && self_ > 0 && !notified_parent_) {
    notified_parent_ = true;
    tell.push_back(protocol::parent_of(self_));
  }
  if (all() && !notified_children_) {
    notified_children_ = true;
    for (const int child : protocol::children_of(self_, ranks_)) tell.push_back(child);
  }
  return tell;
}

}  // namespace ripeline::runtime::network
