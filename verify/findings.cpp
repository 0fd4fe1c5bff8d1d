#include "verify/findings.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "verify/report.h"

namespace ripeline::verify {

using Json = nlohmann::json;

namespace {

constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

constexpr std::array<std::pair<ObligationKind, const char*>, 5> kRules = {{
    {ObligationKind::deadlock,
     "The program does not deadlock, for every timing, every choice among the tasks that may start "
     "and every microbatch count in range."},
    {ObligationKind::collectives,
     "The members of a tensor-parallel group, and the replicas of a pipeline, issue the same "
     "collectives in the same order."},
    {ObligationKind::messages,
     "Each message has one producer and one consumer, and its link's order and slots suffice."},
    {ObligationKind::memory, "No resource exceeds its capacity, and every asserted peak holds."},
    {ObligationKind::once, "Every task runs exactly once."},
}};

// The path as RFC 3986 requires: all characters but unreserved ones and slashes are escaped.
std::string uri_of(const std::string& file) {
  const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
  std::string uri = path.is_absolute() ? "file://" : "";
  for (const char c : path.generic_string()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

std::pair<int, int> line_and_character(const spec::Source& source, std::size_t offset) {
  const spec::Position at = spec::position_of(source, offset);
  offset = std::min(offset, source.text.size());
  const std::string_view before(source.text.data(), offset);
  const std::string_view in_line = before.substr(offset - static_cast<std::size_t>(at.column - 1));
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  const auto skipped = std::count_if(in_line.begin(), in_line.end(), continues);
  return {at.line, at.column - static_cast<int>(skipped)};
}

// The location of a file and, if the span is not empty, of a region in it. An input that is not a
// file, such as a library schedule, has only a name.
Json location_of(const std::string& file, const spec::Source* source, spec::Span span) {
  std::error_code ignored;
  const bool is_file = file != "-" && (source == nullptr || std::filesystem::exists(file, ignored));
  if (!is_file) return {{"logicalLocations", {{{"name", file == "-" ? "stdin" : file}}}}};
  Json place = {{"artifactLocation", {{"uri", uri_of(file)}}}};
  if (source != nullptr && span != spec::Span{}) {
    const auto [line, character] = line_and_character(*source, span.begin);
    const auto [last_line, end] = line_and_character(*source, std::max(span.begin, span.end));
    place["region"] = {{"startLine", line},
                       {"startColumn", character},
                       {"endLine", last_line},
                       {"endColumn", end}};
  }
  return {{"physicalLocation", std::move(place)}};
}

const char* schema_of(Inputs inputs) {
  return inputs == Inputs::programs ? "ripeline.verify" : "ripeline.check";
}

}  // namespace

Json diagnostics_json(const spec::Source* source, const spec::Diagnostics& diagnostics) {
  Json list = Json::array();
  for (const spec::Diagnostic& d : diagnostics) {
    Json entry = {{"id", d.id}, {"message", d.message}, {"hint", d.hint}};
    if (!d.option.empty()) {
      entry["option"] = d.option;
    } else if (source != nullptr) {
      const spec::Position at = spec::position_of(*source, d.span.begin);
      entry["line"] = at.line;
      entry["column"] = at.column;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json bad_input_json(Inputs inputs, const std::string& file, const spec::Source* source,
                    const spec::Diagnostics& errors) {
  return {{"schema", fmt::format("{}/2", schema_of(inputs))},
          {"file", file},
          {"verdict", "bad input"},
          {"errors", diagnostics_json(source, errors)}};
}

Json list_json(Inputs inputs, const Json& documents, const Json& skipped) {
  return {{"schema", fmt::format("{}.list/2", schema_of(inputs))},
          {inputs == Inputs::programs ? "programs" : "schedules", documents},
          {"skipped", skipped}};
}

SarifLog::SarifLog(Inputs inputs) {
  if (inputs != Inputs::programs) return;
  for (const auto& [kind, description] : kRules) rule(name_of(kind), description, "error");
}

std::size_t SarifLog::rule(const std::string& id, const std::string& description,
                           const char* level) {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i]["id"] == id) return i;
  }
  rules_.push_back({{"id", id},
                    {"shortDescription", {{"text", description}}},
                    {"defaultConfiguration", {{"level", level}}}});
  return rules_.size() - 1;
}

void SarifLog::add(const std::string& file, const spec::Source* source,
                   const SarifFinding& finding) {
  results_.push_back({{"ruleId", finding.id},
                      {"ruleIndex", rule(finding.id, finding.rule, finding.level)},
                      {"level", finding.level},
                      {"message", {{"text", finding.message}}},
                      {"locations", Json::array({location_of(file, source, finding.span)})}});
  if (!finding.program.empty()) results_.back()["properties"] = {{"program", finding.program}};
}

void SarifLog::add_input(const std::string& file, std::uint64_t hash, Outcome verdict) {
  inputs_.push_back(
      {{"file", file}, {"hash", spec::hash_text(hash)}, {"verdict", name_of(verdict)}});
}

void SarifLog::add_bad_input(const std::string& file, const spec::Source* source,
                             const spec::Diagnostics& errors) {
  inputs_.push_back({{"file", file}, {"verdict", "bad input"}});
  for (const spec::Diagnostic& error : errors) {
    const std::string option = error.option.empty() ? "" : error.option + ": ";
    const std::string hint = error.hint.empty() ? "" : ". " + error.hint;
    // The ids have no descriptions in the code; docs/language.md describes them.
    add(file, source,
        {.id = error.id,
         .rule = "Bad input: " + error.id + ".",
         .message = option + error.message + hint,
         .span = error.span});
  }
}

void SarifLog::add_verdict(const std::string& file, const spec::Source& source,
                           const spec::Program& program, const Verdict& verdict) {
  add_input(file, program.hash, verdict.outcome);
  inputs_.back()["program"] = program.name;
  for (const Obligation& o : verdict.obligations) {
    if (o.outcome == Outcome::proved) continue;
    add(file, &source,
        {.id = name_of(o.kind),
         .level = o.outcome == Outcome::refuted ? "error" : "warning",
         .message = title_of(o) + ". " + o.reason,
         .span = o.span,
         .program = program.name});
  }
}

void SarifLog::add_warnings(const std::string& file, const spec::Source& source,
                            const spec::Program& program, const spec::Diagnostics& warnings) {
  for (const spec::Diagnostic& w : warnings) {
    add(file, &source,
        {.id = w.id,
         .rule = "Warning: " + w.id + ".",
         .level = "warning",
         .message = w.message + ". " + w.hint,
         .span = w.span,
         .program = program.name});
  }
}

Json SarifLog::log(const std::string& tool, int exit_code, const Json& skipped) const {
  const Json driver = {{"name", "ripeline"}, {"semanticVersion", tool}, {"rules", rules_}};
  Json properties = {{"programs", inputs_}};
  if (!skipped.empty()) properties["skipped"] = skipped;
  const Json run = {
      {"tool", {{"driver", driver}}},
      {"columnKind", "unicodeCodePoints"},
      {"invocations", Json::array({{{"executionSuccessful", true}, {"exitCode", exit_code}}})},
      {"results", results_},
      {"properties", std::move(properties)}};
  return {{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array({run})}};
}

}  // namespace ripeline::verify
