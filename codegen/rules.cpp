#include "codegen/rules.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/admission.h"
#include "codegen/outline.h"
#include "codegen/printer.h"
#include "spec/hint.h"

namespace ripeline::codegen {
namespace {

using spec::Program;

// One line: the op's task, if it has one that may start.
std::string try_op(const Outline& outline, int op) {
  return fmt::format("if (const core::Choice c = offer({}, {}); c.starts()) return c;",
                     op_constant(outline.program, op), offer_arguments(outline));
}

std::string last_op(const Outline& outline, int op) {
  return fmt::format("return offer({}, {});", op_constant(outline.program, op),
                     offer_arguments(outline));
}

// The ops in turn. The last decides, unless more comes after.
std::vector<std::string> chain(const Outline& outline, const std::vector<int>& ops, bool more) {
  std::vector<std::string> texts;
  if (ops.empty() && !more) texts.push_back("return {};");
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const bool last = i + 1 == ops.size() && !more;
    texts.push_back(last ? last_op(outline, ops[i]) : try_op(outline, ops[i]));
  }
  return texts;
}

// A case for each entry that may be the first to try.
std::string rounds(const Outline& outline, const std::vector<int>& entries, bool more) {
  std::string text = "switch (step_.round) {\n";
  for (std::size_t first = 0; first < entries.size(); ++first) {
    std::vector<int> turn(entries.begin() + static_cast<std::ptrdiff_t>(first), entries.end());
    turn.insert(turn.end(), entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(first));
    std::vector<std::string> body = chain(outline, turn, more);
    if (more) body.push_back("break;");
    const bool last = first + 1 == entries.size();
    text += fill("  $case$:  // $op$ first\n    $body$\n",
                 {{"case", last ? "default" : fmt::format("case {}", first)},
                  {"op", at(outline.program.ops, entries[first]).name},
                  {"body", lines(body)}});
  }
  return text + "}";
}

constexpr const char* kFollow = R"(core::Choice earliest;
int place = core::FollowedOrder::kNoPlace;
for (core::LaneId lane = rows_.first_lane(); lane < rows_.end_lane(); ++lane) {
  if ($filler$order_.next_place(lane) >= place) continue;
  if (const core::Choice c = offer_lane(lane, $allowed$); c.starts()) {
    earliest = c;
    place = order_.next_place(lane);
  }
}
if (earliest.starts()) return earliest;
// Lanes that the order does not list, or not so often.)";

// Before: the lane that comes first, then what fills.
constexpr const char* kFirst =
    R"(if (const core::LaneId first = order_.earliest(is_listed); first >= 0) {
  if (const core::Choice c = offer_lane(first, $allowed$); c.starts()) return c;
}
$fill$
)";

constexpr const char* kFollowFile = R"(for (const core::Task task : order_.left()) {
  if (!rows_.contains(task)$engine$$room$) continue;
  if (allowed != nullptr && !allowed->contains(task)) continue;
  return {.kind = core::Choice::Kind::start, .task = task, .until = core::Time{0}};
}
// Tasks that the file does not list.)";

}  // namespace

std::string hint_title(const Program& program) {
  const spec::Hint& hint = program.dispatch.hint;
  const auto list = [&](const std::vector<int>& ops) {
    std::vector<std::string> names;
    for (const int op : ops) names.push_back(at(program.ops, op).name);
    return fmt::format("{}", fmt::join(names, ", "));
  };
  std::string rule;
  switch (hint.rule) {
    case spec::Hint::Rule::none:
      rule = "no preference";
      break;
    case spec::Hint::Rule::prefer:
      rule = "prefer " + list(hint.ops);
      break;
    case spec::Hint::Rule::rounds:
      rule = "rounds " + list(hint.ops);
      break;
    case spec::Hint::Rule::order:
      rule = "follows order " + at(program.orders, hint.order).name;
      break;
  }
  if (!hint.fill.empty()) rule += "; fill " + list(hint.fill);
  const std::string title = hint.name.empty() ? "No hint: the ops as they are declared."
                                              : fmt::format("Hint {}: {}.", hint.name, rule);
  const int keeps = program.dispatch.keeps;
  return keeps < 0
             ? title
             : title + fmt::format(" Keeps room for order {}.", at(program.orders, keeps).name);
}

std::vector<std::string> waiting(const Outline& outline) {
  const spec::Hint& hint = outline.program.dispatch.hint;
  std::vector<std::string> texts;
  if (hint.rule != spec::Hint::Rule::order) return texts;
  if (!hint.fill.empty()) {
    std::vector<std::string> checks;
    for (const int op : hint.fill) {
      checks.push_back("kLanes[lane].op != " + op_constant(outline.program, op));
    }
    texts.push_back(fill(R"([[nodiscard]] static bool is_listed(core::LaneId lane) {
  return $checks$;
})",
                         {{"checks", fmt::format("{}", fmt::join(checks, " && "))}}));
  }
  if (!hint.patience) return texts;
  std::vector<std::string> room;
  if (!hint.fill.empty()) room.push_back("is_listed(lane)");
  if (outline.engines) room.push_back("engines_.takes(engine, lane)");
  if (has_guards(outline)) room.push_back("has_room(lane, step_.held)");
  if (room.empty()) room.push_back("true");
  std::vector<std::string> fillers;
  for (const int op : hint.fill) {
    fillers.push_back(fmt::format(
        "if (const core::Choice c = offer({}, {}); c.starts()) return c.task.lane;",
        op_constant(outline.program, op), outline.engines ? "engine, nullptr" : "nullptr"));
  }
  const std::string first = hint.fill.empty()
                                ? ""
                                : fill(
                                      "const core::LaneId first = order_.earliest(is_listed);\n"
                                      "if (first >= 0 && may(first)) return first;\n$fillers$",
                                      {{"fillers", lines(fillers)}});
  texts.push_back(
      fill(R"(// What comes next in the order and has room: core/patience.h may wait for it.
[[nodiscard]] core::LaneId awaited($parameter$) const {
  const auto may = [&]([[maybe_unused]] core::LaneId lane) {
    return $room$;
  };
  $first$
  return order_.earliest(may);
})",
           {{"parameter", outline.engines ? "core::Engine engine" : ""},
            {"room", fmt::format("{}", fmt::join(room, " && "))},
            {"first", first}}));
  return texts;
}

std::string offer_arguments(const Outline& outline) {
  return outline.engines ? "engine, allowed" : "allowed";
}

std::string hint_choice(const Outline& outline) {
  const Program& program = outline.program;
  const spec::Hint& hint = program.dispatch.hint;
  std::vector<int> present;  // in order of preference
  for (const int op : spec::HintPolicy::op_preference(program, hint)) {
    for (int stage = 0; stage < static_cast<int>(program.stages.size()); ++stage) {
      if (program.lane_of(op, stage) < 0) continue;
      present.push_back(op);
      break;
    }
  }
  if (hint.rule == spec::Hint::Rule::order && at(program.orders, hint.order).file) {
    const char* engine = outline.engines ? " || !engines_.takes(engine, task.lane)" : "";
    const char* room = outline.bounded.empty() ? "" : " || !has_room(task.lane, step_.held)";
    return fill(kFollowFile, {{"room", room}, {"engine", engine}}) + "\n" +
           lines(chain(outline, present, false));
  }
  if (hint.rule == spec::Hint::Rule::order) {
    const std::string first =
        hint.fill.empty() ? ""
                          : fill(kFirst, {{"allowed", offer_arguments(outline)},
                                          {"fill", lines(chain(outline, hint.fill, true))}});
    return first +
           fill(kFollow, {{"allowed", offer_arguments(outline)},
                          {"filler", hint.fill.empty() ? "" : "!is_listed(lane) || "}}) +
           ("\n" + lines(chain(outline, present, false)));
  }
  if (!has_rounds(program)) return lines(chain(outline, present, false));
  std::vector<int> rest;
  for (const int op : present) {
    if (std::find(hint.ops.begin(), hint.ops.end(), op) == hint.ops.end()) rest.push_back(op);
  }
  const std::string turns = rounds(outline, hint.ops, !rest.empty());
  return rest.empty() ? turns : turns + "\n" + lines(chain(outline, rest, false));
}

}  // namespace ripeline::codegen
