// The meaning of a program.
//
// A Program is the meaning as data: lanes, what each lane needs, acquires and releases, what bounds
// the run, what is preferred, with every param replaced by its value. spec/machine.h executes it;
// verify/ and codegen/ translate it into formulas and C++; tests check that these agree.
//
// The rules, in full:
//  * A *lane* is an op at a stage. A *task* is one execution of a lane, for one microbatch, written
//    2F0. In one step every task of every lane runs exactly once. The lane of a `once` op has one
//    task, 2G0; a lane with `on m where` has the tasks of its share of the microbatches
//    (core/vocabulary/share.h); a lane with an empty share does not exist, and no task needs it. A
//    lane's tasks are numbered 0, 1, … in the order of their microbatches, and in these rules
//    `microbatch` is that number. Only names, costs, data and edges between different shares depend
//    on the microbatch itself.
//  * An edge says what a task needs of its producer (Of): the task of the same microbatch, the task
//    of the microbatch before (nothing, for the first), or all tasks. A microbatch that is not in
//    the producer's share is not needed.
//  * A task *may start* when all of these guards hold:
//      - each edge of its lane is met: the needed tasks of the producer have ended and, if the edge
//        crosses ranks, their messages have arrived;
//      - if its lane is sequential, the task of the microbatch before (if any) has ended;
//      - its engine takes the task: the engine hands no message over, and is idle or runs only one
//        task, whose op is a pair with the op of this one;
//      - for each pool that its lane acquires: held + amount + leaving <= capacity;
//      - with `dispatch in order`: it is the next task of its engine in its rank's order. Each
//        occurrence of a lane stands for the lane's next microbatch, or for the one to which a file
//        binds it;
//      - with `dispatch ready keeping` an order: once the task has run, the rest of the rank's
//        order still finds room. The rest is the tasks that the order lists before the task and
//        that have not started; they must find room in every pool, one after the other, each ending
//        before the next starts. An occurrence of a lane stands for any of its tasks: once n tasks
//        of the lane have started, its first n occurrences are over. A task for which the order has
//        no occurrence left comes after all tasks that are listed.
//  * A task acquires at its start, runs for any finite time without preemption, and releases at its
//    end.
//  * When a task ends, it sends a message over each edge that crosses ranks, if a task needs the
//    message. The message arrives after any finite time, once its link permits:
//      - with an inbox, the message waits at its sender for a free slot of its edge's inbox, and
//        the sender continues meanwhile. The message takes the slot; the slot is free again when
//        the task that needs the message starts (the first such task, if all tasks of a lane need
//        it). If several messages wait for one slot, timing decides which of them gets it. Without
//        an inbox each message has its own slot;
//      - over a fifo edge, messages arrive in the order in which their producers ended; over other
//        edges they may overtake each other;
//      - a rendezvous message arrives only when the task that needs it is the next of its engine in
//        its rank's order. Until then its sender's engine hands it over, and so is not idle.
//  * With `dispatch ready`, an engine on which tasks may start will, after some time, start the one
//    that the hint chooses among them; core/vocabulary/hint.h states the choice. So an engine that
//    runs one task of a pair also starts the other.
//  * A program *deadlocks* (names and comments also say: it sticks, it is stuck) when no task runs,
//    no message may arrive, not all tasks have ended, and no task may start. In that state messages
//    may still wait at their senders for slots.
//
// Immutable once made; shared freely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/vocabulary/agree.h"
#include "core/vocabulary/hint.h"
#include "core/vocabulary/need.h"
#include "core/vocabulary/share.h"
#include "core/vocabulary/task.h"
#include "spec/cost.h"
#include "spec/expr.h"
#include "spec/indexing.h"

namespace ripeline::spec {

// Types that a Program shares with the tables of executors.
using core::Agree;
using core::Engine;
using core::engine_index;
using core::InputOrder;
using core::kAllEngines;
using core::kEngines;
using core::Of;
using core::OpKind;
using core::Share;

// The words of long shares, without duplicates. A Program's shares are valid while the words live.
using ShareWords = std::vector<std::shared_ptr<const std::vector<core::ShareWord>>>;
using core::Task;

struct Op {
  std::string name;
  OpKind kind = OpKind::plain;
  bool sequential = false;
  bool once = false;  // one task, whatever the number of microbatches
  Engine engine = Engine::compute;
  Span span;  // the span of the name
};

struct Stage {
  int rank = 0;
  int chunk = 0;  // position among its rank's stages, in stage order
  std::vector<int> prev;
  std::vector<int> next;
};

struct Acquire {
  int pool = 0;
  std::int64_t amount = 1;  // > 0
  // Room, >= 0, that must remain free beside the amount when the task starts; not reserved later.
  std::int64_t leaving = 0;
};
struct Release {
  int pool = 0;
  std::int64_t amount = 1;  // > 0
};

// Lanes are numbered rank by rank, then by chunk, then by op in order of declaration.
struct Lane {
  int op = 0;
  int stage = 0;
  int rank = 0;
  int chunk = 0;
  bool sequential = false;
  bool once = false;
  Share share = {};
  int collectives = 0;  // per task, among the members of its rank
  Engine engine = Engine::compute;
  Cost cost;
  std::vector<int> edges;         // edges whose consumer this lane is
  std::vector<int> feeds;         // edges whose producer this lane is
  std::vector<Acquire> acquires;  // at most one per pool
  std::vector<Release> releases;  // at most one per pool
};

// `consumer` needs `producer`. Edges are sorted by consumer, then as written. With `same`, both
// lanes are `once` or neither is. Links matter only to edges that cross ranks.
struct Edge {
  int producer = 0;
  int consumer = 0;
  Span span = {};  // the span of the need
  Of of = Of::same;
  int inbox = -1;           // -1 if each message has a slot
  bool fifo = false;        // messages arrive in the order of the producer's ends
  bool rendezvous = false;  // with `dispatch in order` only
};

// Slots at a receiver: either of one edge, or of a channel's instance, which edges may share.
struct Inbox {
  std::string channel;  // empty if the slots are one edge's
  int rank = 0;
  int stage = -1;  // -1 if the channel is per rank
  std::int64_t slots = 1;
};

// The number of members that each rank has; see spec/group.h.
struct TensorParallel {
  int members = 1;
  Agree agree = Agree::none;
  Span span = {};
};

// The number of copies of the pipeline that train together; see spec/group.h.
struct DataParallel {
  int replicas = 1;
  Span span = {};
};

struct Resource {
  std::string name;
  std::string unit;  // empty if none is given
  bool per_rank = false;
  Span span;
};

// One instance of a resource. A stage releases only amounts that the same stage acquired for the
// same microbatch.
struct Pool {
  int resource = 0;
  int rank = 0;
  int stage = -1;                        // -1 if the pool is the whole rank's
  std::optional<std::int64_t> capacity;  // > 0; nullopt if usage is only measured
};

// An order is one text for all ranks, or the rows of a file. A text has lets, streams and repeats
// that use both; a repeat may be for one rank alone. Params are folded; free names are r, chunks,
// microbatches, earlier lets and, in a stream, the variables of its loops.
struct OrderStep {
  int op = 0;
  std::optional<Expr> chunk;  // nullopt if the rank has one chunk
  Span span;
  int stream = -1;  // >= 0: the next item of this stream, instead of `op`
};
struct OrderLet {
  std::string name;
  Expr value;
};
struct OrderLoop {
  std::string variable;
  Expr first;
  Expr last;
  bool exclusive = false;  // ends before `last`
};
struct OrderRepeat {
  std::vector<OrderStep> steps;
  Expr count;  // `1` if no count is written
  Span span;
  int rank = -1;  // the only rank that runs the steps; -1 if every rank does

  [[nodiscard]] bool is_of(int r) const { return rank < 0 || rank == r; }
};
// Loops, the outermost first; each turn yields the lanes of the repeats; one turn without loops.
struct OrderPart {
  std::vector<OrderLoop> loops;
  std::vector<OrderRepeat> repeats;
};
// A sequence of items, given in parts; an order's repeats use up its items in turn. An item is
// skipped if the rank's order has listed all microbatches of its lane by then. It is an error to
// use a stream that has ended.
struct OrderStream {
  std::string name;
  std::vector<OrderPart> parts;
  Span span;
};
struct Order {
  std::string name;
  std::vector<OrderLet> lets;  // all come before the streams and repeats that use them
  std::vector<OrderStream> streams;
  std::vector<OrderRepeat> repeats;
  // The file's name as written, for an order from a file; such an order has no text. The file is
  // read only if the dispatch uses the order; if so, the program's range is the file's one count.
  std::optional<std::string> file;
  std::vector<std::vector<Task>> rows;  // per rank, the tasks of a file that was read
  Span span;
};

// Settings for how long a rank that follows an order waits for its next task (core/patience.h).
// Patience delays a choice among the same tasks for a finite time, so no verdict depends on it.
struct Patience {
  Rational patience{3, 2};
  Rational yield{9, 10};
  bool forecasts = false;  // also sends notices for tasks that have not started
  bool learns = false;     // waits according to how late messages were so far
  bool operator==(const Patience&) const = default;
};

// An entry of a hint: the lanes of an op, at every chunk or at one.
struct HintPlace {
  int op = 0;
  std::vector<int> chunk = {};  // by rank; empty if every chunk
  // With Rule::priority: an integer over s, r, chunk, chunks, m, microbatches and the names of
  // resources with a capacity; such a name stands for the amount in the task's pool. Elaboration
  // has checked that the expression and its parts fit in 64 bits, whatever values the names have.
  std::optional<Expr> priority = {};

  [[nodiscard]] bool lists(const Lane& lane) const {
    return lane.op == op && (chunk.empty() || at(chunk, lane.rank) == lane.chunk);
  }
  // Whether the priority of a lane's tasks depends on their microbatches.
  [[nodiscard]] bool tells_apart() const;
  bool operator==(const HintPlace& other) const;
};

struct Hint {
  using Rule = core::HintRule;
  std::string name;
  Rule rule = Rule::none;
  std::vector<HintPlace> places;          // for prefer, rounds and priority, in order
  std::vector<HintPlace> fill;            // considered only when nothing else may start
  int order = -1;                         // for Rule::order
  std::optional<Patience> patience = {};  // for Rule::order, if not from a file
};

struct Dispatch {
  bool in_order = false;
  int order = -1;  // for in_order
  Hint hint;       // for readiness-first dispatch
  int keeps = -1;  // with readiness-first dispatch, the order for whose rest room is kept, or -1

  // The order that restricts starts; -1 if none. It must have a meaning for every microbatch count
  // that runs; expand() tells whether it has one.
  [[nodiscard]] int binding() const { return in_order ? order : keeps; }
  Span span;
};

// Two ops that may overlap: on an engine of a rank, a task of one may run beside a task of the
// other. While two tasks do so, each takes slowdown() times as long as alone.
struct Pair {
  int first = 0;
  int second = 0;
  // By rank, the time after which both tasks end if they start together; empty if this is the sum
  // of their times. Like every cost, it is never part of a verdict or of the hash.
  std::vector<Rational> costs = {};
  Span span = {};
};

struct PeakAssertion {
  int resource = 0;
  Expr bound;  // params folded; free names are s or r (which instance), chunks, microbatches
  Span span;
};

// A part of the language that a program uses, by the name that the docs give it.
struct Unsupported {
  std::string construct;  // `link fifo`, `tensor_parallel`
  Span span;
};

struct MicrobatchRange {
  int min = 1;
  std::optional<int> max;  // nullopt if any count from min up
  [[nodiscard]] bool contains(int m) const { return m >= min && (!max || m <= *max); }
};

struct Program {
  std::string name;
  std::string source_name;  // as the user wrote it, for messages
  std::vector<std::pair<std::string, std::int64_t>>
      params;  // with overridden values, in order of declaration
  MicrobatchRange microbatches;
  InputOrder inputs = InputOrder::natural;
  int ranks = 0;
  std::vector<Op> ops;
  std::vector<Stage> stages;
  std::vector<Lane> lanes;
  ShareWords share_words;  // the lanes' shares view them
  std::vector<Edge> edges;
  std::vector<Inbox> inboxes;
  TensorParallel tensor_parallel;
  DataParallel data_parallel;
  std::vector<Resource> resources;
  std::vector<Pool> pools;
  std::vector<Order> orders;
  std::vector<Hint> hints;
  std::vector<Pair> pairs;
  Dispatch dispatch;
  std::vector<PeakAssertion> assertions;
  std::vector<Unsupported> unsupported;  // constructs that the judge and the generator lack
  std::uint64_t hash = 0;                // over all that a verdict depends on, and the hint

  // Whether the lane's tasks are collectives among replicas.
  [[nodiscard]] bool reduces(int lane) const {
    return data_parallel.replicas > 1 && at(ops, at(lanes, lane).op).kind == OpKind::reduce;
  }
  [[nodiscard]] bool crosses_ranks(const Edge& e) const {
    return at(lanes, e.producer).rank != at(lanes, e.consumer).rank;
  }
  // Whether, because of shares, the two lanes give different numbers to tasks that belong together.
  [[nodiscard]] bool crosses_shares(const Edge& e) const {
    return core::cross_shares(at(lanes, e.producer), at(lanes, e.consumer), e.of);
  }
  // The pair of the lanes' ops, if both lanes are on one engine; nullptr if there is no such pair.
  [[nodiscard]] const Pair* pair_of(int lane, int other) const;
  // The factor by which a task of `lane` is slower beside one of `other`; the ops must be a pair.
  [[nodiscard]] double slowdown(int lane, int other) const;
  // How many tasks a lane has.
  [[nodiscard]] int tasks_of(int lane, int count) const {
    return core::tasks_of(at(lanes, lane), count);
  }
  // The microbatch of the lane's task with that number.
  [[nodiscard]] int microbatch_of(int lane, int task) const {
    return at(lanes, lane).share.microbatch(task);
  }
  [[nodiscard]] core::Need<Lane> need(const Edge& e) const {
    return {at(lanes, e.producer), at(lanes, e.consumer), e.of, crosses_shares(e)};
  }
  // The producer's tasks that the consumer's task of `microbatch` needs.
  [[nodiscard]] core::TaskSpan needed(const Edge& e, int microbatch, int count) const {
    return need(e).needed(microbatch, count);
  }
  // The first task of the consumer that needs the producer's task of `microbatch`, or -1.
  [[nodiscard]] int needed_by(const Edge& e, int microbatch, int count) const {
    return need(e).needed_by(microbatch, count);
  }
  [[nodiscard]] int first_lane(
      int rank) const;  // lanes of rank r: first_lane(r) .. first_lane(r+1)-1
  [[nodiscard]] int lane_of(int op, int stage) const;                   // -1 if there is none
  [[nodiscard]] int chunks(int rank) const;                             // stages on the rank
  [[nodiscard]] std::string lane_name(int lane) const;                  // 2F
  [[nodiscard]] std::string task_name(int lane, int microbatch) const;  // 2F0
  [[nodiscard]] std::string pool_name(int pool) const;                  // activation of stage 2
  [[nodiscard]] std::string inbox_name(int inbox) const;  // inbox of stage 2, slots of 1F to 2F
};

// The amounts of one pool that each of a lane's tasks acquires and releases.
struct Use {
  int pool = 0;
  std::int64_t acquires = 0;
  std::int64_t leaving = 0;
  std::int64_t releases = 0;
};
// One Use for each pool that the lane acquires or releases; the acquired pools first, as written.
[[nodiscard]] std::vector<Use> uses_of(const Lane& lane);

// The bound of an assertion for a pool of its resource at this count; nullopt if not an integer.
[[nodiscard]] std::optional<std::int64_t> asserted_bound(const Program& program,
                                                         const PeakAssertion& assertion,
                                                         const Pool& pool, int microbatches);

// The other lanes with the share of `lane` whose k-th task must end before the k-th task of `lane`
// can start, for every k; found by needs between lanes of this share alone. Sorted.
[[nodiscard]] std::vector<int> ancestors(const Program& program, int lane);

// Whether a lane is not on compute. If all are, an order's next task without room blocks its rank.
[[nodiscard]] bool has_other_engines(const Program& program);
// Whether some rank may run two tasks at once, on several engines or as a pair.
[[nodiscard]] bool runs_side_by_side(const Program& program);

// Constructs of the program beyond tasks of one microbatch on one engine with a slot per message,
// each once, by first use; not those of program.unsupported. A reader that lacks one reports it.
[[nodiscard]] std::vector<Unsupported> features_of(const Program& program);

// The order of one rank with `microbatches`: its tasks, where an occurrence of a lane is the lane's
// next microbatch, even beyond the last; for an order from a file, the rank's row. Errors:
// order-negative-count, order-no-such-chunk, order-no-such-lane (the op does not exist at that
// stage), order-stream-ended, order-too-long (above 10 million tasks, or turns of streams' loops).
[[nodiscard]] Result<std::vector<Task>> expand(const Program& program, const Order& order, int rank,
                                               int microbatches);

// FNV-1a (64 bits) of `bytes`; `before` is the hash of the bytes before them.
inline constexpr std::uint64_t kHashOfNothing = 0xcbf29ce484222325U;
[[nodiscard]] std::uint64_t hash_of(std::string_view bytes, std::uint64_t before = kHashOfNothing);
// The hash of a canonical text of all fields except names of sources, spans, costs and params.
[[nodiscard]] std::uint64_t hash_of(const Program& program);
// The hash as 16 hexadecimal digits.
[[nodiscard]] std::string hash_text(std::uint64_t hash);

}  // namespace ripeline::spec
