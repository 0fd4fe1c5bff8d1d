#include "codegen/parts.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/printer.h"

namespace ripeline::codegen {
namespace {

using spec::Program;

// The name of a hint's place: F, or F@1 with a chunk, or F@1,0,1 if the chunk differs among ranks.
std::string place_name(const Program& program, const spec::HintPlace& place) {
  const std::string& op = at(program.ops, place.op).name;
  if (place.chunk.empty()) return op;
  const bool is_same = std::all_of(place.chunk.begin(), place.chunk.end(),
                                   [&](int chunk) { return chunk == place.chunk.front(); });
  return is_same ? fmt::format("{}@{}", op, place.chunk.front())
                 : fmt::format("{}@{}", op, fmt::join(place.chunk, ","));
}

std::string list(const Program& program, const std::vector<spec::HintPlace>& places) {
  std::vector<std::string> names;
  for (const spec::HintPlace& place : places) {
    const std::string value = place.priority ? " = " + print(*place.priority) : "";
    names.push_back(place_name(program, place) + value);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string hint_title(const Program& program) {
  const spec::Hint& hint = program.dispatch.hint;
  if (hint.name.empty()) return "No hint: the ops as they are declared.";
  std::string rule = core::name_of(hint.rule) + std::string(" ") + list(program, hint.places);
  if (hint.rule == spec::Hint::Rule::none) rule = "no preference";
  if (hint.rule == spec::Hint::Rule::order) {
    rule = "follows order " + at(program.orders, hint.order).name;
  }
  if (!hint.fill.empty()) rule += "; fill " + list(program, hint.fill);
  return fmt::format("Hint {}: {}.", hint.name, rule);
}

// Tables of chunks by rank, without duplicates. The rows of a hint's places refer to them.
using ChunkTables = std::vector<std::vector<int>>;

std::string chunk_table(ChunkTables& tables, std::span<const int> chunks) {
  const std::vector<int> wanted(chunks.begin(), chunks.end());
  const auto known = std::find(tables.begin(), tables.end(), wanted);
  const auto number = known - tables.begin();
  if (known == tables.end()) tables.push_back(wanted);
  return fmt::format("kChunk_{}", number);
}

std::string place_table(const Program& program, const char* name,
                        std::span<const core::PlaceFacts> places, ChunkTables& chunks) {
  std::vector<std::string> rows;
  for (const core::PlaceFacts& place : places) {
    std::string row = op_constant(program, place.op);
    if (!place.chunk.empty()) row += ", " + chunk_table(chunks, place.chunk);
    if (place.by_microbatch) row += place.chunk.empty() ? ", {}, true" : ", true";
    rows.push_back("{" + row + "}");
  }
  return rows.empty() ? "" : table("core::PlaceFacts", name, "", wrap(rows, kTableWidth));
}

}  // namespace

std::string place_tables(const Program& program, const core::DispatchFacts& dispatch) {
  if (dispatch.in_order) return "";
  ChunkTables chunks;
  std::string text = "// " + hint_title(program) + "\n";
  text += place_table(program, "kPlaces", dispatch.places, chunks);
  text += place_table(program, "kFill", dispatch.fill, chunks);
  if (dispatch.keeps_room) {
    text += fmt::format("// Keeps room for order {}.\n",
                        at(program.orders, program.dispatch.keeps).name);
  }
  std::string before;
  for (int i = 0; i < size_of(chunks); ++i) {
    before += table("int", fmt::format("kChunk_{}", i), "A chunk that the hint names, by rank.",
                    wrap(texts_of(at(chunks, i)), kTableWidth));
  }
  return before + text;
}

std::string dispatch_facts(const core::DispatchFacts& dispatch) {
  std::vector<std::string> texts;
  if (dispatch.in_order) texts.emplace_back(".in_order = true");
  if (dispatch.keeps_room) texts.emplace_back(".keeps_room = true");
  if (dispatch.binds) texts.emplace_back(".binds = true");
  if (dispatch.rule != core::HintRule::none) {
    texts.push_back(fmt::format(".rule = core::HintRule::{}", core::name_of(dispatch.rule)));
  }
  if (!dispatch.places.empty()) texts.emplace_back(".places = kPlaces");
  if (!dispatch.fill.empty()) texts.emplace_back(".fill = kFill");
  if (const auto& p = dispatch.patience) {
    texts.push_back(
        fmt::format(".patience = core::PatienceRules{{.patience = {}, .yield = {}, .forecasts = "
                    "{}, .learns = {}}}",
                    p->patience, p->yield, p->forecasts, p->learns));
  }
  return texts.empty() ? "" : fmt::format(".dispatch = {{{}}}", fmt::join(texts, ", "));
}

}  // namespace ripeline::codegen
