#include "view/html.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "view/page/panel_data.h"
#include "view/run_facts.h"

namespace ripeline::view {
namespace {

struct PagePart {
  std::string_view name;
  std::string_view text;
};
constexpr PagePart kParts[] = {
#include "page.inc"
};

// The first part is the page; the others are its script, in the order in which they run.
constexpr const PagePart& kPage = kParts[0];
constexpr std::string_view kScript = "@SCRIPT@";
constexpr std::string_view kTitle = "@TITLE@";
constexpr std::string_view kFacts = "@FACTS@";
constexpr std::string_view kData = "@DATA@";

// The JSON in a form that is safe inside a script element: nothing in it ends the element.
std::string script_safe(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

using Facts = std::vector<RunFact>;

std::string value_of(const std::string& name, const Facts& facts) {
  const auto fact =
      std::find_if(facts.begin(), facts.end(), [&](const RunFact& f) { return f.name == name; });
  return fact == facts.end() ? "-" : fact->value;
}

// The names of the facts, in the order in which they first occur.
std::vector<std::string> names_of(const std::vector<Facts>& all) {
  std::vector<std::string> names;
  for (const Facts& facts : all) {
    for (const RunFact& fact : facts) {
      if (std::find(names.begin(), names.end(), fact.name) == names.end()) {
        names.push_back(fact.name);
      }
    }
  }
  return names;
}

// Writes the facts that all panels share and, with several panels, a line of other facts for each.
std::string header(const std::vector<Panel>& panels) {
  std::vector<Facts> all;
  for (const Panel& panel : panels) all.push_back(run_facts(panel));
  std::string common = "<dl>\n";
  std::string names = "<tr><th></th><th>panel</th>";
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    lines.push_back(fmt::format("<tr><td>{}</td><td>{}</td>", i + 1, escaped(panels[i].title)));
  }
  for (const std::string& name : names_of(all)) {
    const std::string value = value_of(name, all.front());
    const bool is_common = std::all_of(
        all.begin(), all.end(), [&](const Facts& facts) { return value_of(name, facts) == value; });
    if (is_common) {
      common += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), escaped(value));
      continue;
    }
    names += "<th>" + escaped(name) + "</th>";
    for (std::size_t i = 0; i < all.size(); ++i) {
      lines[i] += "<td>" + escaped(value_of(name, all[i])) + "</td>";
    }
  }
  common += "</dl>\n";
  if (panels.size() == 1) return common;
  return fmt::format("{}<table>\n{}</tr>\n{}</tr>\n</table>\n", common, names,
                     fmt::join(lines, "</tr>\n"));
}

// The two ends of the range, counted from the start; `null` if there is no range.
std::string range_text(const std::vector<Panel>& panels, const Range& range) {
  if (!range.begin && !range.end) return "null";
  core::Time longest{0};
  for (const Panel& panel : panels) {
    longest = std::max(longest, panel.timeline->end() - panel.timeline->begin());
  }
  return fmt::format("[{},{}]", range.begin.value_or(core::Time{0}).count(),
                     range.end.value_or(longest).count());
}

std::string data_text(const std::vector<Panel>& panels, const Range& range) {
  const bool compact = std::any_of(panels.begin(), panels.end(), [](const Panel& panel) {
    return panel.timeline->facts().ranks >= kCompactRanks;
  });
  std::string text =
      fmt::format("{{\"compact\":{},\"range\":{},\"panels\":[", compact, range_text(panels, range));
  for (std::size_t i = 0; i < panels.size(); ++i) {
    text += (i > 0 ? "," : "") + panel_data(panels[i]);
  }
  return text + "]}";
}

}  // namespace

std::string html(const std::vector<Panel>& panels, const Range& range) {
  std::string title;
  for (const Panel& panel : panels) title += (title.empty() ? "" : " | ") + panel.title;
  std::string text;
  std::string_view rest = kPage.text;
  const auto fill = [&](std::string_view hole, const std::string& with) {
    const std::size_t at = rest.find(hole);
    text += rest.substr(0, at);
    text += with;
    rest.remove_prefix(at + hole.size());
  };
  fill(kTitle, escaped(title));
  fill(kTitle, escaped(title));
  fill(kFacts, header(panels));
  fill(kData, script_safe(data_text(panels, range)));
  std::string script;
  for (const PagePart& part : kParts) {
    if (&part != &kPage) script += part.text;
  }
  fill(kScript, script);
  return text + std::string(rest);
}

}  // namespace ripeline::view
