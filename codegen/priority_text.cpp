#include "codegen/parts.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "codegen/expression_text.h"
#include "codegen/printer.h"

namespace ripeline::codegen {
namespace {

using NameAndValue = std::pair<const char*, const char*>;

// The names whose values depend on the task, and the constants that define them.
constexpr std::array<NameAndValue, 5> kLocals = {{{"s", "lane.stage"},
                                                  {"r", "lane.rank"},
                                                  {"chunk", "lane.chunk"},
                                                  {"chunks", "kChunksOfRank[lane.rank]"},
                                                  {"m", "facts().microbatch_of(task)"}}};

// The text of a name: one of the function's names, or the amount held in the task's pool of a
// resource. If no task acquires the resource, its amount is not counted, and the text is 0.
std::string name_text(const Outline& outline, const std::string& name) {
  const bool is_local = std::any_of(kLocals.begin(), kLocals.end(),
                                    [&](const NameAndValue& local) { return local.first == name; });
  if (is_local || name == "microbatches") return name;
  for (const BoundedResource& b : outline.bounded) {
    if (b.name == name) return b.held;
  }
  return "std::int64_t{0}";
}

}  // namespace

RuleText priority_rule(const Outline& outline) {
  const spec::Program& program = outline.program;
  const spec::Dispatch& dispatch = program.dispatch;
  if (dispatch.in_order || dispatch.hint.rule != spec::Hint::Rule::priority) return {};
  std::set<std::string> used;
  const ExpressionText expressions(false, [&](const std::string& name) {
    used.insert(name);
    return name_text(outline, name);
  });
  std::string cases;
  for (const spec::HintPlace& place : dispatch.hint.places) {
    cases += fill("  case $op$:\n    return $value$;\n",
                  {{"op", op_constant(program, place.op)},
                   {"value", expressions.number(with_chunks(program, *place.priority))}});
  }
  std::vector<std::string> locals;
  for (const auto& [name, value] : kLocals) {
    if (!used.contains(name)) continue;
    locals.push_back(fmt::format("[[maybe_unused]] const std::int64_t {} = {};", name, value));
  }
  RuleText text;
  if (used.contains("chunks")) {
    text.functions = "\n" + table("int", "kChunksOfRank", "Stages, by rank.",
                                  wrap(texts_of(chunk_counts(program)), 92));
  }
  text.members = fill(
      R"(// The value of a task, when so much of each pool is held: the greatest goes first.
static std::int64_t priority(core::Task task, [[maybe_unused]] const std::int64_t* held,
                             [[maybe_unused]] std::int64_t microbatches) {
  const core::LaneFacts& lane = kLanes[task.lane];
  $locals$
  switch (lane.op) {
  $cases$    default:
      return 0;
  }
})",
      {{"locals", lines(locals)}, {"cases", cases}});
  return text;
}

}  // namespace ripeline::codegen
