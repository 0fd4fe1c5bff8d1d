// ProgramFacts as constexpr tables, and the numbers that differ between stages or ranks.
#include <algorithm>

#include <fmt/format.h>

#include "codegen/parts.h"
#include "codegen/printer.h"

namespace ripeline::codegen {
namespace {

using spec::Program;

constexpr std::size_t kWidth = 96;  // of a table's lines, without their indent

const char* name_of(spec::OpKind kind) {
  switch (kind) {
    case spec::OpKind::plain:
      return "plain";
    case spec::OpKind::forward:
      return "forward";
    case spec::OpKind::backward:
      return "backward";
    case spec::OpKind::backward_input:
      return "backward_input";
    case spec::OpKind::backward_weight:
      return "backward_weight";
    case spec::OpKind::reduce:
      return "reduce";
    case spec::OpKind::offload:
      return "offload";
    case spec::OpKind::reload:
      return "reload";
    case spec::OpKind::recompute:
      return "recompute";
    case spec::OpKind::user:
      return "user";
  }
  return "plain";
}

const char* name_of(spec::Engine engine) {
  switch (engine) {
    case spec::Engine::compute:
      return "compute";
    case spec::Engine::copy_out:
      return "copy_out";
    case spec::Engine::copy_in:
      return "copy_in";
  }
  return "compute";
}

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
    if (!group.empty()) texts.push_back(wrap(group, kWidth));
  }
  return lines(texts);
}

std::string op_tables(const Program& program) {
  std::vector<std::string> constants;
  std::vector<std::string> rows;
  for (int op = 0; op < static_cast<int>(program.ops.size()); ++op) {
    const spec::Op& o = at(program.ops, op);
    constants.push_back(fmt::format("inline constexpr int k{} = {};", o.name, op));
    rows.push_back(fmt::format("{{{}, core::OpKind::{}}}", quoted(o.name), name_of(o.kind)));
  }
  return fill(R"(namespace ops {
$constants$
}  // namespace ops

)",
              {{"constants", lines(constants)}}) +
         array("core::OpFacts", "kOps", "Name, kind.", wrap(rows, kWidth));
}

// Of a lane that has not one task for each microbatch.
std::string tasks_text(const spec::Lane& lane) {
  if (lane.once) return ", true";
  if (lane.share.is_all()) return "";
  return fmt::format(", false, {{{}, {:#x}}}", lane.share.period, lane.share.remainders);
}

std::string lane_table(const Program& program) {
  std::vector<std::string> ranks;
  for (int rank = 0; rank < program.ranks; ++rank) {
    const int first = program.first_lane(rank);
    const int end = program.first_lane(rank + 1);
    if (first == end) continue;
    std::string names = fmt::format("// Rank {}, from lane {}:", rank, first);
    std::vector<std::string> rows;
    for (int lane = first; lane < end; ++lane) {
      const spec::Lane& l = at(program.lanes, lane);
      names += " " + program.lane_name(lane);
      rows.push_back(fmt::format("{{{}, {}, {}, {}, core::Engine::{}{}}}",
                                 op_constant(program, l.op), l.stage, l.rank, l.chunk,
                                 name_of(l.engine), tasks_text(l)));
    }
    ranks.push_back(names + "\n" + wrap(rows, kWidth));
  }
  const bool once = std::any_of(program.lanes.begin(), program.lanes.end(),
                                [](const spec::Lane& lane) { return lane.once; });
  const bool shares = std::any_of(program.lanes.begin(), program.lanes.end(),
                                  [](const spec::Lane& lane) { return !lane.share.is_all(); });
  std::string comment = "Op, stage, rank, chunk, engine";
  if (once || shares) comment += ", once (if so)";
  if (shares) comment += ", its share: a period, and a bit for each remainder";
  return array("core::LaneFacts", "kLanes", comment + ".", lines(ranks));
}

// {0, 6}, and what the edge has beyond that.
std::string edge_row(const Program& program, const spec::Edge& e) {
  const char* of = e.of == spec::Of::same ? "same" : e.of == spec::Of::all ? "all" : "before";
  std::string text = fmt::format("{{{}, {}", e.producer, e.consumer);
  const bool crosses = program.crosses_shares(e);
  const bool ordered = e.fifo || e.rendezvous || crosses;
  if (ordered || e.inbox >= 0 || e.of != spec::Of::same) text += fmt::format(", core::Of::{}", of);
  if (ordered || e.inbox >= 0) text += fmt::format(", {}", e.inbox);
  if (ordered) text += e.fifo ? ", true" : ", false";
  if (e.rendezvous || crosses) text += e.rendezvous ? ", true" : ", false";
  if (crosses) text += ", true";
  return text + "}";
}

std::string edge_table(const Program& program) {
  std::vector<std::vector<std::string>> ranks(static_cast<std::size_t>(program.ranks));
  for (const spec::Edge& e : program.edges) {
    ranks[static_cast<std::size_t>(at(program.lanes, e.consumer).rank)].push_back(
        edge_row(program, e));
  }
  const bool crosses = std::any_of(program.edges.begin(), program.edges.end(),
                                   [&](const spec::Edge& e) { return program.crosses_shares(e); });
  const bool plain =
      !crosses && std::all_of(program.edges.begin(), program.edges.end(), [](const spec::Edge& e) {
        return e.of == spec::Of::same && e.inbox < 0 && !e.fifo && !e.rendezvous;
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

std::string inbox_table(const Program& program) {
  std::vector<std::string> rows;
  for (const spec::Inbox& inbox : program.inboxes) {
    rows.push_back(fmt::format("{{{}, {}, {}, {}}}", quoted(inbox.channel), inbox.rank, inbox.stage,
                               inbox.slots));
  }
  return array("core::InboxFacts", "kInboxes",
               "Channel (empty: of one edge), rank, stage (-1: of the rank), slots.",
               wrap(rows, kWidth));
}

std::string pair_table(const Program& program) {
  std::vector<std::string> rows;
  for (const spec::Pair& pair : program.pairs) {
    rows.push_back(fmt::format("{{{}, {}}}", op_constant(program, pair.first),
                               op_constant(program, pair.second)));
  }
  return array("core::PairFacts", "kPairs", "Ops whose tasks run beside each other.",
               wrap(rows, kWidth));
}

std::string pool_table(const Program& program, const Peaks* peaks) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < program.pools.size(); ++i) {
    const spec::Pool& p = program.pools[i];
    const spec::Resource& resource = at(program.resources, p.resource);
    const std::int64_t bound = peaks != nullptr ? peaks->at(i).value_or(-1) : -1;
    rows.push_back(fmt::format("{{{}, {}, {}, {}, {}, {}}}", quoted(resource.name),
                               quoted(resource.unit), p.rank, p.stage, bound,
                               p.capacity.value_or(-1)));
  }
  return array("core::PoolFacts", "kPools",
               "Resource, unit, rank, stage (-1: of the rank), proved peak, capacity (-1: none).",
               wrap(rows, kWidth));
}

std::string use_table(const Program& program) {
  std::vector<std::vector<std::string>> ranks(static_cast<std::size_t>(program.ranks));
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    const spec::Lane& l = program.lanes[lane];
    std::vector<std::string>& rows = ranks[static_cast<std::size_t>(l.rank)];
    for (const spec::Use& use : spec::uses_of(l)) {
      rows.push_back(fmt::format("{{{}, {}, {}, {}{}}}", lane, use.pool, use.acquires, use.releases,
                                 use.leaving == 0 ? "" : fmt::format(", {}", use.leaving)));
    }
  }
  const std::string text = grouped(ranks);
  if (text.empty()) return text;
  return array(
      "core::UseFacts", "kUses",
      "Lane, pool, what a task acquires at its start, releases at its end, leaves free (if any).",
      text);
}

std::string numbers(const std::string& name, const std::string& comment,
                    const std::vector<std::int64_t>& values) {
  std::vector<std::string> rows;
  for (const std::int64_t value : values) rows.push_back(std::to_string(value));
  return array("std::int64_t", name, comment, wrap(rows, kWidth));
}

}  // namespace

std::string tables(const Outline& outline, const Peaks* peaks) {
  const Program& program = outline.program;
  std::string text = op_tables(program) + "\n" + lane_table(program) + "\n";
  if (!program.edges.empty()) text += edge_table(program) + "\n";
  if (!program.pools.empty()) text += pool_table(program, peaks) + "\n";
  const std::string uses = use_table(program);
  if (!uses.empty()) text += uses + "\n";
  if (!program.inboxes.empty()) text += inbox_table(program) + "\n";
  if (!program.pairs.empty()) text += pair_table(program) + "\n";
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
};
)",
      {{"name", quoted(program.name)},
       {"hash", spec::hash_text(program.hash)},
       {"proved", peaks != nullptr ? "true" : "false"},
       {"ranks", std::to_string(program.ranks)},
       {"stages", std::to_string(program.stages.size())},
       {"min", std::to_string(program.microbatches.min)},
       {"max", std::to_string(program.microbatches.max.value_or(0))},
       {"no_limit", program.microbatches.max ? "" : "  // no limit"},
       {"edges", program.edges.empty() ? "{}" : "kEdges"},
       {"pools", program.pools.empty() ? "{}" : "kPools"},
       {"uses", uses.empty() ? "{}" : "kUses"},
       {"inboxes", program.inboxes.empty() ? "" : ".inboxes = kInboxes,"},
       {"inputs",
        program.inputs == spec::InputOrder::pyramid ? ".inputs = core::InputOrder::pyramid," : ""},
       {"pairs", program.pairs.empty() ? "" : ".pairs = kPairs,"}});
  return text;
}

std::string number_tables(const Outline& outline) {
  const Program& program = outline.program;
  std::string text;
  for (const Bounded& b : outline.bounded) {
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
                               fmt::format("What {} acquires of {}, by stage.", name, resource),
                               room.amount);
      }
      if (!same_at(outline, op, room.leaving)) {
        text += "\n" + numbers(number_table(outline, "kLeaving", op, room.resource),
                               fmt::format("What {} leaves of {}, by stage.", name, resource),
                               room.leaving);
      }
    }
    for (const Giving& giving : at(outline.givings, op)) {
      const std::string& resource = at(program.resources, giving.resource).name;
      if (same_at(outline, op, giving.amount)) continue;
      text += "\n" + numbers(number_table(outline, "kRelease", op, giving.resource),
                             fmt::format("What {} releases of {}, by stage.", name, resource),
                             giving.amount);
    }
  }
  return text;
}

}  // namespace ripeline::codegen
