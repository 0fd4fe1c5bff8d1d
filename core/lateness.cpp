#include "core/lateness.h"

#include <algorithm>

namespace ripeline::core {

void Lateness::add(Time late) {
  const auto first = sorted_.begin();
  auto last = first + static_cast<std::ptrdiff_t>(count_);
  if (count_ == kWindow) {
    const auto gone = std::lower_bound(first, last, seen_[oldest_]);
    std::copy(gone + 1, last, gone);
    --last;
  } else {
    ++count_;
  }
  seen_[oldest_] = late;
  oldest_ = (oldest_ + 1) % kWindow;
  const auto place = std::upper_bound(first, last, late);
  std::copy_backward(place, last, last + 1);
  *place = late;
}

Time Lateness::worth(Time late, Time next, Time unseen) const {
  const auto end = sorted_.begin() + static_cast<std::ptrdiff_t>(count_);
  auto left = std::upper_bound(sorted_.begin(), end, late);  // the greater latenesses
  auto soon = std::upper_bound(left, end, late + next);      // the first that is too late
  // As `late` grows, latenesses up to it no longer count, and greater ones come within `next`.
  while (left != end && 2 * (soon - left) >= end - left) {
    late = std::max(late, soon == end ? *left : std::min(*left, *soon - next));
    while (left != end && *left <= late) ++left;
    while (soon != end && *soon <= late + next) ++soon;
  }
  return left == end ? std::max(late, unseen) : late;
}

}  // namespace ripeline::core
