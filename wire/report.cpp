#include "wire/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/vocabulary/plural.h"

namespace ripeline::wire {

using Json = nlohmann::json;

namespace {

constexpr const char* kAssumed =
    "every message has a slot of its own, so no send waits; this is `apart`, `edge`, `per-stream` "
    "with credits for all messages";

std::string counts_text(const WireCounts& counts) {
  std::string text = counts.min == counts.max
                         ? plural(counts.min, "microbatch")
                         : fmt::format("each of {} to {} microbatches", counts.min, counts.max);
  return text + (counts.all ? "" : " and no others");
}

Json counts_json(const WireCounts& counts) {
  return {{"min", counts.min}, {"max", counts.max}, {"all", counts.all}};
}

std::string cell(const LayoutRow& row) {
  if (row.kind == WireVerdict::Kind::safe) return "safe";
  return fmt::format("{} at {}", name_of(row.kind), row.microbatches);
}

}  // namespace

std::string layouts_text(const LayoutTable& table) {
  if (table.problem) return fmt::format("layouts: none. {}\n", *table.problem);
  std::string text = fmt::format(
      "layouts, with {}; received just before use, sent just after, all as rendezvous\n",
      counts_text(table.counts));
  const auto line = [&](const std::string& streams, const std::string& layout, const std::string& a,
                        const std::string& b, const std::string& c) {
    text += fmt::format("  {:7}  {:12}  {:14}  {:14}  {}\n", streams, layout, a, b, c);
  };
  line("streams", "communicator", "per-stream", "launch-order", "serial");
  for (std::size_t i = 0; i + 2 < table.rows.size(); i += 3) {
    const LayoutRow& row = table.rows[i];
    line(name_of(row.streams), name_of(row.layout), cell(row), cell(table.rows[i + 1]),
         cell(table.rows[i + 2]));
  }
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const LayoutRow& row = table.rows[i];
    if (row.kind == WireVerdict::Kind::safe) continue;
    bool said = false;
    for (std::size_t k = 0; k < i; ++k) said = said || table.rows[k].sentence == row.sentence;
    if (said) continue;
    text += fmt::format("  {}, {}, {}, {}: {}\n", name_of(row.streams), name_of(row.layout),
                        name_of(row.kernels), plural(row.microbatches, "microbatch"), row.sentence);
  }
  return text + fmt::format("  The verdict above assumes: {}.\n", kAssumed);
}

std::string least_sends_text(const LeastSends& least) {
  if (least.outcome == verify::Outcome::unknown) {
    return fmt::format("least sends: unknown. {}\n", least.reason);
  }
  std::string text = fmt::format("least sends, with {}, one stream: ", counts_text(least.counts));
  if (least.outcome == verify::Outcome::refuted) return text + least.reason + "\n";
  text +=
      fmt::format("{} for each channel, or {} in all", plural(least.uniform, "credit"), least.sum);
  for (const auto& [channel, credits] : least.credits) {
    text += fmt::format("\n  rank {} to rank {}: {}", channel.first, channel.second, credits);
  }
  return text + "\n";
}

Json layouts_json(const LayoutTable& table) {
  if (table.problem) return {{"reason", *table.problem}};
  Json rows = Json::array();
  for (const LayoutRow& row : table.rows) {
    rows.push_back({{"streams", name_of(row.streams)},
                    {"communicator", name_of(row.layout)},
                    {"kernels", name_of(row.kernels)},
                    {"verdict", name_of(row.kind)}});
    if (row.kind == WireVerdict::Kind::safe) continue;
    rows.back()["microbatches"] = row.microbatches;
    rows.back()["reason"] = row.sentence;
  }
  return {{"microbatches", counts_json(table.counts)},
          {"credits", 0},
          {"verdict_assumes", kAssumed},
          {"rows", rows}};
}

Json least_sends_json(const LeastSends& least) {
  Json json = {{"outcome", name_of(least.outcome)}};
  if (!least.reason.empty()) json["reason"] = least.reason;
  if (least.counts.min > 0) json["microbatches"] = counts_json(least.counts);
  if (least.outcome != verify::Outcome::proved) return json;
  json["uniform"] = least.uniform;
  json["sum"] = least.sum;
  json["channels"] = Json::array();
  for (const auto& [channel, credits] : least.credits) {
    json["channels"].push_back(
        {{"from", channel.first}, {"to", channel.second}, {"credits", credits}});
  }
  return json;
}

}  // namespace ripeline::wire
