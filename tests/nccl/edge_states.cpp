#include "tests/nccl/edge_states.h"

#include <algorithm>
#include <unordered_set>

namespace ripeline::testing_support {
namespace {

class Visit {
 public:
  Visit(const spec::Machine& machine, const EdgeRules& rules) : machine_(machine), rules_(rules) {}

  EdgeStates run(std::int64_t most_states) {
    {
      const EdgeRun begin(machine_, rules_);
      note(begin, -1, {});
    }
    for (std::size_t i = 0; i < nodes_.size() && found_.run.empty(); ++i) {
      found_.states = static_cast<std::int64_t>(nodes_.size());
      if (found_.states > most_states) return found_;
      const std::vector<EdgeChoice> choices = std::move(nodes_[i].choices);
      for (const EdgeChoice& choice : choices) {
        EdgeRun run(machine_, rules_);
        replay(run, i);
        run.take(choice);
        if (note(run, static_cast<std::int64_t>(i), choice)) return found_;
      }
    }
    found_.all = true;
    return found_;
  }

 private:
  struct Node {
    std::int64_t parent = -1;
    EdgeChoice by;
    std::vector<EdgeChoice> choices;  // cleared when all have been tried
  };

  std::vector<EdgeChoice> path_to(std::int64_t node) const {
    std::vector<EdgeChoice> path;
    for (; node > 0; node = at(node).parent) path.push_back(at(node).by);
    std::reverse(path.begin(), path.end());
    return path;
  }
  const Node& at(std::int64_t node) const { return nodes_[static_cast<std::size_t>(node)]; }

  void replay(EdgeRun& run, std::size_t node) const {
    for (const EdgeChoice& choice : path_to(static_cast<std::int64_t>(node))) run.take(choice);
  }

  // Records a new state of the run; returns whether the search has found what it searches for.
  bool note(const EdgeRun& run, std::int64_t parent, const EdgeChoice& by) {
    if (!seen_.insert(run.state()).second) return false;
    nodes_.push_back({.parent = parent, .by = by, .choices = run.choices()});
    found_.wrong = run.wrong();
    found_.stuck = nodes_.back().choices.empty() && !run.is_done();
    if (found_.wrong.empty() && !found_.stuck) return false;
    found_.states = static_cast<std::int64_t>(nodes_.size());
    found_.waits = run.waits();
    for (const EdgeChoice& choice : path_to(found_.states - 1)) {
      found_.run.push_back(run.text_of(choice));
    }
    return true;
  }

  const spec::Machine& machine_;
  EdgeRules rules_;
  EdgeStates found_;
  std::vector<Node> nodes_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

EdgeStates visit_edge_states(const spec::Machine& machine, const EdgeRules& rules,
                             std::int64_t most_states) {
  return Visit(machine, rules).run(most_states);
}

}  // namespace ripeline::testing_support
