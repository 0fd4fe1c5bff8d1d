#include "codegen/parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/printer.h"

namespace ripeline::codegen {
namespace {

std::string number_table(const Numbers& numbers) {
  if (numbers.same) return "";
  const std::vector<std::string> texts = texts_of(numbers.values);
  return "\n" + array("std::int64_t", numbers.table, numbers.comment, wrap(texts, kTableWidth));
}

// The constants for the first pool of each resource, and the tables that guards and effects read.
std::string number_tables(const Outline& outline) {
  std::string text;
  for (const BoundedResource& b : outline.bounded) {
    const bool per_rank = at(outline.program.resources, b.resource).per_rank;
    text += fmt::format(
        "\n// The first pool of {0}; the others follow, by {1}.\n"
        "inline constexpr int kPool_{0} = {2};\n",
        b.name, per_rank ? "rank" : "stage", b.first_pool);
    text += number_table(b.capacity);
  }
  for (const std::vector<Use>& uses : outline.uses) {
    for (const Use& use : uses) {
      text += number_table(use.amount) + number_table(use.leaving) + number_table(use.released);
    }
  }
  return text;
}

// The guard of an op. All members are empty if the op acquires nothing.
struct Guard {
  std::vector<std::string> resources;
  std::vector<std::string> parameters;
  std::vector<std::string> arguments;
  std::vector<std::string> conditions;
};

// Adds the condition held + amount + leaving <= capacity, with constants where they are known.
void add_condition(Guard& guard, const Use& use) {
  const std::string& resource = use.bounded->name;
  const auto add = [&](const std::string& name, const Numbers& numbers) {
    if (numbers.same) return numbers.text();
    guard.parameters.push_back("std::int64_t " + name);
    guard.arguments.push_back(numbers.text());
    return name;
  };
  guard.resources.push_back(resource);
  guard.parameters.push_back("const Number& " + resource + "_held");
  guard.arguments.push_back(use.bounded->held);
  std::string text = resource + "_held + " + add(resource + "_amount", use.amount);
  if (use.leaving.same != 0) text += " + " + add(resource + "_leaving", use.leaving);
  guard.conditions.push_back(text + " <= " + add(resource + "_capacity", use.bounded->capacity));
}

Guard guard_of(const Outline& outline, int op) {
  Guard guard;
  for (const Use& use : at(outline.uses, op)) {
    if (use.amount.same != 0) add_condition(guard, use);
  }
  return guard;
}

std::string guard_function(const std::string& op, const Guard& guard) {
  return fill(R"(
// $op$ may start when there is room for it in $resources$.
template <class Number>
$head$ {
  return $conditions$;
}
)",
              {{"op", op},
               {"resources", fmt::format("{}", fmt::join(guard.resources, " and in "))},
               {"head", call(fmt::format("constexpr core::Truth<Number> admits_{}(", op),
                             guard.parameters, 97)},
               {"conditions", fmt::format("{}", fmt::join(guard.conditions, " &&\n         "))}});
}

// Per op, the statements for its tasks; an empty text if there are none.
using ByOp = std::vector<std::string>;

std::vector<int> ops_of(const ByOp& statements) {
  std::vector<int> ops;
  for (int op = 0; op < size_of(statements); ++op) {
    if (!at(statements, op).empty()) ops.push_back(op);
  }
  return ops;
}

std::string switch_of(const spec::Program& program, const ByOp& statements,
                      const std::string& otherwise) {
  std::string text = "switch (lane.op) {\n";
  for (const int op : ops_of(statements)) {
    text += fill("  case $op$:\n    $statements$\n",
                 {{"op", op_constant(program, op)}, {"statements", at(statements, op)}});
  }
  if (!otherwise.empty()) text += "  default:\n    " + otherwise + "\n";
  return text + "}";
}

std::string has_room(const spec::Program& program, const std::vector<Guard>& guards) {
  ByOp admissions(guards.size());
  for (int op = 0; op < size_of(guards); ++op) {
    const Guard& guard = at(guards, op);
    if (guard.conditions.empty()) continue;
    const std::string head = fmt::format("return admits_{}(", at(program.ops, op).name);
    at(admissions, op) = call(head, guard.arguments, 91) + ";";
  }
  const std::vector<int> ops = ops_of(admissions);
  std::string body = switch_of(program, admissions, "return true;");
  if (ops.size() == 1) {
    // The second line of the `return` is aligned with `lane.op` in the first line.
    body = fmt::format("return lane.op != {} ||\n       {}", op_constant(program, ops[0]),
                       at(admissions, ops[0]).substr(sizeof "return"));
  }
  return fill(
      R"(// Whether a task of `id` finds what it acquires, when so much of each pool is held.
template <class Number>
static constexpr core::Truth<Number> has_room(core::LaneId id, const Number* held) {
  const core::LaneFacts& lane = kLanes[id];
  $body$
})",
      {{"body", body}});
}

// The text that runs the statements of the op of `lane`.
std::string by_op(const spec::Program& program, ByOp statements) {
  const std::vector<int> ops = ops_of(statements);
  if (ops.size() == 1) {
    const std::string& text = at(statements, ops[0]);
    const bool is_one = text.find('\n') == std::string::npos;
    return fill(is_one ? "if (lane.op == $op$) $text$" : "if (lane.op == $op$) {\n  $text$\n}",
                {{"op", op_constant(program, ops[0])}, {"text", text}});
  }
  for (const int op : ops) at(statements, op) += "\nbreak;";
  return switch_of(program, statements, ops.size() < statements.size() ? "break;" : "");
}

// A function of the header that changes `held` by the amounts that the lane's op uses.
std::string effect(const Outline& outline, const char* name, const char* comment, const char* sign,
                   const Numbers Use::*amount) {
  ByOp statements;
  for (const std::vector<Use>& uses : outline.uses) {
    std::vector<std::string> texts;
    for (const Use& use : uses) {
      const Numbers& numbers = use.*amount;
      if (numbers.same == 0) continue;
      texts.push_back(fmt::format("{} {} {};", use.bounded->held, sign, numbers.text()));
    }
    statements.push_back(lines(texts));
  }
  // A resource may be acquired and never released; then there are no statements.
  const bool none = ops_of(statements).empty();
  return fill(R"(// $comment$
template <class Number>
static constexpr void $name$(core::LaneId $id$, Number* $held$) {
  $lane$
  $body$
})",
              {{"comment", comment},
               {"name", name},
               {"id", none ? "/*id*/" : "id"},
               {"held", none ? "/*held*/" : "held"},
               {"lane", none ? "" : "const core::LaneFacts& lane = kLanes[id];"},
               {"body", none ? "" : by_op(outline.program, statements)}});
}

}  // namespace

RuleText admission_rule(const Outline& outline) {
  if (outline.bounded.empty()) return {};
  RuleText text{.functions = number_tables(outline)};
  std::vector<Guard> guards;
  for (int op = 0; op < size_of(outline.uses); ++op) {
    guards.push_back(guard_of(outline, op));
    if (guards.back().conditions.empty()) continue;
    text.functions += guard_function(at(outline.program.ops, op).name, guards.back());
  }
  text.members =
      lines({has_room(outline.program, guards),
             effect(outline, "acquire", "Takes what a task of `id` acquires at its start.",
                    "+=", &Use::amount),
             effect(outline, "release", "Gives back what it releases at its end.",
                    "-=", &Use::released)});
  return text;
}

}  // namespace ripeline::codegen
