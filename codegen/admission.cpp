#include "codegen/admission.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/outline.h"
#include "codegen/printer.h"

namespace ripeline::codegen {
namespace {

using spec::Program;

const std::string& resource_name(const Outline& outline, int resource) {
  return at(outline.program.resources, resource).name;
}

// Where a number is not the same at all stages: its table, for the lane in hand.
std::string from_table(const Outline& outline, const char* what, int op, int resource) {
  return number_table(outline, what, op, resource) + "[lane.stage]";
}

// held[kPool_activation + lane.stage]
std::string held(const Outline& outline, int resource) {
  const spec::Resource& r = at(outline.program.resources, resource);
  return fmt::format("held[kPool_{} + lane.{}]", r.name, r.per_rank ? "rank" : "stage");
}

// A guard's parameters, with what its callers pass.
struct Parameters {
  std::vector<std::string> declared;
  std::vector<std::string> passed;
};

// held + amount + leaving <= capacity, with the numbers that are known here.
std::string condition(const Outline& outline, int op, const Room& room, Parameters& parameters) {
  const std::string& resource = resource_name(outline, room.resource);
  parameters.declared.push_back("const Number& " + resource + "_held");
  parameters.passed.push_back(held(outline, room.resource));
  const auto add = [&](const char* what, std::optional<std::int64_t> number,
                       const std::string& table) {
    if (number == 0) return std::string();
    if (number) return std::to_string(*number);
    parameters.declared.push_back("std::int64_t " + resource + what);
    parameters.passed.push_back(table);
    return resource + what;
  };
  std::string text = resource + "_held + " +
                     add("_amount", same_at(outline, op, room.amount),
                         from_table(outline, "kAmount", op, room.resource));
  const std::string leaving = add("_leaving", same_at(outline, op, room.leaving),
                                  from_table(outline, "kLeaving", op, room.resource));
  if (!leaving.empty()) text += " + " + leaving;
  const bool per_rank = at(outline.program.resources, room.resource).per_rank;
  for (const BoundedResource& b : outline.bounded) {
    if (b.resource != room.resource) continue;
    text +=
        " <= " + add("_capacity", same(b.capacity),
                     fmt::format("kCapacity_{}[lane.{}]", resource, per_rank ? "rank" : "stage"));
  }
  return text;
}

// `head` and the items, on one line if they fit.
std::string call(const std::string& head, const std::vector<std::string>& items,
                 std::size_t width) {
  std::string list = fmt::format("{}", fmt::join(items, ", "));
  if (head.size() + list.size() > width) {
    list = fmt::format("{}", fmt::join(items, ",\n" + std::string(head.size(), ' ')));
  }
  return head + list + ")";
}

std::string guard(const Outline& outline, int op) {
  Parameters parameters;
  std::vector<std::string> conditions;
  std::vector<std::string> names;
  for (const Room& room : at(outline.rooms, op)) {
    names.push_back(resource_name(outline, room.resource));
    conditions.push_back(condition(outline, op, room, parameters));
  }
  const std::string& name = at(outline.program.ops, op).name;
  return fill(R"(// $op$ may start when there is room for it in $resources$.
template <class Number>
$head$ {
  return $conditions$;
}
)",
              {{"op", name},
               {"resources", fmt::format("{}", fmt::join(names, " and in "))},
               {"head", call(fmt::format("constexpr core::Truth<Number> admits_{}(", name),
                             parameters.declared, 97)},
               {"conditions", fmt::format("{}", fmt::join(conditions, " &&\n         "))}});
}

// admits_F(held[kPool_activation + lane.stage], kCapacity_activation[lane.stage])
std::string admission(const Outline& outline, int op) {
  Parameters parameters;
  for (const Room& room : at(outline.rooms, op)) {
    (void)condition(outline, op, room, parameters);
  }
  return call(fmt::format("admits_{}(", at(outline.program.ops, op).name), parameters.passed, 84);
}

std::string has_room(const Outline& outline) {
  const Program& program = outline.program;
  std::vector<int> guarded;
  for (int op = 0; op < static_cast<int>(program.ops.size()); ++op) {
    if (!at(outline.rooms, op).empty()) guarded.push_back(op);
  }
  std::string body;
  if (guarded.size() == 1) {
    body = fill(
        "return lane.op != $op$ ||\n       $admission$;",
        {{"op", op_constant(program, guarded[0])}, {"admission", admission(outline, guarded[0])}});
  } else {
    body = "switch (lane.op) {\n";
    for (const int op : guarded) {
      body += fill("  case $op$:\n    return $admission$;\n",
                   {{"op", op_constant(program, op)}, {"admission", admission(outline, op)}});
    }
    body += "  default:\n    return true;\n}";
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

std::string number_or_table(std::optional<std::int64_t> number, const std::string& table) {
  return number ? std::to_string(*number) : table;
}

// Statements to run for the tasks of some ops only, `id` being the task's lane.
using ByOp = std::vector<std::vector<std::string>>;

std::string by_op(const Program& program, const ByOp& statements) {
  std::vector<int> ops;
  for (int op = 0; op < static_cast<int>(statements.size()); ++op) {
    if (!at(statements, op).empty()) ops.push_back(op);
  }
  if (ops.empty()) return "";
  std::string text = "const core::LaneFacts& lane = kLanes[id];\n";
  if (ops.size() == 1 && at(statements, ops[0]).size() == 1) {
    return text + fmt::format("if (lane.op == {}) {}", op_constant(program, ops[0]),
                              at(statements, ops[0])[0]);
  }
  if (ops.size() == 1) {
    return text + fill("if (lane.op == $op$) {\n  $statements$\n}",
                       {{"op", op_constant(program, ops[0])},
                        {"statements", lines(at(statements, ops[0]))}});
  }
  text += "switch (lane.op) {\n";
  for (const int op : ops) {
    text += fill("  case $op$:\n    $statements$\n    break;\n",
                 {{"op", op_constant(program, op)}, {"statements", lines(at(statements, op))}});
  }
  if (ops.size() < program.ops.size()) text += "  default:\n    break;\n";
  return text + "}";
}

std::string effect(const Outline& outline, const char* name, const char* comment,
                   const ByOp& statements) {
  const std::string body = by_op(outline.program, statements);
  // A resource may be acquired and never released.
  const bool none = body.empty();
  return fill(R"(// $comment$
template <class Number>
static constexpr void $name$(core::LaneId $id$, Number* $held$) {
  $body$
})",
              {{"comment", comment},
               {"name", name},
               {"id", none ? "/*id*/" : "id"},
               {"held", none ? "/*held*/" : "held"},
               {"body", body}});
}

std::string acquire(const Outline& outline) {
  ByOp statements(outline.program.ops.size());
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const int op = static_cast<int>(i);
    for (const Room& room : outline.rooms[i]) {
      statements[i].push_back(
          fmt::format("{} += {};", held(outline, room.resource),
                      number_or_table(same_at(outline, op, room.amount),
                                      from_table(outline, "kAmount", op, room.resource))));
    }
  }
  return effect(outline, "acquire", "Takes what a task of `id` acquires at its start.", statements);
}

std::string release(const Outline& outline) {
  ByOp statements(outline.program.ops.size());
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const int op = static_cast<int>(i);
    for (const ReleaseTable& giving : outline.givings[i]) {
      statements[i].push_back(
          fmt::format("{} -= {};", held(outline, giving.resource),
                      number_or_table(same_at(outline, op, giving.amount),
                                      from_table(outline, "kRelease", op, giving.resource))));
    }
  }
  return effect(outline, "release", "Gives back what it releases at its end.", statements);
}

}  // namespace

bool has_guards(const Outline& outline) { return !outline.bounded.empty(); }

std::string guards(const Outline& outline) {
  if (!has_guards(outline)) return "";
  std::string text;
  for (int op = 0; op < static_cast<int>(outline.rooms.size()); ++op) {
    if (!at(outline.rooms, op).empty()) text += "\n" + guard(outline, op);
  }
  return text;
}

std::string room_rules(const Outline& outline) {
  return has_room(outline) + "\n" + acquire(outline) + "\n" + release(outline);
}

}  // namespace ripeline::codegen
