#include "codegen/tables.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/dispatch_text.h"
#include "codegen/outline.h"
#include "codegen/printer.h"

namespace ripeline::codegen {
namespace {

using spec::Program;

std::string array(const std::string& type, const std::string& name, const std::string& comment,
                  const std::string& rows) {
  if (rows.size() < 40 && rows.find('{') == std::string::npos) {
    return fmt::format("// {}\ninline constexpr {} {}[] = {{{}}};\n", comment, type, name,
                       rows.substr(0, rows.size() - 1));
  }
  return fill(R"(// $comment$
inline constexpr $type$ $name$[] = {
    $rows$
};
)",
              {{"comment", comment}, {"type", type}, {"name", name}, {"rows", rows}});
}

// Groups on lines of their own.
std::string grouped(const std::vector<std::vector<std::string>>& groups) {
  std::vector<std::string> texts;
  for (const auto& group : groups) {
    if (!group.empty()) texts.push_back(wrap(group, kTableWidth));
  }
  return lines(texts);
}

std::string op_tables(const core::ProgramFacts& facts) {
  std::vector<std::string> constants;
  std::vector<std::string> rows;
  for (const core::OpFacts& op : facts.ops) {
    constants.push_back(fmt::format("inline constexpr int k{} = {};", op.name, constants.size()));
    rows.push_back(fmt::format("{{{}, core::OpKind::{}{}}}", quoted(op.name), name_of(op.kind),
                               op.sequential ? ", true" : ""));
  }
  const bool sequential = std::any_of(facts.ops.begin(), facts.ops.end(),
                                      [](const core::OpFacts& op) { return op.sequential; });
  return fill(R"(namespace ops {
$constants$
}  // namespace ops

)",
              {{"constants", lines(constants)}}) +
         array("core::OpFacts", "kOps",
               sequential ? "Name, kind, whether its tasks start one after another (if so)."
                          : "Name, kind.",
               wrap(rows, kTableWidth));
}

// Shares of long periods, each once, by the number of the first lane that has it.
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
    std::vector<std::string> rows;
    for (int i = 0; i < share.word_count(); ++i) {
      rows.push_back(fmt::format("{{{:#x}, {}}}", share.words[i].bits, share.words[i].before));
    }
    text += array("core::ShareWord", name,
                  "64 microbatches: a bit for each that the lane has, and how many come before.",
                  wrap(rows, kTableWidth));
  }
  return text;
}

// The end of a lane's row: `once`, or its share, if it has not every microbatch.
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

// {0, 6}, and what the edge has beyond that.
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

// The lane's row of a table that is grouped by rank.
std::vector<std::string>& row_of(std::vector<std::vector<std::string>>& ranks,
                                 const core::ProgramFacts& facts, core::LaneId lane) {
  return at(ranks, facts.lanes[static_cast<std::size_t>(lane)].rank);
}

std::string edge_table(const core::ProgramFacts& facts) {
  std::vector<std::vector<std::string>> ranks(static_cast<std::size_t>(facts.ranks));
  for (const core::EdgeFacts& e : facts.edges) {
    row_of(ranks, facts, e.consumer).push_back(edge_row(e));
  }
  const bool crosses = std::any_of(facts.edges.begin(), facts.edges.end(),
                                   [](const core::EdgeFacts& e) { return e.crosses_shares; });
  const bool plain = std::all_of(facts.edges.begin(), facts.edges.end(), [](const auto& e) {
    return e.is_one_to_one() && e.inbox < 0 && !e.fifo && !e.rendezvous;
  });
  return array("core::EdgeFacts", "kEdges",
               plain     ? "The producer's lane, the consumer's; by the consumer's rank."
               : crosses ? "The producer's lane, the consumer's (then which tasks, inbox, fifo, "
                           "rendezvous,\n// whether they have different shares); by the consumer's "
                           "rank."
                         : "The producer's lane, the consumer's (then which tasks, inbox, fifo, "
                           "rendezvous);\n// by the consumer's rank.",
               grouped(ranks));
}

std::string inbox_table(const core::ProgramFacts& facts) {
  std::vector<std::string> rows;
  for (const core::InboxFacts& inbox : facts.inboxes) {
    rows.push_back(fmt::format("{{{}, {}, {}, {}}}", quoted(inbox.channel), inbox.rank, inbox.stage,
                               inbox.slots));
  }
  return array("core::InboxFacts", "kInboxes",
               "Channel (empty: of one edge), rank, stage (-1: of the rank), slots.",
               wrap(rows, kTableWidth));
}

std::string pair_table(const Program& program, const core::ProgramFacts& facts) {
  std::vector<std::string> rows;
  for (const core::PairFacts& pair : facts.pairs) {
    rows.push_back(fmt::format("{{{}, {}}}", op_constant(program, pair.first),
                               op_constant(program, pair.second)));
  }
  return array("core::PairFacts", "kPairs", "Ops whose tasks run beside each other.",
               wrap(rows, kTableWidth));
}

std::string lane_ids(const std::string& name, const std::string& comment,
                     std::span<const core::LaneId> lanes) {
  std::vector<std::string> rows;
  for (const core::LaneId lane : lanes) rows.push_back(std::to_string(lane));
  return array("core::LaneId", name, comment, wrap(rows, kTableWidth));
}

std::string pool_table(const core::ProgramFacts& facts) {
  std::vector<std::string> rows;
  for (const core::PoolFacts& p : facts.pools) {
    rows.push_back(fmt::format("{{{}, {}, {}, {}, {}, {}}}", quoted(p.resource), quoted(p.unit),
                               p.rank, p.stage, p.bound, p.capacity));
  }
  return array("core::PoolFacts", "kPools",
               "Resource, unit, rank, stage (-1: of the rank), proved peak, capacity (-1: none).",
               wrap(rows, kTableWidth));
}

std::string use_table(const core::ProgramFacts& facts) {
  std::vector<std::vector<std::string>> ranks(static_cast<std::size_t>(facts.ranks));
  for (const core::UseFacts& use : facts.uses) {
    row_of(ranks, facts, use.lane)
        .push_back(fmt::format("{{{}, {}, {}, {}{}}}", use.lane, use.pool, use.acquires,
                               use.releases,
                               use.leaving == 0 ? "" : fmt::format(", {}", use.leaving)));
  }
  return array(
      "core::UseFacts", "kUses",
      "Lane, pool, what a task acquires at its start, releases at its end, leaves free (if any).",
      grouped(ranks));
}

// The members' and the replicas' part of the facts.
std::string group_text(const core::ProgramFacts& facts) {
  std::vector<std::string> texts;
  if (facts.members > 1) texts.push_back(fmt::format(".members = {},", facts.members));
  if (facts.agree != core::Agree::none) {
    texts.push_back(fmt::format(".agree = core::Agree::{},", name_of(facts.agree)));
  }
  if (!facts.collectives.empty()) texts.emplace_back(".collectives = kCollectives,");
  if (facts.replicas > 1) texts.push_back(fmt::format(".replicas = {},", facts.replicas));
  if (!facts.reductions.empty()) texts.emplace_back(".reductions = kReductions,");
  return lines(texts);
}

std::string numbers(const std::string& name, const std::string& comment,
                    const std::vector<std::int64_t>& values) {
  std::vector<std::string> rows;
  for (const std::int64_t value : values) rows.push_back(std::to_string(value));
  return array("std::int64_t", name, comment, wrap(rows, kTableWidth));
}

}  // namespace

std::string tables(const Outline& outline, const core::ProgramFacts& facts) {
  const Program& program = outline.program;
  std::string text = op_tables(facts) + "\n" + lane_table(program, facts) + "\n";
  if (!facts.edges.empty()) text += edge_table(facts) + "\n";
  if (!facts.pools.empty()) text += pool_table(facts) + "\n";
  if (!facts.uses.empty()) text += use_table(facts) + "\n";
  if (!facts.inboxes.empty()) text += inbox_table(facts) + "\n";
  if (!facts.pairs.empty()) text += pair_table(program, facts) + "\n";
  if (!facts.collectives.empty()) {
    text +=
        lane_ids("kCollectives", "Lanes whose tasks have collectives.", facts.collectives) + "\n";
  }
  if (!facts.reductions.empty()) {
    text += lane_ids("kReductions", "Lanes on whose order the replicas agree.", facts.reductions) +
            "\n";
  }
  text += place_tables(outline, facts);
  text += fill(
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
    $inboxes$
    $inputs$
    $pairs$
    $group$
    $dispatch$
    $one_engine$
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
       {"inboxes", facts.inboxes.empty() ? "" : ".inboxes = kInboxes,"},
       {"inputs",
        facts.inputs == core::InputOrder::pyramid ? ".inputs = core::InputOrder::pyramid," : ""},
       {"pairs", facts.pairs.empty() ? "" : ".pairs = kPairs,"},
       {"group", group_text(facts)},
       {"dispatch", dispatch_facts(facts.dispatch)},
       {"one_engine", facts.one_engine ? ".one_engine = true," : ""}});
  return text;
}

std::string number_tables(const Outline& outline) {
  const Program& program = outline.program;
  std::string text;
  for (const BoundedResource& b : outline.bounded) {
    const spec::Resource& resource = at(program.resources, b.resource);
    text += fmt::format(
        "\n// The first pool of {}; the others follow, by {}.\n"
        "inline constexpr int kPool_{} = {};\n",
        resource.name, resource.per_rank ? "rank" : "stage", resource.name, b.first_pool);
    if (same(b.capacity)) continue;
    text += "\n" + numbers("kCapacity_" + resource.name,
                           fmt::format("The capacity of {}, by {}.", resource.name,
                                       resource.per_rank ? "rank" : "stage"),
                           b.capacity);
  }
  for (int op = 0; op < static_cast<int>(program.ops.size()); ++op) {
    const std::string& name = at(program.ops, op).name;
    for (const Room& room : at(outline.rooms, op)) {
      const std::string& resource = at(program.resources, room.resource).name;
      if (!same_at(outline, op, room.amount)) {
        text += "\n" + numbers(number_table(outline, "kAmount", op, room.resource),
                               fmt::format("The amount of {1} that {0} acquires, by stage.", name,
                                           resource),
                               room.amount);
      }
      if (!same_at(outline, op, room.leaving)) {
        text += "\n" +
                numbers(number_table(outline, "kLeaving", op, room.resource),
                        fmt::format("The room in {1} that {0} leaves, by stage.", name, resource),
                        room.leaving);
      }
    }
    for (const ReleaseTable& giving : at(outline.givings, op)) {
      const std::string& resource = at(program.resources, giving.resource).name;
      if (same_at(outline, op, giving.amount)) continue;
      text += "\n" +
              numbers(number_table(outline, "kRelease", op, giving.resource),
                      fmt::format("The amount of {1} that {0} releases, by stage.", name, resource),
                      giving.amount);
    }
  }
  return text;
}

}  // namespace ripeline::codegen
