// ShapeFrame: the stages, ranks and names that a Shape's ops refer to, read from a program's tree.
//
// It reads how many stages each rank has and their direction, the range of microbatches, and the
// meanings of names at a rank and a chunk. It also stores the first problem that any reader finds,
// after which results are void. The constructor's arguments must outlive it. One thread.
#pragma once

#include <optional>
#include <string>

#include "spec/ast.h"
#include "spec/elaborate.h"
#include "spec/program.h"
#include "verify/depth/algebra.h"
#include "verify/depth/shape.h"

namespace ripeline::verify::depth {

[[nodiscard]] spec::Expr times(std::int64_t factor, spec::Expr expr);

class ShapeFrame {
 public:
  // Fills in the shape's chunks, runs and microbatches.
  ShapeFrame(const spec::ast::Pipeline& pipeline, const spec::ElaborateOptions& options,
             const spec::Program& sample, const SolverUse& use, Shape& shape);

  // The meanings of names at a stage of this chunk, and at any rank.
  [[nodiscard]] Meaning at_chunk(int chunk) const;
  [[nodiscard]] Meaning at_rank() const;
  [[nodiscard]] Algebra& algebra() { return algebra_; }
  // The expression in normal form; records a problem if it is not linear.
  [[nodiscard]] spec::Expr linear(const spec::Expr& expr, const Meaning& names);

  void fail(std::string reason, spec::Span span);
  void not_handled(const std::string& construct, spec::Span span);
  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

 private:
  void read_params();
  void read_stages();
  void count_stages(const spec::ast::Stages& stages, spec::Span span);
  [[nodiscard]] bool is_placed_on(const spec::ast::Place& place, int chunk, const spec::Expr& rank);
  void read_microbatches();
  void check_range(const std::optional<std::int64_t>& narrowed, spec::Span span);

  const spec::ast::Pipeline& pipeline_;
  const spec::ElaborateOptions& options_;
  const spec::Program& sample_;
  Shape& shape_;
  Algebra algebra_;
  Meaning params_;
  std::optional<Problem> problem_;
};

}  // namespace ripeline::verify::depth
