#include "verify/depth/shape.h"

#include <fmt/format.h>

#include "spec/indexing.h"
#include "verify/depth/shape_frame.h"
#include "verify/depth/shape_ops.h"

namespace ripeline::verify::depth {

using spec::Expr;
namespace ast = spec::ast;

namespace {

// Visits the items of a tree, and reads its order; ShapeFrame and ShapeOps read the rest.
class ShapeReader {
 public:
  ShapeReader(const ast::Pipeline& pipeline, const spec::ElaborateOptions& options,
              const spec::Program& sample, const SolverUse& use)
      : pipeline_(pipeline),
        sample_(sample),
        frame_(pipeline, options, sample, use, shape_),
        ops_(sample, frame_, shape_) {}

  std::variant<Shape, Problem> read() {
    shape_.least_ranks = sample_.ranks;
    shape_.in_order = sample_.dispatch.in_order;
    for (const ast::Item& item : pipeline_.items) {
      if (const auto* node = std::get_if<ast::Resource>(&item.value)) ops_.read(*node);
    }
    for (const ast::Item& item : pipeline_.items) {
      std::visit([&](const auto& node) { read_item(node, item.span); }, item.value);
    }
    if (shape_.in_order) read_order();
    if (sample_.dispatch.keeps >= 0) frame_.not_handled("keeping", sample_.dispatch.span);
    for (const spec::Pair& pair : sample_.pairs) frame_.not_handled("pair", pair.span);
    if (frame_.problem()) return *frame_.problem();
    return std::move(shape_);
  }

 private:
  // Each kind of item has a function, so that a new kind cannot be overlooked. The kinds below are
  // read elsewhere, or do not affect proofs, which hold for every choice among startable tasks.
  void read_item(const ast::Param&, spec::Span) {}
  void read_item(const ast::Inputs&, spec::Span) {}
  void read_item(const ast::Microbatches&, spec::Span) {}
  void read_item(const ast::Stages&, spec::Span) {}
  void read_item(const ast::Place&, spec::Span) {}
  void read_item(const ast::Resource&, spec::Span) {}
  void read_item(const ast::Order&, spec::Span) {}
  void read_item(const ast::Hint&, spec::Span) {}
  void read_item(const ast::Dispatch&, spec::Span) {}

  void read_item(const ast::Op& written, spec::Span) { ops_.read(written); }
  void read_item(const ast::Assert& written, spec::Span span) { ops_.read(written, span); }

  void read_item(const ast::Edges&, spec::Span span) { frame_.not_handled("edges", span); }
  void read_item(const ast::TensorParallel&, spec::Span span) {
    frame_.not_handled("tensor_parallel", span);
  }
  void read_item(const ast::DataParallel&, spec::Span span) {
    frame_.not_handled("data_parallel", span);
  }
  void read_item(const ast::Channel&, spec::Span span) { frame_.not_handled("channel", span); }
  void read_item(const ast::Pair&, spec::Span span) { frame_.not_handled("pair", span); }

  void read_order() {
    const std::string& name = at(sample_.orders, sample_.dispatch.order).name;
    for (const ast::Item& item : pipeline_.items) {
      const auto* order = std::get_if<ast::Order>(&item.value);
      if (order != nullptr && order->name.text == name) read_order(*order, item.span);
    }
  }

  void read_order(const ast::Order& order, spec::Span span) {
    if (order.csv) return frame_.not_handled("order from csv", span);
    Meaning names = frame_.at_rank();
    for (const ast::OrderItem& item : order.items) {
      if (const auto* let = std::get_if<ast::Let>(&item.value)) {
        names[let->name.text] = frame_.algebra().normal(let->value, names);
      } else if (const auto* repeat = std::get_if<ast::Repeat>(&item.value)) {
        read_repeat(*repeat, names, item.span);
      } else if (std::holds_alternative<ast::RankBlock>(item.value)) {
        return frame_.not_handled("rank", item.span);
      } else {
        return frame_.not_handled("stream", item.span);
      }
    }
  }

  void read_repeat(const ast::Repeat& written, const Meaning& names, spec::Span span) {
    ShapeRepeat repeat{
        {}, written.count ? frame_.linear(*written.count, names) : Expr::number(1), {}};
    for (const ast::OrderStep& step : written.steps) {
      const auto chunk =
          step.chunk ? frame_.algebra().constant(frame_.algebra().normal(*step.chunk, names))
                     : std::optional{0L};
      int op = -1;
      for (int i = 0; i < size_of(sample_.ops); ++i) {
        if (at(sample_.ops, i).name == step.op.text) op = i;
      }
      if (op < 0) return frame_.not_handled("stream", span);
      if (!chunk || *chunk < 0 || *chunk >= shape_.chunks || (!step.chunk && shape_.chunks > 1)) {
        return frame_.fail(
            fmt::format("The chunk of `{}` in the order is not the same at every rank and "
                        "depth.",
                        step.op.text),
            step.op.span);
      }
      repeat.steps.push_back({op, static_cast<int>(*chunk)});
    }
    repeat.positions = positions_in_turn(size_of(repeat.steps));
    shape_.order.push_back(std::move(repeat));
  }

  const ast::Pipeline& pipeline_;
  const spec::Program& sample_;
  Shape shape_;
  ShapeFrame frame_;
  ShapeOps ops_;
};

}  // namespace

std::variant<Shape, Problem> read_shape(const ast::Pipeline& pipeline,
                                        const spec::ElaborateOptions& options,
                                        const spec::Program& sample, const SolverUse& use) {
  return ShapeReader(pipeline, options, sample, use).read();
}

}  // namespace ripeline::verify::depth
