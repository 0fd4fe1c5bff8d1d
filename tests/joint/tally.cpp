#include "tests/joint/tally.h"

#include <cstdio>

namespace ripeline::joint {

void Tally::add(const Verdict& verdict) {
  Row& row = rows_[verdict.kind];
  ++row.runs;
  row.events += verdict.events;
  if (!verdict.broken.empty()) {
    ++row.broken;
    ++broken_;
  }
  if (verdict.stuck) {
    ++row.stuck;
    return;
  }
  row.happened += verdict.happened ? 1 : 0;
  row.well += verdict.ended_well ? 1 : 0;
  row.survivors += verdict.survivors;
  row.named += verdict.named;
  row.agreed += verdict.agreed && verdict.survivors > 0 ? 1 : 0;
}

double Tally::named() const {
  std::int64_t all = 0;
  std::int64_t named = 0;
  for (const auto& [kind, row] : rows_) {
    if (kind == FaultKind::two) continue;
    all += row.survivors;
    named += row.named;
  }
  return all == 0 ? 1 : static_cast<double>(named) / static_cast<double>(all);
}

std::int64_t Tally::happened(FaultKind kind) const {
  const auto found = rows_.find(kind);
  return found == rows_.end() ? 0 : found->second.happened;
}

std::string Tally::table() const {
  std::string text =
      "           runs   stuck  faults    well  agreed  survivors     named  broken    events\n";
  for (const auto& [kind, row] : rows_) {
    char line[160];
    (void)std::snprintf(line, sizeof line,
                        "%-8s%7lld %7lld %7lld %7lld %7lld %10lld %9lld %7lld %9lld\n",
                        std::string(name_of(kind)).c_str(), static_cast<long long>(row.runs),
                        static_cast<long long>(row.stuck), static_cast<long long>(row.happened),
                        static_cast<long long>(row.well), static_cast<long long>(row.agreed),
                        static_cast<long long>(row.survivors), static_cast<long long>(row.named),
                        static_cast<long long>(row.broken), static_cast<long long>(row.events));
    text += line;
  }
  char line[100];
  (void)std::snprintf(line, sizeof line, "of runs with one fault, %.3f %% of first lines name it\n",
                      100 * named());
  return text + line;
}

std::string report_of(const Verdict& verdict) {
  std::string text = verdict.broken.empty() ? "" : "  broken: " + verdict.broken + "\n";
  for (const std::string& line : verdict.lines) text += "  " + line + "\n";
  return text;
}

}  // namespace ripeline::joint
