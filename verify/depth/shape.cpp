#include "verify/depth/shape.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "spec/indexing.h"
#include "verify/depth/algebra.h"
#include "verify/ready/linear.h"

namespace ripeline::verify::depth {

using spec::Expr;
namespace ast = spec::ast;

namespace {

// More runs of stages than this make more questions than the solver answers.
constexpr std::int64_t kMostChunks = 16;

Expr times(std::int64_t factor, Expr expr) {
  return Expr::binary("*", Expr::number(factor), std::move(expr));
}

class ShapeReader {
 public:
  ShapeReader(const ast::Pipeline& pipeline, const spec::ElaborateOptions& options,
              const spec::Program& sample, const SolverUse& use)
      : pipeline_(pipeline), options_(options), sample_(sample), algebra_(sample.ranks, use) {}

  std::variant<Shape, Problem> read() {
    shape_.least_ranks = sample_.ranks;
    shape_.in_order = sample_.dispatch.in_order;
    read_params();
    read_stages();
    read_microbatches();
    for (const ast::Item& item : pipeline_.items) {
      if (const auto* node = std::get_if<ast::Resource>(&item.value)) read_resource(*node);
    }
    for (const ast::Item& item : pipeline_.items) {
      std::visit([&](const auto& node) { read_item(node, item.span); }, item.value);
    }
    if (shape_.in_order) read_order();
    if (sample_.dispatch.keeps >= 0) not_handled("keeping", sample_.dispatch.span);
    for (const spec::Pair& pair : sample_.pairs) not_handled("pair", pair.span);
    if (problem_) return *problem_;
    return std::move(shape_);
  }

 private:
  void fail(std::string reason, spec::Span span) {
    if (!problem_) problem_ = Problem{std::move(reason), span};
  }
  void not_handled(const std::string& construct, spec::Span span) {
    fail("`" + construct + "` is not handled for every number of ranks.", span);
  }

  // --- names ---

  void read_params() {
    for (const ast::Item& item : pipeline_.items) {
      const auto* param = std::get_if<ast::Param>(&item.value);
      if (param == nullptr) continue;
      const std::string& name = param->name.text;
      const auto define = options_.defines.find(name);
      if (name == "ranks") {
        params_[name] = Expr::name("ranks");
      } else if (define != options_.defines.end()) {
        params_[name] = Expr::number(define->second);
      } else {
        params_[name] = algebra_.normal(param->value, params_);
      }
    }
  }

  // At a stage of this chunk.
  Meaning at_chunk(int chunk) const {
    Meaning names = at_rank();
    const Expr ranks = Expr::name("ranks");
    const Expr r = Expr::name("r");
    names["s"] =
        at(shape_.runs, chunk) == Direction::up
            ? Expr::binary("+", times(chunk, ranks), r)
            : Expr::binary("-", times(chunk + 1, ranks), Expr::binary("+", Expr::number(1), r));
    names["chunk"] = Expr::number(chunk);
    return names;
  }
  Meaning at_rank() const {
    Meaning names = params_;
    names["stages"] = times(shape_.chunks, Expr::name("ranks"));
    names["chunks"] = Expr::number(shape_.chunks);
    return names;
  }

  // Linear, or a problem.
  Expr linear(const Expr& expr, const Meaning& names) {
    Expr normal = algebra_.normal(expr, names);
    if (!algebra_.term(normal)) fail(algebra_.problem(normal) + ".", expr.span);
    return normal;
  }

  // --- stages ---

  void read_stages() {
    const ast::Place* place = nullptr;
    for (const ast::Item& item : pipeline_.items) {
      if (const auto* stages = std::get_if<ast::Stages>(&item.value)) {
        count_stages(*stages, item.span);
      } else if (const auto* node = std::get_if<ast::Place>(&item.value)) {
        place = node;
      }
    }
    if (problem_ || place == nullptr) return;
    for (int chunk = 0; chunk < shape_.chunks; ++chunk) {
      shape_.runs.push_back(Direction::up);
      if (is_placed_on(*place, chunk, Expr::name("r"))) continue;
      shape_.runs.back() = Direction::down;
      if (is_placed_on(*place, chunk, Expr::name("r"))) continue;
      fail(fmt::format("The placement `{}` does not run up or down all ranks with the stages "
                       "{} * ranks and on, as a chain, a loop or a V does.",
                       print(place->rank), chunk),
           place->rank.span);
      return;
    }
  }

  bool is_placed_on(const ast::Place& place, int chunk, const Expr& rank) {
    return algebra_.always_equal(algebra_.normal(place.rank, at_chunk(chunk)), rank);
  }

  void count_stages(const ast::Stages& stages, spec::Span span) {
    if (stages.groups.size() != 1) return not_handled("stages in groups", span);
    const Expr count = algebra_.normal(stages.groups.front().count, params_);
    const std::int64_t chunks = size_of(sample_.stages) / sample_.ranks;
    if (!algebra_.always_equal(count, times(chunks, Expr::name("ranks")))) {
      return fail(fmt::format("The number of stages `{}` is not a fixed multiple of the number of "
                              "ranks.",
                              print(stages.groups.front().count)),
                  stages.groups.front().count.span);
    }
    if (chunks > kMostChunks) {
      return fail(fmt::format("More than {} stages per rank are not handled for every number of "
                              "ranks.",
                              kMostChunks),
                  stages.groups.front().count.span);
    }
    shape_.chunks = static_cast<int>(chunks);
  }

  void read_microbatches() {
    const auto define = options_.defines.find("microbatches");
    for (const ast::Item& item : pipeline_.items) {
      const auto* range = std::get_if<ast::Microbatches>(&item.value);
      if (range == nullptr) continue;
      if (!range->any) {
        shape_.least_microbatches = linear(range->range.first, params_);
        shape_.most_microbatches = linear(range->range.last, params_);
        if (range->range.exclusive) {
          shape_.most_microbatches = Expr::binary("-", *shape_.most_microbatches, Expr::number(1));
        }
        check_range(item.span, define);
      }
    }
    if (define == options_.defines.end()) return;
    shape_.least_microbatches = Expr::number(define->second);
    shape_.most_microbatches = shape_.least_microbatches;
  }

  template <class Define>
  void check_range(spec::Span span, const Define& define) {
    if (problem_) return;
    const Expr& least = shape_.least_microbatches;
    const Expr& most = *shape_.most_microbatches;
    bool good = algebra_.always_at_least(least, 1) &&
                algebra_.always_at_least(Expr::binary("-", most, least), 0);
    if (define != options_.defines.end()) {  // the narrowed count lies in the range at every depth
      const Expr count = Expr::number(define->second);
      good = good && algebra_.always_at_least(Expr::binary("-", count, least), 0) &&
             algebra_.always_at_least(Expr::binary("-", most, count), 0);
    }
    if (!good) fail("The range of microbatches is not one for every number of ranks.", span);
  }

  // --- resources ---

  void read_resource(const ast::Resource& written) {
    ShapeResource resource{written.name.text, written.per == ast::Per::rank, {}};
    const int pools = resource.per_rank ? 1 : shape_.chunks;
    for (int chunk = 0; chunk < pools && !problem_; ++chunk) {
      if (!written.capacity) {
        resource.capacity.emplace_back();
        continue;
      }
      const Meaning names = resource.per_rank ? at_rank() : at_chunk(chunk);
      const Expr capacity = linear(*written.capacity, names);
      if (!problem_ && !algebra_.always_at_least(capacity, 1)) {
        fail(fmt::format("The capacity `{}` is not above 0 for every number of ranks.",
                         print(*written.capacity)),
             written.capacity->span);
      }
      resource.capacity.emplace_back(capacity);
    }
    shape_.resources.push_back(std::move(resource));
  }

  int resource_of(const ast::Name& name) const {
    for (int i = 0; i < size_of(shape_.resources); ++i) {
      if (at(shape_.resources, i).name == name.text) return i;
    }
    return 0;  // the sample has passed the checks: it is there
  }

  // --- ops ---

  // Each kind of item by name, so that none which is added to the language is overlooked. These
  // are read elsewhere, or say nothing of a proof for every choice.
  void read_item(const ast::Param&, spec::Span) {}
  void read_item(const ast::Inputs&, spec::Span) {}
  void read_item(const ast::Microbatches&, spec::Span) {}
  void read_item(const ast::Stages&, spec::Span) {}
  void read_item(const ast::Place&, spec::Span) {}
  void read_item(const ast::Resource&, spec::Span) {}
  void read_item(const ast::Order&, spec::Span) {}
  void read_item(const ast::Hint&, spec::Span) {}
  void read_item(const ast::Dispatch&, spec::Span) {}

  void read_item(const ast::Edges&, spec::Span span) { not_handled("edges", span); }
  void read_item(const ast::TensorParallel&, spec::Span span) {
    not_handled("tensor_parallel", span);
  }
  void read_item(const ast::Channel&, spec::Span span) { not_handled("channel", span); }
  void read_item(const ast::Pair&, spec::Span span) { not_handled("pair", span); }

  void read_item(const ast::Op& written, spec::Span) {
    ShapeOp op{written.name.text, written.sequential, {}, {}};
    if (written.once) return not_handled("once", written.name.span);
    if (!written.kind.empty() && written.kind.front().text == "reduce") {
      return not_handled("reduce", written.name.span);
    }
    if (written.engine && written.engine->text != "compute") {
      return not_handled("engine " + written.engine->text, written.engine->span);
    }
    if (written.microbatch_filter) {
      return not_handled("on m where", written.microbatch_filter->span);
    }
    for (const ast::OpClause& clause : written.clauses) {
      std::visit([&](const auto& node) { read_clause(op, node, clause.span); }, clause.value);
    }
    for (int chunk = 0; chunk < shape_.chunks && !problem_; ++chunk) {
      op.chunks.push_back(at_chunk_of(written, chunk));
    }
    shape_.ops.push_back(std::move(op));
  }

  void read_clause(ShapeOp&, const ast::Cost&, spec::Span) {}
  void read_clause(ShapeOp&, const ast::Acquires&, spec::Span) {}  // at_chunk_of() does
  void read_clause(ShapeOp&, const ast::Releases&, spec::Span) {}
  void read_clause(ShapeOp&, const ast::Collectives&, spec::Span span) {
    not_handled("collectives", span);
  }
  void read_clause(ShapeOp& op, const ast::Needs& needs, spec::Span) {
    for (const ast::NeededOp& need : needs.items) {
      const bool fifo = need.via && need.via->text == "fifo";
      if (need.via && !fifo && need.via->text != "slots") {
        return not_handled("via " + need.via->text, need.via->span);
      }
      if (need.via_capacity) check_slots(need);
      if (need.of_all || need.of) return not_handled("needs of", need.span);
      const auto& ops = sample_.ops;
      const auto it = std::find_if(ops.begin(), ops.end(),
                                   [&](const spec::Op& o) { return o.name == need.op.text; });
      op.needs.push_back({static_cast<int>(it - ops.begin()), need.at,
                          fifo || need.via_capacity.has_value(), fifo});
    }
  }

  void check_slots(const ast::NeededOp& need) {
    if (shape_.in_order) return not_handled("via " + need.via->text, need.via->span);
    for (int chunk = 0; chunk < shape_.chunks && !problem_; ++chunk) {
      const Expr slots = linear(*need.via_capacity, at_chunk(chunk));
      if (problem_ || algebra_.always_at_least(slots, 1)) continue;
      fail(fmt::format("The slots `{}` are not above 0 for every number of ranks.",
                       print(*need.via_capacity)),
           need.via_capacity->span);
    }
  }

  OpAtChunk at_chunk_of(const ast::Op& written, int chunk) {
    OpAtChunk here;
    const Meaning names = at_chunk(chunk);
    if (written.when) {
      const Expr when = linear(*written.when, names);
      const auto value = algebra_.constant(when);
      if (!value || *value == 0) here.when = when;
    }
    for (const ast::OpClause& clause : written.clauses) {
      if (const auto* acquires = std::get_if<ast::Acquires>(&clause.value)) {
        Use& use = use_of(here.acquires, acquires->resource);
        use.amount += amount(acquires->amount, names, acquires->resource.span);
        if (acquires->leaving) {
          const Expr leaving = linear(*acquires->leaving, names);
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

  Use& use_of(std::vector<Use>& uses, const ast::Name& resource) const {
    const int wanted = resource_of(resource);
    for (Use& use : uses) {
      if (use.resource == wanted) return use;
    }
    return uses.emplace_back(Use{wanted, 0});
  }

  std::int64_t amount(const std::optional<Expr>& expr, const Meaning& names, spec::Span span) {
    if (!expr) return 1;
    const auto value = algebra_.constant(linear(*expr, names));
    if (value && *value >= 1) return *value;
    fail(fmt::format("The amount `{}` is not the same at every rank and depth.", print(*expr)),
         span);
    return 1;
  }

  // --- assertions ---

  void read_item(const ast::Assert& written, spec::Span span) {
    ShapeAssertion assertion{resource_of(written.resource), {}, span};
    const ShapeResource& resource = at(shape_.resources, assertion.resource);
    for (int chunk = 0; chunk < size_of(resource.capacity) && !problem_; ++chunk) {
      assertion.bound.push_back(
          linear(written.bound, resource.per_rank ? at_rank() : at_chunk(chunk)));
    }
    shape_.assertions.push_back(std::move(assertion));
  }

  // --- the committed order ---

  void read_order() {
    const std::string& name = at(sample_.orders, sample_.dispatch.order).name;
    for (const ast::Item& item : pipeline_.items) {
      const auto* order = std::get_if<ast::Order>(&item.value);
      if (order != nullptr && order->name.text == name) read_order(*order, item.span);
    }
  }

  void read_order(const ast::Order& order, spec::Span span) {
    if (order.csv) return not_handled("order from csv", span);
    Meaning names = at_rank();
    for (const ast::OrderItem& item : order.items) {
      if (const auto* let = std::get_if<ast::Let>(&item.value)) {
        names[let->name.text] = algebra_.normal(let->value, names);
      } else if (const auto* repeat = std::get_if<ast::Repeat>(&item.value)) {
        read_repeat(*repeat, names, item.span);
      } else {
        return not_handled("stream", item.span);
      }
    }
  }

  void read_repeat(const ast::Repeat& written, const Meaning& names, spec::Span span) {
    ShapeRepeat repeat{{}, written.count ? linear(*written.count, names) : Expr::number(1), {}};
    for (const ast::OrderStep& step : written.steps) {
      const auto chunk =
          step.chunk ? algebra_.constant(algebra_.normal(*step.chunk, names)) : std::optional{0L};
      int op = -1;
      for (int i = 0; i < size_of(sample_.ops); ++i) {
        if (at(sample_.ops, i).name == step.op.text) op = i;
      }
      if (op < 0) return not_handled("stream", span);
      if (!chunk || *chunk < 0 || *chunk >= shape_.chunks || (!step.chunk && shape_.chunks > 1)) {
        return fail(fmt::format("The chunk of `{}` in the order is not the same at every rank and "
                                "depth.",
                                step.op.text),
                    step.op.span);
      }
      repeat.steps.push_back({op, static_cast<int>(*chunk)});
    }
    repeat.places = places_in_turn(size_of(repeat.steps));
    shape_.order.push_back(std::move(repeat));
  }

  const ast::Pipeline& pipeline_;
  const spec::ElaborateOptions& options_;
  const spec::Program& sample_;
  Algebra algebra_;
  Meaning params_;
  Shape shape_;
  std::optional<Problem> problem_;
};

}  // namespace

std::variant<Shape, Problem> read_shape(const ast::Pipeline& pipeline,
                                        const spec::ElaborateOptions& options,
                                        const spec::Program& sample, const SolverUse& use) {
  return ShapeReader(pipeline, options, sample, use).read();
}

}  // namespace ripeline::verify::depth
