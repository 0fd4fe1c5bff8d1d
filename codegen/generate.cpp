// The whole generator, top to bottom: banner, facts, numbers, guards, order, priority, rules.
#include "codegen/generate.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "codegen/admission.h"
#include "codegen/order_text.h"
#include "codegen/outline.h"
#include "codegen/printer.h"
#include "codegen/priority_text.h"
#include "codegen/tables.h"
#include "lower/facts.h"

namespace ripeline::codegen {
namespace {

constexpr const char* kFile = R"($banner$
#pragma once

$includes$

namespace $name$ {

namespace core = ripeline::core;
static_assert(core::kCoreVersion == $version$,
              "this file is for another version of Ripeline: generate it again");

$tables$$numbers$$guards$$order$$chunks$
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

// A name that a user gave may have line ends in it, which would end the comment.
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

std::string includes(const Outline& outline) {
  const bool has_order = dispatched_order(outline.program) >= 0;
  const bool has_expressions = has_order || has_priorities(outline.program);
  std::vector<std::string> texts;
  if (has_expressions) texts.emplace_back("#include <algorithm>");
  texts.insert(texts.end(), {"#include <cstdint>", "#include <memory>", ""});
  if (has_fractions(outline)) texts.emplace_back("#include \"core/fraction.h\"");
  texts.emplace_back("#include \"core/rule_arbiter.h\"");
  return lines(texts);
}

std::string rules(const Outline& outline) {
  std::vector<std::string> texts;
  if (has_guards(outline)) texts.push_back(room_rules(outline));
  if (dispatched_order(outline.program) >= 0) texts.push_back(write_order(outline));
  if (has_priorities(outline.program)) texts.push_back(priority_rule(outline));
  return paragraphs(texts);
}

std::string header(const spec::Program& program, const GenerateOptions& options,
                   const std::string& proof, const core::ProgramFacts& facts) {
  const Outline outline = outline_of(program);
  const bool has_order = dispatched_order(program) >= 0;
  return fill(kFile, {{"banner", banner(program, options) + "\n" + proof},
                      {"includes", includes(outline)},
                      {"name", options.name},
                      {"version", std::to_string(core::kCoreVersion)},
                      {"tables", tables(outline, facts)},
                      {"numbers", number_tables(outline)},
                      {"guards", guards(outline)},
                      {"order", has_order ? "\n" + order_function(outline) : ""},
                      {"chunks", has_priorities(program) ? priority_table(outline) : ""},
                      {"rules", rules(outline)}});
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
