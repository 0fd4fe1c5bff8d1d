#include "view/terminal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/held.h"
#include "core/print.h"
#include "view/palette.h"
#include "view/picture.h"
#include "view/stuck.h"

namespace ripeline::view {
namespace {

using core::Time;

constexpr int kMostRows = 256;

struct Cell {
  int shade = -1;  // an index into the palette; -1: idle
  char letter = '.';
};

class Lines {
 public:
  Lines(const Timeline& timeline, const TerminalOptions& options)
      : timeline_(timeline), options_(options), palette_(timeline.facts()) {
    from_ = timeline.begin() + options.range.begin.value_or(Time{0});
    to_ = std::min(timeline.end(), timeline.begin() + options.range.end.value_or(timeline.end() -
                                                                                 timeline.begin()));
    to_ = std::max(to_, from_ + Time{1});
    for (const Row& row : timeline.rows()) label_ = std::max(label_, name_of(row).size());
    const int room = std::max(10, options.width - static_cast<int>(label_) - 7);
    set_scale(room);
  }

  std::string text() {
    std::string text = axis() + steps();
    int rows = 0;
    for (const Row& row : timeline_.rows()) {
      if (rows++ == kMostRows) {
        text += fmt::format("and {} rows more\n", timeline_.rows().size() - kMostRows);
        break;
      }
      text += fmt::format("{:<{}}  {}", name_of(row), label_, draw(row));
      if (!row.second) text += fmt::format(" {:>3}%", percent(row));
      text.erase(text.find_last_not_of(' ') + 1);
      text += '\n';
    }
    return text + legend();
  }

 private:
  // Makes nearly every task wide enough for its number if possible, else uses the whole width.
  void set_scale(int room) {
    std::vector<Time> lengths;
    for (const Box& b : timeline_.boxes()) {
      if (b.end > from_ && b.start < to_ && b.end > b.start) lengths.push_back(b.end - b.start);
    }
    const double span = static_cast<double>((to_ - from_).count());
    scale_ = room / span;
    if (!lengths.empty()) {
      const auto tenth = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 10);
      std::nth_element(lengths.begin(), tenth, lengths.end());
      const auto digits = std::to_string(std::max(timeline_.run().microbatches - 1, 0)).size();
      const double wanted = static_cast<double>(digits + 1) / static_cast<double>(tenth->count());
      scale_ = std::min(scale_, wanted);
      narrow_ = scale_ * static_cast<double>(tenth->count()) < 1.5;
    }
    if (narrow_) scale_ = room / span;
    columns_ = std::clamp(static_cast<int>(std::lround(span * scale_)), 1, room);
  }

  [[nodiscard]] double column(Time time) const {
    return static_cast<double>((time - from_).count()) * scale_;
  }
  [[nodiscard]] std::size_t shade_of(const Box& b) const {
    return palette_.index(timeline_.facts().lanes[static_cast<std::size_t>(b.task.lane)]);
  }
  [[nodiscard]] char letter(std::size_t shade) const {
    return timeline_.facts().ops[shade / chunks()].name.front();
  }
  [[nodiscard]] std::size_t chunks() const { return static_cast<std::size_t>(palette_.chunks()); }

  std::string draw(const Row& row) const {
    const std::vector<Cell> cells = cells_of_engine(row);
    std::string text;
    int last = -1;
    for (const Cell& cell : cells) {
      if (options_.colour && cell.shade != last) {
        text += cell.shade < 0 ? "\x1b[0m" : paint(static_cast<std::size_t>(cell.shade));
      }
      last = cell.shade;
      text += cell.letter;
    }
    if (options_.colour && last >= 0) text += "\x1b[0m";
    return text;
  }

  [[nodiscard]] std::vector<Cell> cells_of(const Row& row) const {
    std::vector<Cell> cells(static_cast<std::size_t>(columns_));
    narrow_ ? fill_shares(row, cells) : fill_boxes(row, cells);
    return cells;
  }

  // The cells of a row. A gap beside a task in the engine's other row is not idle.
  [[nodiscard]] std::vector<Cell> cells_of_engine(const Row& row) const {
    std::vector<Cell> cells = cells_of(row);
    for (const Row& other : timeline_.rows_of_engine(row)) {
      if (&other == &row) continue;
      const std::vector<Cell> beside = cells_of(other);
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (cells[i].shade < 0 && (row.second || beside[i].shade >= 0)) cells[i].letter = ' ';
      }
    }
    return cells;
  }

  void fill_boxes(const Row& row, std::vector<Cell>& cells) const {
    for (const Box& b : timeline_.boxes_of(row)) {
      if (b.end <= from_ || b.start >= to_) continue;
      const auto first = static_cast<std::size_t>(
          std::clamp(std::lround(column(b.start)), 0L, static_cast<long>(columns_)));
      const auto end = static_cast<std::size_t>(
          std::clamp(std::lround(column(b.end)), 0L, static_cast<long>(columns_)));
      const std::size_t shade = shade_of(b);
      std::string label = std::to_string(timeline_.facts().microbatch_of(b.task));
      if (!options_.colour) label = letter(shade) + label;
      if (label.size() + (options_.colour ? 1 : 0) > end - first) {
        label = options_.colour ? "" : std::string(1, letter(shade));
      }
      for (std::size_t i = first; i < end; ++i) {
        const std::size_t k = i - first;
        const char fill = options_.colour ? ' ' : '-';
        cells[i] = {static_cast<int>(shade), k < label.size() ? label[k] : fill};
      }
    }
  }

  void fill_shares(const Row& row, std::vector<Cell>& cells) const {
    const std::size_t shades = palette_.size();
    std::vector<double> shares(cells.size() * shades, 0);
    for (const Box& b : timeline_.boxes_of(row)) {
      if (b.end <= from_ || b.start >= to_) continue;
      const double from = std::max(0.0, column(b.start));
      const double to = std::min(static_cast<double>(columns_), column(b.end));
      for (auto i = static_cast<std::size_t>(from); i < cells.size() && static_cast<double>(i) < to;
           ++i) {
        shares[i * shades + shade_of(b)] +=
            std::min(to, static_cast<double>(i + 1)) - std::max(from, static_cast<double>(i));
      }
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::span<const double> of_column = std::span(shares).subspan(i * shades, shades);
      if (std::accumulate(of_column.begin(), of_column.end(), 0.0) < 0.5) continue;
      const std::size_t shade = most_of(of_column);
      cells[i] = {static_cast<int>(shade), options_.colour ? ' ' : letter(shade)};
    }
  }

  // The op that ran longest and, among its chunks, the one that ran longest, as a shade.
  [[nodiscard]] std::size_t most_of(std::span<const double> shares) const {
    std::size_t best = 0;
    double most = -1;
    for (std::size_t first = 0; first < shares.size(); first += chunks()) {
      const std::span<const double> of_op = shares.subspan(first, chunks());
      const double sum = std::accumulate(of_op.begin(), of_op.end(), 0.0);
      if (sum <= most) continue;
      most = sum;
      best = first +
             static_cast<std::size_t>(std::max_element(of_op.begin(), of_op.end()) - of_op.begin());
    }
    return best;
  }

  [[nodiscard]] std::string paint(std::size_t shade) const {
    const Colour back = palette_[shade];
    const Colour ink = ink_on(back);
    return fmt::format("\x1b[48;2;{};{};{};38;2;{};{};{}m", back.red, back.green, back.blue,
                       ink.red, ink.green, ink.blue);
  }

  // How busy the row's engine is in the part shown, in percent.
  [[nodiscard]] int percent(const Row& row) const {
    const Time busy = timeline_.busy(row, from_, to_);
    return static_cast<int>(std::lround(100.0 * static_cast<double>(busy.count()) /
                                        static_cast<double>((to_ - from_).count())));
  }

  [[nodiscard]] std::string axis() const {
    const double first = timeline_.in_unit(from_ - timeline_.begin());
    const double length = timeline_.in_unit(to_ - from_);
    const double step = axis_step(length, std::max(1, columns_ / 8));
    std::string line;
    for (double t = std::max(0.0, std::ceil(first / step - 1e-9)) * step; t <= first + length;
         t += step) {
      const auto at = static_cast<std::size_t>(std::lround((t - first) / length * columns_));
      const std::string mark = fmt::format("|{:.6g}", t);
      if (at < line.size() || at + mark.size() > static_cast<std::size_t>(columns_)) continue;
      line += std::string(at - line.size(), ' ') + mark;
    }
    return fmt::format("{:<{}}  {}{} busy\n", timeline_.run().unit.name, label_, line,
                       std::string(static_cast<std::size_t>(columns_) - line.size(), ' '));
  }

  // Marks where each of several steps begins: `|3` at the start of step 3.
  [[nodiscard]] std::string steps() const {
    const std::vector<StepSpan> spans = timeline_.steps();
    if (spans.size() < 2) return {};
    std::string line;
    for (const StepSpan& step : spans) {
      const double at = std::max(0.0, column(step.begin));
      const auto first = static_cast<std::size_t>(std::lround(at));
      const std::string mark = fmt::format("|{}", step.number);
      const bool is_seen = step.end > from_ && step.begin < to_;
      const bool fits = first + mark.size() <= static_cast<std::size_t>(columns_);
      if (!is_seen || first < line.size() || !fits) continue;
      line += std::string(first - line.size(), ' ') + mark;
    }
    return fmt::format("{:<{}}  {}\n", "step", label_, line);
  }

  [[nodiscard]] std::string legend() const {
    std::string text;
    for (std::size_t op = 0; op < timeline_.facts().ops.size(); ++op) {
      const std::string_view name = timeline_.facts().ops[op].name;
      for (std::size_t chunk = 0; options_.colour && chunk < chunks(); ++chunk) {
        text += fmt::format("{} {} ", paint(op * chunks() + chunk), name);
      }
      text += options_.colour ? "\x1b[0m " : fmt::format("{} ", name);
    }
    if (options_.colour && chunks() > 1) text += "chunks from dark to light; ";
    if (narrow_) {
      return fmt::format(
          "{} a column is what ran most in {} {}; --begin and --end show a part\n", text,
          fmt::format("{:.3g}", 1 / scale_ / static_cast<double>(timeline_.run().unit.nanoseconds)),
          timeline_.run().unit.name);
    }
    return text +
           (options_.colour ? "numbers are microbatches\n" : "and the microbatch; . is idle\n");
  }

  const Timeline& timeline_;
  const TerminalOptions& options_;
  Palette palette_;
  std::size_t label_ = 4;
  Time from_{0};
  Time to_{0};
  double scale_ = 1;  // columns per nanosecond
  bool narrow_ = false;
  int columns_ = 1;
};

std::string peaks(const Timeline& timeline) {
  constexpr int kMost = 16;
  std::string text;
  for (const std::string_view resource : timeline.resources()) {
    text += fmt::format("{}, most at once per rank:", resource);
    for (int rank = 0; rank < std::min(kMost, timeline.facts().ranks); ++rank) {
      text += fmt::format(" {}", timeline.peak(resource, rank));
    }
    if (timeline.facts().ranks > kMost) text += " ...";
    const std::string_view unit = core::unit_of_amounts(timeline.facts(), resource);
    text += unit.empty() ? "\n" : fmt::format(" {}\n", unit);
  }
  return text;
}

}  // namespace

std::string terminal(const Timeline& timeline, const TerminalOptions& options, const Stuck& stuck) {
  if (timeline.boxes().empty() && !stuck.any()) return "nothing ran\n";
  std::string text;
  if (!timeline.boxes().empty()) text = Lines(timeline, options).text() + peaks(timeline);
  for (std::size_t i = 0; i < stuck.waits.size() && i < kMostWaits; ++i) {
    const StuckTask& wait = stuck.waits[i];
    text += fmt::format("{} {} waits for {}\n", i < stuck.circle ? ">" : " ",
                        core::task_name(timeline.facts(), wait.task), wait.text);
  }
  if (stuck.circle > 0) {
    text += fmt::format("> each waits for the next: {} tasks in a circle\n", stuck.circle);
  }
  return text;
}

}  // namespace ripeline::view
