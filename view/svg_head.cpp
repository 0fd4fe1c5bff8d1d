#include "view/svg_head.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "view/run_facts.h"

namespace ripeline::view {
namespace {

constexpr double kLine = 16;
constexpr double kTitleFont = 14;
constexpr double kSwatch = 16;
constexpr double kBold = 1.1;  // bold text is wider by this factor

// Writes items from left to right, in as many lines as they need.
class Flow {
 public:
  Flow(SvgPlot& plot, double width, double y) : plot_(plot), right_(width - kEdge), y_(y + kLine) {}

  // Writes a title in the title's font.
  void title(const std::string& text) {
    const std::string shown = fitted(text, kTitleFont * kBold, right_ - kEdge);
    plot_.text(x_, y_, shown, "class=\"title\"");
    x_ += kBold * text_width(shown, kTitleFont) + 12;
  }
  void item(std::string_view text) {
    make_room(text_width(text, kSvgSmallFont));
    write(text);
  }
  // Writes an item after a swatch of one or several colours.
  void item(const std::vector<Colour>& colours, std::string_view text) {
    make_room(kSwatch + 5 + text_width(text, kSvgSmallFont));
    const double part = kSwatch / static_cast<double>(colours.size());
    for (const Colour& colour : colours) {
      plot_.rect(x_, y_ - 10, part, 12, fmt::format("fill=\"{}\"", hex(colour)));
      x_ += part;
    }
    x_ += 5;
    write(text);
  }
  // The y at which the last line ends.
  [[nodiscard]] double end() const { return y_ + 4; }

 private:
  void make_room(double width) {
    if (x_ > kEdge && x_ + width > right_) next_line();
  }
  void next_line() {
    x_ = kEdge;
    y_ += kLine;
  }
  // Writes text, in several lines if it is wider than a line.
  void write(std::string_view text) {
    while (text_width(text, kSvgSmallFont) > right_ - x_) {
      std::size_t end = text.rfind(' ');
      while (end != text.npos && text_width(text.substr(0, end), kSvgSmallFont) > right_ - x_) {
        end = end == 0 ? text.npos : text.rfind(' ', end - 1);
      }
      if (end == text.npos) break;  // a single word is not divided
      plot_.text(x_, y_, text.substr(0, end), "class=\"small\"");
      text.remove_prefix(end + 1);
      next_line();
    }
    const std::string shown = fitted(text, kSvgSmallFont, right_ - x_);
    plot_.text(x_, y_, shown, "class=\"small\"");
    x_ += text_width(shown, kSvgSmallFont) + 12;
  }

  SvgPlot& plot_;
  double right_;
  double x_ = kEdge;
  double y_;
};

// The tints that occur, by colour, with their names. The grey tint is just `idle`, unless the
// host's time is shown, too; in that case its name lists the causes.
std::map<std::string, std::pair<Colour, std::string>> idle_names(const Drawn& drawn) {
  std::map<std::string, std::pair<Colour, std::string>> names;
  for (const trace::Cause cause : drawn.idle) {
    const Colour colour = colour_of(cause);
    const bool grey = colour == colour_of(trace::Cause::unknown);
    const bool named = !grey || drawn.idle.contains(trace::Cause::host);
    const std::string name = trace::text_of(cause);
    const auto [at, first] =
        names.try_emplace(hex(colour), colour, named ? "idle: " + name : std::string("idle"));
    if (!first && grey && named) at->second.second += ", " + name;
  }
  return names;
}

std::string numbers_text(const Drawn& drawn) {
  if (drawn.left_out == 0) return "numbers are microbatches";
  return drawn.numbers > 0 ? "numbers are microbatches, left out where they do not fit"
                           : "numbers of microbatches do not fit";
}

std::string chunks_text(int chunks) {
  return chunks == 2
             ? "dark is chunk 0, light is chunk 1"
             : fmt::format("from dark to light, and by the mark below: chunks 0 to {}", chunks - 1);
}

std::string shown_text(const SvgPlot& plot) {
  const Timeline& timeline = plot.timeline();
  return fmt::format("shown: {} to {} of {}", text_of(timeline, plot.from() - timeline.begin()),
                     text_of(timeline, plot.to() - timeline.begin()),
                     text_of(timeline, timeline.end() - timeline.begin()));
}

}  // namespace

double draw_title(SvgPlot& plot, const Panel& panel, double width, double y) {
  const Timeline& timeline = plot.timeline();
  Flow flow(plot, width, y);
  flow.title(panel.title);
  for (const RunFact& fact : run_facts(panel)) {
    // Omits the unit, which the axis shows, and a fact that repeats the panel's title.
    if (fact.name == "unit" || fact.value == panel.title) continue;
    flow.item(fact.name + " " + fact.value);
  }
  if (plot.from() > timeline.begin() || plot.to() < timeline.end()) flow.item(shown_text(plot));
  return flow.end();
}

double draw_legend(SvgPlot& plot, const Drawn& drawn, double width, double y) {
  const Timeline& timeline = plot.timeline();
  const Palette& palette = plot.palette();
  Flow flow(plot, width, y);
  for (std::size_t op = 0; op < timeline.facts().ops.size(); ++op) {
    std::vector<Colour> shades;
    for (int chunk = 0; chunk < palette.chunks(); ++chunk) {
      shades.push_back(palette[palette.index(static_cast<int>(op), chunk)]);
    }
    flow.item(shades, timeline.facts().ops[op].name);
  }
  if (palette.chunks() > 1) flow.item(chunks_text(palette.chunks()));
  if (drawn.numbers + drawn.left_out > 0) flow.item(numbers_text(drawn));
  if (drawn.shared) flow.item("two tasks at once share the height");
  if (drawn.shares) {
    flow.item("tasks too narrow to be seen: each colour is as high as its share of the time");
  }
  if (!timeline.resources().empty()) {
    flow.item({kHeld}, "held, below each rank; dashed: capacity");
  }
  for (const auto& [_, idle] : idle_names(drawn)) flow.item({idle.first}, idle.second);
  return flow.end();
}

}  // namespace ripeline::view
