// Shape: a program for any number of ranks, read from its tree.
//
// Its stages come in runs of `ranks` stages, one run for each chunk; a run goes up or down the
// ranks. A chain is one run, a loop has several runs that go up, a V has one run up and one run
// down. So a lane is an op, a chunk and a rank, and an expression over the stage is a function of
// the rank r and of `ranks`. Expressions here are linear and use no other names than r, ranks and
// microbatches. A program that cannot be read like this is a Problem, with its position in the
// source. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "spec/ast.h"
#include "spec/elaborate.h"
#include "spec/program.h"
#include "verify/order/positions.h"
#include "verify/solver/solver.h"
#include "verify/verify.h"

namespace ripeline::verify::depth {

struct Problem {
  std::string reason;  // a sentence
  spec::Span span{};
};

struct Need {
  int op = 0;
  spec::ast::At at = spec::ast::At::here;
  bool bounded = false;  // its link has a bounded number of slots, at least one
  bool fifo = false;
};

// The amount that a lane of one chunk acquires or releases.
struct Use {
  int resource = 0;
  std::int64_t amount = 0;
  spec::Expr leaving = spec::Expr::number(0);
};

struct OpAtChunk {
  std::optional<spec::Expr> when;  // nullopt if the op exists at every rank
  std::vector<Use> acquires;       // at most one for each resource
  std::vector<Use> releases;       // at most one for each resource
};

struct ShapeOp {
  std::string name;
  bool sequential = false;
  std::vector<Need> needs;
  std::vector<OpAtChunk> chunks;
};

struct ShapeResource {
  std::string name;
  bool per_rank = false;
  // One for each chunk, or one for a resource `per rank`; nullopt if usage is only measured.
  std::vector<std::optional<spec::Expr>> capacity;
};

struct ShapeAssertion {
  int resource = 0;
  std::vector<spec::Expr> bound;  // one for each capacity of the resource
  spec::Span span;
};

struct ShapeStep {
  int op = 0;
  int chunk = 0;
};
struct ShapeRepeat {
  std::vector<ShapeStep> steps;
  spec::Expr count;
  std::vector<PositionInTurn> positions;
};

enum class Direction : std::uint8_t {
  up,    // the chunk's stages are on ranks 0, 1, ...
  down,  // ... 1, 0
};

struct Shape {
  int least_ranks = 1;
  int chunks = 1;
  std::vector<Direction> runs;  // per chunk
  spec::Expr least_microbatches = spec::Expr::number(1);
  std::optional<spec::Expr> most_microbatches;
  std::vector<ShapeOp> ops;
  std::vector<ShapeResource> resources;
  std::vector<ShapeAssertion> assertions;
  std::vector<ShapeRepeat> order;  // for `dispatch in order`
  bool in_order = false;
};

// `sample` is the program with least_ranks ranks, which has passed the checks of spec/elaborate.h.
[[nodiscard]] std::variant<Shape, Problem> read_shape(const spec::ast::Pipeline& pipeline,
                                                      const spec::ElaborateOptions& options,
                                                      const spec::Program& sample,
                                                      const SolverUse& use);

}  // namespace ripeline::verify::depth
