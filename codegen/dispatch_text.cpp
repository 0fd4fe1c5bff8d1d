#include "codegen/dispatch_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/printer.h"

namespace ripeline::codegen {
namespace {

using spec::Program;

// F, or F@1, or F@1,0,1 where ranks differ.
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

// Tables of chunks by rank, each once.
class ChunkTables {
 public:
  // The table's name; no chunks: none.
  std::string name_of(std::span<const int> chunks) {
    const auto known = std::find_if(tables_.begin(), tables_.end(), [&](const auto& table) {
      return std::equal(table.begin(), table.end(), chunks.begin(), chunks.end());
    });
    const auto number = known - tables_.begin();
    if (known == tables_.end()) tables_.emplace_back(chunks.begin(), chunks.end());
    return fmt::format("kChunk_{}", number);
  }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      std::vector<std::string> numbers;
      for (const int chunk : tables_[i]) numbers.push_back(std::to_string(chunk));
      text += fill(
          "// A chunk that the hint names, by rank.\n"
          "inline constexpr int kChunk_$i$[] = {\n    $numbers$\n};\n",
          {{"i", std::to_string(i)}, {"numbers", wrap(numbers, kTableWidth)}});
    }
    return text;
  }

 private:
  std::vector<std::vector<int>> tables_;
};

std::string rows(const Program& program, std::span<const core::PlaceFacts> places,
                 ChunkTables& chunks) {
  std::vector<std::string> texts;
  for (const core::PlaceFacts& place : places) {
    std::string row = op_constant(program, place.op);
    if (!place.chunk.empty()) row += ", " + chunks.name_of(place.chunk);
    if (place.by_microbatch) row += place.chunk.empty() ? ", {}, true" : ", true";
    texts.push_back("{" + row + "}");
  }
  return wrap(texts, kTableWidth);
}

}  // namespace

std::string place_tables(const Outline& outline, const core::ProgramFacts& facts) {
  const Program& program = outline.program;
  const core::DispatchFacts& dispatch = facts.dispatch;
  if (dispatch.in_order) return "";
  ChunkTables chunks;
  std::string text = "// " + hint_title(program) + "\n";
  const auto add = [&](const char* name, std::span<const core::PlaceFacts> places) {
    if (places.empty()) return;
    text += fill("inline constexpr core::PlaceFacts $name$[] = {\n    $rows$\n};\n",
                 {{"name", name}, {"rows", rows(program, places, chunks)}});
  };
  add("kPlaces", dispatch.places);
  add("kFill", dispatch.fill);
  if (dispatch.keeps_room) {
    text += fmt::format("// Keeps room for order {}.\n",
                        at(program.orders, program.dispatch.keeps).name);
  }
  return chunks.text() + text + "\n";
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
  return texts.empty() ? "" : fmt::format(".dispatch = {{{}}},", fmt::join(texts, ", "));
}

}  // namespace ripeline::codegen
