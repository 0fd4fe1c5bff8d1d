// ShapeOps: reads a Shape's ops, their resources and the asserted bounds from a program's tree. The
// constructor's arguments must outlive it. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/ast.h"
#include "spec/program.h"
#include "verify/depth/shape.h"
#include "verify/depth/shape_frame.h"

namespace ripeline::verify::depth {

class ShapeOps {
 public:
  ShapeOps(const spec::Program& sample, ShapeFrame& frame, Shape& shape)
      : sample_(sample), frame_(frame), algebra_(frame.algebra()), shape_(shape) {}

  // Each call adds what it reads to the shape. Read resources first: ops and assertions name them.
  void read(const spec::ast::Resource& written);
  void read(const spec::ast::Op& written);
  void read(const spec::ast::Assert& written, spec::Span span);

 private:
  [[nodiscard]] int resource_of(const spec::ast::Name& name) const;
  void read_clause(ShapeOp& op, const spec::ast::Cost& cost, spec::Span span);
  void read_clause(ShapeOp& op, const spec::ast::Acquires& acquires, spec::Span span);
  void read_clause(ShapeOp& op, const spec::ast::Releases& releases, spec::Span span);
  void read_clause(ShapeOp& op, const spec::ast::Collectives& collectives, spec::Span span);
  void read_clause(ShapeOp& op, const spec::ast::Needs& needs, spec::Span span);
  void check_slots(const spec::ast::NeededOp& need);
  [[nodiscard]] OpAtChunk at_chunk_of(const spec::ast::Op& written, int chunk);
  [[nodiscard]] Use& use_of(std::vector<Use>& uses, const spec::ast::Name& resource) const;
  [[nodiscard]] std::int64_t amount(const std::optional<spec::Expr>& expr, const Meaning& names,
                                    spec::Span span);

  const spec::Program& sample_;
  ShapeFrame& frame_;
  Algebra& algebra_;
  Shape& shape_;
};

}  // namespace ripeline::verify::depth
