// ProgramFacts: what an executor, a ledger and a transport need to know of a program.
//
// Plain data: which lanes exist and where, what they need and from where, what they hold, and what
// decides which task starts next. Orders and the values of priorities are functions (core/rules.h).
// A generated file has the facts as constexpr; the simulator fills them from a Program. The views
// point into storage of the code that made the facts; this storage must outlive every user. The
// facts never change, so threads may share them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/task.h"
#include "core/vocabulary/agree.h"
#include "core/vocabulary/hint.h"
#include "core/vocabulary/need.h"
#include "core/vocabulary/room.h"
#include "core/vocabulary/share.h"

namespace ripeline::core {

// Generated files name the version that they were written for and refuse any other.
inline constexpr int kCoreVersion = 8;

struct OpFacts {
  std::string_view name;
  OpKind kind;
  bool sequential = false;  // each task of a lane starts after the end of the one before
};

struct LaneFacts {
  int op;  // index into ops
  int stage;
  int rank;
  int chunk;  // the stage's position among its rank's stages
  Engine engine;
  bool once = false;  // one task, of microbatch 0, whatever the number of microbatches
  Share share = {};   // which microbatches the lane has
};

// `consumer` needs `producer`. The edge is a message if their ranks differ; the message has no
// payload if their stages are the same. How messages travel is in core/links.h.
struct EdgeFacts {
  LaneId producer;
  LaneId consumer;
  Of of = Of::same;
  int inbox = -1;           // index into inboxes; -1 if each message has a slot
  bool fifo = false;        // messages are handed over in the order in which their tasks ended
  bool rendezvous = false;  // a message is taken once its consumer is next in the rank's order
  // Owing to their shares, the two lanes give different numbers to tasks that belong together.
  bool crosses_shares = false;

  // Each task of the consumer needs the producer's task with the same number.
  [[nodiscard]] constexpr bool is_one_to_one() const { return of == Of::same && !crosses_shares; }
};

// Slots at a receiver, either of one edge (then `channel` is empty), or of a channel's instance,
// whose slots several edges share.
struct InboxFacts {
  std::string_view channel;
  int rank;
  int stage;  // -1 if it serves the whole rank
  std::int64_t slots;
};

// One instance of a resource: a stage's, or a whole rank's (then `stage` is -1).
struct PoolFacts {
  std::string_view resource;
  std::string_view unit;
  int rank;
  int stage;
  std::int64_t bound;          // the proved peak, for every microbatch count in range; or -1
  std::int64_t capacity = -1;  // -1 if there is none, and usage is only measured
};

// A task of `lane` acquires the amount `acquires` of `pool` at its start, and releases the amount
// `releases` at its end. When it acquires, room for `leaving` more must remain (vocabulary/room.h).
struct UseFacts {
  LaneId lane;
  int pool;
  std::int64_t acquires;
  std::int64_t releases;
  std::int64_t leaving = 0;
};

// Two ops that may overlap: on an engine, a task of one may run beside a task of the other.
struct PairFacts {
  int first;
  int second;
};

// The processes that must agree on what an engine of a rank starts (core/agreement.h), and their
// number. They are the members of the rank's tensor-parallel group, or the processes with the same
// rank and member in all replicas. Coordinates::member or Coordinates::replica numbers them.
struct Agreeing {
  enum class Who : std::uint8_t { nobody, members, replicas };
  Who who = Who::nobody;
  int size = 1;
  [[nodiscard]] constexpr int number_of(const Coordinates& one) const {
    return who == Who::replicas ? one.replica : one.member;
  }
  bool operator==(const Agreeing&) const = default;
};

// An entry of a hint. It lists the lanes of an op, at every chunk or at one chunk of each rank.
struct PlaceFacts {
  int op;
  std::span<const int> chunk = {};  // by rank; empty if every chunk
  bool by_microbatch = false;       // priorities of tasks of one lane may differ

  [[nodiscard]] constexpr bool lists(const LaneFacts& lane) const {
    return lane.op == op &&
           (chunk.empty() || chunk[static_cast<std::size_t>(lane.rank)] == lane.chunk);
  }
  [[nodiscard]] constexpr bool tells_apart() const { return by_microbatch; }
};

// How long a hint waits (core/patience.h).
struct PatienceRules {
  double patience = 1.5;
  double yield = 0.9;
  bool forecasts = false;  // ranks also send notices for tasks that have not started
  bool learns = false;     // how long a rank waits depends on how late messages were so far
  bool operator==(const PatienceRules&) const = default;
};

// How a rank chooses among the tasks that may start. A rank uses at most one order. If not
// `in_order`, it may keep room for the order's tasks, have a hint that follows the order, or both.
struct DispatchFacts {
  bool in_order = false;    // the rank starts tasks in the order
  bool keeps_room = false;  // the rank keeps room for the order's remaining tasks
  bool binds = false;       // the order is from a file, and tells microbatches apart
  HintRule rule = HintRule::none;
  std::span<const PlaceFacts> places = {};
  std::span<const PlaceFacts> fill = {};
  std::optional<PatienceRules> patience = {};

  [[nodiscard]] constexpr bool follows_order() const {
    return !in_order && rule == HintRule::order;
  }
  [[nodiscard]] constexpr bool has_order() const {
    return in_order || keeps_room || follows_order();
  }
};

// Lanes first .. end - 1.
struct LaneSpan {
  LaneId first = 0;
  LaneId end = 0;
};

// Edges first .. end - 1.
struct EdgeSpan {
  EdgeId first = 0;
  EdgeId end = 0;
};

struct ProgramFacts {
  int core_version;
  std::string_view name;
  std::uint64_t hash;
  bool proved;  // false if made by generate_unproved(), without a proof
  int ranks;
  int stages;
  int min_microbatches;
  int max_microbatches;  // 0 if there is no limit
  std::span<const OpFacts> ops;
  std::span<const LaneFacts> lanes;  // rank by rank
  std::span<const EdgeFacts> edges;  // by consumer
  std::span<const PoolFacts> pools;
  std::span<const UseFacts> uses;  // by lane
  std::span<const InboxFacts> inboxes = {};
  InputOrder inputs = InputOrder::natural;
  std::span<const PairFacts> pairs = {};
  int members = 1;  // processes that run each rank together
  // How the members agree on starts (core/agreement.h); `none` if they do not agree.
  Agree agree = Agree::none;
  std::span<const LaneId> collectives = {};  // lanes whose tasks have collectives, if members > 1
  int replicas = 1;                          // copies of the pipeline that train together
  // The lanes on whose order the replicas agree; empty for one replica and with dispatch.in_order.
  // With several replicas, every task of OpKind::reduce is a collective among them.
  std::span<const LaneId> reductions = {};
  DispatchFacts dispatch = {};
  // True if all tasks are on compute, no two may overlap, and there is no rendezvous.
  bool one_engine = false;

  // The members or replicas that must agree on which tasks start on the engine of a rank.
  [[nodiscard]] constexpr Agreeing agreeing(int rank, Engine engine) const {
    const auto is_there = [&](LaneId id) {
      const LaneFacts& lane = lanes[static_cast<std::size_t>(id)];
      return lane.rank == rank && lane.engine == engine;
    };
    if (std::any_of(reductions.begin(), reductions.end(), is_there)) {
      return {Agreeing::Who::replicas, replicas};
    }
    if (agree != Agree::none && std::any_of(collectives.begin(), collectives.end(), is_there)) {
      return {Agreeing::Who::members, members};
    }
    return {};
  }
  [[nodiscard]] constexpr bool is_governed(int rank, Engine engine) const {
    return agreeing(rank, engine).who != Agreeing::Who::nobody;
  }
  [[nodiscard]] constexpr bool crosses_ranks(EdgeId edge) const {
    const EdgeFacts& e = edges[static_cast<std::size_t>(edge)];
    return lanes[static_cast<std::size_t>(e.producer)].rank !=
           lanes[static_cast<std::size_t>(e.consumer)].rank;
  }
  [[nodiscard]] constexpr bool is_sequential(LaneId lane) const {
    return ops[static_cast<std::size_t>(lanes[static_cast<std::size_t>(lane)].op)].sequential;
  }
  // The lanes of a rank.
  [[nodiscard]] constexpr LaneSpan lanes_of(int rank) const {
    const auto before = [](const LaneFacts& lane, int r) { return lane.rank < r; };
    const auto first = std::lower_bound(lanes.begin(), lanes.end(), rank, before);
    const auto end = std::lower_bound(first, lanes.end(), rank + 1, before);
    return {static_cast<LaneId>(first - lanes.begin()), static_cast<LaneId>(end - lanes.begin())};
  }
  // Whether tasks of the two lanes may overlap on one engine; both lanes are of one rank.
  [[nodiscard]] constexpr bool are_pair(LaneId lane, LaneId other) const {
    const LaneFacts& a = lanes[static_cast<std::size_t>(lane)];
    const LaneFacts& b = lanes[static_cast<std::size_t>(other)];
    return a.engine == b.engine && std::any_of(pairs.begin(), pairs.end(), [&](const PairFacts& p) {
             return (p.first == a.op && p.second == b.op) || (p.first == b.op && p.second == a.op);
           });
  }
  // How many tasks a lane has.
  [[nodiscard]] constexpr int tasks_of(LaneId lane, int microbatches) const {
    return core::tasks_of(lanes[static_cast<std::size_t>(lane)], microbatches);
  }
  // The step's microbatch for which the task runs; `task.microbatch` is its number in the lane.
  [[nodiscard]] constexpr int microbatch_of(Task task) const {
    const Share& share = lanes[static_cast<std::size_t>(task.lane)].share;
    return share.is_all() ? task.microbatch : share.microbatch(task.microbatch);
  }
  [[nodiscard]] constexpr Need<LaneFacts> need(EdgeId edge) const {
    const EdgeFacts& e = edges[static_cast<std::size_t>(edge)];
    return {lanes[static_cast<std::size_t>(e.producer)],
            lanes[static_cast<std::size_t>(e.consumer)], e.of, e.crosses_shares};
  }
  // The producer's tasks that the consumer's task of `microbatch` needs.
  [[nodiscard]] constexpr TaskSpan needed(EdgeId edge, int microbatch, int microbatches) const {
    return need(edge).needed(microbatch, microbatches);
  }
  // The first task of the consumer that needs the producer's task of `microbatch`; -1 if none.
  [[nodiscard]] constexpr int needed_by(EdgeId edge, int microbatch, int microbatches) const {
    return need(edge).needed_by(microbatch, microbatches);
  }
  // Whether the producer has a task of `microbatch`, and some task of the consumer needs it.
  [[nodiscard]] constexpr bool is_needed(EdgeId edge, int microbatch, int microbatches) const {
    const LaneId producer = edges[static_cast<std::size_t>(edge)].producer;
    return microbatch < tasks_of(producer, microbatches) &&
           needed_by(edge, microbatch, microbatches) >= 0;
  }
  [[nodiscard]] constexpr bool admits(int microbatches) const {
    return microbatches >= min_microbatches &&
           (max_microbatches == 0 || microbatches <= max_microbatches);
  }
  // The edges whose consumer is the lane.
  [[nodiscard]] constexpr EdgeSpan needs_of(LaneId lane) const {
    const auto before = [](const EdgeFacts& edge, LaneId id) { return edge.consumer < id; };
    const auto first = std::lower_bound(edges.begin(), edges.end(), lane, before);
    const auto end = std::lower_bound(first, edges.end(), lane + 1, before);
    return {static_cast<EdgeId>(first - edges.begin()), static_cast<EdgeId>(end - edges.begin())};
  }
  // The uses of a lane.
  [[nodiscard]] constexpr std::span<const UseFacts> uses_of(LaneId lane) const {
    const auto before = [](const UseFacts& use, LaneId id) { return use.lane < id; };
    const auto first = std::lower_bound(uses.begin(), uses.end(), lane, before);
    const auto end = std::lower_bound(first, uses.end(), lane + 1, before);
    return {first, end};
  }
  // The room that a use must find; nullopt if it acquires nothing, or its pool has no capacity.
  [[nodiscard]] constexpr std::optional<Room> room(const UseFacts& use) const {
    const PoolFacts& pool = pools[static_cast<std::size_t>(use.pool)];
    if (use.acquires == 0 || pool.capacity < 0) return std::nullopt;
    return Room{pool.capacity, use.acquires, use.leaving};
  }
};

}  // namespace ripeline::core
