#include "certificates/order_graph.h"

#include <array>

#include <fmt/format.h>

#include "verify/order/order_run.h"
#include "verify/states/run.h"

namespace ripeline::certificates {

using spec::Program;
using spec::Task;
using verify::Run;

namespace {

// A run of a committed order stops when each rank's next task waits for a task that is later in
// some rank's order. Following these waits from rank to rank leads to a cycle.
class CycleSearch {
 public:
  CycleSearch(const Program& program, int microbatches)
      : program_(program),
        microbatches_(microbatches),
        result_(run_order(program, microbatches, verify::Slots::unbounded)) {
    if (result_.invalid || result_.finished || has_other_engines(program)) return;
    const spec::Order& order = at(program.orders, program.dispatch.order);
    done_.assign(program.lanes.size(), 0);
    std::vector<std::size_t> position(static_cast<std::size_t>(program.ranks), 0);
    for (const Task& task : result_.run) {
      ++at(done_, task.lane);
      ++at(position, at(program.lanes, task.lane).rank);
    }
    for (int rank = 0; rank < program.ranks; ++rank) {
      const auto tasks = expand(program, order, rank, microbatches);
      rest_.emplace_back();
      const std::size_t first = std::min(at(position, rank), tasks.value().size());
      for (std::size_t i = first; i < tasks.value().size(); ++i) {
        rest_.back().push_back({tasks.value()[i].lane, tasks.value()[i].microbatch});
      }
    }
  }

  [[nodiscard]] const verify::OrderRunResult& result() const { return result_; }

  // The cycle. Empty if the run stops for lack of room, or waits for a task that no order lists.
  [[nodiscard]] std::vector<Task> find() const {
    for (int first = 0; first < size_of(rest_); ++first) {
      std::vector<int> chain;       // ranks, each of which waits for a task of the next one
      std::vector<std::size_t> to;  // the index of that task in the next rank's rest
      for (int rank = first; rank >= 0;) {
        const auto seen = std::find(chain.begin(), chain.end(), rank);
        if (seen != chain.end()) return cycle(chain, to, seen - chain.begin());
        chain.push_back(rank);
        const auto [next, index] = waits_for(rank);
        rank = next;
        to.push_back(index);
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::pair<int, std::size_t> waits_for(int rank) const {
    if (at(rest_, rank).empty()) return {-1, 0};
    const Task task = at(rest_, rank).front();
    // A task beyond the last microbatch never starts.
    if (task.microbatch >= program_.tasks_of(task.lane, microbatches_)) return {-1, 0};
    for (const int edge : at(program_.lanes, task.lane).edges) {
      const spec::Edge& e = at(program_.edges, edge);
      const int producer = e.producer;
      // The search excludes cycles through other microbatches or engines.
      if (e.of != spec::Of::same) continue;
      const auto [first, last] = program_.needed(e, task.microbatch, microbatches_);
      if (first == last || at(done_, producer) > first) continue;
      const int other = at(program_.lanes, producer).rank;
      const auto& tasks = at(rest_, other);
      const auto found = std::find(tasks.begin(), tasks.end(), Task{producer, first});
      if (found != tasks.end()) return {other, static_cast<std::size_t>(found - tasks.begin())};
    }
    return {-1, 0};
  }

  [[nodiscard]] std::vector<Task> cycle(const std::vector<int>& chain,
                                        const std::vector<std::size_t>& to,
                                        std::ptrdiff_t start) const {
    std::vector<Task> tasks;
    // The cycle lists tasks in the reverse order of the waits. Each rank adds its remaining tasks
    // from the first to the needed one, which may be the same task.
    for (std::size_t i = chain.size(); i-- > static_cast<std::size_t>(start);) {
      const std::size_t next = i + 1 == chain.size() ? static_cast<std::size_t>(start) : i + 1;
      const auto& rest = at(rest_, chain[next]);
      tasks.insert(tasks.end(), rest.begin(),
                   rest.begin() + static_cast<std::ptrdiff_t>(to[i]) + 1);
    }
    return tasks;
  }

  const Program& program_;
  int microbatches_;
  verify::OrderRunResult result_;
  std::vector<int> done_;                // per lane
  std::vector<std::vector<Task>> rest_;  // per rank: the tasks that have not run, in its order
};

std::string task_list(const Program& program, const std::string& word, const Run& run) {
  std::string line = word;
  for (const Task& task : run) line += " " + program.task_name(task.lane, task.microbatch);
  return line + "\n";
}

// The `need` lines for rendezvous: a sender's engine runs its next task only after the task that
// precedes the message's taker on the receiver's engine.
std::string handover_text(const Program& program, const std::vector<Run>& orders,
                          int microbatches) {
  std::string text;
  for (const spec::Edge& edge : program.edges) {
    if (!edge.rendezvous) continue;
    const auto order_of = [&](int lane) -> const Run& {
      const spec::Lane& l = at(program.lanes, lane);
      return orders[spec::engine_index(l.rank, l.engine)];
    };
    const Run& senders = order_of(edge.producer);
    const Run& receivers = order_of(edge.consumer);
    for (std::size_t i = 0; i + 1 < senders.size(); ++i) {
      const int taker = senders[i].lane == edge.producer
                            ? program.needed_by(edge, senders[i].microbatch, microbatches)
                            : -1;
      const auto found = std::find(receivers.begin(), receivers.end(), Task{edge.consumer, taker});
      if (taker < 0 || found == receivers.begin() || found == receivers.end()) continue;
      const Task& before = *std::prev(found);
      text += fmt::format("need {} {}\n", program.task_name(before.lane, before.microbatch),
                          program.task_name(senders[i + 1].lane, senders[i + 1].microbatch));
    }
  }
  return text;
}

// A message of a bounded link: its sender and the task whose start frees its slot.
struct Sent {
  Task sender;
  Task taker;
};

// Bounded links. Messages of a `fifo` that has its own slots and whose messages are taken in the
// order in which they are sent never wait for a slot for ever, since all messages before a needed
// one are taken. If they are taken in another order, messages that arrive before a needed message
// must leave a slot for it. On other links, no more messages may wait than there are slots.
class Links {
 public:
  Links(const Program& program, const std::vector<Run>& orders, int microbatches)
      : program_(program), orders_(orders), microbatches_(microbatches) {}

  std::string text() const {
    std::string text;
    for (int inbox = 0; inbox < size_of(program_.inboxes); ++inbox) text += line(inbox);
    return text;
  }

 private:
  std::string line(int inbox) const {
    std::vector<Sent> messages;
    bool one_by_one = true;
    int edges = 0;
    for (const spec::Edge& e : program_.edges) {
      if (e.inbox != inbox) continue;
      ++edges;
      one_by_one = one_by_one && e.fifo && e.of != spec::Of::all;
      for (const Task& sender : order_of(e.producer)) {
        if (sender.lane != e.producer) continue;
        const int taker = program_.needed_by(e, sender.microbatch, microbatches_);
        if (taker >= 0) messages.push_back({sender, freeing(e, taker)});
      }
    }
    const bool queue = edges == 1 && one_by_one;
    std::string text =
        fmt::format("{} {}", queue ? "queue" : "slots", at(program_.inboxes, inbox).slots);
    if (queue && taken_in_order(messages)) text = "fifo";
    for (const auto& [sender, taker] : messages) {
      text += fmt::format(" {} {}", program_.task_name(sender.lane, sender.microbatch),
                          program_.task_name(taker.lane, taker.microbatch));
    }
    return text + "\n";
  }

  const Run& order_of(int lane) const {
    const spec::Lane& l = at(program_.lanes, lane);
    return orders_[spec::engine_index(l.rank, l.engine)];
  }

  // If all tasks of a lane need the message, the first one frees the slot; otherwise `taker` does.
  Task freeing(const spec::Edge& e, int taker) const {
    if (e.of != spec::Of::all) return {e.consumer, taker};
    const Run& order = order_of(e.consumer);
    const auto first = std::find_if(order.begin(), order.end(),
                                    [&](const Task& task) { return task.lane == e.consumer; });
    return first == order.end() ? Task{e.consumer, taker} : *first;
  }

  bool taken_in_order(const std::vector<Sent>& messages) const {
    if (messages.empty()) return true;
    const Run& order = order_of(messages.front().taker.lane);
    auto place = order.begin();
    for (const Sent& message : messages) {
      place = std::find(place, order.end(), message.taker);
      if (place == order.end()) return false;
      ++place;
    }
    return true;
  }

  const Program& program_;
  const std::vector<Run>& orders_;  // per rank and engine
  int microbatches_;
};
}  // namespace

std::optional<std::string> graph_text(const Program& program, int microbatches) {
  std::string text = fmt::format("ripeline.graph/1\nmicrobatches {}\n", microbatches);
  Run all;
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    for (int m = 0; m < program.tasks_of(lane, microbatches); ++m) all.push_back({lane, m});
  }
  text += task_list(program, "tasks", all);
  std::vector<Run> orders;  // per rank and engine
  for (int rank = 0; rank < program.ranks; ++rank) {
    const auto tasks =
        expand(program, at(program.orders, program.dispatch.order), rank, microbatches);
    if (!tasks.ok()) return std::nullopt;
    std::array<Run, spec::kEngines> engines;
    for (const spec::Task& task : tasks.value()) {
      const auto engine = static_cast<std::size_t>(at(program.lanes, task.lane).engine);
      engines[engine].push_back({task.lane, task.microbatch});
    }
    for (Run& run : engines) {
      if (!run.empty()) text += task_list(program, "rank", run);
      orders.push_back(std::move(run));
    }
  }
  for (const spec::Edge& edge : program.edges) {
    for (int m = 0; m < program.tasks_of(edge.consumer, microbatches); ++m) {
      const auto [first, last] = program.needed(edge, m, microbatches);
      for (int needed = first; needed < last; ++needed) {
        text += fmt::format("need {} {}\n", program.task_name(edge.producer, needed),
                            program.task_name(edge.consumer, m));
      }
    }
  }
  return text + handover_text(program, orders, microbatches) +
         Links(program, orders, microbatches).text();
}

std::string graph_witness(const Program& program, int microbatches) {
  const CycleSearch search(program, microbatches);
  std::string text = task_list(program, "order", search.result().run);
  const std::vector<Task> cycle = search.find();
  if (!cycle.empty()) text += task_list(program, "cycle", cycle);
  return text;
}

bool has_cycle(const Program& program, int microbatches) {
  return !CycleSearch(program, microbatches).find().empty();
}

}  // namespace ripeline::certificates
