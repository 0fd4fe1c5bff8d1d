#include "certificates/recheck_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ripeline::certificates {
namespace {

std::string result_of(const RecheckStep& step) {
  return step.result == RecheckResult::accepted ? "ok" : name_of(step.result);
}

}  // namespace

std::string recheck_text(const std::string& folder, const RecheckReport& report,
                         const std::string& solver) {
  std::string text = fmt::format("{}: {}", folder, name_of(report.result));
  if (report.result != RecheckResult::no_input && !report.program.empty()) {
    const std::string depths =
        report.every_rank_from
            ? fmt::format(" for every number of ranks from {} on", *report.every_rank_from)
            : "";
    text +=
        fmt::format(", {} is {}{} ({})", report.program, name_of(report.verdict), depths, solver);
  }
  text += "\n";
  for (const RecheckStep& step : report.steps) {
    text += fmt::format("  {:<12} {:<10} {}{}{}\n", step.name, result_of(step), step.where,
                        step.where.empty() ? "" : ": ", step.detail);
  }
  return text;
}

nlohmann::json recheck_json(const RecheckReport& report, const std::string& solver) {
  nlohmann::json steps = nlohmann::json::array();
  for (const RecheckStep& step : report.steps) {
    steps.push_back({{"name", step.name}, {"result", result_of(step)}, {"detail", step.detail}});
    if (!step.where.empty()) steps.back()["file"] = step.where;
  }
  nlohmann::json json = {{"schema", "ripeline.recheck/2"},
                         {"program", report.program},
                         {"hash", report.hash},
                         {"verdict", name_of(report.verdict)},
                         {"result", name_of(report.result)},
                         {"steps", std::move(steps)},
                         {"solver", solver}};
  if (report.every_rank_from) json["least_ranks"] = *report.every_rank_from;
  return json;
}

}  // namespace ripeline::certificates
