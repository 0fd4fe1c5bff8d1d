#include "codegen/places.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/printer.h"

namespace ripeline::codegen {
namespace {

using spec::Hint;
using spec::HintPlace;
using spec::Program;
using Places = std::vector<HintPlace>;

Places all_places(const Hint& hint) {
  Places all = hint.places;
  all.insert(all.end(), hint.fill.begin(), hint.fill.end());
  return all;
}

bool is_same_everywhere(const HintPlace& place) {
  return std::all_of(place.chunk.begin(), place.chunk.end(),
                     [&](int chunk) { return chunk == place.chunk.front(); });
}

bool lists(const Places& places, const spec::Lane& lane) {
  return std::any_of(places.begin(), places.end(),
                     [&](const HintPlace& place) { return place.lists(lane); });
}

// Of a lane of the op: whether one of the places lists it. Nothing: whatever its chunk is.
std::optional<std::string> is_at(const Program& program, const Places& places, int op) {
  std::vector<std::string> chunks;
  for (const HintPlace& place : places) {
    if (place.op != op) continue;
    if (place.chunk.empty()) return std::nullopt;
    chunks.push_back("lane.chunk == " + place_chunk(program, place, "lane.rank"));
  }
  return chunks.empty() ? "false" : fmt::format("{}", fmt::join(chunks, " || "));
}

bool has(const Places& places, int op) {
  return std::any_of(places.begin(), places.end(), [&](const HintPlace& p) { return p.op == op; });
}

// The turn after a start of a lane of the op that some place lists.
std::string next_turn(const Program& program, int op) {
  const Places& places = program.dispatch.hint.places;
  std::vector<std::string> turns;
  bool any_chunk = true;
  int last = 0;
  for (int i = 0; i < static_cast<int>(places.size()); ++i) {
    const HintPlace& place = at(places, i);
    if (place.op != op) continue;
    last = i;
    any_chunk = any_chunk && place.chunk.empty();
    turns.push_back(place.chunk.empty() ? fmt::format("place == {}", i)
                                        : fmt::format("(place == {} && lane.chunk == {})", i,
                                                      place_chunk(program, place, "lane.rank")));
  }
  const auto count = static_cast<int>(places.size());
  if (turns.size() == 1 && any_chunk) return std::to_string((last + 1) % count);
  if (turns.size() == 1) {
    turns.front() = turns.front().substr(1, turns.front().size() - 2);
  }
  return fmt::format("core::turn_after(step_.round, {}, [{}](int place) {{ return {}; }})", count,
                     any_chunk ? "" : "&lane", fmt::join(turns, " || "));
}

}  // namespace

std::string place_chunk(const Program& program, const HintPlace& place, const std::string& rank) {
  if (is_same_everywhere(place)) return std::to_string(place.chunk.front());
  const Places all = all_places(program.dispatch.hint);
  const auto first = std::find_if(all.begin(), all.end(),
                                  [&](const HintPlace& p) { return p.chunk == place.chunk; });
  const std::string table = fmt::format("kChunk_{}", first - all.begin());
  return rank.empty() ? table : table + "[" + rank + "]";
}

std::string place_name(const Program& program, const HintPlace& place) {
  const std::string& op = at(program.ops, place.op).name;
  return place.chunk.empty() ? op : op + "@" + place_chunk(program, place, "");
}

std::string place_offer(const Outline& outline, const HintPlace& place) {
  const Program& program = outline.program;
  const std::string op = op_constant(program, place.op);
  if (place.chunk.empty()) return fmt::format("offer({}, {})", op, offer_arguments(outline));
  return fmt::format("offer_lane(rows_.lane({}, {}), {})", op,
                     place_chunk(program, place, "rows_.rank()"), offer_arguments(outline));
}

std::vector<std::string> chunk_tables(const Program& program) {
  std::vector<std::string> tables;
  const Places all = all_places(program.dispatch.hint);
  for (auto place = all.begin(); place != all.end(); ++place) {
    if (is_same_everywhere(*place)) continue;
    const bool earlier = std::any_of(all.begin(), place,
                                     [&](const HintPlace& p) { return p.chunk == place->chunk; });
    if (earlier) continue;
    std::vector<std::string> chunks;
    for (const int chunk : place->chunk) chunks.push_back(std::to_string(chunk));
    const std::string name = place_chunk(program, *place, "");
    tables.push_back(
        fill("// A chunk that the hint names, by rank.\n"
             "static constexpr int $name$[] = {\n    $chunks$\n};",
             {{"name", name}, {"chunks", wrap(chunks, 90)}}));
  }
  return tables;
}

std::vector<int> unlisted_ops(const Program& program) {
  const Hint& hint = program.dispatch.hint;
  std::vector<int> ops;
  for (const spec::Lane& lane : program.lanes) {
    if (!lists(hint.places, lane) && !lists(hint.fill, lane)) ops.push_back(lane.op);
  }
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

std::string unlisted_offer(const Outline& outline, int op) {
  const char* call = has(outline.program.dispatch.hint.fill, op) ? "offer_unlisted" : "offer";
  return fmt::format("{}({}, {})", call, op_constant(outline.program, op),
                     offer_arguments(outline));
}

std::string offer_unlisted(const Outline& outline, const std::string& lane) {
  const Program& program = outline.program;
  const Places& filling = program.dispatch.hint.fill;
  std::vector<std::string> cases;
  for (const int op : unlisted_ops(program)) {
    if (!has(filling, op)) continue;
    cases.push_back(fmt::format("(op == {} && ({}))", op_constant(program, op),
                                is_at(program, filling, op).value_or("true")));
  }
  if (cases.empty()) return "";
  return fill(R"(// As offer(), but not at the chunks that the hint fills with.
[[nodiscard]] core::Choice offer_unlisted(int op, $parameters$) const {
  const bool up = kOps[op].kind == core::OpKind::forward;
  for (int i = 0; i < $chunks$; ++i) {
    const core::LaneId id = $lane$;
    if (id < 0) continue;
    const core::LaneFacts& lane = kLanes[id];
    if ($fills$) continue;
    if (const core::Choice c = offer_lane(id, $arguments$); c.starts()) return c;
  }
  return {};
})",
              {{"parameters", offer_parameters(outline)},
               {"arguments", offer_arguments(outline)},
               {"chunks", std::to_string(outline.chunks)},
               {"lane", lane},
               {"fills", fmt::format("{}", fmt::join(cases, " || "))}});
}

std::string turn_of(const Program& program, int op) {
  const Hint& hint = program.dispatch.hint;
  const bool has_turn = has(hint.places, op);
  if (!has(hint.fill, op)) return has_turn ? "step_.round = " + next_turn(program, op) + ";" : "";
  const std::optional<std::string> fills = is_at(program, hint.fill, op);
  if (!has_turn) return fills ? "if (" + *fills + ") step_.round = 0;" : "step_.round = 0;";
  // What a place lists is no filler.
  const std::optional<std::string> listed = is_at(program, hint.places, op);
  if (!listed) return "step_.round = " + next_turn(program, op) + ";";
  std::string ends = "!(" + *listed + ")";
  if (fills) ends += " && (" + *fills + ")";
  return fmt::format("step_.round = {} ? 0 : {};", ends, next_turn(program, op));
}

std::string offer_arguments(const Outline& outline) {
  return outline.engines ? "engine, allowed" : "allowed";
}

std::string offer_parameters(const Outline& outline) {
  return outline.engines ? "core::Engine engine, const core::TaskSet* allowed"
                         : "const core::TaskSet* allowed";
}

}  // namespace ripeline::codegen
