#include "spec/ast.h"

#include <algorithm>
#include <tuple>

namespace ripeline::spec::ast {
namespace {

// The fields that make up the tree: all except spans and layout.
auto fields(const Range& x) { return std::tie(x.first, x.last, x.exclusive); }
auto fields(const Param& x) { return std::tie(x.name, x.value); }
auto fields(const Microbatches& x) { return std::tie(x.any, x.range); }
auto fields(const StageGroup& x) { return std::tie(x.name, x.count); }
auto fields(const Stages& x) { return std::tie(x.groups); }
auto fields(const GroupEdge& x) { return std::tie(x.from, x.to); }
auto fields(const Edges& x) { return std::tie(x.edges); }
auto fields(const Place& x) { return std::tie(x.variable, x.rank); }
auto fields(const TensorParallel& x) { return std::tie(x.members, x.agree); }
auto fields(const DataParallel& x) { return std::tie(x.replicas); }
auto fields(const NeededOp& x) {
  return std::tie(x.op, x.at, x.stage, x.via, x.via_capacity, x.of_all, x.of);
}
auto fields(const Needs& x) { return std::tie(x.items); }
auto fields(const Cost& x) { return std::tie(x.value); }
auto fields(const Acquires& x) { return std::tie(x.resource, x.amount, x.leaving); }
auto fields(const Releases& x) { return std::tie(x.resource, x.amount); }
auto fields(const Collectives& x) { return std::tie(x.count); }
auto fields(const OpClause& x) { return std::tie(x.value); }
auto fields(const Op& x) {
  return std::tie(x.name, x.kind, x.user_name, x.sequential, x.once, x.engine, x.when,
                  x.microbatch_filter, x.clauses);
}
auto fields(const Resource& x) { return std::tie(x.name, x.per, x.capacity, x.unit); }
auto fields(const Channel& x) { return std::tie(x.name, x.per, x.slots); }
auto fields(const OrderStep& x) { return std::tie(x.op, x.chunk); }
auto fields(const Let& x) { return std::tie(x.name, x.value); }
auto fields(const StreamLoop& x) { return std::tie(x.variable, x.range); }
auto fields(const Repeat& x) { return std::tie(x.steps, x.grouped, x.count); }
auto fields(const StreamPart& x) { return std::tie(x.loops, x.repeats); }
auto fields(const Stream& x) { return std::tie(x.name, x.parts, x.braced); }
auto fields(const RankBlock& x) { return std::tie(x.rank, x.repeats); }
auto fields(const OrderItem& x) { return std::tie(x.value); }
auto fields(const Order& x) { return std::tie(x.name, x.variable, x.csv, x.items); }
auto fields(const HintPlace& x) { return std::tie(x.lane, x.priority); }
auto fields(const HintClause& x) { return std::tie(x.keyword, x.places, x.order, x.value); }
auto fields(const Hint& x) { return std::tie(x.name, x.clauses); }
auto fields(const Dispatch& x) { return std::tie(x.in_order, x.by, x.keeps); }
auto fields(const Assert& x) { return std::tie(x.resource, x.bound); }
auto fields(const Inputs& x) { return std::tie(x.order); }
auto fields(const Pair& x) { return std::tie(x.first, x.second, x.cost); }
auto fields(const Item& x) { return std::tie(x.value); }
auto fields(const Comment& x) { return std::tie(x.text); }
auto fields(const Pipeline& x) { return std::tie(x.name, x.items, x.comments); }

// The overloads are members of one class, so that each sees all the others.
struct Same {
  bool operator()(bool a, bool b) const { return a == b; }
  bool operator()(At a, At b) const { return a == b; }
  bool operator()(Per a, Per b) const { return a == b; }
  bool operator()(const std::string& a, const std::string& b) const { return a == b; }
  bool operator()(const Name& a, const Name& b) const { return a.text == b.text; }
  bool operator()(const Expr& a, const Expr& b) const { return spec::same(a, b); }

  template <class T>
  bool operator()(const std::optional<T>& a, const std::optional<T>& b) const {
    return a.has_value() == b.has_value() && (!a || (*this)(*a, *b));
  }
  template <class T>
  bool operator()(const std::vector<T>& a, const std::vector<T>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), *this);
  }
  template <class... T>
  bool operator()(const std::variant<T...>& a, const std::variant<T...>& b) const {
    const auto visit = [this](const auto& x, const auto& y) {
      if constexpr (std::is_same_v<decltype(x), decltype(y)>) return (*this)(x, y);
      return false;
    };
    return std::visit(visit, a, b);
  }
  template <class... T>
  bool operator()(const std::tuple<T...>& a, const std::tuple<T...>& b) const {
    const auto each = [&]<std::size_t... i>(std::index_sequence<i...>) {
      return ((*this)(std::get<i>(a), std::get<i>(b)) && ...);
    };
    return each(std::index_sequence_for<T...>{});
  }
  template <class T>
  auto operator()(const T& a, const T& b) const -> decltype(fields(a), bool{}) {
    return (*this)(fields(a), fields(b));
  }
};

}  // namespace

bool same(const Pipeline& a, const Pipeline& b) { return Same{}(a, b); }

}  // namespace ripeline::spec::ast
