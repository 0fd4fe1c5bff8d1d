// The data of the page are one JSON object: title, panels. Of a panel tables as rows (ops, lanes,
// uses, pools, resources), and for each row of the timeline its tasks in base64, so that millions
// of them need about ten bytes each; the two rows of an engine have a `half`, 0 and 1. A task is a
// list of numbers (LEB128; signed ones zigzag), times in ticks of `tick` nanoseconds, the greatest
// that divides them all:
//   time since the end of the task before it; its duration; its lane, from the row's first;
//   its microbatch, less the one after the lane's last (signed); its step, less the last's
//   (signed); why it waited: Reason::why, plus 7 * (the pool + 1) if it is room; unless that is
//   `nothing`, or `engine` and it is the task before it in its row, of an engine that has but one:
//   the other task's lane, and its microbatch less its own (signed); unless it is `nothing`: how
//   long before its start that came.
#include "view/html.h"

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

struct PagePart {
  std::string_view name;
  std::string_view text;
};
constexpr PagePart kPage[] = {
#include "page.inc"
};

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

  Json json() {
    const core::ProgramFacts& facts = timeline_.facts();
    Json json = {
        {"title", panel_.title},
        {"unit",
         {{"name", timeline_.run().unit.name}, {"nanoseconds", timeline_.run().unit.nanoseconds}}},
        {"length", (timeline_.end() - timeline_.begin()).count()},
        {"tick", tick_},
        {"microbatches", timeline_.run().microbatches},
        {"steps", timeline_.last_step() - timeline_.first_step() + 1},
        {"firstStep", timeline_.first_step()}};
    add_tables(json, facts);
    Json rows = Json::array();
    for (const Row& row : timeline_.rows()) {
      rows.push_back({{"name", name_of(row)},
                      {"rank", row.rank},
                      {"count", row.end - row.first},
                      {"firstLane", facts.lanes_of(row.rank).first},
                      {"data", data_of(row)}});
      if (is_half(row)) rows.back()["half"] = row.second ? 1 : 0;
    }
    json["rows"] = std::move(rows);
    json["stuck"] = stuck();
    return json;
  }

 private:
  void add_tables(Json& json, const core::ProgramFacts& facts) const {
    const std::vector<Colour> colours = op_colours(facts);
    Json ops = Json::array();
    for (std::size_t i = 0; i < facts.ops.size(); ++i) {
      ops.push_back({{"name", facts.ops[i].name},
                     {"colour", hex(colours[i])},
                     {"ink", hex(ink_on(colours[i]))}});
    }
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
    json["ops"] = std::move(ops);
    json["lanes"] = std::move(lanes);
    json["uses"] = std::move(uses);
    json["chunks"] = chunks;
    json["resources"] = std::move(resources);
    json["pools"] = std::move(pools);
  }

  // In each period, and then the period.
  static Json microbatches_of(const core::Share& share) {
    Json list = Json::array();
    for (int k = 0; k < share.size(); ++k) list.push_back(share.microbatch(k));
    list.push_back(share.period);
    return list;
  }

  [[nodiscard]] bool is_half(const Row& row) const {
    return timeline_.rows_of_engine(row).size() > 1;
  }

  // Divides every time of a task, and when what it waited for came.
  std::int64_t tick() {
    std::int64_t all = 0;
    for (int id = 0; id < static_cast<int>(timeline_.boxes().size()); ++id) {
      const Box& b = timeline_.box(id);
      all = std::gcd(all, (b.start - timeline_.begin()).count());
      all = std::gcd(all, (b.end - b.start).count());
      all = std::gcd(all, (b.start - reasons_.of(id).at).count());
      if (all == 1) break;
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
    for (const Wait& wait : panel_.stuck.waits) {
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
};

// Inside a script element: nothing that ends it.
std::string script_safe(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string html(const std::vector<Panel>& panels) {
  Json data = {{"title", "ripeline"}, {"panels", Json::array()}};
  std::string title;
  for (const Panel& panel : panels) {
    title += (title.empty() ? "" : " | ") + panel.title;
    data["panels"].push_back(PanelData(panel).json());
  }
  data["title"] =
      panels.size() == 1 ? title : fmt::format("{} schedules on one axis", panels.size());
  const std::string_view page = kPage[0].text;
  constexpr std::string_view kTitle = "@TITLE@";
  constexpr std::string_view kData = "@DATA@";
  const std::size_t at_title = page.find(kTitle);
  const std::size_t at_data = page.find(kData);
  std::string text(page.substr(0, at_title));
  text += escaped(title);
  text += page.substr(at_title + kTitle.size(), at_data - at_title - kTitle.size());
  text += script_safe(data.dump(-1, ' ', false, Json::error_handler_t::replace));
  text += page.substr(at_data + kData.size());
  return text;
}

}  // namespace ripeline::view
