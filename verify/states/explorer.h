// Explorer: visits states, each once, and stores the moves that lead to each.
//
// Only this code decides when a state is new, what a search deducts from its budget and when all
// states are visited. Searches differ only in their states, which a Space describes:
//
//   struct Space {
//     using State = …;                                // a value
//     using Move = …;                                 // leads from one state to another
//     std::string key(const State&);                  // states with equal keys are equal
//     Visit<Move> visit(State&, std::size_t number);  // called once for each state
//     State after(const State&, const Move&);
//     // Optional; called whenever a move leads to a state, new or not:
//     void reached(std::size_t from, std::size_t to);
//   };
//
//   const Explored<Move> found = breadth_first(space, {first}, budget, {.visit = 1});
//   found.way       moves from a first state to the goal
//   found.complete  every state was visited, and none is the goal
//
// States are numbered 0, 1, … as they are found; breadth-first search visits them in this order,
// too. A search ends early if its budget refuses a request, the Space's own included, or if there
// are more states than it may find. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "verify/states/budget.h"

namespace ripeline::verify {

// The result of a visit to a state.
template <class Move>
struct Visit {
  bool found = false;             // true if the goal is this state,
  std::optional<Move> through{};  // or if this move leads from this state to the goal
  std::vector<Move> moves{};      // otherwise, the moves to make from here, in order
};

struct Limits {
  std::uint64_t visit = 0;    // the budget that a visit to a state costs
  std::uint64_t arrival = 0;  // the budget that each move to a state costs, new or not
  std::size_t most_states = std::numeric_limits<std::size_t>::max();  // the most to find
};

// The predecessor of each state; following predecessors gives the moves from a first state.
template <class Move>
class Ways {
 public:
  // Stands for the predecessor of a first state.
  static constexpr std::size_t kFirst = static_cast<std::size_t>(-1);

  void add(std::size_t from, Move move) { steps_.push_back({from, std::move(move)}); }
  [[nodiscard]] std::size_t size() const { return steps_.size(); }
  // The states on the way to this state, the last of which is this state.
  [[nodiscard]] std::vector<std::size_t> states_to(std::size_t number) const {
    std::vector<std::size_t> states;
    for (; number != kFirst; number = steps_[number].from) states.push_back(number);
    std::reverse(states.begin(), states.end());
    return states;
  }
  [[nodiscard]] std::vector<Move> moves_to(std::size_t number) const {
    std::vector<Move> moves;
    for (; steps_[number].from != kFirst; number = steps_[number].from) {
      moves.push_back(steps_[number].move);
    }
    std::reverse(moves.begin(), moves.end());
    return moves;
  }

 private:
  struct Step {
    std::size_t from;
    Move move;
  };
  std::vector<Step> steps_;
};

template <class Move>
struct Explored {
  std::optional<std::vector<Move>> way{};  // to the goal
  bool complete = false;                   // every state was visited, and none is the goal
  Ways<Move> ways{};                       // the ways to all states found
};

template <class Space>
class Explorer {
 public:
  using State = typename Space::State;
  using Move = typename Space::Move;

  Explorer(Space& space, Budget& budget, const Limits& limits)
      : space_(space), budget_(budget), limits_(limits) {}

  // States found first are visited first, so the way found has the fewest moves.
  [[nodiscard]] Explored<Move> breadth_first(std::vector<State> firsts) && {
    std::deque<State> open;
    const auto reach = [&](State state, std::size_t from, const Move& move) {
      if (is_new(state, from, move)) open.push_back(std::move(state));
    };
    for (State& first : firsts) reach(std::move(first), Ways<Move>::kFirst, {});
    for (std::size_t number = 0; !open.empty() && goes_on(); ++number) {
      State state = std::move(open.front());
      open.pop_front();
      for (const Move& move : visit(state, number)) reach(space_.after(state, move), number, move);
    }
    return result();
  }

  // Follows the moves from a state to their ends, one after another. Only the states on the way to
  // the present state are stored.
  [[nodiscard]] Explored<Move> depth_first(std::vector<State> firsts) && {
    struct OnWay {
      State state;
      std::size_t number;
      std::vector<Move> moves;
      std::size_t next = 0;
    };
    std::vector<OnWay> way;
    const auto reach = [&](State state, std::size_t from, const Move& move) {
      if (!is_new(state, from, move)) return;
      const std::size_t number = explored_.ways.size() - 1;
      std::vector<Move> moves = visit(state, number);
      way.push_back({std::move(state), number, std::move(moves)});
    };
    for (State& first : firsts) {
      reach(std::move(first), Ways<Move>::kFirst, {});
      while (!way.empty() && goes_on()) {
        OnWay& last = way.back();
        if (last.next == last.moves.size()) {
          way.pop_back();
          continue;
        }
        const Move& move = last.moves[last.next++];
        reach(space_.after(last.state, move), last.number, move);
      }
    }
    return result();
  }

 private:
  [[nodiscard]] bool goes_on() const { return !explored_.way && !full_ && !budget_.ran_out; }

  bool is_new(const State& state, std::size_t from, const Move& move) {
    if (!goes_on() || !budget_.spend(limits_.arrival)) return false;
    const auto [known, fresh] = numbers_.try_emplace(space_.key(state), explored_.ways.size());
    if (fresh && known->second >= limits_.most_states) {
      full_ = true;
      return false;
    }
    if constexpr (requires { space_.reached(from, known->second); }) {
      if (from != Ways<Move>::kFirst) space_.reached(from, known->second);
    }
    if (fresh) explored_.ways.add(from, move);
    return fresh;
  }

  std::vector<Move> visit(State& state, std::size_t number) {
    if (!budget_.spend(limits_.visit)) return {};
    Visit<Move> visited = space_.visit(state, number);
    if (!visited.found) return std::move(visited.moves);
    explored_.way = explored_.ways.moves_to(number);
    if (visited.through) explored_.way->push_back(std::move(*visited.through));
    return {};
  }

  [[nodiscard]] Explored<Move> result() {
    explored_.complete = goes_on();
    return std::move(explored_);
  }

  Space& space_;
  Budget& budget_;
  Limits limits_;
  bool full_ = false;                                     // true if the limit left a state out
  std::unordered_map<std::string, std::size_t> numbers_;  // per state found, by its key
  Explored<Move> explored_;
};

template <class Space>
[[nodiscard]] Explored<typename Space::Move> breadth_first(
    Space& space, std::vector<typename Space::State> firsts, Budget& budget, const Limits& limits) {
  return Explorer<Space>(space, budget, limits).breadth_first(std::move(firsts));
}
template <class Space>
[[nodiscard]] Explored<typename Space::Move> depth_first(Space& space,
                                                         std::vector<typename Space::State> firsts,
                                                         Budget& budget, const Limits& limits) {
  return Explorer<Space>(space, budget, limits).depth_first(std::move(firsts));
}

}  // namespace ripeline::verify
