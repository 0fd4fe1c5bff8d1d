#include "pytorch/csv/actions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "pytorch/csv/cells.h"

namespace ripeline::pytorch {
namespace {

struct ActionName {
  std::string_view text;
  ActionKind kind;
};
// If one name is the beginning of another, the longer one is listed first.
constexpr std::array<ActionName, 11> kWritten = {{
    {"UNSHARD", ActionKind::unshard},
    {"RESHARD", ActionKind::reshard},
    {"REDUCE_GRAD", ActionKind::reduce_grad},
    {"SEND_F", ActionKind::send_forward},
    {"RECV_F", ActionKind::receive_forward},
    {"SEND_B", ActionKind::send_backward},
    {"RECV_B", ActionKind::receive_backward},
    {"F", ActionKind::forward},
    {"B", ActionKind::backward},
    {"I", ActionKind::backward_input},
    {"W", ActionKind::backward_weight},
}};
constexpr std::string_view kOverlap = "OVERLAP_F_B";
constexpr std::size_t kMostShown = 40;

// The text for people: bytes that are not printable ASCII become \xNN; cut after kMostShown bytes.
std::string shown(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, kMostShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", byte);
    }
  }
  return text.size() > kMostShown ? result + "..." : result;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes a number from the front of `text` and returns it; nullopt if there is none or too large.
std::optional<int> take_number(std::string_view& text) {
  const auto* end = std::find_if_not(text.begin(), text.end(), is_digit);
  int value = 0;
  const auto [stop, error] = std::from_chars(text.begin(), end, value);
  if (end == text.begin() || error != std::errc{} || stop != end || value > kMostIndex) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
  return value;
}

// The result of reading an action; `why`, the reason of a failure, is only for people.
struct ActionReading {
  std::optional<Action> action;
  std::string why;
  bool older = false;  // whether it was written BW
};

ActionReading failed(std::string why) {
  return {.action = {}, .why = std::move(why), .older = false};
}

ActionReading read_action(std::string_view text) {
  constexpr const char* kForm =
      "expected <stage><action><microbatch> and nothing else, as 2F0 or 1SEND_F3";
  std::string_view rest = text;
  const std::optional<int> stage = take_number(rest);
  if (!stage) {
    return failed(!text.empty() && is_digit(text.front())
                      ? fmt::format("the stage is above {}", kMostIndex)
                      : kForm);
  }
  ActionReading reading;
  if (rest.starts_with("BW")) {
    reading.older = true;
    rest.remove_prefix(2);
    reading.action = {.kind = ActionKind::backward, .stage = *stage};
  } else {
    const auto* named = std::find_if(kWritten.begin(), kWritten.end(), [rest](const ActionName& w) {
      return rest.starts_with(w.text);
    });
    if (named == kWritten.end()) return failed(kForm);
    rest.remove_prefix(named->text.size());
    reading.action = {.kind = named->kind, .stage = *stage};
  }
  const std::string name = name_of(reading.action->kind);
  if (!has_microbatch(reading.action->kind)) {
    if (rest.empty()) return reading;
    return failed(is_digit(rest.front()) ? fmt::format("{} takes no microbatch", name) : kForm);
  }
  const bool has_digits = !rest.empty() && is_digit(rest.front());
  const std::optional<int> microbatch = take_number(rest);
  if (!microbatch) {
    return failed(has_digits ? fmt::format("the microbatch is above {}", kMostIndex)
                             : fmt::format("{} needs a microbatch", name));
  }
  if (!rest.empty()) {
    const bool separates = without_blanks(rest).starts_with(';') || rest.front() == '\t';
    return failed(fmt::format("'{}' follows the action; PyTorch ignores it{}", shown(rest),
                              separates ? ", since a comma ends a cell" : ""));
  }
  reading.action->microbatch = *microbatch;
  return reading;
}

std::size_t characters_of(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : cells_(bytes) {}

  ReadActions read() {
    check_file();
    while (cells_read_ < kMostCells && cells_.next_row()) read_row();
    if (cells_read_ == kMostCells && (cells_.next() || cells_.next_row())) {
      mistake("cell", static_cast<int>(result_.table.rows.size()), 0, "",
              fmt::format("more than {} cells; the rest is not read", kMostCells));
    }
    if (!older_) look_for_older_naming();
    if (older_) use_older_naming();
    return std::move(result_);
  }

  bool has_action() {
    while (cells_.next_row()) {
      read_row();
      const auto& row = result_.table.rows.back();
      if (std::any_of(row.begin(), row.end(), [](const auto& c) { return !c.actions.empty(); })) {
        return true;
      }
    }
    return false;
  }

 private:
  void check_file() {
    if (cells_.has_byte_order_mark()) {
      mistake("file", 1, 1, "", "the file begins with a byte order mark, which PyTorch refuses");
    }
    if (cells_.separator() == ',') return;
    mistake(
        "file", 1, 0, "",
        fmt::format("cells are separated by {}, expected commas: PyTorch takes the first action "
                    "of each row and ignores the others",
                    cells_.separator() == ';' ? "semicolons" : "tabs"));
  }

  void read_row() {
    auto& row = result_.table.rows.emplace_back();
    while (cells_read_ < kMostCells) {
      const std::optional<CsvCell> cell = cells_.next();
      if (!cell) break;
      read_cell(*cell);
      ++cells_read_;
    }
    row.shrink_to_fit();
  }

  void read_cell(const CsvCell& read) {
    ActionCell cell;
    cell.row = static_cast<int>(result_.table.rows.size());
    cell.column = static_cast<int>(result_.table.rows.back().size()) + 1;
    open_ = read.open;
    const std::string_view text = without_blanks(read.text);
    if (read.text.size() > kMostCellCharacters && characters_of(read.text) > kMostCellCharacters) {
      mistake("cell", cell.row, cell.column, text,
              fmt::format("more than {} characters, which Python's csv module refuses",
                          kMostCellCharacters));
    } else if (text.starts_with('(')) {
      read_overlap(text, cell);
    } else if (!text.empty()) {
      add(text, text, cell);
    }
    open_ = false;
    result_.table.rows.back().push_back(std::move(cell));
  }

  // Reads the actions of an overlap; whether the two may overlap is not checked here.
  void read_overlap(std::string_view text, ActionCell& cell) {
    const std::size_t close = text.find(')');
    if (close == text.npos || text.substr(close + 1) != kOverlap) {
      mistake("cell", cell.row, cell.column, text,
              "expected (<action>;<action>)OVERLAP_F_B and nothing else, as (4F1;3B0)OVERLAP_F_B");
      return;
    }
    cell.overlap = true;
    std::string_view inner = text.substr(1, close - 1);
    for (bool more = true; more && cell.overlap;) {
      const std::size_t semicolon = inner.find(';');
      more = semicolon != inner.npos;
      if (!add(without_blanks(inner.substr(0, semicolon)), text, cell)) {
        cell.overlap = false;
        cell.actions.clear();
      }
      inner.remove_prefix(more ? semicolon + 1 : inner.size());
    }
  }

  bool add(std::string_view text, std::string_view whole, ActionCell& cell) {
    const ActionReading reading = read_action(text);
    if (!reading.action) {
      mistake("cell", cell.row, cell.column, whole, "no action: " + reading.why);
      return false;
    }
    if (reading.older && !older_) {
      older_ = true;
      mistake("naming", cell.row, cell.column, whole,
              "older naming: BW is written B, and B is written I; PyTorch takes BW for a B without "
              "a microbatch. Every B of the file is taken for I, every BW for B");
    }
    cell.actions.push_back(*reading.action);
    if (reading.older) written_bw_.push_back({cell.row, cell.column, cell.actions.size() - 1});
    return true;
  }

  // A file from before the name I is recognised by a B for each W and by the lack of any I.
  void look_for_older_naming() {
    std::vector<std::pair<int, int>> backwards;
    std::vector<std::pair<int, int>> weights;
    for (const auto& row : result_.table.rows) {
      for (const ActionCell& cell : row) {
        for (const Action& a : cell.actions) {
          if (a.kind == ActionKind::backward_input) return;
          if (a.kind == ActionKind::backward_weight) weights.emplace_back(a.stage, a.microbatch);
        }
      }
    }
    if (weights.empty()) return;
    each_backward([&](const Action& a, const ActionCell&) {
      backwards.emplace_back(a.stage, a.microbatch);
      return true;
    });
    std::sort(weights.begin(), weights.end());
    std::sort(backwards.begin(), backwards.end());
    weights.erase(std::unique(weights.begin(), weights.end()), weights.end());
    if (!std::includes(backwards.begin(), backwards.end(), weights.begin(), weights.end())) return;
    older_ = true;
    each_backward([&](const Action&, const ActionCell& cell) {
      mistake("naming", cell.row, cell.column, to_string(cell),
              "older naming: B and W of the same microbatch, and no I: B is written I. "
              "Every B of the file is taken for I");
      return false;
    });
  }

  template <class Visit>  // returns whether to continue
  void each_backward(const Visit& visit) const {
    for (const auto& row : result_.table.rows) {
      for (const ActionCell& cell : row) {
        for (const Action& a : cell.actions) {
          if (a.kind == ActionKind::backward && !visit(a, cell)) return;
        }
      }
    }
  }

  void use_older_naming() {
    auto next = written_bw_.begin();
    for (auto& row : result_.table.rows) {
      for (ActionCell& cell : row) {
        for (std::size_t i = 0; i < cell.actions.size(); ++i) {
          while (next != written_bw_.end() && *next < Position{cell.row, cell.column, i}) ++next;
          const bool bw = next != written_bw_.end() && *next == Position{cell.row, cell.column, i};
          if (!bw && cell.actions[i].kind == ActionKind::backward) {
            cell.actions[i].kind = ActionKind::backward_input;
          }
        }
      }
    }
  }

  void mistake(std::string rule, int row, int column, std::string_view text, std::string message) {
    ++result_.mistake_count;
    if (result_.mistakes.size() >= kMostMistakes) return;
    if (open_) message += "; its quote is never closed, so that it takes the rest of the file";
    result_.mistakes.push_back({.rule = std::move(rule),
                                .row = row,
                                .column = column,
                                .text = shown(text),
                                .message = std::move(message)});
  }

  struct Position {
    int row;
    int column;
    std::size_t index;
    auto operator<=>(const Position&) const = default;
  };

  CsvCells cells_;
  std::size_t cells_read_ = 0;
  bool open_ = false;  // the current cell has a quote that is never closed
  bool older_ = false;
  std::vector<Position> written_bw_;  // sorted
  ReadActions result_;
};

}  // namespace

std::string name_of(ActionKind kind) {
  const auto* found = std::find_if(kWritten.begin(), kWritten.end(),
                                   [kind](const ActionName& w) { return w.kind == kind; });
  return found == kWritten.end() ? std::string() : std::string(found->text);
}

bool is_compute(ActionKind kind) { return kind <= ActionKind::backward_weight; }

bool is_message(ActionKind kind) {
  return kind >= ActionKind::send_forward && kind <= ActionKind::receive_backward;
}

bool has_microbatch(ActionKind kind) { return is_compute(kind) || is_message(kind); }

std::string to_string(const Action& action) {
  std::string text = std::to_string(action.stage) + name_of(action.kind);
  if (action.microbatch >= 0) text += std::to_string(action.microbatch);
  return text;
}

std::string to_string(const ActionCell& cell) {
  std::string text;
  for (const Action& action : cell.actions) {
    if (!text.empty()) text += ';';
    text += to_string(action);
  }
  return cell.overlap ? fmt::format("({}){}", text, kOverlap) : text;
}

ReadActions read_actions(std::string_view bytes) { return Reader(bytes).read(); }

bool has_action(std::string_view bytes) { return Reader(bytes).has_action(); }

std::string write_actions(const ActionTable& table) {
  std::string text;
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      text += to_string(row[i]);
    }
    // An empty line would be read as a row without cells.
    if (row.size() == 1 && row.front().actions.empty()) text += "\"\"";
    text += '\n';
  }
  return text;
}

}  // namespace ripeline::pytorch
