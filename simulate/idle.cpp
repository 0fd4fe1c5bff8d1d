#include "simulate/idle.h"

#include <algorithm>

#include "core/vocabulary/index.h"

namespace ripeline::simulate {
namespace {

using core::Time;
using trace::Cause;

}  // namespace

IdleWatch::IdleWatch(const core::ProgramFacts& facts, int rank)
    : facts_(facts), rank_(rank), rows_(facts, rank), ledger_(facts, rank) {
  for (const core::EdgeFacts& edge : facts.edges) {
    const bool within = edge.producer >= rows_.first_lane() && edge.producer < rows_.end_lane() &&
                        edge.consumer >= rows_.first_lane() && edge.consumer < rows_.end_lane();
    if (!within) continue;
    feeds_[static_cast<std::size_t>(engine_of(edge.producer))]
          [static_cast<std::size_t>(engine_of(edge.consumer))] = true;
  }
}

void IdleWatch::begin_step(int microbatches) {
  static_cast<void>(rows_.begin_step(microbatches));  // the executor refuses a count out of range
  ledger_.begin_step();
  busy_ = {};
  for (WatchedEngine& watched : engines_) watched = {};
  for (core::LaneId lane = rows_.first_lane(); lane < rows_.end_lane(); ++lane) {
    of(engine_of(lane)).left += facts_.tasks_of(lane, microbatches);
  }
}

void IdleWatch::arrived(core::Message message, Time ended, Time sent) {
  rows_.arrived(message);
  if (sent <= ended) return;
  last_waited_ = true;
  last_ended_ = ended;
  last_sent_ = sent;
}

void IdleWatch::finished(core::Task task, Time now) {
  rows_.finished(task);
  static_cast<void>(ledger_.finished(task));
  const core::Engine engine = engine_of(task.lane);
  if (--busy_[static_cast<std::size_t>(engine)] > 0) return;
  of(engine).idle = true;
  of(engine).cause = Cause::host;
  of(engine).since = now;
}

void IdleWatch::close(WatchedEngine& watched, Time now) {
  if (now > watched.since) watched.pieces.push_back({watched.cause, watched.since, now});
  watched.since = now;
}

void IdleWatch::started(core::Task task, Time now, std::int64_t step, EngineReport& report,
                        trace::Record* record) {
  rows_.started(task);
  static_cast<void>(ledger_.started(task));
  const core::Engine engine = engine_of(task.lane);
  ++busy_[static_cast<std::size_t>(engine)];
  WatchedEngine& watched = of(engine);
  --watched.left;
  if (!watched.idle) return;
  watched.idle = false;
  // If the engine needed the last message, a slot was lacking while that message was held back.
  if (watched.cause == Cause::input && last_waited_) {
    const Time from = std::max(watched.since, last_ended_);
    const Time until = std::max(from, last_sent_);
    close(watched, from);
    watched.cause = Cause::slot;
    close(watched, until);
    watched.cause = Cause::input;
  }
  close(watched, now);
  for (const Piece& piece : watched.pieces) {
    report.idle[static_cast<std::size_t>(piece.cause)] += piece.end - piece.start;
    if (record == nullptr) continue;
    record->idle.push_back({.rank = rank_,
                            .engine = engine,
                            .cause = piece.cause,
                            .next = task,
                            .start = piece.start,
                            .end = piece.end,
                            .step = step});
  }
  watched.pieces.clear();
}

void IdleWatch::look(core::Engine engine, Time now, const Kept& kept) {
  last_waited_ = false;
  WatchedEngine& watched = of(engine);
  if (!watched.idle) return;
  const Cause cause = cause_of(engine, kept);
  if (cause == watched.cause) return;
  close(watched, now);
  watched.cause = cause;
}

Cause IdleWatch::cause_of(core::Engine engine, const Kept& kept) const {
  const auto to = static_cast<std::size_t>(engine);
  if (engines_[to].left == 0) return Cause::done;
  if (kept.holds) return Cause::hold;
  if (kept.hands_over) return Cause::engine;
  if (rows_.contains(kept.starts) && ledger_.has_room(kept.starts.lane)) return Cause::host;
  bool waits_for_room = false;
  for (core::LaneId lane = rows_.first_lane(); lane < rows_.end_lane(); ++lane) {
    if (engine_of(lane) != engine || rows_.tasks().row(lane).empty()) continue;
    // Only the order keeps a ready task from starting, or the agreement if a group agrees.
    if (ledger_.has_room(lane)) {
      return facts_.is_governed(rank_, engine) ? Cause::agreement : Cause::order;
    }
    // In a committed order, room matters only for the next task.
    if (kept.next.lane < 0 || rows_.contains(kept.next)) waits_for_room = true;
  }
  if (waits_for_room) return Cause::room;
  for (std::size_t from = 0; from < index(core::kEngines); ++from) {
    if (from != to && busy_[from] > 0 && feeds_[from][to]) return Cause::engine;
  }
  return Cause::input;
}

}  // namespace ripeline::simulate
