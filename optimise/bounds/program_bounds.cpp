#include "optimise/bounds/program_bounds.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "spec/guards.h"

namespace ripeline::optimise {

ProgramBounds::ProgramBounds(const spec::Program& program, int microbatches,
                             const simulate::Timing& timing, const TaskGraph& graph)
    : program_(program),
      microbatches_(microbatches),
      timing_(timing),
      graph_(graph),
      room_(program, graph, microbatches),
      slots_(program, graph, timing) {
  for (int lane = 0; lane < size_of(program.lanes); ++lane) taken_.push_back(taken_by(lane));
  add_links();
}

Bound ProgramBounds::makespan() {
  const auto nodes = static_cast<std::size_t>(graph_.nodes());
  heads_.assign(nodes, 0);
  tails_.assign(nodes, 0);
  consider_all("");
  return best_;
}

Bound ProgramBounds::span() {
  const auto nodes = static_cast<std::size_t>(graph_.nodes());
  for (int rank = 0; rank < program_.ranks; ++rank) {
    heads_.assign(nodes, TaskGraph::kNone);
    const int first = graph_.first_node(program_.first_lane(rank));
    const int end = graph_.first_node(program_.first_lane(rank + 1));
    std::fill(heads_.begin() + first, heads_.begin() + end, 0);
    tails_ = heads_;
    consider_all(fmt::format(", in the span of rank {}", rank));
  }
  return best_;
}

// For any set of jobs, the least head plus the sum of times plus the least tail is a bound. Returns
// the largest of these bounds. It equals the time that the jobs need if they may interrupt each
// other and the longest tail goes first (Jackson's preemptive schedule). Sorts the jobs.
ProgramBounds::Time ProgramBounds::one_after_the_other(std::vector<Job>& jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.head < b.head; });
  std::priority_queue<std::pair<Time, Time>> ready;  // the tails and remaining times of jobs
  Time now = 0;
  Time longest = 0;
  std::size_t next = 0;
  while (next < jobs.size() || !ready.empty()) {
    if (ready.empty()) now = std::max(now, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= now; ++next) {
      ready.emplace(jobs[next].tail, jobs[next].takes);
    }
    const auto [tail, left] = ready.top();
    ready.pop();
    const Time end = now + left;
    if (next < jobs.size() && jobs[next].head < end) {
      ready.emplace(tail, end - jobs[next].head);
      now = jobs[next].head;
    } else {
      longest = std::max(longest, end + tail);
      now = end;
    }
  }
  return longest;
}

ProgramBounds::Taken ProgramBounds::taken_by(int lane) const {
  Taken taken;
  for (const int other : spec::guards_of(program_, lane).beside) {
    const double slowdown = timing_.slowdown(lane, other);
    const double others = timing_.slowdown(other, lane);
    taken.share = std::min(taken.share, slowdown * others / (slowdown + others));
    taken.rounding += 2 * program_.tasks_of(other, microbatches_);
  }
  return taken;
}

ProgramBounds::Time ProgramBounds::taken_by_task(int node, const Taken& taken) const {
  const Time alone = timing_.task(graph_.task(node)).count();
  if (taken.rounding == 0) return alone;
  const auto least = static_cast<Time>(std::floor(static_cast<double>(alone) * taken.share));
  return std::max<Time>(0, least - taken.rounding);
}

void ProgramBounds::add_links() {
  for (int edge = 0; edge < size_of(program_.edges); ++edge) {
    const spec::Edge& e = at(program_.edges, edge);
    if (!program_.crosses_ranks(e)) continue;
    const std::pair ends{at(program_.lanes, e.producer).rank, at(program_.lanes, e.consumer).rank};
    for (int k = 0; k < program_.tasks_of(e.producer, microbatches_); ++k) {
      const core::Message message{edge, k};
      if (timing_.transfer(message).count() == 0 || graph_.receiver(message) < 0) continue;
      links_[ends].push_back(message);
    }
  }
}

// Keeps the bound if it is the largest so far; `where` is then appended to its description.
void ProgramBounds::consider(Bound bound, const std::string& where) {
  if (bound.value <= best_.value) return;
  best_ = std::move(bound);
  best_.by += where;
}

// Requires heads where paths may begin and tails where paths may end; extends both along paths.
void ProgramBounds::consider_all(const std::string& where) {
  graph_.extend_heads(heads_);
  graph_.extend_tails(tails_);
  consider_path(where);
  for (int rank = 0; rank < program_.ranks; ++rank) consider_engines(rank, where);
  const auto found = [&](Bound bound) { consider(std::move(bound), where); };
  room_.find(heads_, tails_, found);
  slots_.find(heads_, tails_, found);
  for (const auto& [ends, messages] : links_) {
    consider({one_after_the_other(jobs_of(messages)),
              fmt::format("messages from rank {} to rank {}", ends.first, ends.second),
              Formula::messages},
             where);
  }
}

void ProgramBounds::consider_path(const std::string& where) {
  int last = -1;
  Time longest = 0;
  for (int node = 0; node < graph_.tasks(); ++node) {
    if (!counts(node) || at(tails_, node) > 0) continue;
    const Time length = at(heads_, node) + graph_.takes(node);
    if (length > longest) std::tie(longest, last) = std::pair{length, node};
  }
  if (last >= 0) {
    const core::Task task = graph_.task(last);
    consider({longest, fmt::format("path to {}", program_.task_name(task.lane, task.microbatch)),
              Formula::path},
             where);
  }
}

bool ProgramBounds::counts(int node) const {
  return at(heads_, node) != TaskGraph::kNone && at(tails_, node) != TaskGraph::kNone;
}

void ProgramBounds::consider_engines(int rank, const std::string& where) {
  for (std::vector<Job>& jobs : engines_) jobs.clear();
  for (int lane = program_.first_lane(rank); lane < program_.first_lane(rank + 1); ++lane) {
    std::vector<Job>& jobs = engines_[static_cast<std::size_t>(at(program_.lanes, lane).engine)];
    for (int node = graph_.first_node(lane); node < graph_.first_node(lane + 1); ++node) {
      if (!counts(node)) continue;
      jobs.push_back({at(heads_, node), taken_by_task(node, at(taken_, lane)), at(tails_, node)});
    }
  }
  for (const spec::Engine engine : spec::kAllEngines) {
    std::vector<Job>& jobs = engines_[static_cast<std::size_t>(engine)];
    if (jobs.empty()) continue;
    const std::string name = engine == spec::Engine::compute ? "" : std::string(name_of(engine));
    consider({one_after_the_other(jobs),
              fmt::format("work{} of rank {}", name.empty() ? "" : " of " + name, rank),
              Formula::work, name},
             where);
  }
}

std::vector<ProgramBounds::Job>& ProgramBounds::jobs_of(
    const std::vector<core::Message>& messages) {
  messages_.clear();
  for (const core::Message& message : messages) {
    const int sender = graph_.node({at(program_.edges, message.edge).producer, message.microbatch});
    const int receiver = graph_.receiver(message);
    if (at(heads_, sender) == TaskGraph::kNone || at(tails_, receiver) == TaskGraph::kNone) {
      continue;
    }
    messages_.push_back(
        {at(heads_, sender) + graph_.takes(sender), timing_.transfer(message).count(),
         timing_.latency(message).count() + graph_.takes(receiver) + at(tails_, receiver)});
  }
  return messages_;
}

}  // namespace ripeline::optimise
