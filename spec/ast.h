// The tree of a `.ripe` file as it is written, before its meaning is known.
//
// Every construct of docs/language.md has a node here, supported or not; spans point into the
// source. same() ignores spans; so a tree that print() wrote as text is the same as the tree of
// that text. Comments have their positions, for `ripeline format`. Plain values.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "spec/expr.h"

namespace ripeline::spec::ast {

struct Name {
  std::string text;
  Span span;
};

// A range `a .. b` (includes b) or `a ..< b`.
struct Range {
  Expr first;
  Expr last;
  bool exclusive = false;
};

struct Param {  // param NAME = EXPR;
  Name name;
  Expr value;
};

struct Microbatches {  // microbatches any; | N; | A .. B;
  bool any = false;
  Range range;  // first == last for a single count
};

struct Inputs {  // inputs natural; | pyramid;
  Name order;
};

struct StageGroup {  // [NAME] COUNT; the name is empty in `stages N;`
  Name name;
  Expr count;
};
struct Stages {
  std::vector<StageGroup> groups;
};

struct GroupEdge {
  Name from;
  Name to;
};
struct Edges {
  std::vector<GroupEdge> edges;
};

struct Place {  // place s on EXPR;
  Name variable;
  Expr rank;
};

struct TensorParallel {  // tensor_parallel N { agree by NAME; }
  Expr members;
  Name agree;
};

struct DataParallel {  // data_parallel N;
  Expr replicas;
};

enum class At { here, prev, next, stage };

struct NeededOp {  // one item of a `needs` list: F at prev [via …] [of m - 1 | of all]
  Name op;
  At at = At::here;
  std::optional<Expr> stage;  // in `at (EXPR)`
  Span span;
  std::optional<Name> via;           // slots, fifo, rendezvous or a channel's name
  std::optional<Expr> via_capacity;  // k of `slots k` or `fifo k`
  bool of_all = false;
  std::optional<Expr> of;  // EXPR in `of EXPR`, over m
};
struct Needs {
  std::vector<NeededOp> items;
};
struct Cost {
  Expr value;
};
struct Acquires {  // acquires NAME [AMOUNT] [leaving EXPR];
  Name resource;
  std::optional<Expr> amount;
  std::optional<Expr> leaving;
};
struct Releases {  // releases NAME [AMOUNT];
  Name resource;
  std::optional<Expr> amount;
};
struct Collectives {
  Expr count;
};

struct OpClause {
  std::variant<Cost, Needs, Acquires, Releases, Collectives> value;
  Span span;
};

struct Op {  // op NAME KIND? sequential? once? on ENGINE? when EXPR? on m where EXPR? { … }
  Name name;
  std::vector<Name> kind;  // forward | backward | backward input | backward weight | reduce |
                           // offload | reload | recompute | user
  std::optional<std::string> user_name;  // the name in `user "name"`
  bool sequential = false;
  bool once = false;
  std::optional<Name> engine;
  std::optional<Expr> when;
  std::optional<Expr> microbatch_filter;  // on m where EXPR
  Span header;
  std::vector<OpClause> clauses;
};

enum class Per { stage, rank };

struct Resource {  // resource NAME per stage|rank { capacity EXPR; unit "MiB"; }
  Name name;
  Per per = Per::stage;
  std::optional<Expr> capacity;
  std::optional<std::string> unit;
  Span unit_span;
};

struct Channel {  // channel NAME per stage|rank { slots EXPR; }
  Name name;
  Per per = Per::stage;
  Expr slots;
};

// A lane in an order: F or F@chunk; or a stream's name.
struct OrderStep {
  Name op;
  std::optional<Expr> chunk;
};
struct Let {
  Name name;
  Expr value;
};
struct StreamLoop {
  Name variable;
  Range range;
};
struct Repeat {  // F * E;   (F B) * E;   F;
  std::vector<OrderStep> steps;
  bool grouped = false;  // true if written with parentheses
  std::optional<Expr> count;
};
struct StreamPart {  // for g in 0 ..< E { F * E;  (F B) * E; }   or one repeat, without loops
  std::vector<StreamLoop> loops;
  std::vector<Repeat> repeats;
};
struct Stream {  // stream f = for g in 0 ..< E, c in 0 ..< E : F@c * E;   stream f { F * E;  for …
                 // }
  Name name;
  std::vector<StreamPart> parts;
  bool braced = false;  // if false, the stream has one part with loops and one repeat
};
struct RankBlock {  // rank E { F * E;  (F B) * E; }
  Expr rank;
  std::vector<Repeat> repeats;
};
struct OrderItem {
  std::variant<Let, Stream, Repeat, RankBlock> value;
  Span span;
};
struct Order {  // order NAME on r { … }   or   order NAME from csv "file";
  Name name;
  Name variable;
  std::optional<std::string> csv;
  std::vector<OrderItem> items;
};

// prefer A, B@0; rounds A, A, B; fill W; priority A = E, B = E; follow O; notices; forecasts;
// learns; patience E; yield E;
struct HintPlace {
  OrderStep lane;
  std::optional<Expr> priority;
};
struct HintClause {
  Name keyword;
  std::vector<HintPlace> places;
  std::optional<Name> order;  // the order that `follow` names
  std::optional<Expr> value;
  Span span;
};
struct Hint {
  Name name;
  std::vector<HintClause> clauses;
};

struct Dispatch {  // dispatch in order NAME;   dispatch ready [by NAME] [keeping NAME];
  bool in_order = false;
  std::optional<Name> by;
  std::optional<Name> keeps;
};

struct Assert {  // assert peak NAME <= EXPR;
  Name resource;
  Expr bound;
};

struct Pair {  // pair F, B { cost EXPR; }   pair F, B;
  Name first;
  Name second;
  std::optional<Expr> cost;
};

struct Item {
  std::variant<Param, Microbatches, Stages, Edges, Place, TensorParallel, Op, Resource, Channel,
               Order, Hint, Dispatch, Assert, Pair, Inputs, DataParallel>
      value;
  bool blank_before = false;  // an empty line precedes it; this is layout, not part of the tree
  Span span;
};

// A comment, without its #. It belongs before the item that begins at or after its span, or behind
// the item that ends on its line.
struct Comment {
  std::string text;
  bool own_line = false;      // only blanks precede the comment on its line
  bool blank_before = false;  // an empty line precedes it
  Span span;
};

struct Pipeline {
  Name name;
  std::vector<Item> items;
  std::vector<Comment> comments;
  bool blank_before = false;  // as in Item
  Span span;
};

// Whether the trees are the same, ignoring spans; comments compare by text and order.
[[nodiscard]] bool same(const Pipeline& a, const Pipeline& b);

}  // namespace ripeline::spec::ast
