// Compare: several runs side by side, as a table.
//
// What is of one kind for all is compared as it stands: times in the unit of the first, so the
// units must be of one length. A comparison of schedules means little if one may hold more: where
// the peaks differ on some rank, the table says so. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "view/picture.h"

namespace ripeline::view {

// Of one run; times in its unit.
struct Figures {
  double makespan = 0;  // from the first start to the last end
  double span = 0;      // of the rank for which it is largest: last end - first start
  double work = 0;      // of the rank whose compute engine works longest
  double bubble = 0;    // span - work
  struct Peak {
    std::string resource;
    std::vector<std::int64_t> per_rank;
    bool operator==(const Peak&) const = default;
  };
  std::vector<Peak> peaks;
};
[[nodiscard]] Figures figures(const Timeline& timeline);
// Over the ranks: `1..4`, or `8` where it is the same for all.
[[nodiscard]] std::string range_text(const Figures::Peak& peak);

// A line per panel, then what differs in memory. Fails: units of different lengths.
[[nodiscard]] core::Status compare_text(const std::vector<Panel>& panels, std::string& text);
// `{"schema":"ripeline.compare/1","runs":[…],"equal_memory":…}`
[[nodiscard]] std::string compare_json(const std::vector<Panel>& panels);

}  // namespace ripeline::view
