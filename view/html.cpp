#include "view/html.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

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

// The page, then its script in the order in which it runs.
constexpr const PagePart& kPage = kParts[0];
constexpr std::string_view kScript = "@SCRIPT@";
constexpr std::string_view kTitle = "@TITLE@";
constexpr std::string_view kFacts = "@FACTS@";
constexpr std::string_view kData = "@DATA@";

// Inside a script element: nothing that ends it.
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

// A column for each fact that some panel has; numbered and with titles if there are several.
std::string facts_table(const std::vector<Panel>& panels) {
  std::vector<std::vector<RunFact>> all;
  std::vector<std::string> names;
  for (const Panel& panel : panels) {
    all.push_back(run_facts(panel));
    for (const RunFact& fact : all.back()) {
      if (std::find(names.begin(), names.end(), fact.name) == names.end()) {
        names.push_back(fact.name);
      }
    }
  }
  std::string text = "<tr>";
  if (panels.size() > 1) text += "<th></th><th>panel</th>";
  for (const std::string& name : names) text += "<th>" + escaped(name) + "</th>";
  for (std::size_t i = 0; i < panels.size(); ++i) {
    text += "</tr>\n<tr>";
    if (panels.size() > 1) {
      text += fmt::format("<td>{}</td><td>{}</td>", i + 1, escaped(panels[i].title));
    }
    for (const std::string& name : names) {
      const auto fact = std::find_if(all[i].begin(), all[i].end(),
                                     [&](const RunFact& f) { return f.name == name; });
      text += "<td>" + (fact == all[i].end() ? std::string("-") : escaped(fact->value)) + "</td>";
    }
  }
  return text + "</tr>\n";
}

// Its two ends, from the start; null: all.
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
  fill(kFacts, facts_table(panels));
  fill(kData, script_safe(data_text(panels, range)));
  std::string script;
  for (const PagePart& part : kParts) {
    if (&part != &kPage) script += part.text;
  }
  fill(kScript, script);
  return text + std::string(rest);
}

}  // namespace ripeline::view
