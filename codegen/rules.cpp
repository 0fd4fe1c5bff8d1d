#include "codegen/rules.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/admission.h"
#include "codegen/outline.h"
#include "codegen/places.h"
#include "codegen/printer.h"
#include "codegen/priority_text.h"

namespace ripeline::codegen {
namespace {

using spec::Program;

// What is offered, in turn. The last decides, unless more comes after.
std::vector<std::string> chain(const std::vector<std::string>& offers, bool more) {
  std::vector<std::string> texts;
  if (offers.empty() && !more) texts.push_back("return {};");
  for (const std::string& offer : offers) {
    const bool last = &offer == &offers.back() && !more;
    texts.push_back(
        last ? fmt::format("return {};", offer)
             : fmt::format("if (const core::Choice c = {}; c.starts()) return c;", offer));
  }
  return texts;
}

using Places = std::vector<spec::HintPlace>;

bool exists(const Program& program, const spec::HintPlace& place) {
  return std::any_of(program.lanes.begin(), program.lanes.end(),
                     [&](const spec::Lane& lane) { return place.lists(lane); });
}

// Of the places that some rank has something for.
std::vector<std::string> offers_of(const Outline& outline, const Places& places) {
  std::vector<std::string> offers;
  for (const spec::HintPlace& place : places) {
    if (!exists(outline.program, place)) continue;
    std::string offer = place_offer(outline, place);
    // Where no rank has several chunks, places may say the same.
    if (std::find(offers.begin(), offers.end(), offer) == offers.end()) {
      offers.push_back(std::move(offer));
    }
  }
  return offers;
}

// Behind the places: what the hint does not list, then what it fills with.
std::vector<std::string> rest_of(const Outline& outline) {
  std::vector<std::string> offers;
  for (const int op : unlisted_ops(outline.program)) offers.push_back(unlisted_offer(outline, op));
  const std::vector<std::string> filling = offers_of(outline, outline.program.dispatch.hint.fill);
  offers.insert(offers.end(), filling.begin(), filling.end());
  return offers;
}

// A case for each place that may be the first to try. In one turn round, what two places list is
// offered once.
std::string rounds(const Outline& outline, const Places& places, bool more) {
  std::string text = "switch (step_.round) {\n";
  for (std::size_t first = 0; first < places.size(); ++first) {
    std::vector<std::string> turn;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::string offer = place_offer(outline, places[(first + i) % places.size()]);
      if (std::find(turn.begin(), turn.end(), offer) == turn.end()) turn.push_back(offer);
    }
    std::vector<std::string> body = chain(turn, more);
    if (more) body.push_back("break;");
    const bool last = first + 1 == places.size();
    text += fill("  $case$:  // $place$ first\n    $body$\n",
                 {{"case", last ? "default" : fmt::format("case {}", first)},
                  {"place", place_name(outline.program, places[first])},
                  {"body", lines(body)}});
  }
  return text + "}";
}

// Of `lane`: that the place does not list it.
std::string is_not_of(const Outline& outline, const spec::HintPlace& place) {
  const std::string op = "kLanes[lane].op != " + op_constant(outline.program, place.op);
  return place.chunk.empty()
             ? op
             : fmt::format("({} || kLanes[lane].chunk != {})", op,
                           place_chunk(outline.program, place, "kLanes[lane].rank"));
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
  const auto list = [&](const Places& places) {
    std::vector<std::string> names;
    for (const spec::HintPlace& place : places) {
      names.push_back(place_name(program, place));
      if (place.priority) names.back() += " = " + print(*place.priority);
    }
    return fmt::format("{}", fmt::join(names, ", "));
  };
  std::string rule;
  switch (hint.rule) {
    case spec::Hint::Rule::none:
      rule = "no preference";
      break;
    case spec::Hint::Rule::prefer:
      rule = "prefer " + list(hint.places);
      break;
    case spec::Hint::Rule::rounds:
      rule = "rounds " + list(hint.places);
      break;
    case spec::Hint::Rule::priority:
      rule = "priority " + list(hint.places);
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
    for (const spec::HintPlace& place : hint.fill) checks.push_back(is_not_of(outline, place));
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
  for (const spec::HintPlace& place : hint.fill) {
    fillers.push_back(fmt::format(
        "if (const core::Choice c = offer({}, {}); c.starts()) return c.task.lane;",
        op_constant(outline.program, place.op), outline.engines ? "engine, nullptr" : "nullptr"));
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

std::string hint_choice(const Outline& outline) {
  const Program& program = outline.program;
  const spec::Hint& hint = program.dispatch.hint;
  const std::string rest = lines(chain(rest_of(outline), false));
  if (hint.rule == spec::Hint::Rule::order && at(program.orders, hint.order).file) {
    const char* engine = outline.engines ? " || !engines_.takes(engine, task.lane)" : "";
    const char* room = outline.bounded.empty() ? "" : " || !has_room(task.lane, step_.held)";
    return fill(kFollowFile, {{"room", room}, {"engine", engine}}) + "\n" + rest;
  }
  if (hint.rule == spec::Hint::Rule::order) {
    const std::string first =
        hint.fill.empty()
            ? ""
            : fill(kFirst, {{"allowed", offer_arguments(outline)},
                            {"fill", lines(chain(offers_of(outline, hint.fill), true))}});
    return first +
           fill(kFollow, {{"allowed", offer_arguments(outline)},
                          {"filler", hint.fill.empty() ? "" : "!is_listed(lane) || "}}) +
           ("\n" + rest);
  }
  if (has_priorities(program)) {
    const bool more = !rest_of(outline).empty();
    return priority_choice(outline, more) + (more ? "\n" + rest : "");
  }
  if (!has_rounds(program)) {
    std::vector<std::string> offers = offers_of(outline, hint.places);
    const std::vector<std::string> after = rest_of(outline);
    offers.insert(offers.end(), after.begin(), after.end());
    return lines(chain(offers, false));
  }
  const bool more = !rest_of(outline).empty();
  const std::string turns = rounds(outline, hint.places, more);
  return more ? turns + "\n" + rest : turns;
}

}  // namespace ripeline::codegen
