#include "core/layout.h"

namespace ripeline::core {

std::string Layout::name(int process) const {
  if (is_flat()) return "rank " + std::to_string(process);
  std::string text = "process " + std::to_string(process);
  if (process < 0 || process >= processes()) return text;
  const Coordinates c = at(process);
  text += " (";
  if (replicas > 1) text += "replica " + std::to_string(c.replica) + ", ";
  text += "rank " + std::to_string(c.rank);
  if (members > 1) text += ", member " + std::to_string(c.member);
  return text + ")";
}

std::string Layout::text() const {
  const auto of = [](int count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  std::string text = of(ranks, "rank");
  if (members > 1) text += " of " + of(members, "member") + " each";
  return replicas > 1 ? of(replicas, "replica") + " of " + text : text;
}

}  // namespace ripeline::core
