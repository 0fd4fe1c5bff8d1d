// HTML pages in tests: finds parts of their text, and makes runs of several steps for them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "tests/view/timelines.h"

namespace ripeline::testing_support {

using Json = nlohmann::json;

inline std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

// The text of the page's element whose opening tag is `open`.
inline std::string text_within(const std::string& page, const std::string& open) {
  const std::size_t at = page.find(open) + open.size();
  return page.substr(at, page.find("</script>", at) - at);
}
inline Json data_of(const std::string& page) {
  return Json::parse(text_within(page, "<script id=\"data\" type=\"application/json\">"));
}

// The run repeated `steps` times one after another, as steps 5, 6, …
inline view::Timeline of_steps(const Drawn& run, int steps) {
  trace::File file;
  file.about = trace::About(run.timeline.facts(), run.timeline.run());
  const core::Time length = run.timeline.end() - run.timeline.begin();
  for (int step = 0; step < steps; ++step) {
    for (const view::Box& b : run.timeline.boxes()) {
      file.record.task(5 + step, b.task, b.start + step * length, b.end + step * length);
    }
    for (const trace::MessageEvent& m : run.timeline.messages()) {
      file.record.message(5 + step, m.message, m.sent + step * length, m.arrived + step * length);
    }
  }
  view::Timeline timeline;
  EXPECT_TRUE(view::Timeline::make(std::move(file), timeline).ok());
  return timeline;
}

}  // namespace ripeline::testing_support
