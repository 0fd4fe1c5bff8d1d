// PyTorch's pipeline schedule: a CSV file read as data.
//
// One row per rank, one column per step, no header, rows of any length:
//   0F0,0F1,,0B0,(0F2;0B1)OVERLAP_F_B
// An action is <stage>F<mb>, I (backward for the input), W (for the weights), B (both), SEND_F,
// RECV_F, SEND_B, RECV_B, each with a microbatch; or <stage>UNSHARD, RESHARD, REDUCE_GRAD. An empty
// cell is idle. Blanks around a cell are ignored. Cells may be in quotes, as Python's csv module
// reads them (cells.h).
//
// read_actions() takes any bytes and never fails as a whole: a cell that is not an action, from its
// first to its last character, becomes a mistake and a cell without actions. pytorch/check.h judges
// what the actions mean together. Values; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pytorch/csv/short_list.h"

namespace ripeline::pytorch {

enum class ActionKind : std::uint8_t {
  forward,           // F
  backward,          // B
  backward_input,    // I
  backward_weight,   // W
  send_forward,      // SEND_F
  receive_forward,   // RECV_F
  send_backward,     // SEND_B
  receive_backward,  // RECV_B
  unshard,           // UNSHARD
  reshard,           // RESHARD
  reduce_grad,       // REDUCE_GRAD
};
[[nodiscard]] std::string name_of(ActionKind kind);  // as it is written in a cell
[[nodiscard]] bool is_compute(ActionKind kind);      // F, I, W, B
[[nodiscard]] bool is_message(ActionKind kind);      // the four kinds of SEND and RECV
[[nodiscard]] bool has_microbatch(ActionKind kind);  // compute and message kinds

struct Action {
  ActionKind kind = ActionKind::forward;
  int stage = 0;        // 0 .. kMostIndex
  int microbatch = -1;  // 0 .. kMostIndex, or -1 if there is none
  bool operator==(const Action&) const = default;
};
[[nodiscard]] std::string to_string(const Action& action);  // 2F0, 1UNSHARD

struct ActionCell {
  ShortList<Action> actions;  // empty if idle or a mistake; several if an OVERLAP_F_B
  bool overlap = false;       // (0F1;0B0)OVERLAP_F_B
  int row = 0;                // where it was read, from 1; 0 if it was not read
  int column = 0;
  // The place where a cell was read is not compared.
  bool operator==(const ActionCell& other) const {
    return actions == other.actions && overlap == other.overlap;
  }
};
[[nodiscard]] std::string to_string(const ActionCell& cell);

struct ActionTable {
  std::vector<std::vector<ActionCell>> rows;  // one per rank
  bool operator==(const ActionTable&) const = default;
};

// A cell of a form that is not allowed; the table has the cell's likely meaning, if there is one.
struct CellMistake {
  // The rule is `cell` for no action; `naming` for older files' B (meaning I) and BW (meaning B);
  // `file` for a byte order mark or no comma as separator. For the last two, the table is as meant.
  std::string rule;
  int row = 0;       // from 1
  int column = 0;    // from 1; 0 for the whole file
  std::string text;  // the cell, shortened and printable
  std::string message;
  bool operator==(const CellMistake&) const = default;
};
struct ReadActions {
  ActionTable table;
  std::vector<CellMistake> mistakes;  // in order of rows and columns, the first kMostMistakes
  std::size_t mistake_count = 0;      // including those not stored
};

inline constexpr int kMostIndex = 999'999;             // the largest stage or microbatch
inline constexpr std::size_t kMostMistakes = 1000;     // kept by read_actions()
inline constexpr std::size_t kMostCells = 20'000'000;  // further cells are not read but reported
inline constexpr std::size_t kMostCellCharacters = 131'072;  // Python's csv module accepts no more

[[nodiscard]] ReadActions read_actions(std::string_view bytes);
// True if any cell of the file has actions.
[[nodiscard]] bool has_action(std::string_view bytes);

// A number that is different for each action.
[[nodiscard]] constexpr std::uint64_t key_of(const Action& action) {
  constexpr std::uint64_t kIndices = kMostIndex + 2;  // -1 .. kMostIndex
  return (static_cast<std::uint64_t>(action.kind) * kIndices +
          static_cast<std::uint64_t>(action.stage)) *
             kIndices +
         static_cast<std::uint64_t>(action.microbatch + 1);
}

// A text from which read_actions() reads this table, without mistakes; lines end in \n.
[[nodiscard]] std::string write_actions(const ActionTable& table);

}  // namespace ripeline::pytorch
