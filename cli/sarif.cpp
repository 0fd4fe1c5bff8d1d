#include "cli/sarif.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "pytorch/program.h"

namespace ripeline::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

constexpr std::array<std::pair<verify::ObligationKind, const char*>, 5> kRules = {{
    {verify::ObligationKind::deadlock,
     "The program does not deadlock, for every timing, every choice among the tasks that may start "
     "and every microbatch count in range."},
    {verify::ObligationKind::collectives,
     "The members of a tensor-parallel group, and the replicas of a pipeline, issue the same "
     "collectives in the same order."},
    {verify::ObligationKind::messages,
     "Each message has one producer and one consumer, and its link's order and slots suffice."},
    {verify::ObligationKind::memory,
     "No resource exceeds its capacity, and every asserted peak holds."},
    {verify::ObligationKind::once, "Every task runs exactly once."},
}};

// As RFC 3986 wants it: all but unreserved characters and slashes are escaped.
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

// A file and, if the span is not empty, a region of it. Input that is no file, as a library
// schedule, has a name alone.
Json location_of(const std::string& file, const std::optional<spec::Source>& source,
                 spec::Span span) {
  std::error_code ignored;
  const bool is_file = file != "-" && (!source || std::filesystem::exists(file, ignored));
  if (!is_file) return {{"logicalLocations", {{{"name", file == "-" ? "stdin" : file}}}}};
  Json place = {{"artifactLocation", {{"uri", uri_of(file)}}}};
  if (source && span != spec::Span{}) {
    const auto [line, character] = line_and_character(*source, span.begin);
    const auto [last_line, end] = line_and_character(*source, std::max(span.begin, span.end));
    place["region"] = {{"startLine", line},
                       {"startColumn", character},
                       {"endLine", last_line},
                       {"endColumn", end}};
  }
  return {{"physicalLocation", std::move(place)}};
}

std::string message_of(const verify::Obligation& o) {
  std::string text = fmt::format("{}: {}", verify::name_of(o.outcome), verify::name_of(o.kind));
  if (o.counterexample) {
    const int count = o.counterexample->microbatches;
    text += fmt::format(", with {} microbatch{}{}", count, count == 1 ? "" : "es",
                        o.counterexample->fewest ? " (the fewest)" : "");
  }
  text += ". " + o.reason;
  return text;
}

}  // namespace

Json skipped_json(const std::vector<load::Skipped>& skipped) {
  Json files = Json::array();
  for (const load::Skipped& one : skipped)
    files.push_back({{"file", one.file}, {"reason", text_of(one.why)}});
  return files;
}

SarifLog::SarifLog(Of of) {
  if (of != Of::programs) return;
  for (const auto& [kind, description] : kRules) rule(verify::name_of(kind), description);
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

void SarifLog::add_result(const std::string& id, std::size_t rule_index, const char* level,
                          const std::string& message, Json location, const std::string& program) {
  Json result = {{"ruleId", id},
                 {"ruleIndex", rule_index},
                 {"level", level},
                 {"message", {{"text", message}}},
                 {"locations", Json::array({std::move(location)})}};
  if (!program.empty()) result["properties"] = {{"program", program}};
  results_.push_back(std::move(result));
}

void SarifLog::add_bad_input(const std::string& file, const std::optional<spec::Source>& source,
                             const spec::Diagnostics& errors) {
  programs_.push_back({{"file", file}, {"verdict", "bad input"}});
  for (const spec::Diagnostic& error : errors) {
    std::string message = error.option.empty() ? "" : error.option + ": ";
    message += error.message + (error.hint.empty() ? "" : ". " + error.hint);
    // The ids have no texts of their own: docs/language.md describes them.
    const std::size_t index = rule(error.id, "Bad input: " + error.id + ".");
    add_result(error.id, index, "error", message, location_of(file, source, error.span), "");
  }
}

void SarifLog::add_verdict(const std::string& file, const load::LoadedProgram& loaded,
                           const verify::Verdict& verdict) {
  programs_.push_back({{"file", file},
                       {"program", loaded.program.name},
                       {"hash", spec::hash_text(loaded.program.hash)},
                       {"verdict", verify::name_of(verdict.outcome)}});
  for (const verify::Obligation& o : verdict.obligations) {
    if (o.outcome == verify::Outcome::proved) continue;
    const char* level = o.outcome == verify::Outcome::refuted ? "error" : "warning";
    const std::string name = verify::name_of(o.kind);
    add_result(name, rule(name, name), level, message_of(o),
               location_of(file, loaded.source, o.span), loaded.program.name);
  }
}

void SarifLog::add_warnings(const std::string& file, const load::LoadedProgram& loaded,
                            const spec::Diagnostics& warnings) {
  for (const spec::Diagnostic& w : warnings) {
    // As of errors: docs/language.md describes the ids.
    const std::size_t index = rule(w.id, "Warning: " + w.id + ".", "warning");
    add_result(w.id, index, "warning", w.message + ". " + w.hint,
               location_of(file, loaded.source, w.span), loaded.program.name);
  }
}

void SarifLog::add_check(const std::string& file, const spec::Source& source,
                         const pytorch::CheckReport& report) {
  programs_.push_back({{"file", file},
                       {"hash", spec::hash_text(spec::hash_of(source.text))},
                       {"verdict", verify::name_of(report.verdict)}});
  const auto add = [&](const std::string& id, const char* level, const std::string& message,
                       spec::Span span) {
    // The rules have no texts of their own: docs/check.md describes them.
    const std::size_t index = rule(id, "Rule `" + id + "` of `ripeline check`.");
    add_result(id, index, level, message, location_of(file, source, span), "");
  };
  for (const pytorch::CheckFinding& f : report.findings) {
    add(f.rule, "error", (f.task.empty() ? "" : f.task + ": ") + f.message,
        pytorch::span_of(source.text, f));
  }
  if (!report.reason.empty()) add("unknown", "warning", report.reason, {});
}

Json SarifLog::log(int exit_code, const std::vector<load::Skipped>& skipped) const {
  const Json driver = {
      {"name", "ripeline"}, {"semanticVersion", RIPELINE_VERSION}, {"rules", rules_}};
  Json properties = {{"programs", programs_}};
  if (!skipped.empty()) properties["skipped"] = skipped_json(skipped);
  const Json run = {
      {"tool", {{"driver", driver}}},
      {"columnKind", "unicodeCodePoints"},
      {"invocations", Json::array({{{"executionSuccessful", true}, {"exitCode", exit_code}}})},
      {"results", results_},
      {"properties", std::move(properties)}};
  return {{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array({run})}};
}

}  // namespace ripeline::cli
