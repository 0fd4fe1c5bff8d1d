#include "codegen/priority_text.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/expression_text.h"
#include "codegen/places.h"
#include "codegen/printer.h"

namespace ripeline::codegen {
namespace {

using spec::Expr;
using spec::HintPlace;
using spec::Program;

bool same_chunks(const Program& program) {
  for (int rank = 1; rank < program.ranks; ++rank) {
    if (program.chunks(rank) != program.chunks(0)) return false;
  }
  return true;
}

// `chunks` is a number where it is the same on all ranks.
Expr folded(const Program& program, const Expr& expr) {
  const bool same = same_chunks(program);
  return fold(expr, [&](std::string_view name) -> std::optional<spec::Rational> {
    if (name != "chunks" || !same) return std::nullopt;
    return spec::Rational{program.chunks(0), 1};
  });
}

std::set<std::string> names_of(const Program& program) {
  std::set<std::string> names;
  for (const HintPlace& place : program.dispatch.hint.places) {
    for (const std::string& name : names_in(folded(program, *place.priority))) names.insert(name);
  }
  return names;
}

// What the task's pool of the resource holds. What no task acquires is not counted, and empty.
std::string held(const Outline& outline, const std::string& name) {
  for (const BoundedResource& b : outline.bounded) {
    const spec::Resource& resource = at(outline.program.resources, b.resource);
    if (resource.name != name) continue;
    return fmt::format("step_.held[kPool_{} + lane.{}]", name,
                       resource.per_rank ? "rank" : "stage");
  }
  return "std::int64_t{0}";
}

// What stands for a name: one of the function's, or what a pool holds.
std::string name_text(const Outline& outline, const std::string& name) {
  static const std::set<std::string> kLocals = {"s", "r", "chunk", "chunks", "m", "microbatches"};
  return kLocals.contains(name) ? name : held(outline, name);
}

// The function's constants, of those names that are used.
std::vector<std::string> locals(const Outline& outline, const std::set<std::string>& used) {
  const char* microbatch = outline.uneven ? "facts().microbatch_of(task)" : "task.microbatch";
  const std::vector<std::pair<const char*, const char*>> all = {
      {"s", "lane.stage"},     {"r", "lane.rank"},
      {"chunk", "lane.chunk"}, {"chunks", "kChunksOfRank[lane.rank]"},
      {"m", microbatch},       {"microbatches", "step_.microbatches"}};
  std::vector<std::string> texts;
  for (const auto& [name, value] : all) {
    if (!used.contains(name)) continue;
    texts.push_back(fmt::format("[[maybe_unused]] const std::int64_t {} = {};", name, value));
  }
  return texts;
}

std::string value_of_task(const Outline& outline) {
  const Program& program = outline.program;
  const ExpressionText text(false, [&](const std::string& n) { return name_text(outline, n); });
  std::string cases;
  for (const HintPlace& place : program.dispatch.hint.places) {
    cases += fill("  case $op$:\n    return $value$;\n",
                  {{"op", op_constant(program, place.op)},
                   {"value", text.number(folded(program, *place.priority))}});
  }
  return fill(R"(// What is greatest goes first.
[[nodiscard]] std::int64_t priority([[maybe_unused]] core::Task task) const {
  const core::LaneFacts& lane = kLanes[task.lane];
  $locals$
  switch (lane.op) {
  $cases$    default:
      return 0;
  }
})",
              {{"locals", lines(locals(outline, names_of(program)))}, {"cases", cases}});
}

}  // namespace

bool has_priorities(const Program& program) {
  return !program.dispatch.in_order && program.dispatch.hint.rule == spec::Hint::Rule::priority;
}

bool priority_reads_count(const Outline& outline) {
  return has_priorities(outline.program) && names_of(outline.program).contains("microbatches");
}

std::vector<std::string> priority_helpers(const Outline& outline, const std::string& lane,
                                          const std::string& checks) {
  const Program& program = outline.program;
  const std::set<std::string> names = names_of(program);
  std::vector<std::string> texts;
  if (names.contains("chunks")) {
    std::vector<std::string> counts;
    for (int rank = 0; rank < program.ranks; ++rank) {
      counts.push_back(std::to_string(program.chunks(rank)));
    }
    texts.push_back(
        fill("// Stages, by rank.\nstatic constexpr int kChunksOfRank[] = {\n"
             "    $counts$\n};",
             {{"counts", wrap(counts, 90)}}));
  }
  texts.push_back(value_of_task(outline));
  const bool all = names.contains("m");
  texts.push_back(fill(
      R"(// Compares $which$ of `op` that may start and are allowed with the greatest so far: of equal
// ones a forward at the lower chunk goes first, else one at the higher.
void compare(int op, $parameters$, core::Greatest& greatest) const {
  [[maybe_unused]] const bool up = kOps[op].kind == core::OpKind::forward;
  for (int i = 0; i < $chunks$; ++i) {
    const core::LaneId lane = $lane$;
    $checks$
    greatest.compare(core::Greatest::Of::$of$, rows_, lane, allowed,
                     [this](core::Task task) { return priority(task); });
  }
})",
      {{"which", all ? "the tasks" : "the lowest microbatches"},
       {"parameters", offer_parameters(outline)},
       {"chunks", std::to_string(outline.chunks)},
       {"lane", lane},
       {"checks", checks.empty() ? "" : "if (!(" + checks + ")) continue;"},
       {"of", all ? "all" : "lowest"}}));
  return texts;
}

std::string priority_choice(const Outline& outline, bool more) {
  std::vector<std::string> texts = {"core::Greatest greatest;"};
  for (const HintPlace& place : outline.program.dispatch.hint.places) {
    texts.push_back(fmt::format("compare({}, {}, greatest);",
                                op_constant(outline.program, place.op), offer_arguments(outline)));
  }
  texts.emplace_back(more ? "if (greatest.choice().starts()) return greatest.choice();"
                          : "return greatest.choice();");
  return lines(texts);
}

}  // namespace ripeline::codegen
