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

struct CellPlace {
  int row = 0;  // from 1
  int column = 0;
  bool before(const CellPlace& other) const { return row == other.row && column < other.column; }
};

// One check in progress: the table, its shape, where each action is, and the findings.
class ScheduleCheck {
 public:
  ScheduleCheck(const ActionTable& table, const CheckOptions& options, CheckReport& report)
      : table_(table), options_(options), report_(report) {
    std::size_t cells = 0;
    for (const auto& row : table.rows) cells += row.size();
    places_.reserve(cells);
  }

  const ActionTable& table() const { return table_; }
  const CheckOptions& options() const { return options_; }
  const CheckShape& shape() const { return report_.shape; }
  const StageMap& map() const { return report_.shape.map; }
  CheckReport& report() { return report_; }
  bool has_found(const std::string& rule) const { return rules_.contains(rule); }

  void found(std::string rule, CellPlace place, std::string task, std::string message);

  // True if the cell could not be read as an action.
  [[nodiscard]] bool has_mistake(CellPlace place) const;
  // The first place of the action, or null.
  [[nodiscard]] const CellPlace* find(const Action& action) const;
  // Records the action's place; returns its earlier place if any. Invalidates what find() returned.
  const CellPlace* add(const Action& action, CellPlace place);

  template <class Visit>  // (action, cell, place)
  void each_action(const Visit& visit) const {
    for (std::size_t r = 0; r < table_.rows.size(); ++r) {
      for (std::size_t c = 0; c < table_.rows[r].size(); ++c) {
        for (const Action& action : table_.rows[r][c].actions) {
          visit(action, table_.rows[r][c],
                CellPlace{static_cast<int>(r) + 1, static_cast<int>(c) + 1});
        }
      }
    }
  }

 private:
  const ActionTable& table_;
  const CheckOptions& options_;
  CheckReport& report_;
  std::set<std::string> rules_;  // rules with a finding
  FlatMap<CellPlace> places_;
};

[[nodiscard]] std::string place_text(CellPlace place);  // row 2, column 3

// The room of a rank with this many stages, in activations of a stage; nothing if it has no limit.
[[nodiscard]] std::optional<std::int64_t> rank_room(const CheckOptions& options, int chunks);

}  // namespace ripeline::pytorch
