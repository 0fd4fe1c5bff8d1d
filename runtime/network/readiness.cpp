#include "runtime/network/readiness.h"

#include "runtime/process/tree.h"

namespace ripeline::runtime::network {

std::vector<int> Readiness::late() const {
  std::vector<int> ranks;
  for (const int child : process::children_of(self_, ranks_)) {
    if (!told_by_.contains(child)) ranks.push_back(child);
  }
  if (ranks.empty() && self_ > 0 && !told_by_.contains(process::parent_of(self_))) {
    ranks.push_back(process::parent_of(self_));
  }
  return ranks;
}

bool Readiness::all() const { return connected_ && late().empty(); }

std::vector<int> Readiness::take_tell() {
  const std::vector<int> late = this->late();
  const bool is_below = late.empty() || late.front() == process::parent_of(self_);
  std::vector<int> tell;
  if (connected_ && is_below && self_ > 0 && !told_parent_) {
    told_parent_ = true;
    tell.push_back(process::parent_of(self_));
  }
  if (all() && !told_children_) {
    told_children_ = true;
    for (const int child : process::children_of(self_, ranks_)) tell.push_back(child);
  }
  return tell;
}

}  // namespace ripeline::runtime::network
