#include "emulate/report.h"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/vocabulary/index.h"

namespace ripeline::emulate {
namespace {

// By rank and engine, the tasks in the order of their starts.
using EngineOrders = std::map<core::Engine, std::vector<core::Task>>;
std::map<int, EngineOrders> orders_of(const core::ProgramFacts& facts,
                                      const trace::Record& record) {
  std::map<int, EngineOrders> orders;
  for (const trace::TaskEvent& e : record.tasks) {
    const core::LaneFacts& lane = facts.lanes[index(e.task.lane)];
    orders[lane.rank][lane.engine].push_back(e.task);
  }
  return orders;
}

// The ranks whose tasks start in different orders in `a` and `b`.
std::vector<int> other_orders(const core::ProgramFacts& facts, const trace::Record& a,
                              const trace::Record& b) {
  std::map<int, EngineOrders> first = orders_of(facts, a);
  std::map<int, EngineOrders> second = orders_of(facts, b);
  std::vector<int> others;
  for (int rank = 0; rank < facts.ranks; ++rank) {
    if (first[rank] != second[rank]) others.push_back(rank);
  }
  return others;
}

double ms(core::Time time) { return static_cast<double>(time.count()) / 1e6; }

double in_units(const simulate::ReportedRun& r, core::Time time) {
  return static_cast<double>(time.count()) / static_cast<double>(r.timing.unit().nanoseconds);
}

double unit_ms(const simulate::ReportedRun& r) {
  return static_cast<double>(r.timing.unit().nanoseconds) / 1e6;
}

}  // namespace

std::string more_text(const simulate::ReportedRun& r, const EmulatedRun& emulated,
                      const SimulatedRun& simulated) {
  const std::string text = fmt::format(
      "  clock: 1 {} is {:.6g} ms; a rank woke at most {:.3f} ms late, which does not "
      "count, and went on at most {:.3f} ms late\n"
      "  simulated: wall {:.6g}",
      r.timing.unit().name, unit_ms(r), ms(emulated.overshot), ms(emulated.behind),
      in_units(r, simulated.run.makespan));
  if (simulated.run.stuck || !simulated.run.status.ok()) return text + ", and it deadlocks\n";
  const std::vector<int> others = other_orders(r.facts, emulated.record, simulated.record);
  if (others.empty()) return text + ", the same order on every rank\n";
  return text + fmt::format(", another order on rank{} {}\n", others.size() == 1 ? "" : "s",
                            fmt::join(others, ", "));
}

nlohmann::json more_json(const simulate::ReportedRun& r, const EmulatedRun& emulated,
                         const SimulatedRun& simulated) {
  return {{"emulated",
           {{"unit_ms", unit_ms(r)},
            {"woke_late_ms", ms(emulated.overshot)},
            {"behind_ms", ms(emulated.behind)},
            {"notices", emulated.run.notices},
            {"simulated_wall", in_units(r, simulated.run.makespan)},
            {"other_order_on", other_orders(r.facts, emulated.record, simulated.record)}}}};
}

}  // namespace ripeline::emulate
