#include "optimise/least_capacity_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ripeline::optimise {

using Json = nlohmann::json;

namespace {

using Smaller = LeastCapacity::Smaller;

std::string uniform_text(Smaller below) {
  switch (below) {
    case Smaller::none:
      return "no less can do";
    case Smaller::refuted:
      return "each less is refuted";
    case Smaller::not_proved:
      return "no less was proved, not each was refuted";
    case Smaller::not_tried:
      break;
  }
  return "the least of those tried";
}

std::string sum_text(Smaller below) {
  switch (below) {
    case Smaller::none:
    case Smaller::refuted:
      return "the least sum";
    case Smaller::not_proved:
      return "no smaller sum was proved, not each was refuted";
    case Smaller::not_tried:
      break;
  }
  return "no single one can be lowered; smaller sums were not all tried";
}

// For programs: what is known of less.
std::string known_of(Smaller below) {
  switch (below) {
    case Smaller::none:
    case Smaller::refuted:
      return "least";
    case Smaller::not_proved:
      return "no less proved";
    case Smaller::not_tried:
      break;
  }
  return "not all tried";
}

}  // namespace

std::string least_capacity_text(const std::string& name, const LeastCapacity& least) {
  if (least.outcome != verify::Outcome::proved) {
    return fmt::format("least {}: unknown. {}\n", name, least.reason);
  }
  std::string text =
      fmt::format("least {}: {} for each ({}), or {} in all ({})", name, least.uniform,
                  uniform_text(least.below_uniform), least.sum, sum_text(least.below_sum));
  for (std::size_t i = 0; i < least.each.size(); ++i) {
    text += fmt::format("\n  {}: {}", least.instances[i], least.each[i]);
  }
  return text + "\n";
}

Json least_capacity_json(const LeastCapacity& least) {
  Json json = {{"outcome", name_of(least.outcome)}, {"judged", least.judged}};
  if (!least.reason.empty()) json["reason"] = least.reason;
  if (least.outcome != verify::Outcome::proved) return json;
  json["uniform"] = least.uniform;
  json["uniform_is"] = known_of(least.below_uniform);
  json["sum"] = least.sum;
  json["sum_is"] = known_of(least.below_sum);
  json["each"] = Json::array();
  for (std::size_t i = 0; i < least.each.size(); ++i) {
    json["each"].push_back({{"of", least.instances[i]}, {"capacity", least.each[i]}});
  }
  return json;
}

}  // namespace ripeline::optimise
