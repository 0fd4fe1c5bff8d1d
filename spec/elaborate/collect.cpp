#include "spec/elaborate/collect.h"

#include <sstream>

#include <fmt/format.h>

namespace ripeline::spec::elaboration {
namespace {

class Collector {
 public:
  explicit Collector(Work& work) : work_(work) {}

  void add(const ast::Item& item) {
    span_ = item.span;
    std::visit([this](const auto& node) { take(node); }, item.value);
  }

 private:
  void take(const ast::Param& node) { named(work_.params, node, "param"); }
  void take(const ast::Op& node) { named(work_.ops, node, "op"); }
  void take(const ast::Resource& node) { named(work_.resources, node, "resource"); }
  void take(const ast::Channel& node) { named(work_.channels, node, "channel"); }
  // `dispatch ready by NAME` names a hint or an order, so no hint and order share a name.
  void take(const ast::Order& node) {
    if (!clashes(work_.hints, node.name, "order", "hint")) named(work_.orders, node, "order");
  }
  void take(const ast::Hint& node) {
    if (!clashes(work_.orders, node.name, "hint", "order")) named(work_.hints, node, "hint");
  }
  void take(const ast::Edges& node) { work_.edges.push_back({&node, span_}); }
  void take(const ast::Assert& node) { work_.assertions.push_back({&node, span_}); }
  void take(const ast::Pair& node) { work_.pairs.push_back({&node, span_}); }
  void take(const ast::Microbatches& node) { single(work_.microbatches, node, "microbatches"); }
  void take(const ast::Inputs& node) {
    single(work_.inputs, node, "inputs");
    if (node.order.text == "pyramid") work_.program.inputs = InputOrder::pyramid;
  }
  void take(const ast::Stages& node) { single(work_.stages, node, "stages"); }
  void take(const ast::Place& node) { single(work_.place, node, "place"); }
  void take(const ast::Dispatch& node) { single(work_.dispatch, node, "dispatch"); }
  void take(const ast::TensorParallel& node) {
    single(work_.tensor_parallel, node, "tensor_parallel");
  }
  void take(const ast::DataParallel& node) { single(work_.data_parallel, node, "data_parallel"); }

  template <class T>
  void named(std::vector<TreeNode<T>>& list, const T& node, const char* what) {
    for (const TreeNode<T>& earlier : list) {
      if (earlier.node->name.text != node.name.text) continue;
      work_.error(fmt::format("duplicate-{}", what),
                  fmt::format("{} '{}' is declared twice", what, node.name.text),
                  first_at(earlier.node->name.span), node.name.span);
      return;
    }
    list.push_back({&node, span_});
  }

  template <class T>
  bool clashes(const std::vector<TreeNode<T>>& list, const ast::Name& name, const char* what,
               const char* other) {
    for (const TreeNode<T>& earlier : list) {
      if (earlier.node->name.text != name.text) continue;
      work_.error(fmt::format("duplicate-{}", what),
                  fmt::format("the name '{}' is taken", name.text),
                  fmt::format("hints and orders share their names; the {} is at line {}", other,
                              line_of(earlier.node->name.span)),
                  name.span);
      return true;
    }
    return false;
  }

  template <class T>
  void single(TreeNode<T>& slot, const T& node, const char* what) {
    if (slot.node == nullptr) {
      slot = {&node, span_};
      return;
    }
    work_.error(fmt::format("duplicate-{}", what),
                fmt::format("'{}' is written a second time", what), first_at(slot.span), span_);
  }

  int line_of(Span span) const { return position_of(work_.source, span.begin).line; }
  std::string first_at(Span span) const {
    return fmt::format("the first is at line {}", line_of(span));
  }

  Work& work_;
  Span span_;
};

// Replaces the written dispatch by the one of the option: --dispatch "ready" or "ready by NAME",
// each perhaps with "keeping NAME", or "in order NAME".
void apply_dispatch_option(Work& work) {
  if (work.options.dispatch.empty()) return;
  std::istringstream stream(work.options.dispatch);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  ast::Dispatch& dispatch = work.dispatch_option;
  const std::size_t count = words.size();
  if (count > 2 && words[0] == "ready" && words[count - 2] == "keeping") {
    dispatch.keeps = ast::Name{words.back(), {}};
    words.resize(count - 2);
  }
  if (words.size() == 3 &&
      ((words[0] == "ready" && words[1] == "by") || (words[0] == "in" && words[1] == "order"))) {
    dispatch.in_order = words[0] == "in";
    dispatch.by = ast::Name{words[2], {}};
  } else if (words != std::vector<std::string>{"ready"}) {
    work.error("dispatch-option", "this cannot be understood",
               "expected \"ready\", \"ready by NAME\", either with \"keeping NAME\", or \"in order "
               "NAME\"",
               {});
    return;
  }
  work.dispatch = {&dispatch, {}};
}

void require(Work& work, bool present, const char* what, const char* example) {
  if (present) return;
  work.error(fmt::format("missing-{}", what),
             fmt::format("pipeline '{}' has no '{}'", work.pipeline.name.text, what),
             fmt::format("add one: {}", example), work.pipeline.name.span);
}

}  // namespace

void collect(Work& work) {
  Collector collector(work);
  for (const ast::Item& item : work.pipeline.items) collector.add(item);
  apply_dispatch_option(work);
  require(work, work.microbatches.node != nullptr, "microbatches", "microbatches any;");
  require(work, work.stages.node != nullptr, "stages", "stages 4;");
  require(work, work.place.node != nullptr, "place", "place s on s;");
  require(work, !work.ops.empty(), "op", "op F forward { needs F at prev; }");
  require(work, work.dispatch.node != nullptr, "dispatch", "dispatch ready;");
}

}  // namespace ripeline::spec::elaboration
