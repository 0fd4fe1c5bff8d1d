#include "runtime/torch/split_backward.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <typeinfo>
#include <unordered_map>
#include <utility>

namespace ripeline::runtime {
namespace {

using torch::Tensor;
using torch::autograd::AccumulateGrad;
using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Engine;
using torch::autograd::Node;
using torch::autograd::variable_list;
using torch::autograd::impl::gradient_edge;

// Nodes that compute the gradients of their parameters and of their input in one pass over the
// data; a second pass for the parameters alone would take as long again.
constexpr std::array<std::string_view, 5> kOnePass = {
    "NativeLayerNormBackward0", "NativeBatchNormBackward0", "NativeGroupNormBackward0",
    "CudnnBatchNormBackward0", "FusedRmsNormBackward0"};

// Compares the mangled name: Node::name() would demangle it, which takes longer than all else.
bool is_one_pass(const Node& node) {
  std::string_view mangled = typeid(node).name();
  if (!mangled.ends_with('E')) return false;
  mangled.remove_suffix(1);  // the end of a name in a namespace
  return std::any_of(kOnePass.begin(), kOnePass.end(),
                     [mangled](std::string_view name) { return mangled.ends_with(name); });
}

// Whether the node is a parameter or an input.
bool is_leaf(const Node* node) { return dynamic_cast<const AccumulateGrad*>(node) != nullptr; }

// The properties of a node, and of the graph behind it.
struct Seen {
  int uses = 0;  // edges that lead to the node
  bool input = false;
  bool many = false;          // the node leads to several parameters
  Node* parameter = nullptr;  // the only parameter, or the first of many
  bool leads_to_parameters() const { return parameter != nullptr; }
};

// Releases what a node has saved, once that node has run. The node owns this hook.
class Release final : public torch::autograd::FunctionPostHook {
 public:
  explicit Release(Node& node) : node_(node) {}
  variable_list operator()(const variable_list& outputs, const variable_list& /*inputs*/) override {
    node_.release_variables();
    return outputs;
  }

 private:
  Node& node_;
};

class Graph {
 public:
  // `inputs` must outlive the graph.
  Graph(const edge_list& roots, const edge_list& inputs) : inputs_(inputs) {
    seen_.reserve(kUsualNodes);
    for (const Edge& edge : roots) visit(edge.function.get());
    for (const Edge& edge : inputs) leads_to_input_ |= seen_.contains(edge.function.get());
  }

  [[nodiscard]] bool on_chain(const Node* node) const { return on_chain(seen_.at(node)); }

  // Nodes of the chain, the nearest to the inputs first.
  [[nodiscard]] std::vector<Node*> chain() const {
    std::vector<Node*> nodes;
    for (const auto& [node, seen] : order_) {
      if (on_chain(*seen) && !is_leaf(node)) nodes.push_back(node);
    }
    return nodes;
  }

  [[nodiscard]] std::size_t parameters() const {
    return static_cast<std::size_t>(std::count_if(
        order_.begin(), order_.end(),
        [this](const auto& entry) { return is_leaf(entry.first) && !is_input(entry.first); }));
  }

  // Whether the edge leaves the chain and leads to parameters alone.
  [[nodiscard]] bool is_side(const Edge& edge) const {
    if (!edge.is_valid()) return false;
    const Seen& seen = seen_.at(edge.function.get());
    return !on_chain(seen) && seen.leads_to_parameters();
  }

  // Whether the first half runs the node, too, since the chain continues behind it.
  [[nodiscard]] bool goes_on(const Node* node) const {
    const edge_list& edges = node->next_edges();
    return on_chain(node) && std::any_of(edges.begin(), edges.end(), [this](const Edge& edge) {
             return edge.is_valid() && on_chain(edge.function.get());
           });
  }

  // Whether the node computes its input's gradient and, in that pass, those of its own parameters.
  [[nodiscard]] bool in_one_pass(const Node* node) const {
    if (!is_one_pass(*node)) return false;
    const edge_list& edges = node->next_edges();
    return goes_on(node) && std::all_of(edges.begin(), edges.end(), [this](const Edge& edge) {
             return !is_side(edge) || is_used_once(edge.function.get());
           });
  }

 private:
  static constexpr std::size_t kUsualNodes = 256;

  // Whether the node is a parameter that is used once. False if it has hooks: the engine would call
  // the hooks when it keeps the gradient, and again when it adds the gradient.
  [[nodiscard]] bool is_used_once(Node* node) const {
    return is_leaf(node) && seen_.at(node).uses == 1 && node->tensor_pre_hooks().empty();
  }
  [[nodiscard]] bool on_chain(const Seen& seen) const {
    return leads_to_input_ ? seen.input : seen.many;
  }
  [[nodiscard]] bool is_input(const Node* node) const {
    return std::any_of(inputs_.begin(), inputs_.end(),
                       [node](const Edge& input) { return input.function.get() == node; });
  }

  // Visits nodes depth first. Not recursive: the recursion would be as deep as the model.
  void visit(Node* root) {
    struct Step {
      Node* node;
      Seen* seen;
      std::size_t next;
    };
    std::vector<Step> path;
    const auto enter = [&](Node* node) -> Seen& {
      const auto [entry, is_new] = seen_.try_emplace(node);
      if (is_new) path.push_back({node, &entry->second, 0});
      return entry->second;
    };
    enter(root);
    while (!path.empty()) {
      const Step step = path.back();
      const edge_list& edges = step.node->next_edges();
      if (step.next < edges.size()) {
        ++path.back().next;
        if (edges[step.next].is_valid()) ++enter(edges[step.next].function.get()).uses;
        continue;
      }
      look_behind(step.node, *step.seen);
      order_.emplace_back(step.node, step.seen);
      path.pop_back();
    }
  }

  void look_behind(Node* node, Seen& all) const {
    if (is_input(node)) {
      all.input = true;
    } else if (is_leaf(node)) {
      all.parameter = node;
    }
    for (const Edge& edge : node->next_edges()) {
      if (!edge.is_valid()) continue;
      const Seen& one = seen_.at(edge.function.get());
      all.input |= one.input;
      all.many |= one.many || (all.leads_to_parameters() && one.leads_to_parameters() &&
                               all.parameter != one.parameter);
      if (!all.leads_to_parameters()) all.parameter = one.parameter;
    }
  }

  const edge_list& inputs_;
  bool leads_to_input_ = false;
  std::unordered_map<const Node*, Seen> seen_;
  // The nodes, each after all nodes to which its edges lead, directly or through others.
  std::vector<std::pair<Node*, const Seen*>> order_;
};

bool takes_gradient(const Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); }

edge_list edges_of(const std::vector<Tensor>& tensors) {
  edge_list edges;
  for (const Tensor& tensor : tensors) {
    if (takes_gradient(tensor)) edges.push_back(gradient_edge(tensor));
  }
  return edges;
}

// Refuses hooks that would run twice: the engine calls a node's hooks when it keeps the gradient
// that arrives at the node, and again when it runs the node.
void check_hooks(const Graph& graph, Node* node) {
  if (graph.goes_on(node) || node->tensor_pre_hooks().empty()) return;
  throw std::invalid_argument("a hook on the gradient of an output of " + node->name() +
                              " would run twice in a split backward: use an op `backward`, or put "
                              "the hook on a parameter");
}

// The edges at which the engine must keep the gradients that arrive, after it has summed them.
edge_list find_cut(const Graph& graph, const edge_list& roots, std::vector<Node*>& cut) {
  edge_list kept;
  for (const Edge& root : roots) {
    if (graph.on_chain(root.function.get())) continue;
    check_hooks(graph, root.function.get());
    kept.push_back(root);
  }
  for (Node* node : graph.chain()) {
    edge_list sides;
    for (const Edge& edge : node->next_edges()) {
      if (graph.is_side(edge)) sides.push_back(edge);
    }
    if (!sides.empty() && !graph.in_one_pass(node)) {
      check_hooks(graph, node);
      cut.push_back(node);
      for (std::uint32_t i = 0; i < node->num_inputs(); ++i) {
        kept.emplace_back(node->getptr(), i);
      }
      continue;
    }
    kept.insert(kept.end(), sides.begin(), sides.end());
    node->add_post_hook(std::make_unique<Release>(*node));
  }
  return kept;
}

}  // namespace

void ParameterBackward::run() {
  const edge_list roots = std::exchange(roots_, {});
  const variable_list gradients = std::exchange(gradients_, {});
  if (roots.empty()) return;
  Engine::get_default_engine().execute(roots, gradients, /*keep_graph=*/false,
                                       /*create_graph=*/false, /*accumulate_grad=*/true);
}

std::int64_t ParameterBackward::bytes() const {
  std::int64_t bytes = 0;
  for (const Tensor& gradient : gradients_) bytes += static_cast<std::int64_t>(gradient.nbytes());
  return bytes;
}

std::size_t ParameterBackward::computed() const {
  return static_cast<std::size_t>(std::count_if(
      roots_.begin(), roots_.end(), [](const Edge& root) { return is_leaf(root.function.get()); }));
}

std::vector<Tensor> backward_inputs(const std::vector<Tensor>& outputs,
                                    const std::vector<Tensor>& gradients,
                                    const std::vector<Tensor>& inputs, ParameterBackward& later) {
  const edge_list roots = edges_of(outputs);
  const edge_list leaves = edges_of(inputs);
  const Graph graph(roots, leaves);
  later.parameters_ = graph.parameters();
  std::vector<Node*> cut;
  edge_list kept = find_cut(graph, roots, cut);
  const std::size_t sides = kept.size();
  kept.insert(kept.end(), leaves.begin(), leaves.end());
  std::vector<Tensor> of_inputs(inputs.size());
  if (kept.empty()) return of_inputs;  // asked for no gradient, the engine would compute all
  variable_list arrived =
      Engine::get_default_engine().execute(roots, gradients, /*keep_graph=*/true,
                                           /*create_graph=*/false, /*accumulate_grad=*/false, kept);
  for (Node* node : cut) {
    for (Edge& edge : node->next_edges()) {
      if (edge.is_valid() && graph.on_chain(edge.function.get())) edge = Edge();
    }
  }
  for (std::size_t i = 0; i < sides; ++i) {
    if (!arrived[i].defined()) continue;
    later.roots_.push_back(kept[i]);
    later.gradients_.push_back(std::move(arrived[i]));
  }
  std::size_t next = sides;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (takes_gradient(inputs[i])) of_inputs[i] = std::move(arrived[next++]);
  }
  return of_inputs;
}

}  // namespace ripeline::runtime
