// Declarations that the files of check() share; other files do not use them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "pytorch/check.h"
#include "pytorch/flat_map.h"
#include "spec/indexing.h"

namespace ripeline::pytorch {

struct CellPosition {
  int row = 0;  // from 1
  int column = 0;
  bool before(const CellPosition& other) const { return row == other.row && column < other.column; }
};

// One check in progress: the table, its shape, where each action is, and the findings.
class ScheduleCheck {
 public:
  ScheduleCheck(const ActionTable& table, const CheckOptions& options, CheckReport& report)
      : table_(table), options_(options), report_(report) {
    std::size_t cells = 0;
    for (const auto& row : table.rows) cells += row.size();
    positions_.reserve(cells);
  }

  const ActionTable& table() const { return table_; }
  const CheckOptions& options() const { return options_; }
  const CheckShape& shape() const { return report_.shape; }
  const StageMap& map() const { return report_.shape.map; }
  CheckReport& report() { return report_; }
  bool has_found(const std::string& rule) const { return rules_.contains(rule); }

  void found(std::string rule, CellPosition position, std::string task, std::string message);

  // True if the cell could not be read as an action.
  [[nodiscard]] bool has_mistake(CellPosition position) const;
  // The first position of the action, or null.
  [[nodiscard]] const CellPosition* find(const Action& action) const;
  // Records the action's position; returns its earlier position, if it has one, else null. Pointers
  // that find() returned become invalid.
  const CellPosition* add(const Action& action, CellPosition position);

  template <class Visit>  // (action, cell, position)
  void each_action(const Visit& visit) const {
    for (std::size_t r = 0; r < table_.rows.size(); ++r) {
      for (std::size_t c = 0; c < table_.rows[r].size(); ++c) {
        for (const Action& action : table_.rows[r][c].actions) {
          visit(action, table_.rows[r][c],
                CellPosition{static_cast<int>(r) + 1, static_cast<int>(c) + 1});
        }
      }
    }
  }

 private:
  const ActionTable& table_;
  const CheckOptions& options_;
  CheckReport& report_;
  std::set<std::string> rules_;  // rules with a finding
  FlatMap<CellPosition> positions_;
};

[[nodiscard]] std::string position_text(CellPosition position);  // row 2, column 3

// The most activations that a rank with this many stages may hold; nullopt if there is no limit.
[[nodiscard]] std::optional<std::int64_t> rank_room(const CheckOptions& options, int chunks);

}  // namespace ripeline::pytorch
