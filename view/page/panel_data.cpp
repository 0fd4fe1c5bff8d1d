// The data of a panel are one JSON object: tables as rows (ops, lanes, uses, pools, resources,
// causes), and for each row of the timeline its tasks in base64, so that millions of tasks need
// about ten bytes each. The two rows of an engine have a `half`, 0 and 1. A task is a list of
// numbers (LEB128; signed ones zigzag). Times are in ticks of `tick` nanoseconds, the greatest
// common divisor of all times. The numbers of a task are:
//   the time since the end of the previous task in the row; the duration; the lane, counted from
//   the rank's first; the microbatch, minus one more than the lane's previous one (signed); the
//   step, minus that of the previous task (signed); the reason: Reason::why, plus 7 * (the pool
//   + 1) if it is `room`; the other task's lane, and its microbatch minus this task's (signed),
//   unless the reason is `nothing`, or `engine` on an engine with one row; how long before the
//   task's start the reason was met, unless it is `nothing`.
// In the same way, `idle` of a row has the idle intervals whose cause has a tint: the time since
// the end of the previous interval, the duration, and the index of the cause in `causes`. `steps`
// has the first start of each step, from the first step on; -1 if no task of it ran.
#include "view/page/panel_data.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/print.h"
#include "view/palette.h"
#include "view/reasons.h"

namespace ripeline::view {
namespace {

using core::Time;
using Json = nlohmann::json;
using Why = Reason::Why;

class Bytes {
 public:
  void number(std::uint64_t value) {
    while (value > 127) {
      bytes_.push_back(static_cast<char>(static_cast<unsigned char>(value & 127U) | 128U));
      value >>= 7U;
    }
    bytes_.push_back(static_cast<char>(value));
  }
  void signed_number(std::int64_t value) {
    number(value < 0 ? static_cast<std::uint64_t>(-(value + 1)) * 2 + 1
                     : static_cast<std::uint64_t>(value) * 2);
  }
  [[nodiscard]] std::string base64() const {
    static constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes_.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes_.size(); i += 3) {
      std::uint32_t three = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const unsigned byte =
            i + k < bytes_.size() ? static_cast<unsigned char>(bytes_[i + k]) : 0U;
        three = three << 8U | byte;
      }
      for (std::size_t k = 0; k < 4; ++k) {
        text += i + k <= bytes_.size() ? kDigits[three >> (18U - 6U * k) & 63U] : '=';
      }
    }
    return text;
  }

 private:
  std::string bytes_;
};

class PanelData {
 public:
  explicit PanelData(const Panel& panel)
      : panel_(panel), timeline_(*panel.timeline), reasons_(timeline_), tick_(tick()) {}

  std::string json() {
    const core::ProgramFacts& facts = timeline_.facts();
    Json json = {
        {"title", panel_.title},
        {"unit",
         {{"name", timeline_.run().unit.name}, {"nanoseconds", timeline_.run().unit.nanoseconds}}},
        {"length", (timeline_.end() - timeline_.begin()).count()},
        {"tick", tick_},
        {"ranks", facts.ranks},
        {"microbatches", timeline_.run().microbatches},
        {"steps", steps()},
        {"firstStep", timeline_.first_step()}};
    add_tables(json, facts);
    Json rows = Json::array();
    for (const Row& row : timeline_.rows()) {
      rows.push_back({{"name", name_of(row)},
                      {"rank", row.rank},
                      {"count", row.end - row.first},
                      {"firstLane", facts.lanes_of(row.rank).first},
                      {"endLane", facts.lanes_of(row.rank).end},
                      {"data", data_of(row)},
                      {"idle", row.second ? "" : idle_of(row)}});
      if (is_half(row)) rows.back()["half"] = row.second ? 1 : 0;
    }
    json["rows"] = std::move(rows);
    json["causes"] = causes();
    json["stuck"] = stuck();
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  void add_tables(Json& json, const core::ProgramFacts& facts) const {
    Json lanes = Json::array();
    Json uses = Json::array();
    int chunks = 1;
    for (std::size_t i = 0; i < facts.lanes.size(); ++i) {
      const core::LaneFacts& lane = facts.lanes[i];
      Json of = {lane.op, lane.stage, lane.chunk, lane.once};
      if (!lane.share.is_all()) of.push_back(microbatches_of(lane.share));
      lanes.push_back(std::move(of));
      chunks = std::max(chunks, lane.chunk + 1);
      Json of_lane = Json::array();
      for (const core::UseFacts& use : timeline_.uses_of(static_cast<core::LaneId>(i))) {
        of_lane.push_back({use.pool, use.acquires, use.releases});
      }
      uses.push_back(std::move(of_lane));
    }
    const std::vector<std::string_view> names = timeline_.resources();
    Json resources = Json::array();
    for (const std::string_view name : names) {
      resources.push_back({{"name", name}, {"unit", timeline_.unit_of(name)}});
    }
    Json pools = Json::array();
    for (const core::PoolFacts& pool : facts.pools) {
      pools.push_back({std::find(names.begin(), names.end(), pool.resource) - names.begin(),
                       pool.rank, pool.capacity});
    }
    json["ops"] = ops(chunks);
    json["lanes"] = std::move(lanes);
    json["uses"] = std::move(uses);
    json["chunks"] = chunks;
    json["resources"] = std::move(resources);
    json["pools"] = std::move(pools);
  }

  // The ops, each with its own colours and the colours of text on them, one for each chunk.
  [[nodiscard]] Json ops(int chunks) const {
    const core::ProgramFacts& facts = timeline_.facts();
    const Palette palette(facts);
    Json list = Json::array();
    for (std::size_t op = 0; op < facts.ops.size(); ++op) {
      Json shades = Json::array();
      for (int chunk = 0; chunk < chunks; ++chunk) {
        const Colour shade = palette[palette.index(static_cast<int>(op), chunk)];
        shades.push_back({hex(shade), hex(ink_on(shade))});
      }
      list.push_back({{"name", facts.ops[op].name}, {"shades", std::move(shades)}});
    }
    return list;
  }

  // The tint and the name of each cause that occurs in idle_of().
  [[nodiscard]] Json causes() const {
    Json list = Json::array();
    for (const trace::Cause cause : causes_) {
      list.push_back({{"name", trace::text_of(cause)}, {"colour", hex(colour_of(cause))}});
    }
    return list;
  }

  [[nodiscard]] Json steps() const {
    const std::int64_t first = timeline_.first_step();
    std::vector<std::int64_t> starts(static_cast<std::size_t>(timeline_.last_step() - first + 1),
                                     -1);
    for (const Box& b : timeline_.boxes()) {
      std::int64_t& start = starts[static_cast<std::size_t>(b.step - first)];
      const std::int64_t at = (b.start - timeline_.begin()).count();
      start = start < 0 ? at : std::min(start, at);
    }
    return starts;
  }

  // The microbatches of a lane in each period, and then the period.
  static Json microbatches_of(const core::Share& share) {
    Json list = Json::array();
    for (int k = 0; k < share.size(); ++k) list.push_back(share.microbatch(k));
    list.push_back(share.period);
    return list;
  }

  // Whether the cause's tint differs from that of unknown causes.
  [[nodiscard]] static bool is_tinted(trace::Cause cause) {
    return !(colour_of(cause) == colour_of(trace::Cause::unknown));
  }

  [[nodiscard]] bool is_half(const Row& row) const {
    return timeline_.rows_of_engine(row).size() > 1;
  }

  // The greatest common divisor of all times of tasks, their reasons and tinted idle intervals.
  std::int64_t tick() {
    std::int64_t all = 0;
    for (int id = 0; id < static_cast<int>(timeline_.boxes().size()); ++id) {
      const Box& b = timeline_.box(id);
      all = std::gcd(all, (b.start - timeline_.begin()).count());
      all = std::gcd(all, (b.end - b.start).count());
      all = std::gcd(all, (b.start - reasons_.of(id).at).count());
      if (all == 1) break;
    }
    for (const Row& row : timeline_.rows()) {
      for (const trace::IdleEvent& idle : timeline_.idle_of(row)) {
        if (!is_tinted(idle.cause)) continue;
        all = std::gcd(all, (idle.start - timeline_.begin()).count());
        all = std::gcd(all, (idle.end - timeline_.begin()).count());
      }
    }
    return std::max<std::int64_t>(all, 1);
  }

  [[nodiscard]] std::uint64_t ticks(Time duration) const {
    return static_cast<std::uint64_t>(duration.count() / tick_);
  }

  std::string data_of(const Row& row) {
    Bytes bytes;
    std::map<core::LaneId, int> last;
    Time time = timeline_.begin();
    std::int64_t step = timeline_.first_step();
    const core::LaneId first = timeline_.facts().lanes_of(row.rank).first;
    for (int id = row.first; id < row.end; ++id) {
      const Box& b = timeline_.box(id);
      bytes.number(ticks(b.start - time));
      bytes.number(ticks(b.end - b.start));
      bytes.number(static_cast<std::uint64_t>(b.task.lane - first));
      int& before = last.try_emplace(b.task.lane, -1).first->second;
      bytes.signed_number(b.task.microbatch - before - 1);
      bytes.signed_number(b.step - step);
      add_reason(b, reasons_.of(id), is_half(row), bytes);
      before = b.task.microbatch;
      step = b.step;
      time = b.end;
    }
    return bytes.base64();
  }

  std::string idle_of(const Row& row) {
    Bytes bytes;
    Time time = timeline_.begin();
    for (const trace::IdleEvent& idle : timeline_.idle_of(row)) {
      // Idle time before the first task, or after the last one, is not part of the picture.
      const Time start = std::max(idle.start, time);
      const Time end = std::min(idle.end, timeline_.end());
      if (!is_tinted(idle.cause) || start >= end) continue;
      auto cause = std::find(causes_.begin(), causes_.end(), idle.cause);
      if (cause == causes_.end()) cause = causes_.insert(cause, idle.cause);
      bytes.number(ticks(start - time));
      bytes.number(ticks(end - start));
      bytes.number(static_cast<std::uint64_t>(cause - causes_.begin()));
      time = end;
    }
    return bytes.base64();
  }

  void add_reason(const Box& b, const Reason& reason, bool half, Bytes& bytes) const {
    const int pool = reason.why == Why::room ? reason.pool + 1 : 0;
    bytes.number(static_cast<std::uint64_t>(static_cast<int>(reason.why) + 7 * pool));
    if (reason.why != Why::nothing && (half || reason.why != Why::engine)) {
      const core::Task other = timeline_.box(reason.box).task;
      bytes.number(static_cast<std::uint64_t>(other.lane));
      bytes.signed_number(other.microbatch - b.task.microbatch);
    }
    if (reason.why != Why::nothing) bytes.number(ticks(b.start - reason.at));
  }

  Json stuck() const {
    Json waits = Json::array();
    for (const StuckTask& wait : panel_.stuck.waits) {
      const core::LaneFacts& lane =
          timeline_.facts().lanes[static_cast<std::size_t>(wait.task.lane)];
      const auto row = std::find_if(
          timeline_.rows().begin(), timeline_.rows().end(),
          [&](const Row& r) { return r.rank == lane.rank && r.engine == lane.engine; });
      waits.push_back({{"task", core::task_name(timeline_.facts(), wait.task)},
                       {"text", wait.text},
                       {"row", row - timeline_.rows().begin()}});
    }
    return {{"waits", std::move(waits)}, {"circle", panel_.stuck.circle}};
  }

  const Panel& panel_;
  const Timeline& timeline_;
  Reasons reasons_;
  std::int64_t tick_;
  std::vector<trace::Cause> causes_;  // in the order in which they occur in idle_of()
};

}  // namespace

std::string panel_data(const Panel& panel) { return PanelData(panel).json(); }

}  // namespace ripeline::view
