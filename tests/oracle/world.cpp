#include "tests/oracle/world.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "core/vocabulary/index.h"

namespace ripeline::oracle {
namespace {

using spec::kEngines;
using spec::Program;

constexpr Bits kNibble = 15;

Bits bit(int i) { return Bits{1} << i; }
bool in(Bits set, int i) { return (set >> i & 1U) != 0; }
// The number of places to pass, from `first` on and cyclically, until one lists the lane; -1 if no
// place does.
int turns_to(const std::vector<spec::HintPlace>& places, const spec::Lane& lane, int first) {
  const auto n = static_cast<int>(places.size());
  for (int passed = 0; passed < n; ++passed) {
    const spec::HintPlace& place = places[index((first + passed) % n)];
    const bool any_chunk = place.chunk.empty();
    if (place.op != lane.op) continue;
    if (any_chunk || place.chunk[index(lane.rank)] == lane.chunk) return passed;
  }
  return -1;
}

}  // namespace

std::vector<int> microbatches_of(const spec::Lane& lane, int microbatches) {
  std::vector<int> found;
  for (int m = 0; m < (lane.once ? 1 : microbatches); ++m) {
    if ((lane.share.remainders >> m % lane.share.period) % 2 == 1) found.push_back(m);
  }
  return found;
}

World::World(const Program& program, int microbatches, Choices choices, std::vector<Listed> orders)
    : program_(program), m_(microbatches), choices_(choices), orders_(std::move(orders)) {
  spell_out_tasks();
  if (fits_) spell_out_messages();
  if (!fits_) return;
  spell_out_needs();
  spell_out_pools();
  if (program_.dispatch.in_order) spell_out_orders();
  const spec::Hint& hint = program_.dispatch.hint;
  bound_ = !program_.dispatch.in_order && hint.rule == spec::Hint::Rule::order &&
           program_.orders[index(hint.order)].file.has_value();
}

bool World::has_task(int lane, int microbatch) const {
  return index(microbatch) < microbatches_of(program_.lanes[index(lane)], m_).size();
}

int World::task(int lane, int microbatch) const { return first_task_[index(lane)] + microbatch; }

void World::spell_out_tasks() {
  of_engine_.assign(index(program_.ranks * kEngines), 0);
  handed_over_.assign(of_engine_.size(), 0);
  for (int lane = 0; lane < static_cast<int>(program_.lanes.size()); ++lane) {
    const spec::Lane& l = program_.lanes[index(lane)];
    first_task_.push_back(static_cast<int>(tasks_.size()));
    int number = 0;
    for (const int m : microbatches_of(l, m_)) {
      tasks_.push_back({lane, number++, m, l.rank * kEngines + static_cast<int>(l.engine)});
    }
  }
  fits_ = tasks_.size() <= 64 && program_.ranks <= 16;
  if (!fits_) return;
  for (int t = 0; t < static_cast<int>(tasks_.size()); ++t) {
    all_ |= bit(t);
    of_engine_[index(tasks_[index(t)].engine)] |= bit(t);
  }
}

// Whether the consumer's task needs this task of the producer.
bool World::needs(const spec::Edge& edge, const Task& consumer, int producer) const {
  const int of = tasks_[index(producer)].of;
  switch (edge.of) {
    case spec::Of::same:
      return of == consumer.of;
    case spec::Of::before:
      return of == consumer.of - 1;
    case spec::Of::all:
      break;
  }
  return true;
}

void World::spell_out_messages() {
  sends_.assign(tasks_.size(), 0);
  in_inbox_.assign(program_.inboxes.size(), 0);
  for (int e = 0; e < static_cast<int>(program_.edges.size()); ++e) {
    const spec::Edge& edge = program_.edges[index(e)];
    if (program_.lanes[index(edge.producer)].rank == program_.lanes[index(edge.consumer)].rank)
      continue;
    for (int i = 0; has_task(edge.producer, i); ++i) {
      Message message{e, task(edge.producer, i)};
      for (int j = 0; has_task(edge.consumer, j); ++j) {
        const int consumer = task(edge.consumer, j);
        if (needs(edge, tasks_[index(consumer)], message.producer))
          message.needed_by |= bit(consumer);
      }
      if (message.needed_by == 0) continue;
      message.inbox = edge.inbox;
      message.queue = edge.fifo ? static_cast<int>(queues_) : -1;
      message.rendezvous = edge.rendezvous;
      messages_.push_back(message);
    }
    queues_ += edge.fifo ? 1 : 0;
  }
  fits_ = messages_.size() <= 64 && queues_ <= State::kQueues && (queues_ == 0 || m_ <= 15);
  if (!fits_) return;
  for (int i = 0; i < static_cast<int>(messages_.size()); ++i) {
    const Message& message = messages_[index(i)];
    sends_[index(message.producer)] |= bit(i);
    if (message.inbox >= 0) in_inbox_[index(message.inbox)] |= bit(i);
    if (message.rendezvous) handed_over_[index(tasks_[index(message.producer)].engine)] |= bit(i);
  }
}

void World::spell_out_needs() {
  for (Task& t : tasks_) {
    const spec::Lane& lane = program_.lanes[index(t.lane)];
    if (lane.sequential && t.microbatch > 0) t.ended |= bit(task(t.lane, t.microbatch - 1));
    for (const spec::Edge& edge : program_.edges) {
      if (edge.consumer != t.lane) continue;
      for (int i = 0; has_task(edge.producer, i); ++i) {
        const int producer = task(edge.producer, i);
        if (needs(edge, t, producer)) t.ended |= bit(producer);
      }
    }
  }
  for (int i = 0; i < static_cast<int>(messages_.size()); ++i) {
    for (int t = 0; t < static_cast<int>(tasks_.size()); ++t) {
      if (in(messages_[index(i)].needed_by, t)) tasks_[index(t)].messages |= bit(i);
    }
  }
}

void World::spell_out_pools() {
  pools_.resize(program_.pools.size());
  for (int lane = 0; lane < static_cast<int>(program_.lanes.size()); ++lane) {
    Bits tasks = 0;
    for (int i = 0; has_task(lane, i); ++i) tasks |= bit(task(lane, i));
    for (const spec::Acquire& a : program_.lanes[index(lane)].acquires) {
      pools_[index(a.pool)].acquired.push_back({tasks, a.amount});
    }
    for (const spec::Release& r : program_.lanes[index(lane)].releases) {
      pools_[index(r.pool)].released.push_back({tasks, r.amount});
    }
  }
}

// Lists, for each engine, its own tasks of the rank's order, in sequence.
void World::spell_out_orders() {
  next_.resize(of_engine_.size());
  for (int rank = 0; rank < program_.ranks; ++rank) {
    for (const auto& [lane, i] : orders_[index(rank)]) {
      const int engine = rank * kEngines + static_cast<int>(program_.lanes[index(lane)].engine);
      next_[index(engine)].push_back(has_task(lane, i) ? task(lane, i) : -1);
    }
  }
}

std::int64_t World::held(const State& s, int pool) const {
  std::int64_t sum = 0;
  for (const Part& p : pools_[index(pool)].acquired) {
    sum += p.amount * std::popcount(p.tasks & s.started);
  }
  for (const Part& p : pools_[index(pool)].released) {
    sum -= p.amount * std::popcount(p.tasks & s.ended);
  }
  return sum;
}

Bits World::on_the_way(const State& s) const {
  Bits sent = 0;
  for (Bits left = s.ended; left != 0; left &= left - 1)
    sent |= sends_[index(std::countr_zero(left))];
  return sent & ~s.here;
}

int World::next_of(const State& s, int engine) const {
  const auto taken = static_cast<std::size_t>(std::popcount(of_engine_[index(engine)] & s.started));
  const std::vector<int>& tasks = next_[index(engine)];
  return taken < tasks.size() ? tasks[taken] : -1;
}

bool World::may_arrive(const State& s, int message) const {
  const Message& m = messages_[index(message)];
  if (m.rendezvous) {
    bool awaited = false;
    for (int t = 0; t < static_cast<int>(tasks_.size()); ++t) {
      if (in(m.needed_by, t) && next_of(s, tasks_[index(t)].engine) == t) awaited = true;
    }
    if (!awaited) return false;
  }
  if (m.queue >= 0) {
    const Bits first = (s.left[index(m.queue)] & kNibble) - 1;
    if (first != static_cast<Bits>(tasks_[index(m.producer)].microbatch)) return false;
  }
  if (m.inbox < 0) return true;
  std::int64_t taken = 0;
  for (Bits left = in_inbox_[index(m.inbox)] & s.here; left != 0; left &= left - 1) {
    const Message& other = messages_[index(std::countr_zero(left))];
    taken += (other.needed_by & s.started) == 0 ? 1 : 0;
  }
  return taken < program_.inboxes[index(m.inbox)].slots;
}

bool World::may_start(const State& s, int task) const {
  const Task& t = tasks_[index(task)];
  if (in(s.started, task)) return false;
  if ((t.ended & ~s.ended) != 0 || (t.messages & ~s.here) != 0) return false;
  if (!runs_beside(s, task)) return false;
  const Bits handed_over = handed_over_[index(t.engine)];
  if (handed_over != 0 && (handed_over & on_the_way(s)) != 0) return false;
  for (const spec::Acquire& a : program_.lanes[index(t.lane)].acquires) {
    const auto& capacity = program_.pools[index(a.pool)].capacity;
    if (capacity && held(s, a.pool) + a.amount + a.leaving > *capacity) return false;
  }
  if (program_.dispatch.in_order) return next_of(s, t.engine) == task;
  return program_.dispatch.keeps < 0 || leaves_room(s, task);
}

// Whether the engine is idle, or runs a single task, whose op forms a pair with the task's op.
bool World::runs_beside(const State& s, int task) const {
  const Bits running = of_engine_[index(tasks_[index(task)].engine)] & s.started & ~s.ended;
  if (running == 0) return true;
  if (std::popcount(running) > 1) return false;
  const int op = program_.lanes[index(tasks_[index(task)].lane)].op;
  const int other = program_.lanes[index(tasks_[index(std::countr_zero(running))].lane)].op;
  return std::any_of(program_.pairs.begin(), program_.pairs.end(), [&](const spec::Pair& pair) {
    return std::minmax(pair.first, pair.second) == std::minmax(op, other);
  });
}

// Whether, once this task has run and ended, each unstarted task before it in the kept order still
// finds room, if those tasks then run one by one, each after the previous one has ended.
bool World::leaves_room(const State& s, int task) const {
  const int own = tasks_[index(task)].lane;
  const int rank = program_.lanes[index(own)].rank;
  std::vector<std::int64_t> all;
  for (int pool = 0; pool < static_cast<int>(program_.pools.size()); ++pool) {
    all.push_back(held(s, pool));
  }
  const auto over = [&](int lane) {
    for (const spec::Acquire& a : program_.lanes[index(lane)].acquires)
      all[index(a.pool)] += a.amount;
    for (const spec::Release& r : program_.lanes[index(lane)].releases)
      all[index(r.pool)] -= r.amount;
  };
  std::vector<int> over_already;  // per lane: the number of started tasks
  for (int lane = 0; lane < static_cast<int>(program_.lanes.size()); ++lane) {
    int started = 0;
    for (int i = 0; has_task(lane, i); ++i) started += in(s.started, this->task(lane, i)) ? 1 : 0;
    over_already.push_back(started);
  }
  over(own);
  bool own_is_over = false;
  for (const auto& [lane, i] : orders_[index(rank)]) {
    if (!has_task(lane, i) || over_already[index(lane)]-- > 0) continue;
    if (lane == own && !std::exchange(own_is_over, true)) return true;
    for (const spec::Acquire& a : program_.lanes[index(lane)].acquires) {
      const auto& capacity = program_.pools[index(a.pool)].capacity;
      if (capacity && all[index(a.pool)] + a.amount + a.leaving > *capacity) return false;
    }
    over(lane);
  }
  return true;
}

void World::moves(const State& s, std::vector<Move>& found) const {
  found.clear();
  for (Bits left = s.started & ~s.ended; left != 0; left &= left - 1) {
    found.push_back({Move::Do::end, std::countr_zero(left)});
  }
  for (Bits left = on_the_way(s); left != 0; left &= left - 1) {
    const int message = std::countr_zero(left);
    if (may_arrive(s, message)) found.push_back({Move::Do::arrive, message});
  }
  if (choices_ == Choices::any || program_.dispatch.in_order) {
    for (Bits left = all_ & ~s.started; left != 0; left &= left - 1) {
      const int task = std::countr_zero(left);
      if (may_start(s, task)) found.push_back({Move::Do::start, task});
    }
    return;
  }
  for (int engine = 0; engine < static_cast<int>(of_engine_.size()); ++engine) {
    add_choice(s, engine, found);
  }
}

// If the hint follows a file, adds the file's earliest task that may start. Else adds a task of the
// lane with the least preference, compared number by number, at its lowest microbatch.
void World::add_choice(const State& s, int engine, std::vector<Move>& found) const {
  if (bound_) {
    for (const auto& [lane, i] : orders_[index(engine / kEngines)]) {
      if (!has_task(lane, i) || tasks_[index(task(lane, i))].engine != engine) continue;
      if (!may_start(s, task(lane, i))) continue;
      found.push_back({Move::Do::start, task(lane, i)});
      return;
    }
  }
  if (program_.dispatch.hint.rule == spec::Hint::Rule::priority) {
    if (const int task = greatest(s, engine); task >= 0) {
      found.push_back({Move::Do::start, task});
      return;
    }
  }
  std::optional<std::array<int, 3>> least;
  int chosen = -1;
  int looked_at = -1;  // the lane that was looked at last; its other microbatches are higher
  for (Bits left = of_engine_[index(engine)] & ~s.started; left != 0; left &= left - 1) {
    const int next = std::countr_zero(left);
    const int lane = tasks_[index(next)].lane;
    if (lane == looked_at || !may_start(s, next)) continue;
    looked_at = lane;
    const std::array<int, 3> wish = preference(s, lane);
    if (least && !(wish < *least)) continue;
    least = wish;
    chosen = next;
  }
  if (chosen >= 0) found.push_back({Move::Do::start, chosen});
}

// The value of `expr`, which is the priority of a place that lists this task.
std::int64_t World::priority(const State& s, int task, const spec::Expr& expr) const {
  const Task& t = tasks_[index(task)];
  const spec::Lane& lane = program_.lanes[index(t.lane)];
  const auto value =
      spec::evaluate(expr, [&](std::string_view name) -> std::optional<spec::Rational> {
        if (name == "m") return spec::Rational{t.of, 1};
        if (name == "s") return spec::Rational{lane.stage, 1};
        if (name == "r") return spec::Rational{lane.rank, 1};
        if (name == "chunk") return spec::Rational{lane.chunk, 1};
        if (name == "chunks") return spec::Rational{program_.chunks(lane.rank), 1};
        if (name == "microbatches") return spec::Rational{m_, 1};
        for (int pool = 0; pool < static_cast<int>(program_.pools.size()); ++pool) {
          const spec::Pool& p = program_.pools[index(pool)];
          const bool own = p.stage < 0 ? p.rank == lane.rank : p.stage == lane.stage;
          if (own && program_.resources[index(p.resource)].name == name) {
            return spec::Rational{held(s, pool), 1};
          }
        }
        return std::nullopt;
      });
  return value.value().numerator;
}

// Among the listed tasks that may start, the one with the greatest value. Ties are decided by the
// place, then by the chunk, then by the lowest microbatch.
int World::greatest(const State& s, int engine) const {
  std::optional<std::array<std::int64_t, 4>> first;
  int chosen = -1;
  for (Bits left = of_engine_[index(engine)] & ~s.started; left != 0; left &= left - 1) {
    const int task = std::countr_zero(left);
    const spec::Lane& lane = program_.lanes[index(tasks_[index(task)].lane)];
    const auto& places = program_.dispatch.hint.places;
    const int place = turns_to(places, lane, 0);
    if (place < 0 || !may_start(s, task)) continue;
    const bool forward = program_.ops[index(lane.op)].kind == spec::OpKind::forward;
    const std::array<std::int64_t, 4> wish = {-priority(s, task, *places[index(place)].priority),
                                              place, forward ? lane.chunk : -lane.chunk,
                                              tasks_[index(task)].microbatch};
    if (first && !(wish < *first)) continue;
    first = wish;
    chosen = task;
  }
  return chosen;
}

std::array<int, 3> World::preference(const State& s, int lane) const {
  const spec::Hint& hint = program_.dispatch.hint;
  const spec::Lane& l = program_.lanes[index(lane)];
  const bool forward = program_.ops[index(l.op)].kind == spec::OpKind::forward;
  const int tie = forward ? l.chunk : -l.chunk;
  if (hint.rule == spec::Hint::Rule::order && !bound_) {
    int begun = 0;
    for (int i = 0; has_task(lane, i); ++i) begun += in(s.started, task(lane, i)) ? 1 : 0;
    const Listed& order = orders_[index(l.rank)];
    for (std::size_t p = 0; p < order.size(); ++p) {
      if (order[p].first == lane && begun-- == 0) return {0, static_cast<int>(p), 0};
    }
  }
  const int round = static_cast<int>(s.rounds >> (4 * l.rank) & kNibble);
  if (const int turns = turns_to(hint.places, l, round); turns >= 0) return {1, turns, tie};
  if (const int filled = turns_to(hint.fill, l, 0); filled >= 0) return {3, filled, tie};
  return {2, l.op, tie};
}

State World::after(const State& s, const Move& move) const {
  State next = s;
  if (move.what == Move::Do::arrive) {
    next.here |= bit(move.item);
    const Message& message = messages_[index(move.item)];
    if (message.queue >= 0) next.left[index(message.queue)] >>= 4;
    return next;
  }
  const Task& task = tasks_[index(move.item)];
  if (move.what == Move::Do::end) {
    next.ended |= bit(move.item);
    for (Bits left = sends_[index(move.item)]; left != 0; left &= left - 1) {
      const Message& message = messages_[index(std::countr_zero(left))];
      if (message.queue < 0) continue;
      Bits& queue = next.left[index(message.queue)];
      const int waiting = (67 - std::countl_zero(queue)) / 4;
      queue |= static_cast<Bits>(task.microbatch + 1) << (4 * waiting);
    }
    return next;
  }
  next.started |= bit(move.item);
  const spec::Hint& hint = program_.dispatch.hint;
  if (choices_ == Choices::any || program_.dispatch.in_order ||
      hint.rule != spec::Hint::Rule::rounds) {
    return next;
  }
  const spec::Lane& lane = program_.lanes[index(task.lane)];
  const int round = static_cast<int>(s.rounds >> (4 * lane.rank) & kNibble);
  const int turns = turns_to(hint.places, lane, round);
  if (turns < 0 && turns_to(hint.fill, lane, 0) < 0) return next;
  next.rounds &= ~(kNibble << (4 * lane.rank));
  if (turns < 0) return next;
  const auto n = static_cast<int>(hint.places.size());
  next.rounds |= static_cast<Bits>((round + turns + 1) % n) << (4 * lane.rank);
  return next;
}

}  // namespace ripeline::oracle
