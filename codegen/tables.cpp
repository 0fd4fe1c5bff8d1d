#include "codegen/parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/printer.h"

namespace ripeline::codegen {
namespace {

using spec::Program;

// A table with a row for each of the values.
template <class Values, class Row>
std::string table_of(const char* type, const std::string& name, const char* comment,
                     const Values& values, const Row& row) {
  std::vector<std::string> rows;
  for (const auto& value : values) rows.push_back(row(value));
  return array(type, name, comment, wrap(rows, kTableWidth));
}

// Writes rows by rank. The rows of each rank begin on a new line.
class RowsByRank {
 public:
  explicit RowsByRank(const core::ProgramFacts& facts)
      : facts_(facts), rows_(static_cast<std::size_t>(facts.ranks)) {}
  void add(core::LaneId lane, std::string row) {
    at(rows_, facts_.lanes[static_cast<std::size_t>(lane)].rank).push_back(std::move(row));
  }
  [[nodiscard]] std::string text() const {
    std::vector<std::string> texts;
    for (const std::vector<std::string>& rows : rows_) {
      if (!rows.empty()) texts.push_back(wrap(rows, kTableWidth));
    }
    return lines(texts);
  }

 private:
  const core::ProgramFacts& facts_;
  std::vector<std::vector<std::string>> rows_;
};

std::string op_tables(const core::ProgramFacts& facts) {
  std::string constants;
  int op = 0;
  for (const core::OpFacts& o : facts.ops) {
    constants += fmt::format("inline constexpr int k{} = {};\n", o.name, op++);
  }
  const bool sequential = std::any_of(facts.ops.begin(), facts.ops.end(),
                                      [](const core::OpFacts& o) { return o.sequential; });
  return "namespace ops {\n" + constants + "}  // namespace ops\n\n" +
         table_of("core::OpFacts", "kOps",
                  sequential ? "Name, kind, whether its tasks start one after another (if so)."
                             : "Name, kind.",
                  facts.ops, [](const core::OpFacts& o) {
                    return fmt::format("{{{}, core::OpKind::{}{}}}", quoted(o.name),
                                       name_of(o.kind), o.sequential ? ", true" : "");
                  });
}

// The name of the table of a long share, which has the number of the first lane with this share.
std::string words_name(const core::ProgramFacts& facts, const core::Share& share) {
  const auto first = std::find_if(facts.lanes.begin(), facts.lanes.end(),
                                  [&](const core::LaneFacts& lane) { return lane.share == share; });
  return fmt::format("kShareOfLane{}", first - facts.lanes.begin());
}

std::string share_tables(const core::ProgramFacts& facts) {
  std::string text;
  for (std::size_t lane = 0; lane < facts.lanes.size(); ++lane) {
    const core::Share& share = facts.lanes[lane].share;
    const std::string name = fmt::format("kShareOfLane{}", lane);
    if (!share.is_long() || words_name(facts, share) != name) continue;
    text += table_of(
        "core::ShareWord", name,
        "64 microbatches: a bit for each that the lane has, and how many come before.",
        std::span(share.words, static_cast<std::size_t>(share.word_count())),
        [](const core::ShareWord& w) { return fmt::format("{{{:#x}, {}}}", w.bits, w.before); });
  }
  return text;
}

// The end of a lane's row: `once`, or its share if that is not every microbatch.
std::string tasks_text(const core::ProgramFacts& facts, const core::LaneFacts& lane) {
  if (lane.once) return ", true";
  if (lane.share.is_all()) return "";
  if (lane.share.is_long()) {
    return fmt::format(", false, core::Share::of_words({}, {})", lane.share.period,
                       words_name(facts, lane.share));
  }
  return fmt::format(", false, {{{}, {:#x}}}", lane.share.period, lane.share.remainders);
}

std::string lane_table(const Program& program, const core::ProgramFacts& facts) {
  std::vector<std::string> ranks;
  for (int rank = 0; rank < facts.ranks; ++rank) {
    const auto [first, end] = facts.lanes_of(rank);
    if (first == end) continue;
    std::string names = fmt::format("// Rank {}, from lane {}:", rank, first);
    std::vector<std::string> rows;
    for (core::LaneId lane = first; lane < end; ++lane) {
      const core::LaneFacts& l = facts.lanes[static_cast<std::size_t>(lane)];
      names += " " + program.lane_name(lane);
      rows.push_back(fmt::format("{{{}, {}, {}, {}, core::Engine::{}{}}}",
                                 op_constant(program, l.op), l.stage, l.rank, l.chunk,
                                 name_of(l.engine), tasks_text(facts, l)));
    }
    ranks.push_back(names + "\n" + wrap(rows, kTableWidth));
  }
  const bool once = std::any_of(facts.lanes.begin(), facts.lanes.end(),
                                [](const core::LaneFacts& lane) { return lane.once; });
  const bool shares = std::any_of(facts.lanes.begin(), facts.lanes.end(),
                                  [](const core::LaneFacts& lane) { return !lane.share.is_all(); });
  std::string comment = "Op, stage, rank, chunk, engine";
  if (once || shares) comment += ", once (if so)";
  if (shares) comment += ", its share: a period, and a bit for each remainder";
  return share_tables(facts) + array("core::LaneFacts", "kLanes", comment + ".", lines(ranks));
}

// The row of an edge: {0, 6}, with more fields if the edge has more than two lanes.
std::string edge_row(const core::EdgeFacts& e) {
  std::string text = fmt::format("{{{}, {}", e.producer, e.consumer);
  const bool ordered = e.fifo || e.rendezvous || e.crosses_shares;
  if (ordered || e.inbox >= 0 || e.of != core::Of::same) {
    text += fmt::format(", core::Of::{}", name_of(e.of));
  }
  if (ordered || e.inbox >= 0) text += fmt::format(", {}", e.inbox);
  if (ordered) text += e.fifo ? ", true" : ", false";
  if (e.rendezvous || e.crosses_shares) text += e.rendezvous ? ", true" : ", false";
  if (e.crosses_shares) text += ", true";
  return text + "}";
}

std::string edge_table(const core::ProgramFacts& facts) {
  RowsByRank rows(facts);
  for (const core::EdgeFacts& e : facts.edges) rows.add(e.consumer, edge_row(e));
  const bool plain = std::all_of(facts.edges.begin(), facts.edges.end(), [](const auto& e) {
    return e.is_one_to_one() && e.inbox < 0 && !e.fifo && !e.rendezvous;
  });
  const bool crosses =
      !plain && std::any_of(facts.edges.begin(), facts.edges.end(),
                            [](const core::EdgeFacts& e) { return e.crosses_shares; });
  std::string columns = "The producer's lane, the consumer's";
  if (!plain) columns += " (then which tasks, inbox, fifo, rendezvous";
  if (crosses) columns += ",\n// whether they have different shares";
  if (!plain) columns += ")";
  const char* end = plain || crosses ? "; by" : ";\n// by";
  return array("core::EdgeFacts", "kEdges", columns + end + " the consumer's rank.", rows.text());
}

std::string inbox_table(const core::ProgramFacts& facts) {
  return table_of("core::InboxFacts", "kInboxes",
                  "Channel (empty: of one edge), rank, stage (-1: of the rank), slots.",
                  facts.inboxes, [](const core::InboxFacts& i) {
                    return fmt::format("{{{}, {}, {}, {}}}", quoted(i.channel), i.rank, i.stage,
                                       i.slots);
                  });
}

std::string pair_table(const Program& program, const core::ProgramFacts& facts) {
  return table_of("core::PairFacts", "kPairs", "Ops whose tasks run beside each other.",
                  facts.pairs, [&](const core::PairFacts& p) {
                    return fmt::format("{{{}, {}}}", op_constant(program, p.first),
                                       op_constant(program, p.second));
                  });
}

std::string pool_table(const core::ProgramFacts& facts) {
  return table_of(
      "core::PoolFacts", "kPools",
      "Resource, unit, rank, stage (-1: of the rank), proved peak, capacity (-1: none).",
      facts.pools, [](const core::PoolFacts& p) {
        return fmt::format("{{{}, {}, {}, {}, {}, {}}}", quoted(p.resource), quoted(p.unit), p.rank,
                           p.stage, p.bound, p.capacity);
      });
}

std::string lane_ids(const std::string& name, const char* comment,
                     std::span<const core::LaneId> lanes) {
  return table_of("core::LaneId", name, comment, lanes,
                  [](core::LaneId lane) { return std::to_string(lane); });
}

std::string use_table(const core::ProgramFacts& facts) {
  RowsByRank rows(facts);
  for (const core::UseFacts& use : facts.uses) {
    const std::string leaving = use.leaving == 0 ? "" : fmt::format(", {}", use.leaving);
    rows.add(use.lane, fmt::format("{{{}, {}, {}, {}{}}}", use.lane, use.pool, use.acquires,
                                   use.releases, leaving));
  }
  return array(
      "core::UseFacts", "kUses",
      "Lane, pool, what a task acquires at its start, releases at its end, leaves free (if any).",
      rows.text());
}

// The fields of the facts that have their default values in most programs.
std::string rare_fields(const core::ProgramFacts& facts) {
  std::vector<std::string> texts;
  const auto add = [&](bool present, const std::string& text) {
    if (present) texts.push_back(text + ",");
  };
  add(!facts.inboxes.empty(), ".inboxes = kInboxes");
  add(facts.inputs == core::InputOrder::pyramid, ".inputs = core::InputOrder::pyramid");
  add(!facts.pairs.empty(), ".pairs = kPairs");
  add(facts.members > 1, fmt::format(".members = {}", facts.members));
  add(facts.agree != core::Agree::none,
      fmt::format(".agree = core::Agree::{}", name_of(facts.agree)));
  add(!facts.collectives.empty(), ".collectives = kCollectives");
  add(facts.replicas > 1, fmt::format(".replicas = {}", facts.replicas));
  add(!facts.reductions.empty(), ".reductions = kReductions");
  const std::string dispatch = dispatch_facts(facts.dispatch);
  add(!dispatch.empty(), dispatch);
  add(facts.one_engine, ".one_engine = true");
  return lines(texts);
}

}  // namespace

std::string tables(const Outline& outline, const core::ProgramFacts& facts) {
  const Program& program = outline.program;
  std::string text;
  for (const std::string& each :
       {op_tables(facts), lane_table(program, facts), edge_table(facts), pool_table(facts),
        use_table(facts), inbox_table(facts), pair_table(program, facts),
        lane_ids("kCollectives", "Lanes whose tasks have collectives.", facts.collectives),
        lane_ids("kReductions", "Lanes on whose order the replicas agree.", facts.reductions),
        place_tables(program, facts.dispatch)}) {
    if (!each.empty()) text += each + "\n";
  }
  return text + fill(
                    R"(inline constexpr core::ProgramFacts facts = {
    .core_version = core::kCoreVersion,
    .name = $name$,
    .hash = 0x$hash$U,
    .proved = $proved$,
    .ranks = $ranks$,
    .stages = $stages$,
    .min_microbatches = $min$,
    .max_microbatches = $max$,$no_limit$
    .ops = kOps,
    .lanes = kLanes,
    .edges = $edges$,
    .pools = $pools$,
    .uses = $uses$,
    $rare$
};
)",
                    {{"name", quoted(facts.name)},
                     {"hash", spec::hash_text(facts.hash)},
                     {"proved", facts.proved ? "true" : "false"},
                     {"ranks", std::to_string(facts.ranks)},
                     {"stages", std::to_string(facts.stages)},
                     {"min", std::to_string(facts.min_microbatches)},
                     {"max", std::to_string(facts.max_microbatches)},
                     {"no_limit", facts.max_microbatches > 0 ? "" : "  // no limit"},
                     {"edges", facts.edges.empty() ? "{}" : "kEdges"},
                     {"pools", facts.pools.empty() ? "{}" : "kPools"},
                     {"uses", facts.uses.empty() ? "{}" : "kUses"},
                     {"rare", rare_fields(facts)}});
}

}  // namespace ripeline::codegen
