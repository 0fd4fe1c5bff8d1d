#include "verify/depth/shape_ops.h"

#include <algorithm>

#include <fmt/format.h>

#include "spec/indexing.h"

namespace ripeline::verify::depth {

using spec::Expr;
namespace ast = spec::ast;

void ShapeOps::read(const ast::Resource& written) {
  ShapeResource resource{written.name.text, written.per == ast::Per::rank, {}};
  const int pools = resource.per_rank ? 1 : shape_.chunks;
  for (int chunk = 0; chunk < pools && !frame_.problem(); ++chunk) {
    if (!written.capacity) {
      resource.capacity.emplace_back();
      continue;
    }
    const Meaning names = resource.per_rank ? frame_.at_rank() : frame_.at_chunk(chunk);
    const Expr capacity = frame_.linear(*written.capacity, names);
    if (!frame_.problem() && !algebra_.always_at_least(capacity, 1)) {
      frame_.fail(fmt::format("The capacity `{}` is not above 0 for every number of ranks.",
                              print(*written.capacity)),
                  written.capacity->span);
    }
    resource.capacity.emplace_back(capacity);
  }
  shape_.resources.push_back(std::move(resource));
}

int ShapeOps::resource_of(const ast::Name& name) const {
  for (int i = 0; i < size_of(shape_.resources); ++i) {
    if (at(shape_.resources, i).name == name.text) return i;
  }
  return 0;  // not reached: the sample passed the checks, so the resource exists
}

void ShapeOps::read(const ast::Op& written) {
  // Names every part of an op, so that a new part of the language does not compile until it is read
  // or refused here. An overlooked part would make a proof false.
  const auto& [name, kind, user_name, sequential, once, engine, when, filter, header, clauses] =
      written;
  if (once) return frame_.not_handled("once", name.span);
  if (!kind.empty() && kind.front().text == "reduce") {
    return frame_.not_handled("reduce", name.span);
  }
  if (engine && engine->text != "compute") {
    return frame_.not_handled("engine " + engine->text, engine->span);
  }
  if (filter) return frame_.not_handled("on m where", filter->span);
  ShapeOp op{name.text, sequential, {}, {}};
  for (const ast::OpClause& clause : clauses) {
    std::visit([&](const auto& node) { read_clause(op, node, clause.span); }, clause.value);
  }
  for (int chunk = 0; chunk < shape_.chunks && !frame_.problem(); ++chunk) {
    op.chunks.push_back(at_chunk_of(written, chunk));  // reads `when`
  }
  shape_.ops.push_back(std::move(op));
}

// Amounts acquired and released are read by at_chunk_of(); costs do not affect a proof.
void ShapeOps::read_clause(ShapeOp& /*op*/, const ast::Cost& /*cost*/, spec::Span /*span*/) {}
void ShapeOps::read_clause(ShapeOp& /*op*/, const ast::Acquires& /*acquires*/,
                           spec::Span /*span*/) {}
void ShapeOps::read_clause(ShapeOp& /*op*/, const ast::Releases& /*releases*/,
                           spec::Span /*span*/) {}
void ShapeOps::read_clause(ShapeOp& /*op*/, const ast::Collectives& /*collectives*/,
                           spec::Span span) {
  frame_.not_handled("collectives", span);
}
void ShapeOps::read_clause(ShapeOp& op, const ast::Needs& needs, spec::Span /*span*/) {
  for (const ast::NeededOp& need : needs.items) {
    const auto& [name, place, stage, span, via, via_capacity, of_all, of] = need;  // as in read()
    if (place == ast::At::stage) return frame_.not_handled("needs at a stage", span);
    const bool fifo = via && via->text == "fifo";
    if (via && !fifo && via->text != "slots") {
      return frame_.not_handled("via " + via->text, via->span);
    }
    if (via_capacity) check_slots(need);
    if (of_all || of) return frame_.not_handled("needs of", span);
    const auto& ops = sample_.ops;
    const auto it = std::find_if(ops.begin(), ops.end(), [&needed = name](const spec::Op& o) {
      return o.name == needed.text;
    });
    op.needs.push_back(
        {static_cast<int>(it - ops.begin()), place, fifo || via_capacity.has_value(), fifo});
  }
}

void ShapeOps::check_slots(const ast::NeededOp& need) {
  if (shape_.in_order) return frame_.not_handled("via " + need.via->text, need.via->span);
  for (int chunk = 0; chunk < shape_.chunks && !frame_.problem(); ++chunk) {
    const Expr slots = frame_.linear(*need.via_capacity, frame_.at_chunk(chunk));
    if (frame_.problem() || algebra_.always_at_least(slots, 1)) continue;
    frame_.fail(fmt::format("The slots `{}` are not above 0 for every number of ranks.",
                            print(*need.via_capacity)),
                need.via_capacity->span);
  }
}

OpAtChunk ShapeOps::at_chunk_of(const ast::Op& written, int chunk) {
  OpAtChunk here;
  const Meaning names = frame_.at_chunk(chunk);
  if (written.when) {
    const Expr when = frame_.linear(*written.when, names);
    const auto value = algebra_.constant(when);
    if (!value || *value == 0) here.when = when;
  }
  for (const ast::OpClause& clause : written.clauses) {
    if (const auto* acquires = std::get_if<ast::Acquires>(&clause.value)) {
      Use& use = use_of(here.acquires, acquires->resource);
      use.amount += amount(acquires->amount, names, acquires->resource.span);
      if (acquires->leaving) {
        const Expr leaving = frame_.linear(*acquires->leaving, names);
        Expr larger = leaving;
        larger.kind = Expr::Kind::call;
        larger.text = "max";
        larger.args = {use.leaving, leaving};
        use.leaving = algebra_.normal(larger, {});
      }
    } else if (const auto* releases = std::get_if<ast::Releases>(&clause.value)) {
      Use& use = use_of(here.releases, releases->resource);
      use.amount += amount(releases->amount, names, releases->resource.span);
    }
  }
  return here;
}

Use& ShapeOps::use_of(std::vector<Use>& uses, const ast::Name& resource) const {
  const int wanted = resource_of(resource);
  for (Use& use : uses) {
    if (use.resource == wanted) return use;
  }
  return uses.emplace_back(Use{wanted, 0});
}

std::int64_t ShapeOps::amount(const std::optional<Expr>& expr, const Meaning& names,
                              spec::Span span) {
  if (!expr) return 1;
  const auto value = algebra_.constant(frame_.linear(*expr, names));
  if (value && *value >= 1) return *value;
  frame_.fail(fmt::format("The amount `{}` is not the same at every rank and depth.", print(*expr)),
              span);
  return 1;
}

void ShapeOps::read(const ast::Assert& written, spec::Span span) {
  ShapeAssertion assertion{resource_of(written.resource), {}, span};
  const ShapeResource& resource = at(shape_.resources, assertion.resource);
  for (int chunk = 0; chunk < size_of(resource.capacity) && !frame_.problem(); ++chunk) {
    assertion.bound.push_back(frame_.linear(
        written.bound, resource.per_rank ? frame_.at_rank() : frame_.at_chunk(chunk)));
  }
  shape_.assertions.push_back(std::move(assertion));
}

}  // namespace ripeline::verify::depth
