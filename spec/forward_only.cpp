// The tree loses items, and gets a hint and a dispatch of its own. Whatever named a lost item is
// lost too, so that elaboration finds nothing missing.
#include "spec/forward_only.h"

#include <set>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "spec/print.h"

namespace ripeline::spec {
namespace {

bool is_forward(const ast::Op& op) {
  return op.kind.size() == 1 && op.kind.front().text == "forward";
}

class ForwardOnly {
 public:
  explicit ForwardOnly(const ast::Pipeline& pipeline) : tree_(pipeline) {}

  Result<std::string> run() {
    note_names();
    if (forwards_.empty()) {
      return Diagnostic{.id = "forward-only",
                        .message = "no op has the kind `forward`",
                        .hint = "the forward pass is the ops of this kind",
                        .span = tree_.name.span};
    }
    check_needs();
    if (!errors_.empty()) return std::move(errors_);
    const std::string name = tree_.name.text;
    tree_.name.text += "_forward";
    tree_.comments.clear();
    std::erase_if(tree_.items, [&](const ast::Item& item) { return !is_kept(item); });
    for (ast::Item& item : tree_.items) {
      if (auto* const op = std::get_if<ast::Op>(&item.value)) drop_clauses(*op);
    }
    add_dispatch();
    return fmt::format(
        "# The forwards of {}, for evaluation: a rank runs any that is ready, of later "
        "stages first.\n{}",
        name, print(tree_));
  }

 private:
  // Finds the ops that stay, and the resources that other ops use.
  void note_names() {
    for (const ast::Item& item : tree_.items) {
      const auto* const op = std::get_if<ast::Op>(&item.value);
      if (op == nullptr) continue;
      if (is_forward(*op)) {
        forwards_.insert(op->name.text);
        continue;
      }
      for (const ast::OpClause& clause : op->clauses) {
        if (const auto* const a = std::get_if<ast::Acquires>(&clause.value)) {
          lost_resources_.insert(a->resource.text);
        } else if (const auto* const r = std::get_if<ast::Releases>(&clause.value)) {
          lost_resources_.insert(r->resource.text);
        }
      }
    }
  }

  void check_needs() {
    for (const ast::Item& item : tree_.items) {
      const auto* const op = std::get_if<ast::Op>(&item.value);
      if (op == nullptr || !is_forward(*op)) continue;
      for (const ast::OpClause& clause : op->clauses) {
        const auto* const needs = std::get_if<ast::Needs>(&clause.value);
        if (needs == nullptr) continue;
        for (const ast::NeededOp& need : needs->items) check_need(*op, need);
      }
    }
  }

  void check_need(const ast::Op& op, const ast::NeededOp& need) {
    if (!forwards_.contains(need.op.text)) {
      add_error(fmt::format("{} needs {}, which is no `forward`", op.name.text, need.op.text),
                "the forward pass is the ops of this kind, and may need only each other",
                need.op.span);
    }
    if (need.via && need.via->text == "rendezvous") {
      add_error(fmt::format("{} needs {} via rendezvous, for which an order is necessary",
                            op.name.text, need.op.text),
                "the forward pass has no order; let the need travel via slots or fifo",
                need.via->span);
    } else if (need.via) {
      links_.insert(need.via->text);
    }
  }

  void add_error(std::string message, std::string hint, Span span) {
    errors_.push_back({.id = "forward-only",
                       .message = std::move(message),
                       .hint = std::move(hint),
                       .span = span});
  }

  [[nodiscard]] bool is_kept(const ast::Item& item) const {
    if (const auto* const op = std::get_if<ast::Op>(&item.value)) return is_forward(*op);
    if (const auto* const resource = std::get_if<ast::Resource>(&item.value)) {
      return !lost_resources_.contains(resource->name.text);
    }
    if (const auto* const bound = std::get_if<ast::Assert>(&item.value)) {
      return !lost_resources_.contains(bound->resource.text);
    }
    if (const auto* const channel = std::get_if<ast::Channel>(&item.value)) {
      return links_.contains(channel->name.text);
    }
    if (const auto* const pair = std::get_if<ast::Pair>(&item.value)) {
      return forwards_.contains(pair->first.text) && forwards_.contains(pair->second.text);
    }
    return !std::holds_alternative<ast::Order>(item.value) &&
           !std::holds_alternative<ast::Hint>(item.value) &&
           !std::holds_alternative<ast::Dispatch>(item.value);
  }

  void drop_clauses(ast::Op& op) const {
    std::erase_if(op.clauses, [&](const ast::OpClause& clause) {
      if (const auto* const a = std::get_if<ast::Acquires>(&clause.value)) {
        return lost_resources_.contains(a->resource.text);
      }
      const auto* const r = std::get_if<ast::Releases>(&clause.value);
      return r != nullptr && lost_resources_.contains(r->resource.text);
    });
  }

  void add_dispatch() {
    ast::HintClause priority{
        .keyword = {"priority", {}}, .places = {}, .order = {}, .value = {}, .span = {}};
    for (const ast::Item& item : tree_.items) {
      if (const auto* const op = std::get_if<ast::Op>(&item.value)) {
        priority.places.push_back(
            {.lane = {.op = {op->name.text, {}}, .chunk = {}}, .priority = Expr::name("s")});
      }
    }
    const ast::Name name{"later_stages_first", {}};
    tree_.items.push_back({.value = ast::Hint{.name = name, .clauses = {std::move(priority)}},
                           .blank_before = true,
                           .span = {}});
    tree_.items.push_back({.value = ast::Dispatch{.in_order = false, .by = name, .keeps = {}},
                           .blank_before = false,
                           .span = {}});
  }

  ast::Pipeline tree_;
  std::set<std::string> forwards_;
  std::set<std::string> lost_resources_;
  std::set<std::string> links_;
  Diagnostics errors_;
};

}  // namespace

Result<std::string> forward_only(const ast::Pipeline& pipeline) {
  return ForwardOnly(pipeline).run();
}

}  // namespace ripeline::spec
