#include "optimise/least.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "wire/report.h"

namespace ripeline::optimise {

using Json = nlohmann::json;

namespace {
bool is_own_name(const spec::Program& program, const std::string& name) {
  const std::vector<std::string> names = least_names(program);
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Texts for what is known of smaller amounts: `uniform` of a smaller amount for each, `sum` of a
// smaller sum, and `word` as a keyword for other programs.
struct Below {
  const char* uniform;
  const char* sum;
  const char* word;
};
Below known_of(LeastCapacity::Smaller below) {
  switch (below) {
    case LeastCapacity::Smaller::none:
      return {"no less can do", "the least sum", "least"};
    case LeastCapacity::Smaller::refuted:
      return {"each less is refuted", "the least sum", "least"};
    case LeastCapacity::Smaller::not_proved:
      return {"no less was proved, not each was refuted",
              "no smaller sum was proved, not each was refuted", "no less proved"};
    case LeastCapacity::Smaller::not_tried:
      break;
  }
  return {"the least of those tried",
          "no single one can be lowered; smaller sums were not all tried", "not all tried"};
}

std::string least_capacity_text(const std::string& name, const LeastCapacity& least) {
  if (least.outcome != verify::Outcome::proved) {
    return fmt::format("least {}: unknown. {}\n", name, least.reason);
  }
  std::string text =
      fmt::format("least {}: {} for each ({}), or {} in all ({})", name, least.uniform,
                  known_of(least.below_uniform).uniform, least.sum, known_of(least.below_sum).sum);
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
  json["uniform_is"] = known_of(least.below_uniform).word;
  json["sum"] = least.sum;
  json["sum_is"] = known_of(least.below_sum).word;
  json["each"] = Json::array();
  for (std::size_t i = 0; i < least.each.size(); ++i) {
    json["each"].push_back({{"of", least.instances[i]}, {"capacity", least.each[i]}});
  }
  return json;
}

}  // namespace

spec::Result<void> check_least(const spec::Program& program, const std::string& name) {
  if (name == "sends" || is_own_name(program, name)) return {};
  std::vector<std::string> names = least_names(program);
  if (program.dispatch.in_order) names.emplace_back("sends");
  const auto meant = spec::nearest(name, names);
  return spec::failure(
      fmt::format("{} has no resource or channel of that name; it has {}{}", program.name,
                  names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
                  meant ? ". Did you mean " + *meant + "?" : ""));
}

Least least_of(const spec::Program& program, const std::string& name,
               const verify::VerifyOptions& options) {
  if (is_own_name(program, name)) return least_capacity(program, name, options);
  return wire::least_sends(program, options);
}

std::string least_text(const std::string& name, const Least& least) {
  const auto* sends = std::get_if<wire::LeastSends>(&least);
  return sends != nullptr ? wire::least_sends_text(*sends)
                          : least_capacity_text(name, std::get<LeastCapacity>(least));
}

Json least_json(const Least& least) {
  const auto* sends = std::get_if<wire::LeastSends>(&least);
  return sends != nullptr ? wire::least_sends_json(*sends)
                          : least_capacity_json(std::get<LeastCapacity>(least));
}

}  // namespace ripeline::optimise
