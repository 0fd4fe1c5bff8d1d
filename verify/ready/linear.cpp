#include "verify/ready/linear.h"

#include "spec/indexing.h"

namespace ripeline::verify {

using spec::Program;

namespace {

template <class What>
void add_to(std::vector<std::pair<What, std::int64_t>>& sums, const What& what,
            std::int64_t factor) {
  for (auto& [known, sum] : sums) {
    if (known != what) continue;
    sum += factor;
    return;
  }
  sums.emplace_back(what, factor);
}

}  // namespace

Linear& Linear::add(int lane, std::int64_t factor) {
  add_to(lanes, lane, factor);
  return *this;
}

Linear& Linear::add(const spec::Share& share, std::int64_t factor) {
  add_to(microbatches, share, factor);
  return *this;
}

Linear& Linear::add(const Linear& other, std::int64_t factor) {
  for (const auto& [lane, f] : other.lanes) add(lane, f * factor);
  for (const auto& [share, f] : other.microbatches) add(share, f * factor);
  constant += other.constant * factor;
  return *this;
}

std::int64_t Linear::factor_of(int lane) const {
  for (const auto& [known, factor] : lanes) {
    if (known == lane) return factor;
  }
  return 0;
}

std::int64_t Linear::at(const std::vector<std::int64_t>& done,
                        std::int64_t microbatches_now) const {
  std::int64_t sum = constant;
  for (const auto& [share, factor] : microbatches) {
    sum += factor * share.below(static_cast<int>(microbatches_now));
  }
  for (const auto& [lane, factor] : lanes) sum += factor * ripeline::at(done, lane);
  return sum;
}

Linear tasks_of(const Program& program, int lane) {
  const spec::Lane& l = at(program.lanes, lane);
  Linear all;
  if (l.once) {
    all.constant = 1;
  } else {
    all.add(l.share, 1);
  }
  return all;
}

}  // namespace ripeline::verify
