#include "codegen/priority_text.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/expression_text.h"
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

// The amount held in the task's pool of the resource. If no task acquires it, it is not counted: 0.
std::string held(const Outline& outline, const std::string& name) {
  for (const BoundedResource& b : outline.bounded) {
    const spec::Resource& resource = at(outline.program.resources, b.resource);
    if (resource.name != name) continue;
    return fmt::format("held[kPool_{} + lane.{}]", name, resource.per_rank ? "rank" : "stage");
  }
  return "std::int64_t{0}";
}

// The text for a name: one of the function's names, or the amount that a pool holds.
std::string name_text(const Outline& outline, const std::string& name) {
  static const std::set<std::string> kNames = {"s", "r", "chunk", "chunks", "m", "microbatches"};
  return kNames.contains(name) ? name : held(outline, name);
}

// The function's constants, of those names that are used.
std::vector<std::string> locals(const std::set<std::string>& used) {
  const std::vector<std::pair<const char*, const char*>> all = {
      {"s", "lane.stage"},
      {"r", "lane.rank"},
      {"chunk", "lane.chunk"},
      {"chunks", "kChunksOfRank[lane.rank]"},
      {"m", "facts().microbatch_of(task)"}};
  std::vector<std::string> texts;
  for (const auto& [name, value] : all) {
    if (!used.contains(name)) continue;
    texts.push_back(fmt::format("[[maybe_unused]] const std::int64_t {} = {};", name, value));
  }
  return texts;
}

}  // namespace

bool has_priorities(const Program& program) {
  return !program.dispatch.in_order && program.dispatch.hint.rule == spec::Hint::Rule::priority;
}

std::string priority_table(const Outline& outline) {
  const Program& program = outline.program;
  if (!names_of(program).contains("chunks")) return "";
  std::vector<std::string> counts;
  for (int rank = 0; rank < program.ranks; ++rank) {
    counts.push_back(std::to_string(program.chunks(rank)));
  }
  return fill("\n// Stages, by rank.\ninline constexpr int kChunksOfRank[] = {\n    $counts$\n};\n",
              {{"counts", wrap(counts, 92)}});
}

std::string priority_rule(const Outline& outline) {
  const Program& program = outline.program;
  const ExpressionText text(false, [&](const std::string& n) { return name_text(outline, n); });
  std::string cases;
  for (const HintPlace& place : program.dispatch.hint.places) {
    cases += fill("  case $op$:\n    return $value$;\n",
                  {{"op", op_constant(program, place.op)},
                   {"value", text.number(folded(program, *place.priority))}});
  }
  return fill(R"(// The value of a task, when so much of each pool is held: the greatest goes first.
static std::int64_t priority(core::Task task, [[maybe_unused]] const std::int64_t* held,
                             [[maybe_unused]] std::int64_t microbatches) {
  const core::LaneFacts& lane = kLanes[task.lane];
  $locals$
  switch (lane.op) {
  $cases$    default:
      return 0;
  }
})",
              {{"locals", lines(locals(names_of(program)))}, {"cases", cases}});
}

}  // namespace ripeline::codegen
