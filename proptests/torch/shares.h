// Shares: counts how many of a property's cases had each feature, and prints that at the end.
//
// One thread.
#pragma once

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

namespace ripeline::proptests {

class Shares {
 public:
  Shares() = default;
  ~Shares() {
    std::printf("%d cases of %d drawn\n", cases_, drawn_);
    for (const auto& [feature, count] : counts_) {
      std::printf("%5.1f %%  %s\n", 100.0 * count / std::max(cases_, 1), feature.c_str());
    }
    std::printf("%zu schedules of the library, by dispatch\n", schedules_.size());
    for (const auto& [claim, largest] : largest_) {
      std::printf("%s: largest difference %.2g of the largest gradient\n", claim.c_str(), largest);
    }
  }
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  // Counts a draw. If the draw is discarded, add() is not called for it.
  void draw() { ++drawn_; }
  // `source` is a schedule with its dispatch, or `random`.
  void add(const std::string& source, const std::map<std::string, bool>& features) {
    ++cases_;
    if (source != "random") schedules_.insert(source);
    for (const auto& [feature, is_there] : features) counts_[feature] += is_there ? 1 : 0;
  }
  void add_difference(const std::string& claim, double difference) {
    largest_[claim] = std::max(largest_[claim], difference);
  }

 private:
  int cases_ = 0;
  int drawn_ = 0;
  std::map<std::string, int> counts_;
  std::map<std::string, double> largest_;
  std::set<std::string> schedules_;
};

}  // namespace ripeline::proptests
