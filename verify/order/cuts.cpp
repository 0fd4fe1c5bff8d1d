// Every microbatch count of a committed order.
//
// A rank is at a position: in a repeat with some turns completed, before one of its steps; or at
// the end. How often each lane has then run is linear in the turn and the microbatches. A
// consistent cut has a position of each rank such that no lane has run ahead of a producer: it is a
// state that some run could have reached. The run that goes as far as possible ends at such a cut.
// Take a consistent cut at which no rank can proceed: either some run reaches it and sticks there,
// or runs stick before they reach it. So the query is exact for each microbatch count. Streams are
// plain repeats for the counts of one remainder (periods.h), and each remainder has queries of its
// own. Room is a separate question, since it depends only on the position of the pool's rank: a
// position without room is never passed.
#include "verify/order/cuts.h"

#include <fmt/format.h>

#include "spec/long_period.h"
#include "verify/solver/share_terms.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

using spec::Program;

std::optional<spec::Diagnostic> beyond_cuts(const Program& program) {
  const auto why = [&](const char* text) {
    return spec::Diagnostic{"beyond-cuts", text, "", program.dispatch.span};
  };
  const bool other =
      std::any_of(program.edges.begin(), program.edges.end(),
                  [](const spec::Edge& e) { return e.rendezvous && e.of != spec::Of::same; });
  if (other) return why("a rendezvous is with a task of another microbatch");
  if (spec::has_long_period(program)) {
    return why("the microbatches of some lanes repeat only after more than 64");
  }
  const bool partial =
      std::any_of(program.edges.begin(), program.edges.end(),
                  [&](const spec::Edge& e) { return e.rendezvous && program.crosses_shares(e); });
  if (partial) return why("a rendezvous is between lanes that have different microbatches");
  return std::nullopt;
}

CutQueries::CutQueries(CutInput input, SolverUse use)
    : input_(std::move(input)),
      program_(input_.program),
      guards_(spec::guards_of(program_)),
      solver_(std::move(use)) {
  microbatches_ = solver_.integer("microbatches");
  require_range();
  const spec::Order& order = at(program_.orders, program_.dispatch.order);
  for (int rank = 0; rank < program_.ranks; ++rank) {
    spec::Result<std::vector<Repeat>> read =
        read_repeats(program_, order, rank, solver_, microbatches_);
    if (!read.ok()) {
      problem_ = read.errors().front();
      return;
    }
    repeats_.push_back(std::move(read).value());
    add_positions(rank);
  }
}

CutQueries::CutQueries(CutInput input, SolverUse use, const PeriodicFamily& family,
                       std::int64_t remainder)
    : input_(std::move(input)),
      program_(input_.program),
      guards_(spec::guards_of(program_)),
      solver_(std::move(use)) {
  const Term turn = solver_.integer("turn of all");
  microbatches_ = family.period * turn + solver_.number(remainder);
  require_range();
  solver_.require(solver_.number(family.first_microbatches()) <= microbatches_);
  const PeriodicOrder& order = at(family.orders, static_cast<int>(remainder));
  for (int rank = 0; rank < program_.ranks; ++rank) {
    repeats_.push_back(periodic_repeats(order, rank, solver_, turn));
    add_positions(rank);
  }
}

void CutQueries::require_range() {
  solver_.require(solver_.number(program_.microbatches.min) <= microbatches_);
  if (program_.microbatches.max) {
    solver_.require(microbatches_ <= solver_.number(*program_.microbatches.max));
  }
  done_.resize(program_.lanes.size());
}

void CutQueries::add_positions(int rank) {
  for (const spec::Engine engine : spec::kAllEngines) add_positions(rank, engine);
}

// A lane that does not exist is only in repeats with a count of 0; otherwise `once` is refuted.
Repeat CutQueries::of_engine(const Repeat& repeat, spec::Engine engine) const {
  std::vector<int> own;
  for (const int lane : repeat.lanes) {
    if (lane >= 0 && at(program_.lanes, lane).engine == engine) own.push_back(lane);
  }
  Repeat read = repeat_of(repeat.count, std::move(own));
  if (input_.reread) input_.reread(read);
  return read;
}

// One variable per engine counts the completed turns of the present repeat; one per lane counts the
// tasks that the lane has run.
void CutQueries::add_positions(int rank, spec::Engine engine) {
  const int first = program_.first_lane(rank);
  const int last = program_.first_lane(rank + 1);
  positions_.emplace_back();
  std::vector<int> own;
  for (int lane = first; lane < last; ++lane) {
    if (at(program_.lanes, lane).engine == engine) own.push_back(lane);
  }
  if (own.empty()) return;
  const std::string who = engine == spec::Engine::compute
                              ? fmt::format("rank {}", rank)
                              : fmt::format("engine {} of rank {}", static_cast<int>(engine), rank);
  const Term turn = solver_.integer("turn of " + who);
  const Term zero = solver_.number(0);
  std::vector<Term> before(static_cast<std::size_t>(last - first), zero);  // earlier repeats' runs
  for (const int lane : own) {
    at(done_, lane) = solver_.integer("done " + program_.lane_name(lane));
  }
  std::vector<Term> somewhere;
  std::vector<std::pair<Term, int>> last_before;  // the last lane before this repeat
  const auto add_position = [&](std::vector<Term> facts, const std::vector<Term>& counts, int next,
                                std::vector<std::pair<Term, int>> last_lanes) {
    for (const int lane : own) {
      facts.push_back(at(done_, lane) == at(counts, lane - first));
    }
    const Term here = solver_.all_of(facts);
    positions_.back().push_back({here, next, std::move(last_lanes)});
    somewhere.push_back(here);
  };
  for (const Repeat& whole : at(repeats_, rank)) {
    const Repeat repeat = of_engine(whole, engine);
    std::vector<std::int64_t> in_turn(before.size(), 0);
    for (const int lane : repeat.lanes) ++at(in_turn, lane - first);
    std::vector<std::int64_t> so_far(before.size(), 0);
    int counted = 0;  // steps of the turn
    for (const PositionInTurn& position : repeat.positions) {
      for (; counted < position.passed; ++counted) ++at(so_far, at(repeat.lanes, counted) - first);
      std::vector<Term> counts;
      for (std::size_t l = 0; l < before.size(); ++l) {
        counts.push_back(before[l] + in_turn[l] * turn + solver_.number(so_far[l]));
      }
      std::vector<std::pair<Term, int>> last_lanes;
      if (position.next > 0) {
        last_lanes = {{zero == zero, at(repeat.lanes, position.next - 1)}};
      } else {
        last_lanes = {{zero < turn, repeat.lanes.back()}};
        for (const auto& [where, lane] : last_before) {
          last_lanes.emplace_back(solver_.all_of({turn == zero, where}), lane);
        }
      }
      add_position({zero <= turn, turn < repeat.count}, counts, at(repeat.lanes, position.next),
                   std::move(last_lanes));
    }
    for (std::size_t l = 0; l < before.size(); ++l) {
      if (in_turn[l] > 0) before[l] = before[l] + in_turn[l] * repeat.count;
    }
    for (auto& [where, lane] : last_before) {
      where = solver_.all_of({where, repeat.count <= zero});
    }
    if (!repeat.lanes.empty()) {
      last_before.emplace_back(zero < repeat.count, repeat.lanes.back());
    }
  }
  add_position({turn == zero}, before, -1, last_before);
  solver_.require(solver_.any_of(somewhere));
}

Term CutQueries::not_once() {
  const Term zero = solver_.number(0);
  std::vector<Term> wrong;
  for (int rank = 0; rank < program_.ranks; ++rank) {
    std::vector<Term> total(program_.lanes.size(), zero);
    for (const Repeat& repeat : at(repeats_, rank)) {
      wrong.push_back(repeat.count < zero);
      std::vector<std::int64_t> in_turn(program_.lanes.size(), 0);
      for (const int lane : repeat.lanes) {
        if (lane < 0) {
          wrong.push_back(zero < repeat.count);
        } else {
          ++at(in_turn, lane);
        }
      }
      for (std::size_t l = 0; l < in_turn.size(); ++l) {
        if (in_turn[l] > 0) total[l] = total[l] + in_turn[l] * repeat.count;
      }
    }
    for (int lane = program_.first_lane(rank); lane < program_.first_lane(rank + 1); ++lane) {
      wrong.push_back(!(at(total, lane) == total_of(lane)));
    }
  }
  return solver_.any_of(wrong);
}

Term CutQueries::held(int pool) {
  std::vector<Term> parts;
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    const spec::Lane& l = at(program_.lanes, lane);
    std::int64_t factor = 0;
    for (const auto& a : l.acquires) factor += a.pool == pool ? a.amount : 0;
    for (const auto& r : l.releases) factor -= r.pool == pool ? r.amount : 0;
    if (factor != 0) parts.push_back(factor * at(done_, lane));
  }
  return solver_.sum(parts);
}

Term CutQueries::lacks_room(int lane) {
  std::vector<Term> ways;
  for (const spec::RoomGuard& guard : at(guards_, lane).rooms) {
    ways.push_back(solver_.number(guard.room.most_held()) < held(guard.pool));
  }
  return solver_.any_of(ways);
}

Term CutQueries::no_room() {
  std::vector<Term> ways;
  for (const auto& positions : positions_) {
    for (const Position& position : positions) {
      if (position.lane < 0 || at(program_.lanes, position.lane).acquires.empty()) continue;
      ways.push_back(solver_.all_of({position.here, lacks_room(position.lane)}));
    }
  }
  return solver_.any_of(ways);
}

Term CutQueries::total_of(int lane) {
  const spec::Lane& l = at(program_.lanes, lane);
  return l.once ? solver_.number(1) : below(solver_, l.share, microbatches_);
}

const std::vector<CutQueries::Position>& CutQueries::positions_of(const spec::Lane& lane) const {
  return positions_[spec::engine_index(lane.rank, lane.engine)];
}

Term CutQueries::is_next(int lane) {
  std::vector<Term> ways;
  for (const Position& position : positions_of(at(program_.lanes, lane))) {
    if (position.lane == lane) ways.push_back(position.here);
  }
  return solver_.any_of(ways);
}

Term CutQueries::is_last(int lane) {
  std::vector<Term> ways;
  for (const Position& position : positions_of(at(program_.lanes, lane))) {
    for (const auto& [where, last] : position.last) {
      if (last == lane) ways.push_back(solver_.all_of({position.here, where}));
    }
  }
  return solver_.any_of(ways);
}

// True if the consumer's next task needs a task of the producer that has not ended.
Term CutQueries::needs_missing(const spec::Edge& edge) {
  const Term produced = at(done_, edge.producer);
  if (program_.crosses_shares(edge)) {
    const spec::Share& from = at(program_.lanes, edge.producer).share;
    const spec::Share& to = at(program_.lanes, edge.consumer).share;
    const Term wanted = microbatch(solver_, to, at(done_, edge.consumer)) - shift_of(edge);
    const Term earlier = below(solver_, from, wanted);
    return solver_.all_of(
        {earlier < below(solver_, from, wanted + solver_.number(1)), produced <= earlier});
  }
  switch (edge.of) {
    case spec::Of::same:
      return produced <= at(done_, edge.consumer);
    case spec::Of::before:
      return produced < at(done_, edge.consumer);
    case spec::Of::all:
      break;
  }
  return produced < total_of(edge.producer);
}

// True if the progress of the consumers implies that the first `count` messages were accepted.
Term CutQueries::accepted(const spec::Edge& edge, Term count) {
  const Term taken = at(done_, edge.consumer);
  return solver_.any_of({count <= taken, solver_.all_of({count <= taken + solver_.number(1),
                                                         is_next(edge.consumer)})});
}

Term CutQueries::shift_of(const spec::Edge& edge) {
  return solver_.number(edge.of == spec::Of::before ? 1 : 0);
}

// The number of microbatches that the consumer's tasks have taken so far, among those that the
// producer has and the consumer needs.
Term CutQueries::taken_of(const spec::Edge& edge, const spec::Share& needed) {
  const spec::Share& to = at(program_.lanes, edge.consumer).share;
  return below(solver_, needed, reach(solver_, to, at(done_, edge.consumer)) - shift_of(edge));
}

// For lanes with different shares: true if all tasks that the consumer needed so far have ended.
Term CutQueries::none_ahead(const spec::Edge& edge) {
  const spec::Share needed = needed_share(program_, edge);
  if (needed.remainders == 0) return solver_.all_of({});
  const spec::Share& from = at(program_.lanes, edge.producer).share;
  const Term last = reach(solver_, needed, taken_of(edge, needed));
  return below(solver_, from, last) <= at(done_, edge.producer);
}

Term CutQueries::consistent() {
  std::vector<Term> facts;
  const Term zero = solver_.number(0);
  for (const spec::Edge& e : program_.edges) {
    const Term produced = at(done_, e.producer);
    const Term taken = at(done_, e.consumer);
    if (program_.crosses_shares(e)) {
      facts.push_back(none_ahead(e));
      continue;
    }
    if (e.of == spec::Of::same) facts.push_back(taken <= produced);
    if (e.of == spec::Of::before) facts.push_back(taken <= produced + solver_.number(1));
    if (e.of == spec::Of::all) {
      facts.push_back(solver_.any_of({taken <= zero, produced == total_of(e.producer)}));
    }
    // A rank at a later task has handed over all messages of its earlier tasks.
    if (e.rendezvous) {
      facts.push_back(accepted(e, produced - solver_.number(1)));
      facts.push_back(solver_.any_of({is_last(e.producer), accepted(e, produced)}));
    }
  }
  // With several engines a position without room may be passed later. Cuts that exceed a capacity,
  // which no run reaches, are left out.
  for (int pool = 0; pool < size_of(program_.pools) && has_other_engines(program_); ++pool) {
    const auto& capacity = at(program_.pools, pool).capacity;
    if (capacity) facts.push_back(held(pool) <= solver_.number(*capacity));
  }
  return solver_.all_of(facts);
}

Term CutQueries::not_handed_over(const Position& position) {
  std::vector<Term> ways;
  for (const auto& [where, lane] : position.last) {
    if (lane < 0) continue;
    for (const int edge : at(program_.lanes, lane).feeds) {
      const spec::Edge& e = at(program_.edges, edge);
      if (e.rendezvous) {
        ways.push_back(solver_.all_of({where, !accepted(e, at(done_, lane))}));
      }
    }
  }
  return solver_.any_of(ways);
}

Term CutQueries::stuck_cut() {
  std::vector<Term> facts{consistent()};
  std::vector<Term> unfinished;
  for (const auto& positions : positions_) {
    if (positions.empty()) continue;  // no such engine
    std::vector<Term> blocked;
    for (const Position& position : positions) {
      if (position.lane < 0) {
        blocked.push_back(position.here);
        continue;
      }
      std::vector<Term> why{not_handed_over(position)};
      for (const int edge : at(guards_, position.lane).needs) {
        why.push_back(needs_missing(at(program_.edges, edge)));
      }
      if (has_other_engines(program_)) why.push_back(lacks_room(position.lane));
      blocked.push_back(solver_.all_of({position.here, solver_.any_of(why)}));
    }
    facts.push_back(solver_.any_of(blocked));
  }
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    unfinished.push_back(at(done_, lane) < total_of(lane));
  }
  facts.push_back(solver_.any_of(unfinished));
  return solver_.all_of(facts);
}

// The number of messages sent and not taken. For needs of the microbatch before, the last
// microbatch sends none and the first task takes none; for needs of all, the first task takes all.
Term CutQueries::pending(const spec::Edge& edge) {
  const Term produced = at(done_, edge.producer);
  const Term taken = at(done_, edge.consumer);
  const Term zero = solver_.number(0);
  const Term one = solver_.number(1);
  if (program_.crosses_shares(edge)) {
    const spec::Share needed = needed_share(program_, edge);
    const Term ended = reach(solver_, at(program_.lanes, edge.producer).share, produced);
    const Term last = microbatches_ - shift_of(edge);
    const Term took = taken_of(edge, needed);
    return below(solver_, needed, if_then_else(ended < last, ended, last)) -
           if_then_else(took < zero, zero, took);
  }
  switch (edge.of) {
    case spec::Of::same:
      return produced - taken;
    case spec::Of::before:
      return if_then_else(produced < microbatches_, produced, produced - one) -
             if_then_else(zero < taken, taken - one, zero);
    case spec::Of::all:
      break;
  }
  // A lane without a task is sent no messages.
  const Term takes = solver_.all_of({taken <= zero, zero < total_of(edge.consumer)});
  return if_then_else(takes, produced, zero);
}

Term CutQueries::overfull() {
  std::vector<Term> ways;
  for (int inbox = 0; inbox < size_of(program_.inboxes); ++inbox) {
    std::vector<Term> waiting;
    // Over a fifo edge messages arrive in the order in which they are taken, since at both ends
    // each occurrence of a lane is the lane's next microbatch.
    for (const spec::Edge& e : program_.edges) {
      const bool in_order = e.fifo && e.of != spec::Of::all;
      if (e.inbox == inbox && !in_order) waiting.push_back(pending(e));
    }
    const Term slots = solver_.number(at(program_.inboxes, inbox).slots);
    if (!waiting.empty()) ways.push_back(slots < solver_.sum(waiting));
  }
  if (ways.empty()) return solver_.any_of({});
  return solver_.all_of({consistent(), solver_.any_of(ways)});
}

Term CutQueries::above(int pool, Term bound) {
  std::vector<Term> ways;
  const int rank = at(program_.pools, pool).rank;
  for (const spec::Engine engine : spec::kAllEngines) {
    const auto& positions = positions_[spec::engine_index(rank, engine)];
    const bool starts =
        std::any_of(positions.begin(), positions.end(), [&](const Position& position) {
          return position.lane >= 0 && acquired(position.lane, pool) > 0;
        });
    if (!starts) continue;
    std::vector<Term> beside;  // facts about the tasks that the other engines run
    std::vector<Term> held_then = {held(pool)};
    for (const spec::Engine other : spec::kAllEngines) {
      if (other == engine) continue;
      const Term runs = held_by_running(spec::engine_index(rank, other), pool, beside);
      for (Term& now : held_then) now = now + runs;
      add_each(held_then, unreleased_on(rank, other, pool));
    }
    if (has_other_engines(program_)) beside.push_back(consistent());
    for (const Position& position : positions) {
      if (position.lane < 0) continue;
      for (const auto& a : at(program_.lanes, position.lane).acquires) {
        if (a.pool != pool) continue;
        std::vector<Term> held_before = held_then;
        add_each(held_before, unreleased_beside(position.lane, pool));
        for (const Term& before : held_before) {
          std::vector<Term> facts = {position.here, bound < before + solver_.number(a.amount)};
          // A position without room is never passed.
          const auto room = room_in(at(guards_, position.lane), pool);
          if (room) facts.push_back(before <= solver_.number(room->most_held()));
          facts.insert(facts.end(), beside.begin(), beside.end());
          ways.push_back(solver_.all_of(facts));
        }
      }
    }
  }
  return solver_.any_of(ways);
}

// The amounts that tasks of paired lanes may still hold beside a task of this lane, though they
// count as ended: for each such lane that has begun a task, the amount that the lane releases.
std::vector<Term> CutQueries::unreleased_beside(int lane, int pool) {
  std::vector<Term> ways;
  for (const int other : at(guards_, lane).beside) add_unreleased(other, pool, ways);
  return ways;
}

// The amounts of unreleased_beside() for paired lanes on another engine, beside its next task.
std::vector<Term> CutQueries::unreleased_on(int rank, spec::Engine engine, int pool) {
  std::vector<Term> ways;
  for (int lane = program_.first_lane(rank); lane < program_.first_lane(rank + 1); ++lane) {
    const spec::Lane& l = at(program_.lanes, lane);
    const bool pairs = std::any_of(
        program_.pairs.begin(), program_.pairs.end(),
        [&](const spec::Pair& pair) { return pair.first == l.op || pair.second == l.op; });
    if (l.engine == engine && pairs) add_unreleased(lane, pool, ways);
  }
  return ways;
}

void CutQueries::add_unreleased(int lane, int pool, std::vector<Term>& ways) {
  for (const auto& r : at(program_.lanes, lane).releases) {
    if (r.pool != pool) continue;
    ways.push_back(if_then_else(solver_.number(1) <= at(done_, lane), solver_.number(r.amount),
                                solver_.number(0)));
  }
}

// Appends the sum of each of `sums` and each of `ways`.
void CutQueries::add_each(std::vector<Term>& sums, const std::vector<Term>& ways) {
  const std::size_t before = sums.size();
  for (const Term& way : ways) {
    for (std::size_t i = 0; i < before; ++i) sums.push_back(sums[i] + way);
  }
}

std::int64_t CutQueries::acquired(int lane, int pool) const {
  for (const auto& a : at(program_.lanes, lane).acquires) {
    if (a.pool == pool) return a.amount;
  }
  return 0;
}

// The amount that an engine's next task holds; the task may be running, since it has not ended.
Term CutQueries::held_by_running(std::size_t engine, int pool, std::vector<Term>& facts) {
  const Term zero = solver_.number(0);
  const auto& positions = positions_[engine];
  const bool acquires =
      std::any_of(positions.begin(), positions.end(), [&](const Position& position) {
        return position.lane >= 0 && acquired(position.lane, pool) > 0;
      });
  if (!acquires) return zero;
  const auto [it, fresh] = running_.try_emplace({engine, pool});
  if (fresh) it->second = solver_.integer(fmt::format("run by engine {} of pool {}", engine, pool));
  std::vector<Term> ways = {it->second == zero};
  for (const Position& position : positions) {
    if (position.lane < 0 || acquired(position.lane, pool) == 0) continue;
    std::vector<Term> runs = {position.here,
                              it->second == solver_.number(acquired(position.lane, pool))};
    for (const int edge : at(guards_, position.lane).needs) {
      runs.push_back(!needs_missing(at(program_.edges, edge)));
    }
    ways.push_back(solver_.all_of(runs));
  }
  facts.push_back(solver_.any_of(ways));
  return it->second;
}

}  // namespace ripeline::verify
