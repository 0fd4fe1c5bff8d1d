#include "trace/about.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace ripeline::trace {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "ripeline.trace/2";
constexpr std::array kSourceWords = {"simulated", "emulated", "trained"};

template <class Enum, std::size_t n>
const char* word(const std::array<const char*, n>& words, Enum value) {
  return words[static_cast<std::size_t>(value)];
}

template <class Enum, std::size_t n>
Enum value_of(const std::array<const char*, n>& words, const json& text) {
  for (std::size_t i = 0; i < n; ++i) {
    if (text.get_ref<const std::string&>() == words[i]) return static_cast<Enum>(i);
  }
  throw std::runtime_error("'" + text.get<std::string>() + "' is not known");
}

std::string hash_text(std::uint64_t hash) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

// A share as JSON: the period, then the remainders.
json share_of(const core::Share& share) {
  json row = {share.period};
  for (int m = 0; m < share.period; ++m) {
    if (share.has(m)) row.push_back(m);
  }
  return row;
}

// Owns the words to which shares with long periods refer.
using ShareWords = std::deque<std::vector<core::ShareWord>>;

// `count` limits long periods. It is the program's only microbatch count, or 0 if it has several.
core::Share share_of(const json& row, int count, ShareWords& owned) {
  const int period = row.at(0);
  const int most = std::clamp(count, core::Share::kLongestPeriod, core::Share::kMostPeriod);
  require(period >= 1 && period <= most && row.size() > 1, "a lane has no such share");
  std::vector<bool> has(static_cast<std::size_t>(period));
  for (std::size_t i = 1; i < row.size(); ++i) {
    const int m = row[i];
    require(m >= 0 && m < period, "a lane has no such share");
    has[static_cast<std::size_t>(m)] = true;
  }
  const auto has_it = [&has](int m) { return has[static_cast<std::size_t>(m)]; };
  std::vector<core::ShareWord> words = core::long_words(period, has_it);
  if (period <= core::Share::kLongestPeriod) return {period, words.front().bits};
  return core::Share::of_words(period, owned.emplace_back(std::move(words)).data());
}

template <class Container>
void require_index(std::int64_t i, const Container& of, const char* what) {
  require(i >= 0 && static_cast<std::size_t>(i) < of.size(), what);
}

// Checks the ids that users of the facts use as indices.
void check(const core::ProgramFacts& f) {
  require(f.ranks >= 1 && f.stages >= 0, "there are no ranks");
  int rank = 0;
  for (const core::LaneFacts& lane : f.lanes) {
    require_index(lane.op, f.ops, "a lane has no such op");
    require(lane.rank >= rank && lane.rank < f.ranks, "lanes are not rank by rank");
    require(lane.stage >= 0 && lane.stage < f.stages, "a lane has no such stage");
    rank = lane.rank;
  }
  core::LaneId consumer = 0;
  for (const core::EdgeFacts& edge : f.edges) {
    require_index(edge.producer, f.lanes, "an edge has no such producer");
    require_index(edge.consumer, f.lanes, "an edge has no such consumer");
    if (edge.inbox != -1) require_index(edge.inbox, f.inboxes, "an edge has no such inbox");
    require(edge.consumer >= consumer, "edges are not by consumer");
    consumer = edge.consumer;
  }
  for (const core::PairFacts& pair : f.pairs) {
    require_index(pair.first, f.ops, "a pair has no such op");
    require_index(pair.second, f.ops, "a pair has no such op");
  }
  require(f.members >= 1, "a rank has no members");
  for (const core::LaneId lane : f.collectives) {
    require_index(lane, f.lanes, "no such lane has collectives");
  }
  require(f.replicas >= 1, "there are no replicas");
  for (const core::LaneId lane : f.reductions) {
    require_index(lane, f.lanes, "replicas agree on no such lane");
  }
  for (const core::PoolFacts& pool : f.pools) {
    require(pool.rank >= 0 && pool.rank < f.ranks, "a pool has no such rank");
  }
  core::LaneId lane = 0;
  for (const core::UseFacts& use : f.uses) {
    require_index(use.lane, f.lanes, "a use has no such lane");
    require_index(use.pool, f.pools, "a use has no such pool");
    require(use.lane >= lane, "uses are not by lane");
    lane = use.lane;
  }
}

}  // namespace

const char* name_of(Source source) { return word(kSourceWords, source); }

std::string About::identity() const {
  return (part ? "run " + hash_text(part->run) + " of program " : "program ") +
         std::string(facts().name) + ", hash " + hash_text(facts().hash);
}

std::string About::to_json() const {
  const core::ProgramFacts& f = facts();
  json about = {{"schema", kSchema},
                {"program", std::string(f.name)},
                {"hash", hash_text(f.hash)},
                {"proved", f.proved},
                {"ranks", f.ranks},
                {"stages", f.stages},
                {"microbatches", run.microbatches},
                {"range", {f.min_microbatches, f.max_microbatches}},
                {"source", name_of(run.source)},
                {"unit", {{"name", run.unit.name}, {"nanoseconds", run.unit.nanoseconds}}},
                {"costs", run.costs}};
  if (!run.params.empty()) about["params"] = run.params;
  if (!run.dispatch.empty()) about["dispatch"] = run.dispatch;
  if (f.inputs == core::InputOrder::pyramid) about["inputs"] = "pyramid";
  if (part) about["part"] = {{"rank", part->rank}, {"run", hash_text(part->run)}};
  about["seed"] = run.seed ? json(*run.seed) : json();
  for (const char* table : {"ops", "lanes", "edges", "pools", "uses", "inboxes"}) {
    about[table] = json::array();
  }
  for (const core::OpFacts& op : f.ops) {
    json row = {std::string(op.name), word(core::kOpKindNames, op.kind)};
    if (op.sequential) row.push_back(true);
    about["ops"].push_back(std::move(row));
  }
  for (const core::LaneFacts& l : f.lanes) {
    json row = {l.op, l.stage, l.rank, l.chunk, word(core::kEngineNames, l.engine), l.once};
    if (!l.share.is_all()) row.push_back(share_of(l.share));
    about["lanes"].push_back(std::move(row));
  }
  for (const core::EdgeFacts& e : f.edges) {
    about["edges"].push_back(
        {e.producer, e.consumer, word(core::kOfNames, e.of), e.inbox, e.fifo, e.rendezvous});
  }
  for (const core::PoolFacts& p : f.pools) {
    about["pools"].push_back(
        {std::string(p.resource), std::string(p.unit), p.rank, p.stage, p.bound, p.capacity});
  }
  for (const core::UseFacts& u : f.uses) {
    about["uses"].push_back({u.lane, u.pool, u.acquires, u.releases, u.leaving});
  }
  for (const core::InboxFacts& i : f.inboxes) {
    about["inboxes"].push_back({std::string(i.channel), i.rank, i.stage, i.slots});
  }
  for (const core::PairFacts& pair : f.pairs) about["pairs"].push_back({pair.first, pair.second});
  if (f.members > 1) {
    about["members"] = f.members;
    about["agree"] = word(core::kAgreeNames, f.agree);
    about["collectives"] = f.collectives;
  }
  if (f.replicas > 1) {
    about["replicas"] = f.replicas;
    about["reductions"] = f.reductions;
  }
  return about.dump(-1, ' ', false, json::error_handler_t::replace);
}

namespace {

void read_tables(const json& about, core::ProgramFacts& f, std::vector<core::OpFacts>& ops,
                 std::vector<core::LaneFacts>& lanes, std::vector<core::EdgeFacts>& edges,
                 std::vector<core::UseFacts>& uses, ShareWords& words) {
  const int count = f.min_microbatches == f.max_microbatches ? f.max_microbatches : 0;
  for (const json& row : about.at("ops")) {
    ops.push_back({row.at(0).get_ref<const std::string&>(),
                   value_of<core::OpKind>(core::kOpKindNames, row.at(1)),
                   row.size() > 2 && row[2].get<bool>()});
  }
  for (const json& row : about.at("lanes")) {
    lanes.push_back({row.at(0), row.at(1), row.at(2), row.at(3),
                     value_of<core::Engine>(core::kEngineNames, row.at(4)), row.at(5),
                     row.size() > 6 ? share_of(row[6], count, words) : core::Share{}});
  }
  for (const json& row : about.at("edges")) {
    edges.push_back({row.at(0), row.at(1), value_of<core::Of>(core::kOfNames, row.at(2)), row.at(3),
                     row.at(4), row.at(5)});
  }
  for (const json& row : about.at("uses")) {
    uses.push_back({row.at(0), row.at(1), row.at(2), row.at(3), row.at(4)});
  }
  f.ops = ops;
  f.lanes = lanes;
  f.edges = edges;
  f.uses = uses;
}

RunInfo run_of(const json& about) {
  RunInfo run;
  run.microbatches = about.at("microbatches");
  run.source = value_of<Source>(kSourceWords, about.at("source"));
  if (!about.at("seed").is_null()) run.seed = about.at("seed").get<std::uint64_t>();
  run.unit = {about.at("unit").at("name"), about.at("unit").at("nanoseconds")};
  run.costs = about.value("costs", "");
  run.params = about.value("params", run.params);
  run.dispatch = about.value("dispatch", "");
  require(run.microbatches >= 0, "there are fewer than 0 microbatches");
  require(run.unit.nanoseconds > 0, "the unit is no longer than 0");
  return run;
}

Part part_of(const json& row, int ranks) {
  const Part part{row.at("rank"), std::stoull(row.at("run").get<std::string>(), nullptr, 16)};
  require(part.rank >= 0 && part.rank < ranks, "a part has no such rank");
  return part;
}

}  // namespace

core::StatusOr<About> About::from_json(const std::string& text) {
  try {
    const json j = json::parse(text);
    const std::string schema = j.at("schema");
    if (schema != kSchema) {
      return core::Status{core::StatusCode::invalid, "its schema is '" + schema + "', and '" +
                                                         kSchema + "' is what this reads"};
    }
    core::ProgramFacts f{};
    f.core_version = core::kCoreVersion;
    f.name = j.at("program").get_ref<const std::string&>();
    f.hash = std::stoull(j.at("hash").get<std::string>(), nullptr, 16);
    f.proved = j.at("proved");
    f.ranks = j.at("ranks");
    f.stages = j.at("stages");
    f.min_microbatches = j.at("range").at(0);
    f.max_microbatches = j.at("range").at(1);
    if (j.value("inputs", "natural") == "pyramid") f.inputs = core::InputOrder::pyramid;
    std::vector<core::OpFacts> ops;
    std::vector<core::LaneFacts> lanes;
    std::vector<core::EdgeFacts> edges;
    std::vector<core::UseFacts> uses;
    ShareWords words;
    read_tables(j, f, ops, lanes, edges, uses, words);
    std::vector<core::PoolFacts> pools;
    for (const json& row : j.at("pools")) {
      pools.push_back({row.at(0).get_ref<const std::string&>(),
                       row.at(1).get_ref<const std::string&>(), row.at(2), row.at(3), row.at(4),
                       row.at(5)});
    }
    std::vector<core::InboxFacts> inboxes;
    for (const json& row : j.at("inboxes")) {
      inboxes.push_back({row.at(0).get_ref<const std::string&>(), row.at(1), row.at(2), row.at(3)});
    }
    f.pools = pools;
    f.inboxes = inboxes;
    std::vector<core::PairFacts> pairs;
    for (const json& row : j.value("pairs", json::array())) {
      pairs.push_back({row.at(0), row.at(1)});
    }
    f.pairs = pairs;
    f.members = j.value("members", 1);
    f.agree = value_of<core::Agree>(core::kAgreeNames, j.value("agree", json("none")));
    const auto collectives = j.value("collectives", std::vector<core::LaneId>{});
    f.collectives = collectives;
    f.replicas = j.value("replicas", 1);
    const auto reductions = j.value("reductions", std::vector<core::LaneId>{});
    f.reductions = reductions;
    check(f);
    for (core::EdgeFacts& e : edges) {
      e.crosses_shares = core::cross_shares(lanes[static_cast<std::size_t>(e.producer)],
                                            lanes[static_cast<std::size_t>(e.consumer)], e.of);
    }
    About about(f, run_of(j));  // copies the data to which the views in `f` point
    if (j.contains("part")) about.part = part_of(j["part"], f.ranks);
    return about;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return core::Status{core::StatusCode::invalid, std::string("otherData: ") + e.what()};
  }
}

}  // namespace ripeline::trace
