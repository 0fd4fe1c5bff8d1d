#include "pytorch/program.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "pytorch/csv/place.h"

namespace ripeline::verify {
namespace {

using spec::Action;
using spec::ActionCell;
using spec::ActionKind;
using spec::ActionTable;

constexpr std::size_t kMostErrors = 20;

bool leaves_no_program(const std::string& rule) {
  constexpr std::array kRules = {"file",  "cell",  "naming",     "overlap", "ranks",
                                 "stage", "owner", "microbatch", "repeated"};
  return std::find(kRules.begin(), kRules.end(), rule) != kRules.end();
}

spec::Diagnostics errors_of(const spec::Source& csv, const CheckReport& report) {
  spec::Diagnostics errors;
  for (const CheckFinding& f : report.findings) {
    if (!leaves_no_program(f.rule)) continue;
    const bool placement = f.rule == "owner" || f.rule == "stage";
    errors.push_back(
        {.id = "csv-" + f.rule,
         .message = (f.task.empty() ? "" : f.task + ": ") + f.message,
         .hint = placement ? "--placement chain, loop or v says which rank owns a stage" : "",
         .span = span_of(csv.text, f)});
    if (errors.size() == kMostErrors) break;
  }
  if (!errors.empty()) {
    std::string& hint = errors.back().hint;
    hint += (hint.empty() ? "" : "; ") + std::string("`ripeline check` lists all that is wrong");
  }
  return errors;
}

// What the ops of the program depend on.
struct Kinds {
  bool splits = false;    // an I or a W
  bool whole = false;     // a B
  bool overlaps = false;  // a cell with two computations
  bool other = false;     // communication and the like
};

Kinds kinds_of(const ActionTable& table) {
  Kinds kinds;
  for (const auto& row : table.rows) {
    for (const ActionCell& cell : row) {
      kinds.overlaps = kinds.overlaps || cell.overlap;
      for (const Action& action : cell.actions) {
        kinds.splits = kinds.splits || action.kind == ActionKind::backward_input ||
                       action.kind == ActionKind::backward_weight;
        kinds.whole = kinds.whole || action.kind == ActionKind::backward;
        kinds.other = kinds.other || !spec::is_compute(action.kind);
      }
    }
  }
  return kinds;
}

// The computations; with `splits` each B is an I, and a W in a cell behind it.
ActionTable order_of(const ActionTable& table, bool splits) {
  ActionTable result = spec::computations_of(table);
  if (!splits) return result;
  for (auto& row : result.rows) {
    std::vector<ActionCell> split;
    for (ActionCell& cell : row) {
      std::vector<ActionCell> behind;
      for (Action& action : cell.actions) {
        if (action.kind != ActionKind::backward) continue;
        action.kind = ActionKind::backward_input;
        behind.push_back(
            {.actions = {{ActionKind::backward_weight, action.stage, action.microbatch}}});
      }
      split.push_back(std::move(cell));
      for (ActionCell& weight : behind) split.push_back(std::move(weight));
    }
    row = std::move(split);
  }
  return result;
}

std::string placed(const CheckShape& shape) {
  const int ranks = shape.map.ranks;
  switch (shape.placement) {
    case spec::Placement::chain:
      return "s";
    case spec::Placement::loop:
      return fmt::format("s % {}", ranks);
    case spec::Placement::v:
      return fmt::format("(s div {0}) % 2 == 0 ? s % {0} : {1} - s % {0}", ranks, ranks - 1);
  }
  return "s";
}

// The file's name without its ending, as far as it can be a name of the language.
std::string name_from(const std::string& file) {
  std::string name;
  for (const char c : std::filesystem::path(file).stem().string()) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    name += letter || digit ? c : '_';
  }
  const bool begins =
      !name.empty() && name.front() != '_' && (name.front() < '0' || name.front() > '9');
  return begins ? name : "csv_" + name;
}

std::string text_of(const std::string& name, const CheckShape& shape, const Kinds& kinds) {
  std::string text = fmt::format(
      "pipeline {} {{\n"
      "  param f = 1;\n{}"
      "  microbatches {};\n"
      "  stages {};\n"
      "  place s on {};\n"
      "  op F forward {{ cost f; needs F at prev; acquires activation; }}\n",
      name, kinds.splits ? "  param i = 1;\n  param w = 1;\n" : "  param b = 2;\n",
      shape.microbatches, shape.map.stages(), placed(shape));
  text += kinds.splits
              ? "  op I backward input { cost i; needs F at here, I at next; }\n"
                "  op W backward weight { cost w; needs I at here; releases activation; }\n"
              : "  op B backward { cost b; needs F at here, B at next; releases activation; }\n";
  if (kinds.overlaps) text += kinds.splits ? "  pair F, I;\n" : "  pair F, B;\n";
  return text + fmt::format(
                    "  resource activation per rank {{ }}\n"
                    "  order file from csv \"{}\";\n"
                    "  dispatch in order file;\n}}\n",
                    kScheduleFile);
}

// What the order lacks is what its ranks wait for.
void add_missing(const CheckReport& report, std::vector<std::string>& notes) {
  constexpr std::size_t kMostNamed = 3;
  std::size_t missing = 0;
  for (const CheckFinding& f : report.findings) {
    if (f.rule != "missing" || ++missing > kMostNamed) continue;
    notes.push_back(fmt::format("{} is missing: {}", f.task, f.message));
  }
  if (missing > kMostNamed) {
    notes.push_back(fmt::format("{} more tasks are missing", missing - kMostNamed));
  }
}

}  // namespace

spec::Span span_of(const std::string& bytes, const CheckFinding& finding) {
  const spec::CellBytes place = spec::bytes_of_cell(bytes, finding.row, finding.column);
  return {place.begin, place.end};
}

spec::Result<ScheduleProgram> program_of(const spec::Source& csv, const CheckOptions& options) {
  const spec::ReadActions read = spec::read_actions(csv.text);
  const auto checked = check(read, options);
  if (!checked.ok()) return checked.errors();
  const CheckReport& report = checked.value();
  if (spec::Diagnostics errors = errors_of(csv, report); !errors.empty()) return errors;
  const Kinds kinds = kinds_of(read.table);
  ScheduleProgram program{.text = text_of(name_from(csv.name), report.shape, kinds),
                          .order = spec::write_actions(order_of(read.table, kinds.splits)),
                          .notes = {}};
  add_missing(report, program.notes);
  if (kinds.other) {
    program.notes.emplace_back(
        "its communication is left out: messages are what the computations need; `ripeline check` "
        "judges what the file sends");
  }
  if (kinds.splits && kinds.whole) {
    program.notes.emplace_back("each B is run as I and then W, since other backwards are split");
  }
  return program;
}

}  // namespace ripeline::verify
