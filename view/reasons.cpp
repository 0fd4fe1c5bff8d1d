#include "view/reasons.h"

#include <algorithm>
#include <tuple>

#include "core/print.h"

namespace ripeline::view {

using core::EdgeId;
using core::Time;
using Why = Reason::Why;

// Keeps the reason met last; among reasons met at once, it keeps the one that the header prefers.
class Last {
 public:
  void offer(const Reason& reason) {
    // One end that met a need or made room, and also freed the engine, is one cause, not two.
    if (reason.why == Why::engine && reason.box == best_.box && reason.at == best_.at) return;
    if (best_.why == Why::nothing) {
      best_ = reason;
    } else if (reason.at > best_.at || (reason.at == best_.at && reason.why < best_.why)) {
      const Time rest = best_.at;
      best_ = reason;
      best_.rest = rest;
    } else {
      best_.rest = std::max(best_.rest, reason.at);
    }
  }
  [[nodiscard]] const Reason& best() const { return best_; }

 private:
  Reason best_;
};

namespace {

const core::EdgeFacts& edge_of(const Timeline& timeline, EdgeId edge) {
  return timeline.facts().edges[static_cast<std::size_t>(edge)];
}

// The range of the edges into the lane; edges are sorted by their consumer's lane.
std::pair<EdgeId, EdgeId> edges_into(const Timeline& timeline, core::LaneId lane) {
  const auto edges = timeline.facts().edges;
  const auto before = [](const core::EdgeFacts& e, core::LaneId l) { return e.consumer < l; };
  const auto first = std::lower_bound(edges.begin(), edges.end(), lane, before);
  const auto end = std::lower_bound(first, edges.end(), lane + 1, before);
  return {static_cast<EdgeId>(first - edges.begin()), static_cast<EdgeId>(end - edges.begin())};
}

void offer_needs(const Timeline& timeline, const Box& b, Last& last) {
  const auto [first, end] = edges_into(timeline, b.task.lane);
  for (EdgeId edge = first; edge < end; ++edge) {
    const core::TaskSpan needed =
        timeline.facts().needed(edge, b.task.microbatch, timeline.run().microbatches);
    for (int m = needed.first; m < needed.last; ++m) {
      const int producer = timeline.find(b.step, core::Task{edge_of(timeline, edge).producer, m});
      if (producer < 0) continue;
      Reason reason{
          .why = Why::need, .box = producer, .edge = edge, .at = timeline.box(producer).end};
      if (timeline.facts().crosses_ranks(edge)) {
        reason.why = Why::message;
        const auto* message = timeline.find(b.step, core::Message{edge, m});
        if (message != nullptr) reason.at = message->arrived;
      }
      if (reason.at <= b.start) last.offer(reason);
    }
  }
}

}  // namespace

Reasons::Reasons(const Timeline& timeline)
    : timeline_(timeline),
      rendezvous_(timeline.facts().lanes.size()),
      ranks_(static_cast<std::size_t>(timeline.facts().ranks)) {
  const auto edges = timeline.facts().edges;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (!edges[e].rendezvous) continue;
    rendezvous_[static_cast<std::size_t>(edges[e].producer)].push_back(static_cast<EdgeId>(e));
  }
}

// Offers the engine's previous task, and the handovers during which the engine was busy.
void Reasons::offer_engine(int box, Last& last) const {
  const int before = timeline_.before(box);
  if (before >= 0) {
    last.offer({.why = Why::engine, .box = before, .at = timeline_.box(before).end});
  }
  for (const Row& row : timeline_.rows_of_engine(timeline_.row_of(box))) {
    const int ended = timeline_.last_ended(box, row);
    if (ended >= 0) offer_handovers(box, ended, last);
  }
}

void Reasons::offer_handovers(int box, int ended, Last& last) const {
  const Box& b = timeline_.box(ended);
  for (const EdgeId edge : rendezvous_[static_cast<std::size_t>(b.task.lane)]) {
    const auto* message = timeline_.find(b.step, core::Message{edge, b.task.microbatch});
    // A message that is handed over leaves when its receiver takes it.
    if (message == nullptr || message->sent <= b.end) continue;
    if (message->sent > timeline_.box(box).start) continue;
    last.offer({.why = Why::handover, .box = ended, .edge = edge, .at = message->sent});
  }
}

std::vector<std::vector<Reasons::Change>> Reasons::changes_of(int rank) const {
  std::vector<std::vector<Change>> changes(timeline_.facts().pools.size());
  for (const Row& row : timeline_.rows()) {
    if (row.rank != rank) continue;
    for (int id = row.first; id < row.end; ++id) {
      const Box& b = timeline_.box(id);
      for (const core::UseFacts& use : timeline_.uses_of(b.task.lane)) {
        auto& of_pool = changes[static_cast<std::size_t>(use.pool)];
        if (use.acquires > 0) of_pool.push_back({b.start, true, 0, use.acquires, id});
        if (use.releases > 0) of_pool.push_back({b.end, false, 0, -use.releases, id});
      }
    }
  }
  for (auto& of_pool : changes) {
    std::stable_sort(of_pool.begin(), of_pool.end(), [](const Change& a, const Change& b) {
      return std::tuple(a.at, a.acquires) < std::tuple(b.at, b.acquires);
    });
    std::int64_t held = 0;
    for (Change& change : of_pool) {
      change.before = held;
      held += change.by;
    }
  }
  return changes;
}

void Reasons::offer_room(int box, const std::vector<std::vector<Change>>& changes,
                         Last& last) const {
  const Box& b = timeline_.box(box);
  for (const core::UseFacts& use : timeline_.uses_of(b.task.lane)) {
    const auto room = timeline_.facts().room(use);
    if (!room) continue;
    const auto& of_pool = changes[static_cast<std::size_t>(use.pool)];
    // The room dates from the last release that found too little room.
    auto it = std::lower_bound(of_pool.begin(), of_pool.end(), b.start,
                               [](const Change& c, Time at) { return c.at < at; });
    while (it != of_pool.end() && it->at == b.start && !it->acquires) ++it;
    while (it != of_pool.begin()) {
      --it;
      if (last.best().why != Why::nothing && it->at < last.best().at) break;
      if (it->acquires || room->fits(it->before)) continue;
      last.offer({.why = Why::room, .box = it->box, .pool = use.pool, .at = it->at});
      break;
    }
  }
}

Last Reasons::last_of(int box, const std::vector<std::vector<Change>>& changes) const {
  Last last;
  offer_needs(timeline_, timeline_.box(box), last);
  offer_room(box, changes, last);
  offer_engine(box, last);
  return last;
}

Reason Reasons::reason(int box, const std::vector<std::vector<Change>>& changes) const {
  const Box& b = timeline_.box(box);
  Last last = last_of(box, changes);
  const BoxSpan others = timeline_.beside(box);
  if (!others.empty()) {
    const Box& other = timeline_.box(others.first);
    const Time rest = last.best().why == Why::nothing ? timeline_.begin() : last.best().at;
    // If both tasks start at once, `other` counts as first if a condition delayed it until then.
    const bool is_first =
        other.start < b.start || (other.start == b.start && rest < b.start &&
                                  last_of(others.first, changes).best().at == other.start);
    if (is_first && other.start > rest) {
      last.offer({.why = Why::turn, .box = others.first, .at = other.start});
    }
  }
  Reason found = last.best();
  if (found.why == Why::nothing) found.at = b.start;
  return found;
}

void Reasons::look(int rank, Rank& out) const {
  const auto changes = changes_of(rank);
  for (const Row& row : timeline_.rows()) {
    if (row.rank != rank) continue;
    out.first.push_back(row.first);
    auto& reasons = out.rows.emplace_back();
    reasons.reserve(static_cast<std::size_t>(row.end - row.first));
    for (int id = row.first; id < row.end; ++id) reasons.push_back(reason(id, changes));
  }
}

const Reason& Reasons::of(int box) {
  const Row& row = timeline_.row_of(box);
  auto& rank = ranks_[static_cast<std::size_t>(row.rank)];
  if (!rank) look(row.rank, rank.emplace());
  for (std::size_t i = rank->rows.size(); i-- > 0;) {
    if (box >= rank->first[i]) return rank->rows[i][static_cast<std::size_t>(box - rank->first[i])];
  }
  return rank->rows.front().front();  // not reached, since one of the rows has the box
}

namespace {

// The task whose start freed the slot that the message took: among the tasks that take messages out
// of its inbox, the last that started before the message left.
int freed_by(const Timeline& timeline, const trace::MessageEvent& message) {
  const int inbox = edge_of(timeline, message.message.edge).inbox;
  int best = -1;
  const auto edges = timeline.facts().edges;
  for (std::size_t e = 0; inbox >= 0 && e < edges.size(); ++e) {
    if (edges[e].inbox != inbox) continue;
    const int tasks = timeline.facts().tasks_of(edges[e].consumer, timeline.run().microbatches);
    for (int m = 0; m < tasks; ++m) {
      const int box = timeline.find(message.step, core::Task{edges[e].consumer, m});
      if (box < 0 || timeline.box(box).start > message.sent) continue;
      if (best < 0 || timeline.box(box).start > timeline.box(best).start) best = box;
    }
  }
  return best;
}

// The point that chain_to() has reached: a task, and the time from which the chain is complete.
struct Front {
  int box = -1;
  Time until{0};
};

// Follows the message that `reason` names back to the task that decided when the message left.
Front follow_message(const Timeline& timeline, std::int64_t step, const Reason& reason,
                     std::vector<Link>& chain) {
  const core::Message message{reason.edge, timeline.box(reason.box).task.microbatch};
  const trace::MessageEvent* event = timeline.find(step, message);
  const Time ended = timeline.box(reason.box).end;
  const Time sent = event == nullptr ? ended : std::clamp(event->sent, ended, reason.at);
  if (reason.at > sent) {
    chain.push_back({.kind = Link::Kind::flew,
                     .box = reason.box,
                     .edge = reason.edge,
                     .start = sent,
                     .end = reason.at});
  }
  if (sent == ended) return {reason.box, ended};
  const core::EdgeFacts& edge = edge_of(timeline, reason.edge);
  if (edge.inbox < 0 && !edge.rendezvous) {  // this message waits for no other rank
    chain.push_back({.kind = Link::Kind::host,
                     .box = reason.box,
                     .edge = reason.edge,
                     .start = ended,
                     .end = sent});
    return {reason.box, ended};
  }
  const int by = freed_by(timeline, *event);
  const bool known = by >= 0 && timeline.box(by).start >= ended;
  const Time since = known ? timeline.box(by).start : ended;
  if (sent > since || !known) {
    chain.push_back({.kind = Link::Kind::slot,
                     .box = reason.box,
                     .edge = reason.edge,
                     .by = known ? by : -1,
                     .start = since,
                     .end = sent});
  }
  return {known ? by : reason.box, since};
}

}  // namespace

Time held_before(const Timeline& timeline, int box) {
  const int last = timeline.last_ended(box);
  const Time from = last < 0 ? timeline.begin() : timeline.box(last).end;
  Time held{0};
  for (const trace::IdleEvent& idle : timeline.idle_of(timeline.row_of(box))) {
    if (idle.cause != trace::Cause::hold) continue;
    if (idle.start >= from && idle.end <= timeline.box(box).start) held += idle.end - idle.start;
  }
  return held;
}

namespace {

// An emulated or trained run's gap is the host's time for a start, unless another task went first.
Link::Kind kind_of_gap(const Timeline& timeline, int box, Time from) {
  if (held_before(timeline, box) > Time{0}) return Link::Kind::held;
  if (timeline.run().source == trace::Source::simulated) return Link::Kind::started;
  const auto idle = timeline.idle_of(timeline.row_of(box));
  const bool kept = std::any_of(idle.begin(), idle.end(), [&](const trace::IdleEvent& e) {
    return e.cause == trace::Cause::order && e.end > from && e.start < timeline.box(box).start;
  });
  return kept ? Link::Kind::started : Link::Kind::host;
}

}  // namespace

std::vector<Link> chain_to(const Timeline& timeline, Reasons& reasons, int box) {
  std::vector<Link> chain;  // from the end to the start
  Front front{box, timeline.box(box).end};
  // The clocks of a trained run may differ a little; a chain ends if it does not go back in time.
  for (std::size_t n = 0; front.box >= 0 && n <= 2 * timeline.boxes().size(); ++n) {
    const Box& b = timeline.box(front.box);
    if (b.start > front.until) break;
    const Reason& reason = reasons.of(front.box);
    if (front.until > b.start) {
      chain.push_back({.kind = Link::Kind::ran,
                       .box = front.box,
                       .start = b.start,
                       .end = front.until,
                       .reason = reason});
    }
    if (reason.at < b.start) {
      chain.push_back({.kind = kind_of_gap(timeline, front.box, reason.at),
                       .box = front.box,
                       .start = reason.at,
                       .end = b.start});
    }
    front = reason.why == Why::message || reason.why == Why::handover
                ? follow_message(timeline, b.step, reason, chain)
                : Front{reason.box, reason.at};
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace ripeline::view
