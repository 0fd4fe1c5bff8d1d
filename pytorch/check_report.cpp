#include "pytorch/check_report.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/vocabulary/per_rank.h"
#include "core/vocabulary/plural.h"
#include "pytorch/program.h"
#include "spec/indexing.h"

namespace ripeline::pytorch {

using Json = nlohmann::json;

namespace {

constexpr std::size_t kMostFindingsShown = 20;
constexpr int kColumnsAround = 6;  // on each side of the first finding, in the grid
constexpr int kMostRowsShown = 16;

std::string shape_text(const CheckShape& shape) {
  return fmt::format("{}, {}, {}, {}, placement {}", name_of(shape.form),
                     plural(static_cast<std::size_t>(shape.map.ranks), "rank"),
                     plural(static_cast<std::size_t>(shape.map.stages()), "stage"),
                     plural(static_cast<std::size_t>(shape.microbatches), "microbatch"),
                     name_of(shape.placement));
}

// A line for a finding. Rows count from 1 and ranks from 0, so the line has both.
std::string finding_text(const CheckFinding& finding, int ranks) {
  std::string where = fmt::format("row {}", finding.row);
  if (finding.row <= ranks) where += fmt::format(" (rank {})", finding.row - 1);
  if (finding.column > 0) where += fmt::format(", column {}", finding.column);
  const std::string task = finding.task.empty() ? "" : finding.task + ": ";
  return fmt::format("  {}: [{}] {}{}\n", where, finding.rule, task, finding.message);
}

// The columns around the first finding that has a cell; cells with findings are marked `>`.
std::string grid(const ActionTable& table, const CheckReport& report) {
  const auto first = std::find_if(report.findings.begin(), report.findings.end(),
                                  [](const CheckFinding& f) { return f.column > 0; });
  if (first == report.findings.end() || table.rows.empty()) return {};
  std::set<std::pair<int, int>> marked;
  for (const CheckFinding& f : report.findings) marked.insert({f.row, f.column});
  const int begin = std::max(1, first->column - kColumnsAround);
  const int end = first->column + kColumnsAround;
  const int rows = size_of(table.rows);
  const int top =
      std::clamp(first->row - kMostRowsShown / 2, 1, std::max(1, rows - kMostRowsShown + 1));
  const int bottom = std::min(rows, top + kMostRowsShown - 1);
  const auto text_of = [&](int row, int column) -> std::string {
    const auto& cells = at(table.rows, row - 1);
    if (column > size_of(cells)) return {};
    const ActionCell& cell = at(cells, column - 1);
    std::string text = cell.actions.empty() ? "." : to_string(cell);
    if (cell.actions.empty()) {
      for (const CheckFinding& f : report.findings) {
        if (f.row == row && f.column == column && !f.task.empty()) text = f.task;
      }
    }
    return (marked.contains({row, column}) ? ">" : " ") + text;
  };
  std::vector<std::string> lines;
  for (int row = top; row <= bottom; ++row) {
    lines.push_back(fmt::format("  {:<8}{}", fmt::format("row {}", row), begin > 1 ? " …" : ""));
  }
  for (int column = begin; column <= end; ++column) {
    std::size_t width = 0;
    for (int row = top; row <= bottom; ++row) width = std::max(width, text_of(row, column).size());
    if (width == 0) break;
    for (int row = top; row <= bottom; ++row) {
      at(lines, row - top) += fmt::format(" {:<{}}", text_of(row, column), width);
    }
  }
  std::string text;
  for (int row = top; row <= bottom; ++row) {
    std::string& line = at(lines, row - top);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + (size_of(at(table.rows, row - 1)) > end ? "  …\n" : "\n");
  }
  return "\n" + text + "\n";
}

// The peaks of the ranks in microbatches: activations divided by the number of the rank's stages.
std::vector<double> in_microbatches(const CheckReport& report) {
  std::vector<double> counted;
  for (int rank = 0; rank < size_of(report.rank_peak); ++rank) {
    counted.push_back(
        core::in_microbatches(at(report.rank_peak, rank),
                              std::int64_t{report.shape.chunks(rank)} * report.shape.microbatches,
                              report.shape.microbatches));
  }
  return counted;
}

template <class Number>
std::string peaks_text(const char* name, const std::vector<Number>& peaks) {
  return peaks.empty() ? "" : fmt::format("  {}: {}\n", name, fmt::join(peaks, " "));
}

std::string layouts_text(const CheckReport& report) {
  std::string text;
  for (const LayoutVerdict& v : report.layouts) {
    if (v.kernels == wire::WireKernels::per_stream) {
      text += fmt::format("  layout {:<6}", name_of(v.layout));
    }
    text += fmt::format("  {} {:<9}", name_of(v.kernels), name_of(v.kind));
    if (v.kernels == wire::WireKernels::serial) {
      text.erase(text.find_last_not_of(' ') + 1);
      text += '\n';
    }
  }
  return text;
}

}  // namespace

std::string check_text(const std::string& name, const ActionTable& table, const CheckReport& report,
                       const CheckOptions& options) {
  std::string text = fmt::format("{}: {}", name, name_of(report.verdict));
  if (report.finding_count > 0) text += ", " + plural(report.finding_count, "finding");
  text += fmt::format(" ({})\n", shape_text(report.shape));
  if (!report.shape.from_file.empty()) {
    text += fmt::format("  taken from the file: {}\n", fmt::join(report.shape.from_file, ", "));
  }
  const std::size_t shown = std::min(report.findings.size(), kMostFindingsShown);
  for (std::size_t i = 0; i < shown; ++i)
    text += finding_text(report.findings[i], report.shape.map.ranks);
  if (report.finding_count > shown) {
    text += fmt::format("  and {} more\n", report.finding_count - shown);
  }
  text += grid(table, report);
  if (!report.reason.empty()) text += "unknown: " + report.reason + "\n";
  if (!report.not_judged.empty()) {
    text += fmt::format("  not judged, until these are repaired: {}\n",
                        fmt::join(report.not_judged, ", "));
  }
  const CheckShape& shape = report.shape;
  if (!shape.has_several_stages()) {
    text += peaks_text("peak per rank, microbatches in flight", report.rank_peak);
  } else {
    text += peaks_text("peak per rank, activations of a stage", report.rank_peak);
    text += peaks_text("… in microbatches of the whole rank", in_microbatches(report));
  }
  if (report.stage_peak.size() != report.rank_peak.size()) {
    text += peaks_text("peak per stage", report.stage_peak);
  }
  if (options.rank_memory) {
    text += fmt::format("  limit per rank: {:.6g}{}\n", options.rank_memory->value(),
                        shape.has_several_stages() ? " microbatches of the whole rank" : "");
  }
  if (options.stage_memory) text += fmt::format("  limit per stage: {}\n", *options.stage_memory);
  text += layouts_text(report) + "\nassuming:\n";
  for (const std::string& assumption : report.assumptions) text += "  " + assumption + "\n";
  return text;
}

namespace {

// The value as an integer if it is one: 2 rather than 2.0.
Json number(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

// The shape and options with which the table is judged.
void add_shape(Json& json, const CheckReport& report, const CheckOptions& options) {
  json["ranks"] = report.shape.map.ranks;
  json["stages"] = report.shape.map.stages();
  json["microbatches"] = report.shape.microbatches;
  json["placement"] = name_of(report.shape.placement);
  json["form"] = name_of(report.shape.form);
  json["communicator"] = name_of(options.layout);
  json["kernels"] = name_of(options.kernels);
  if (options.rank_memory) json["memory"] = number(options.rank_memory->value());
  if (options.stage_memory) json["stage_memory"] = *options.stage_memory;
}

}  // namespace

Json check_json(const std::string& file, std::string_view bytes, const CheckReport& report,
                const CheckOptions& options) {
  Json findings = Json::array();
  for (const CheckFinding& f : report.findings) {
    findings.push_back({{"rule", f.rule},
                        {"row", f.row},
                        {"column", f.column > 0 ? Json(f.column) : Json(nullptr)},
                        {"task", f.task},
                        {"message", f.message}});
  }
  Json json = {
      {"schema", "ripeline.check/2"},          {"file", file},
      {"verdict", name_of(report.verdict)},    {"hash", spec::hash_text(spec::hash_of(bytes))},
      {"findings", std::move(findings)},       {"not_judged", report.not_judged},
      {"finding_count", report.finding_count}, {"assumptions", report.assumptions}};
  add_shape(json, report, options);
  if (!report.rank_peak.empty()) {
    json["peak"]["activation"] = report.rank_peak;
    json["stage_peak"]["activation"] = report.stage_peak;
    for (const double held : in_microbatches(report)) {
      json["peak_microbatches"]["activation"].push_back(number(held));
    }
  }
  if (!report.reason.empty()) json["reason"] = report.reason;
  for (const LayoutVerdict& v : report.layouts) {
    json["layouts"].push_back({{"communicator", name_of(v.layout)},
                               {"kernels", name_of(v.kernels)},
                               {"verdict", name_of(v.kind)}});
  }
  return json;
}

void add_check(verify::SarifLog& log, const std::string& file, const spec::Source& source,
               const CheckReport& report) {
  log.add_input(file, spec::hash_of(source.text), report.verdict);
  const auto add = [&](verify::SarifFinding finding) {
    // The rules have no texts of their own: docs/check.md describes them.
    finding.rule = "Rule `" + finding.id + "` of `ripeline check`.";
    log.add(file, &source, finding);
  };
  for (const CheckFinding& f : report.findings) {
    add({.id = f.rule,
         .message = (f.task.empty() ? "" : f.task + ": ") + f.message,
         .span = span_of(source.text, f)});
  }
  if (report.reason.empty()) return;
  add({.id = "unknown", .level = "warning", .message = report.reason});
}

}  // namespace ripeline::pytorch
