// The complete generator, top to bottom: banner, facts, admission, order, priority, rules.
#include "codegen/generate.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "codegen/parts.h"
#include "codegen/printer.h"
#include "lower/facts.h"
#include "runtime/training/train_rules.h"
#include "spec/indexing.h"

namespace ripeline::codegen {
namespace {

constexpr const char* kFile = R"($banner$
#pragma once

$includes$

namespace $name$ {

namespace core = ripeline::core;
static_assert(core::kCoreVersion == $version$,
              "this file is for another version of Ripeline: generate it again");

$tables$$functions$
// The program's rules, which core::RuleArbiter asks.
struct Rules : core::FreeRules {
  static constexpr bool kOneEngine = $name$::facts.one_engine;
  static constexpr const core::ProgramFacts& facts() { return $name$::facts; }
  $rules$
};
using Arbiter = core::RuleArbiter<Rules>;

inline std::unique_ptr<core::Arbiter> make_arbiter(int rank) {
  return std::make_unique<Arbiter>(rank);
}

}  // namespace $name$
)";

constexpr const char* kProbe =
    R"(// Answers `ripeline validate` for $header$: see validate/probe/probe.h.
$includes$

int main() {
  using namespace ripeline::validate;
  const std::string questions{std::istreambuf_iterator<char>(std::cin), {}};
  std::cout << answers(probe_of<::$name$::Rules>(::$name$::make_arbiter), questions) << std::flush;
  return std::cout ? 0 : 1;
}
)";

std::string range_text(const spec::MicrobatchRange& range) {
  if (!range.max)
    return range.min == 1 ? "any number of microbatches"
                          : fmt::format("{} microbatches or more", range.min);
  if (range.min == *range.max) return fmt::format("{} microbatches", range.min);
  return fmt::format("{} .. {} microbatches", range.min, *range.max);
}

// Replaces control characters: a line end in a user's name would end the comment.
std::string on_one_line(std::string text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' '; };
  std::replace_if(text.begin(), text.end(), is_control, ' ');
  return text;
}

std::string banner(const spec::Program& program, const GenerateOptions& options) {
  std::vector<std::string> texts = {
      fmt::format("// The arbiter of pipeline {}: {} ranks, {}.", program.name, program.ranks,
                  range_text(program.microbatches)),
      "//",
      fmt::format("// Written by ripeline " RIPELINE_VERSION " from {}, program hash {}.",
                  on_one_line(options.file), spec::hash_text(program.hash)),
      "// Do not edit; to write it again:",
      "//   " + on_one_line(options.command),
      "//"};
  return lines(texts);
}

std::string proof_text(const verify::ProvedProgram& proved) {
  std::vector<std::string> texts = {
      "// Proved, for every timing and any choice among the tasks that may start:"};
  for (const verify::ProvedObligation& o : proved.obligations()) {
    texts.push_back(fmt::format("//   {:<12} {}", name_of(o.kind), name_of(o.method)));
  }
  texts.push_back("// Assumed:");
  for (const std::string& assumption : proved.assumptions()) texts.push_back("//   " + assumption);
  return lines(texts);
}

std::string includes(bool has_expressions, bool has_fractions) {
  std::vector<std::string> texts;
  if (has_expressions) texts.emplace_back("#include <algorithm>");
  texts.insert(texts.end(), {"#include <cstdint>", "#include <memory>", ""});
  if (has_fractions) texts.emplace_back("#include \"core/fraction.h\"");
  texts.emplace_back("#include \"core/rule_arbiter.h\"");
  return lines(texts);
}

std::string header(const spec::Program& program, const GenerateOptions& options,
                   const std::string& proof, const core::ProgramFacts& facts) {
  const Outline outline = outline_of(program);
  const RuleText admission = admission_rule(outline);
  const RuleText order = order_rule(program);
  const RuleText priority = priority_rule(outline);
  std::vector<std::string> members;
  for (const RuleText& rule : {admission, order, priority}) {
    if (!rule.members.empty()) members.push_back(rule.members);
  }
  const bool has_expressions = !order.members.empty() || !priority.members.empty();
  return fill(kFile, {{"banner", banner(program, options) + "\n" + proof},
                      {"includes", includes(has_expressions, order.has_fractions)},
                      {"name", options.name},
                      {"version", std::to_string(core::kCoreVersion)},
                      {"tables", tables(outline, facts)},
                      {"functions", admission.functions + order.functions + priority.functions},
                      {"rules", paragraphs(members)}});
}

}  // namespace

bool is_namespace(const std::string& name) {
  constexpr std::array<std::string_view, 5> kTaken = {"core", "ops", "Arbiter", "Rules",
                                                      "FreeRules"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto may_follow = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(), may_follow) && !is_taken(name) &&
         std::find(kTaken.begin(), kTaken.end(), name) == kTaken.end();
}

std::vector<std::string> not_generated(const spec::Program& program) {
  std::vector<std::string> missing;
  for (const spec::Unsupported& u : program.unsupported) missing.push_back(u.construct);
  return missing;
}

spec::Diagnostics not_trained(const spec::Program& program) {
  const core::OwnedFacts owned = lower::facts_of(program);
  const runtime::training::TrainRules rules(owned.facts());
  spec::Diagnostics errors;
  std::set<int> ops;
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    const int op = at(program.lanes, lane).op;
    if (ops.contains(op)) continue;
    const auto why = rules.why_not(lane);
    if (!why) continue;
    ops.insert(op);
    errors.push_back(
        {.id = "for-torch", .message = *why, .hint = {}, .span = at(program.ops, op).span});
  }
  return errors;
}

std::string generate(const verify::ProvedProgram& proved, const GenerateOptions& options) {
  return header(proved.program(), options, proof_text(proved), lower::facts_of(proved).facts());
}

std::string generate_unproved(const spec::Program& program, const GenerateOptions& options) {
  return header(program, options, "// NOT PROVED: this program may deadlock or exceed its memory.",
                lower::facts_of(program).facts());
}

std::string probe(const std::string& name, const std::string& header) {
  const std::vector<std::string> included = {
      "#include <iostream>",         "#include <iterator>",
      "#include <string>",           "",
      "#include \"" + header + "\"", "#include \"validate/probe/probe.h\""};
  return fill(kProbe, {{"header", header}, {"includes", lines(included)}, {"name", name}});
}

}  // namespace ripeline::codegen
