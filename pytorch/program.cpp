#include "pytorch/program.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "pytorch/csv/place.h"
#include "pytorch/whole_backwards.h"

namespace ripeline::pytorch {
namespace {

constexpr std::size_t kMostErrors = 20;

bool leaves_no_program(const std::string& rule) {
  constexpr std::array kRules = {"file",  "cell",  "naming",     "overlap",  "ranks",
                                 "stage", "owner", "microbatch", "repeated", "mixed"};
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

// The kinds of actions in the file, which determine the ops of the program.
struct Kinds {
  bool splits = false;          // an I or a W
  bool whole = false;           // a B
  bool overlaps_whole = false;  // a cell with an F and a B
  bool overlaps_split = false;  // a cell with an F and an I
  bool other = false;           // communication, UNSHARD and the like

  [[nodiscard]] bool mixed() const { return splits && whole; }
};

Kinds kinds_of(const ActionTable& table) {
  Kinds kinds;
  for (const auto& row : table.rows) {
    for (const ActionCell& cell : row) {
      for (const Action& action : cell.actions) {
        const bool whole = action.kind == ActionKind::backward;
        const bool splits =
            action.kind == ActionKind::backward_input || action.kind == ActionKind::backward_weight;
        kinds.splits = kinds.splits || splits;
        kinds.whole = kinds.whole || whole;
        kinds.overlaps_split = kinds.overlaps_split || (cell.overlap && splits);
        kinds.overlaps_whole = kinds.overlaps_whole || (cell.overlap && whole);
        kinds.other = kinds.other || !is_compute(action.kind);
      }
    }
  }
  return kinds;
}

std::string placed(const CheckShape& shape) {
  const int ranks = shape.map.ranks;
  switch (shape.placement) {
    case Placement::chain:
      return "s";
    case Placement::loop:
      return fmt::format("s % {}", ranks);
    case Placement::v:
      return fmt::format("(s div {0}) % 2 == 0 ? s % {0} : {1} - s % {0}", ranks, ranks - 1);
  }
  return "s";
}

// The file's name without its ending, changed to a name of the language.
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

std::string params_of(const Kinds& kinds) {
  std::string text = "  param f = 1;\n";
  if (kinds.splits) text += "  param i = 1;\n  param w = 1;\n";
  if (kinds.whole) text += fmt::format("  param b = {};\n", kinds.splits ? "i + w" : "2");
  if (kinds.overlaps_whole) text += "  param together = f + b;\n";
  if (kinds.overlaps_split) {
    text += fmt::format("  param together{} = f + i;\n", kinds.overlaps_whole ? "_i" : "");
  }
  return text;
}

// The ops of the backwards. Each microbatch of a stage has a whole or a split backward. It needs
// the gradient from the next stage's backward, which may be of either kind.
std::string backwards_of(const Kinds& kinds, const std::string& whole_where) {
  const auto where = [&](const char* negated) {
    return kinds.mixed() ? fmt::format(" on m where {}({})", negated, whole_where) : "";
  };
  const std::string gradient = kinds.mixed() ? "B at next, I at next"
                               : kinds.whole ? "B at next"
                                             : "I at next";
  std::string text;
  if (kinds.whole) {
    text +=
        fmt::format("  op B backward{} {{ cost b; needs F at here, {}; releases activation; }}\n",
                    where(""), gradient);
  }
  if (kinds.splits) {
    text += fmt::format(
        "  op I backward input{0} {{ cost i; needs F at here, {1}; }}\n"
        "  op W backward weight{0} {{ cost w; needs I at here; releases activation; }}\n",
        where("not "), gradient);
  }
  if (kinds.overlaps_whole) text += "  pair F, B { cost together; }\n";
  if (kinds.overlaps_split) {
    text += fmt::format("  pair F, I {{ cost together{}; }}\n", kinds.overlaps_whole ? "_i" : "");
  }
  return text;
}

std::string text_of(const std::string& name, const CheckShape& shape, const Kinds& kinds,
                    const std::string& whole_where) {
  return fmt::format(
      "pipeline {} {{\n"
      "{}"
      "  microbatches {};\n"
      "  stages {};\n"
      "  place s on {};\n"
      "  op F forward {{ cost f; needs F at prev; acquires activation; }}\n"
      "{}"
      "  resource activation per rank {{ }}\n"
      "  order file from csv \"{}\";\n"
      "  dispatch in order file;\n}}\n",
      name, params_of(kinds), shape.microbatches, shape.map.stages(), placed(shape),
      backwards_of(kinds, whole_where), kScheduleFile);
}

// Adds notes about the tasks that the order lacks, for which ranks wait.
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

void speak_of_schedule(verify::Verdict& verdict, const std::string& repairs_note) {
  bool refuted_before = false;
  for (verify::Obligation& o : verdict.obligations) {
    o.span = {};
    if (o.outcome != verify::Outcome::refuted || refuted_before) continue;
    o.repairs_note = repairs_note;
    refuted_before = true;
  }
}

spec::Span span_of(const std::string& bytes, const CheckFinding& finding) {
  const CellBytes place = bytes_of_cell(bytes, finding.row, finding.column);
  return {place.begin, place.end};
}

spec::Result<ScheduleProgram> program_of(const spec::Source& csv, const CheckOptions& options) {
  const ReadActions read = read_actions(csv.text);
  const auto checked = check(read, options);
  if (!checked.ok()) return checked.errors();
  const CheckReport& report = checked.value();
  if (spec::Diagnostics errors = errors_of(csv, report); !errors.empty()) return errors;
  const Kinds kinds = kinds_of(read.table);
  const std::string whole = kinds.mixed() ? where_whole(read.table, report.shape) : "";
  ScheduleProgram program{.text = text_of(name_from(csv.name), report.shape, kinds, whole),
                          .order = write_actions(computations_of(read.table)),
                          .notes = {}};
  add_missing(report, program.notes);
  if (kinds.other) {
    program.notes.emplace_back(
        "its communication is left out: messages are what the computations need; `ripeline check` "
        "judges what the file sends");
  }
  return program;
}

}  // namespace ripeline::pytorch
