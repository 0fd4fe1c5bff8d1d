#include "spec/elaborate/stages.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "spec/order_runs.h"

namespace ripeline::spec::elaboration {
namespace {

constexpr std::size_t kMostGroups = 1000;

struct Group {
  std::string name;
  int first = 0;
  int last = 0;
};

std::vector<Group> count_stages(Work& work) {
  const ast::Stages& written = *work.stages.node;
  const Values values = param_values(work);
  std::vector<Group> groups;
  if (written.groups.size() > kMostGroups) {
    work.error("too-many-groups", fmt::format("more than {} groups of stages", kMostGroups),
               "use fewer groups", work.stages.span);
    return groups;
  }
  std::int64_t total = 0;
  for (const ast::StageGroup& group : written.groups) {
    for (const Group& earlier : groups) {
      if (earlier.name != group.name.text) continue;
      work.error("duplicate-group", fmt::format("group '{}' is declared twice", group.name.text),
                 "choose another name", group.name.span);
    }
    const auto count = integer_of(work, group.count, values);
    if (!count) continue;
    if (*count < 1) {
      work.error("stages-below-one", fmt::format("{} stages make no pipeline", *count),
                 "the fewest is 1", group.count.span);
      continue;
    }
    if (*count > work.options.most_lanes - total) {
      work.error("too-many-stages", fmt::format("more than {} stages", work.options.most_lanes),
                 "use fewer stages", group.count.span);
      continue;
    }
    groups.push_back(
        {group.name.text, static_cast<int>(total), static_cast<int>(total + *count - 1)});
    total += *count;
  }
  work.program.stages.resize(static_cast<std::size_t>(total));
  return groups;
}

const Group* find_group(Work& work, const std::vector<Group>& groups, const ast::Name& name) {
  Names names;
  for (const Group& group : groups) {
    if (group.name == name.text) return &group;
    if (!group.name.empty()) names.push_back(group.name);
  }
  work.error("edges-unknown-group", fmt::format("no group of stages is called '{}'", name.text),
             choices("groups", name.text, names), name.span);
  return nullptr;
}

// Searches depth first from `at`; returns true if it finds a cycle, which then is in `path`.
bool find_cycle(const std::vector<std::vector<std::size_t>>& next, std::size_t at,
                std::vector<int>& state, std::vector<std::size_t>& path) {
  state[at] = 1;
  path.push_back(at);
  for (const std::size_t to : next[at]) {
    if (state[to] == 1) {
      path.erase(path.begin(), std::find(path.begin(), path.end(), to));
      return true;
    }
    if (state[to] == 0 && find_cycle(next, to, state, path)) return true;
  }
  state[at] = 2;
  path.pop_back();
  return false;
}

void check_acyclic(Work& work, const std::vector<Group>& groups,
                   const std::vector<std::vector<std::size_t>>& next) {
  std::vector<int> state(groups.size(), 0);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<std::size_t> path;
    if (state[i] != 0 || !find_cycle(next, i, state, path)) continue;
    path.push_back(path.front());
    Names names;
    for (const std::size_t group : path) names.push_back(groups[group].name);
    work.error("edges-cycle", fmt::format("the groups form a cycle: {}", fmt::join(names, " -> ")),
               "stages must form a graph without cycles", work.edges.back().span);
    return;
  }
}

void link_stages(Work& work, const std::vector<Group>& groups) {
  std::vector<Stage>& stages = work.program.stages;
  const auto link = [&](int from, int to) {
    stages[static_cast<std::size_t>(from)].next.push_back(to);
    stages[static_cast<std::size_t>(to)].prev.push_back(from);
  };
  for (const Group& group : groups) {
    for (int s = group.first; s < group.last; ++s) link(s, s + 1);
  }
  std::vector<std::vector<std::size_t>> next(groups.size());
  for (const auto& item : work.edges) {
    for (const ast::GroupEdge& edge : item.node->edges) {
      const Group* from = find_group(work, groups, edge.from);
      const Group* to = find_group(work, groups, edge.to);
      if (from == nullptr || to == nullptr) continue;
      auto& targets = next[static_cast<std::size_t>(from - groups.data())];
      const auto target = static_cast<std::size_t>(to - groups.data());
      if (std::find(targets.begin(), targets.end(), target) != targets.end()) {
        work.error("duplicate-edge", fmt::format("{} -> {} is written twice", from->name, to->name),
                   "remove one of them", edge.to.span);
        continue;
      }
      targets.push_back(target);
      link(from->last, to->first);
    }
  }
  check_acyclic(work, groups, next);
  for (Stage& stage : stages) {
    std::sort(stage.prev.begin(), stage.prev.end());
    std::sort(stage.next.begin(), stage.next.end());
  }
}

void assign_ranks(Work& work) {
  const Expr& place = work.place.node->rank;
  std::vector<Stage>& stages = work.program.stages;
  Values values = param_values(work);
  values.set("stages", static_cast<std::int64_t>(stages.size()));
  int largest = -1;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    values.set("s", static_cast<std::int64_t>(s));
    const auto rank = integer_of(work, place, values, fmt::format(", at stage {}", s));
    if (!rank) return;
    if (*rank < 0) {
      work.error("place-negative", fmt::format("stage {} is placed on rank {}", s, *rank),
                 "ranks are counted from 0", place.span);
      return;
    }
    if (*rank >= kMostRanks) {
      work.error("too-many-ranks", fmt::format("stage {} is placed on rank {}", s, *rank),
                 fmt::format("the most ranks are {}", kMostRanks), place.span);
      return;
    }
    stages[s].rank = static_cast<int>(*rank);
    largest = std::max(largest, stages[s].rank);
  }
  work.program.ranks = largest + 1;
}

void check_chunks(Work& work, const ast::Param& param) {
  const auto declared = param_values(work).lookup()("chunks");
  for (std::size_t r = 0; declared && r < work.rank_stages.size(); ++r) {
    const auto chunks = static_cast<std::int64_t>(work.rank_stages[r].size());
    if (chunks == 0 || chunks == declared->numerator) continue;  // 0 has its own error
    work.error("chunks-mismatch",
               fmt::format("chunks is {}, but {} stage{} placed on rank {}", declared->numerator,
                           chunks, chunks == 1 ? " is" : "s are", r),
               "`chunks`, if declared, must be the number of stages of each rank", param.name.span);
    return;
  }
}

void check_ranks(Work& work) {
  Program& program = work.program;
  for (const auto& param : work.params) {
    if (param.node->name.text == "chunks") check_chunks(work, *param.node);
    if (param.node->name.text != "ranks") continue;
    const auto declared = param_values(work).lookup()("ranks");
    if (declared && declared->numerator != program.ranks) {
      work.error("ranks-mismatch",
                 fmt::format("ranks is {}, but the stages are placed on ranks 0 .. {}",
                             declared->numerator, program.ranks - 1),
                 "`ranks`, if declared, must be one more than the largest rank placed on",
                 param.node->name.span);
    }
  }
  for (std::size_t r = 0; r < work.rank_stages.size(); ++r) {
    if (!work.rank_stages[r].empty()) continue;
    work.error("rank-without-stage", fmt::format("rank {} has no stage", r),
               fmt::format("stages are placed up to rank {}", program.ranks - 1),
               work.place.node->rank.span);
    return;
  }
}

}  // namespace

void place_stages(Work& work) {
  const std::vector<Group> groups = count_stages(work);
  if (work.failed()) return;
  link_stages(work, groups);
  assign_ranks(work);
  if (work.failed()) return;
  work.rank_stages = stages_by_rank(work.program);
  for (const std::vector<int>& own : work.rank_stages) {
    for (std::size_t chunk = 0; chunk < own.size(); ++chunk) {
      work.program.stages[static_cast<std::size_t>(own[chunk])].chunk = static_cast<int>(chunk);
    }
  }
  check_ranks(work);
}

}  // namespace ripeline::spec::elaboration
