// Derives from a table's cells the parts of its shape that no option gives.
#include "pytorch/shape.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "spec/indexing.h"

namespace ripeline::pytorch {
namespace {

template <class Visit>
void each_computation(const ActionTable& table, const Visit& visit) {
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    for (const auto& cell : table.rows[r]) {
      for (const Action& action : cell.actions) {
        if (is_compute(action.kind)) visit(static_cast<int>(r), action);
      }
    }
  }
}

// A set of stages or microbatches.
class Numbers {
 public:
  void insert(int number) { there_[static_cast<std::size_t>(number)] = true; }
  [[nodiscard]] int first_missing() const {
    return static_cast<int>(std::find(there_.begin(), there_.end(), false) - there_.begin());
  }
  [[nodiscard]] int count() const {
    return static_cast<int>(std::count(there_.begin(), there_.end(), true));
  }

 private:
  std::vector<bool> there_ = std::vector<bool>(kMostIndex + 1, false);
};

int ranks_of(const ActionTable& table) {
  const auto is_idle = [](const ActionCell& cell) { return cell.actions.empty(); };
  std::size_t rows = table.rows.size();
  while (rows > 1 && std::all_of(table.rows[rows - 1].begin(), table.rows[rows - 1].end(), is_idle))
    --rows;
  return std::max(1, static_cast<int>(rows));
}

// Counts the stages from 0 to the first that does not occur, and rounds up to a multiple of the
// ranks, so that one wrong number in a cell does not change how the other cells are judged.
int stages_of(const ActionTable& table, int ranks) {
  Numbers stages;
  each_computation(table, [&](int, const Action& action) { stages.insert(action.stage); });
  const int next = stages.first_missing();
  return std::max(1, (next + ranks - 1) / ranks) * ranks;
}

// Counts the microbatches from 0 to the first that runs forward nowhere. If there is no microbatch
// 0, counts the different microbatches.
int microbatches_of(const ActionTable& table) {
  Numbers ids;
  each_computation(table, [&](int, const Action& action) {
    if (action.kind == ActionKind::forward) ids.insert(action.microbatch);
  });
  const int next = ids.first_missing();
  return next > 0 ? next : std::max(1, ids.count());
}

int misplaced(const ActionTable& table, const StageMap& map) {
  int count = 0;
  each_computation(table, [&](int row, const Action& action) {
    if (action.stage >= map.stages() || map.rank(action.stage) != row) ++count;
  });
  return count;
}

Placement placement_of(const ActionTable& table, int ranks, int stages) {
  if (stages == ranks) return Placement::chain;
  const auto loop = place_stages(Placement::loop, ranks, stages);
  const auto v = place_stages(Placement::v, ranks, stages);
  return misplaced(table, *v) < misplaced(table, *loop) ? Placement::v : Placement::loop;
}

bool has_other_than_computations(const ActionTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](const auto& cell) {
      return std::any_of(cell.actions.begin(), cell.actions.end(),
                         [](const Action& a) { return !is_compute(a.kind); });
    });
  });
}

spec::Diagnostic wrong(std::string message, std::string hint = {}) {
  return {
      .id = "check-options", .message = std::move(message), .hint = std::move(hint), .span = {}};
}

}  // namespace

spec::Result<CheckShape> shape_of(const ActionTable& table, const CheckOptions& options) {
  CheckShape shape;
  const auto given = [&shape](const auto& option, const char* name, auto&& from_file) {
    if (option) return *option;
    shape.from_file.emplace_back(name);
    return from_file();
  };
  const int ranks = given(options.ranks, "ranks", [&] { return ranks_of(table); });
  if (ranks < 1 || ranks > kMostRanks) {
    return wrong(fmt::format("{} ranks; expected 1 to {}", ranks, kMostRanks));
  }
  const bool chain = options.placement == Placement::chain;
  const int stages = chain && !options.stages
                         ? ranks
                         : given(options.stages, "stages", [&] { return stages_of(table, ranks); });
  if (stages < 1 || stages > kMostIndex + 1) return wrong(fmt::format("{} stages", stages));
  if (stages % ranks != 0) {
    return wrong(
        fmt::format("{} stages on {} ranks: no multiple, so PyTorch has no placement for "
                    "them",
                    stages, ranks));
  }
  shape.placement =
      given(options.placement, "placement", [&] { return placement_of(table, ranks, stages); });
  const auto map = place_stages(shape.placement, ranks, stages);
  if (!map) {
    return wrong(fmt::format("{} stages on {} ranks are no chain", stages, ranks),
                 "--placement loop or v has several stages on a rank");
  }
  shape.map = *map;
  shape.microbatches =
      given(options.microbatches, "microbatches", [&] { return microbatches_of(table); });
  if (shape.microbatches < 1 || shape.microbatches > kMostIndex + 1) {
    return wrong(fmt::format("{} microbatches", shape.microbatches));
  }
  shape.form = given(options.form, "form", [&] {
    return has_other_than_computations(table) ? ActionForm::compute_comms
                                              : ActionForm::compute_only;
  });
  return shape;
}

}  // namespace ripeline::pytorch
