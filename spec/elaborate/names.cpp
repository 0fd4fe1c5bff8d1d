#include "spec/elaborate/names.h"

#include <algorithm>

#include <fmt/format.h>

namespace ripeline::spec::elaboration {
namespace {

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class NameCheck {
 public:
  explicit NameCheck(Work& work) : work_(work) {
    for (const auto& param : work.params) params_.push_back(param.node->name.text);
    // If the range is wrong or missing, `microbatches` counts as known, to avoid a second error.
    const bool unknown_range =
        work.microbatches.node == nullptr || (work.failed() && !work.microbatches.node->any);
    if (work.one_count() || unknown_range) params_.push_back("microbatches");
  }

  void run() {
    check_shape();
    for (const auto& op : work_.ops) check_op(*op.node);
    for (const auto& resource : work_.resources) {
      if (resource.node->capacity) expr(*resource.node->capacity, instance(resource.node->per));
    }
    for (const auto& channel : work_.channels)
      expr(channel.node->slots, instance(channel.node->per));
    for (const auto& order : work_.orders) check_order(*order.node);
    for (const auto& hint : work_.hints) check_hint(*hint.node);
    for (const auto& assertion : work_.assertions) check_assertion(*assertion.node);
    for (const auto& pair : work_.pairs) {
      op_exists(pair.node->first, "pair-unknown-op");
      op_exists(pair.node->second, "pair-unknown-op");
      if (pair.node->cost) expr(*pair.node->cost, instance(ast::Per::rank));
    }
  }

 private:
  void check_shape() {
    Names earlier;
    for (const auto& param : work_.params) {
      const std::string& name = param.node->name.text;
      if (!work_.options.defines.contains(name)) expr(param.node->value, earlier);
      earlier.push_back(name);
    }
    if (work_.microbatches.node != nullptr && !work_.microbatches.node->any) {
      const ast::Range& range = work_.microbatches.node->range;
      expr(range.first, earlier);
      if (!same(range.first, range.last)) expr(range.last, earlier);
    }
    if (work_.stages.node != nullptr) {
      for (const ast::StageGroup& group : work_.stages.node->groups) expr(group.count, params_);
    }
    if (work_.place.node != nullptr) {
      variable(work_.place.node->variable, "s", "place");
      expr(work_.place.node->rank, with({"s", "stages"}));
    }
    if (work_.tensor_parallel.node != nullptr)
      expr(work_.tensor_parallel.node->members, global({}));
    if (work_.data_parallel.node != nullptr) expr(work_.data_parallel.node->replicas, global({}));
  }

  void check_op(const ast::Op& op) {
    if (op.when) expr(*op.when, instance(ast::Per::stage));
    if (op.microbatch_filter) expr(*op.microbatch_filter, stage_with({"m"}));
    for (const ast::OpClause& clause : op.clauses) {
      std::visit([this](const auto& node) { check_clause(node); }, clause.value);
    }
  }

  void check_clause(const ast::Cost& cost) { expr(cost.value, stage_with({"m", "input"})); }
  void check_clause(const ast::Needs& needs) {
    for (const ast::NeededOp& need : needs.items) {
      op_exists(need.op, "need-unknown-op");
      if (need.stage) expr(*need.stage, instance(ast::Per::stage));
      if (need.via_capacity) expr(*need.via_capacity, instance(ast::Per::stage));
      if (need.of) expr(*need.of, stage_with({"m"}));
    }
  }
  void check_clause(const ast::Acquires& acquires) {
    resource_exists(acquires.resource, "acquire-unknown-resource");
    if (acquires.amount) expr(*acquires.amount, instance(ast::Per::stage));
    if (acquires.leaving) expr(*acquires.leaving, instance(ast::Per::stage));
  }
  void check_clause(const ast::Releases& releases) {
    resource_exists(releases.resource, "release-unknown-resource");
    if (releases.amount) expr(*releases.amount, instance(ast::Per::stage));
  }
  void check_clause(const ast::Collectives& collectives) {
    expr(collectives.count, instance(ast::Per::stage));
  }

  void check_order(const ast::Order& order) {
    if (order.csv) return;
    variable(order.variable, "r", "order");
    Names known = global({"r", "chunks", "microbatches"});
    Names streams;
    Names loops;
    for (const ast::OrderItem& item : order.items) {
      if (const auto* let = std::get_if<ast::Let>(&item.value)) {
        expr(let->value, known);
        if (contains(streams, let->name.text) || contains(loops, let->name.text)) {
          duplicate_let(let->name);
        }
        declare(let->name, known);
      } else if (const auto* stream = std::get_if<ast::Stream>(&item.value)) {
        for (const ast::StreamPart& part : stream->parts) check_part(part, known);
        if (contains(streams, stream->name.text) || contains(known, stream->name.text) ||
            work_.find_op(stream->name.text) >= 0) {
          work_.error("duplicate-stream",
                      fmt::format("'{}' has a meaning here already", stream->name.text),
                      "choose another name", stream->name.span);
        }
        streams.push_back(stream->name.text);
        for (const ast::StreamPart& part : stream->parts) {
          for (const ast::StreamLoop& loop : part.loops) loops.push_back(loop.variable.text);
        }
      } else if (const auto* block = std::get_if<ast::RankBlock>(&item.value)) {
        expr(block->rank, global({}));
        for (const ast::Repeat& repeat : block->repeats) check_repeat(repeat, known, streams);
      } else {
        check_repeat(std::get<ast::Repeat>(item.value), known, streams);
      }
    }
  }

  void check_part(const ast::StreamPart& part, Names known) {
    for (const ast::StreamLoop& loop : part.loops) {
      expr(loop.range.first, known);
      expr(loop.range.last, known);
      declare(loop.variable, known);
    }
    for (const ast::Repeat& repeat : part.repeats) check_repeat(repeat, known, {});
  }

  void check_repeat(const ast::Repeat& repeat, const Names& known, const Names& streams) {
    for (const ast::OrderStep& step : repeat.steps) order_step(step, known, streams);
    if (repeat.count) expr(*repeat.count, known);
  }

  void order_step(const ast::OrderStep& step, const Names& known, const Names& streams) {
    const bool is_stream = contains(streams, step.op.text);
    if (!is_stream) op_exists(step.op, "order-unknown-op", streams);
    if (!step.chunk) return;
    expr(*step.chunk, known);
    if (is_stream) {
      work_.error("order-chunk-of-stream",
                  fmt::format("'{}' is a stream, whose items have their chunks", step.op.text),
                  fmt::format("write {} alone", step.op.text), step.chunk->span);
    }
  }

  void declare(const ast::Name& name, Names& known) {
    if (contains(known, name.text)) {
      duplicate_let(name);
      return;
    }
    known.push_back(name.text);
  }

  void duplicate_let(const ast::Name& name) {
    work_.error("duplicate-let", fmt::format("'{}' has a meaning here already", name.text),
                "choose another name", name.span);
  }

  void check_hint(const ast::Hint& hint) {
    for (const ast::HintClause& clause : hint.clauses) {
      for (const ast::HintPlace& place : clause.places) {
        op_exists(place.lane.op, "hint-unknown-op");
        if (place.lane.chunk) expr(*place.lane.chunk, instance(ast::Per::rank));
        if (place.priority) check_priority(*place.priority);
      }
      if (clause.order && work_.find_order(clause.order->text) < 0) {
        const ast::Name& name = *clause.order;
        work_.error("hint-unknown-order", fmt::format("no order is called '{}'", name.text),
                    choices("orders", name.text, work_.order_names()), name.span);
      }
      if (clause.value) expr(*clause.value, global({}));
    }
  }

  void check_priority(const Expr& priority) {
    Names known = stage_with({"m", "microbatches"});
    for (const std::string& name : names_in(priority)) {
      if (!contains(known, name) || work_.find_resource(name) < 0) continue;
      work_.error("priority-ambiguous-name",
                  fmt::format("'{}' is a resource here, and something else", name),
                  "a priority reads both: rename one of them", priority.span);
    }
    const Names resources = work_.resource_names();
    known.insert(known.end(), resources.begin(), resources.end());
    expr(priority, known);
  }

  void check_assertion(const ast::Assert& assertion) {
    resource_exists(assertion.resource, "assert-unknown-resource");
    const int resource = work_.find_resource(assertion.resource.text);
    if (resource < 0) return;
    const auto per = work_.resources[static_cast<std::size_t>(resource)].node->per;
    expr(assertion.bound, global({per == ast::Per::stage ? "s" : "r", "chunks", "microbatches"}));
  }

  void op_exists(const ast::Name& name, const char* id, const Names& others = {}) {
    if (work_.find_op(name.text) >= 0) return;
    Names candidates = work_.op_names();
    candidates.insert(candidates.end(), others.begin(), others.end());
    work_.error(id, fmt::format("no op is called '{}'", name.text),
                choices("ops", name.text, candidates), name.span);
  }

  void resource_exists(const ast::Name& name, const char* id) {
    if (work_.find_resource(name.text) >= 0) return;
    work_.error(id, fmt::format("no resource is called '{}'", name.text),
                choices("resources", name.text, work_.resource_names()), name.span);
  }

  void expr(const Expr& expr, const Names& known) {
    for (const Expr& arg : expr.args) this->expr(arg, known);
    if (expr.kind != Expr::Kind::name || contains(known, expr.text)) return;
    std::string hint = choices("names", expr.text, known);
    if (expr.text == "microbatches") {
      hint = "it has one value only in orders and assertions, or where the range is one count";
    } else if (expr.text == "ranks") {
      hint = "it follows from the placement; to use it here, declare it: `param ranks = 4;`";
    }
    work_.error("expr-unknown-name", fmt::format("nothing here is called '{}'", expr.text), hint,
                expr.span);
  }

  void variable(const ast::Name& name, const char* meant, const char* what) {
    if (name.text == meant) return;
    work_.error(fmt::format("{}-variable", what),
                fmt::format("'{}' stands where '{}' is meant", name.text, meant),
                fmt::format("only {} is known here", meant), name.span);
  }

  // The names that a context knows: its special names first, then params and other global names.
  Names with(Names special) const {
    special.insert(special.end(), params_.begin(), params_.end());
    return special;
  }
  Names global(Names special) const {
    special.push_back("ranks");
    special.push_back("stages");
    for (const std::string& name : params_) {
      if (!contains(special, name)) special.push_back(name);
    }
    return special;
  }
  Names stage_with(Names special) const {
    special.insert(special.begin(), {"s", "r", "chunk", "chunks"});
    return global(std::move(special));
  }
  Names instance(ast::Per per) const {
    return per == ast::Per::stage ? stage_with({}) : global({"r", "chunks"});
  }

  Work& work_;
  Names params_;
};

}  // namespace

void check_names(Work& work) { NameCheck(work).run(); }

}  // namespace ripeline::spec::elaboration
