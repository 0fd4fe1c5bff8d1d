#include "emulate/log.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

namespace ripeline::emulate {
namespace {

using core::Command;
using core::Status;
using core::StatusCode;
using core::Time;

static_assert(std::is_trivially_copyable_v<Entry>);

// Writes numbers and texts one after another, as they are in this program's memory.
class Writer {
 public:
  explicit Writer(runtime::Blob& to) : to_(to) {}
  void bytes(const void* from, std::size_t size) {
    if (size == 0) return;
    const std::size_t before = to_.size();
    to_.resize(before + size);
    std::memcpy(to_.data() + before, from, size);
  }
  void number(std::int64_t value) { bytes(&value, sizeof value); }
  void text(const std::string& text) {
    number(static_cast<std::int64_t>(text.size()));
    bytes(text.data(), text.size());
  }

 private:
  runtime::Blob& to_;
};

class Reader {
 public:
  explicit Reader(const runtime::Blob& from) : from_(from) {}
  [[nodiscard]] bool ok() const { return ok_; }
  // Whether at least `count` items of `size` bytes are left.
  bool has(std::int64_t count, std::size_t size) {
    const std::size_t left = (from_.size() - at_) / size;
    ok_ = ok_ && count >= 0 && static_cast<std::uint64_t>(count) <= left;
    return ok_;
  }
  void bytes(void* to, std::size_t size) {
    if (size == 0 || !has(1, size)) return;
    std::memcpy(to, from_.data() + at_, size);
    at_ += size;
  }
  std::int64_t number() {
    std::int64_t value = 0;
    bytes(&value, sizeof value);
    return value;
  }
  std::string text() {
    const std::int64_t size = number();
    std::string text;
    if (!has(size, 1)) return text;
    text.resize(static_cast<std::size_t>(size));
    bytes(text.data(), text.size());
    return text;
  }

 private:
  const runtime::Blob& from_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

runtime::Blob encode(const RankRun& run) {
  runtime::Blob payload;
  Writer to(payload);
  to.number(static_cast<std::int64_t>(run.status.code()));
  to.text(run.status.message());
  to.text(run.waiting);
  to.number(static_cast<std::int64_t>(run.entries.size()));
  to.bytes(run.entries.data(), run.entries.size() * sizeof(Entry));
  to.number(static_cast<std::int64_t>(run.peaks.size()));
  for (const std::int64_t peak : run.peaks) to.number(peak);
  for (const std::int64_t n : {run.controls, run.notices}) to.number(n);
  for (const Time time : {run.start, run.overshot, run.behind}) to.number(time.count());
  return payload;
}

Status decode(const runtime::Blob& payload, RankRun& run) {
  Reader from(payload);
  const auto code = static_cast<StatusCode>(from.number());
  run.status = Status(code, from.text());
  run.waiting = from.text();
  const std::int64_t entries = from.number();
  if (from.has(entries, sizeof(Entry))) {
    run.entries.resize(static_cast<std::size_t>(entries));
    from.bytes(run.entries.data(), run.entries.size() * sizeof(Entry));
  }
  const std::int64_t peaks = from.number();
  if (from.has(peaks, sizeof(std::int64_t))) run.peaks.resize(static_cast<std::size_t>(peaks));
  for (std::int64_t& peak : run.peaks) peak = from.number();
  run.controls = from.number();
  run.notices = from.number();
  run.start = Time{from.number()};
  run.overshot = Time{from.number()};
  run.behind = Time{from.number()};
  if (from.ok()) return {};
  return {StatusCode::invalid, "what a rank says of its run is cut off"};
}

Recorder::Recorder(const core::Arbiter& arbiter, const runtime::RankClock& clock,
                   const LatencyTransport& transport, RankRun& run)
    : arbiter_(arbiter), clock_(clock), transport_(transport), run_(run) {
  const core::ProgramFacts& facts = arbiter.facts();
  for (const core::LaneFacts& lane : facts.lanes) {
    if (lane.rank != arbiter.rank()) continue;
    const bool known = std::find(engines_.begin(), engines_.end(), lane.engine) != engines_.end();
    if (!known) engines_.push_back(lane.engine);
  }
}

void Recorder::arrived(const runtime::signals::Data& data, Time sent, Time at) {
  run_.entries.push_back({.kind = Entry::Kind::arrived,
                          .what = data.message.edge,
                          .microbatch = data.message.microbatch,
                          .at = at,
                          .sent = sent});
}

void Recorder::started(core::Task task, Time at) {
  run_.entries.push_back({.kind = Entry::Kind::started,
                          .engine = {},
                          .what = task.lane,
                          .microbatch = task.microbatch,
                          .at = at});
}

void Recorder::finished(core::Task task, Time at) {
  run_.behind = std::max(run_.behind, clock_.now() - at);
  run_.entries.push_back({.kind = Entry::Kind::finished,
                          .engine = {},
                          .what = task.lane,
                          .microbatch = task.microbatch,
                          .at = at});
}

void Recorder::count(const Command& command, Time now) {
  switch (command.kind) {
    case Command::Kind::announce:
    case Command::Kind::grant:
      ++run_.controls;
      return;
    case Command::Kind::notify:
      ++run_.notices;
      return;
    case Command::Kind::send:
      run_.entries.push_back({.kind = Entry::Kind::sent,
                              .what = command.message.edge,
                              .microbatch = command.message.microbatch,
                              .at = now});
      return;
    case Command::Kind::start:
    case Command::Kind::hold_until:
    case Command::Kind::ballot:
      return;
  }
}

void Recorder::polled(Time now, const core::Executor& executor, std::span<const Command> commands) {
  // The first poll follows no wait. At later polls, the work since the last wait is lateness.
  if (std::exchange(began_, true)) run_.behind = std::max(run_.behind, transport_.busy());
  run_.entries.push_back({.kind = Entry::Kind::asked, .at = now});
  bool holds = false;
  for (const Command& command : commands) {
    count(command, now);
    holds = holds || command.kind == Command::Kind::hold_until;
  }
  for (const core::Engine engine : engines_) {
    const core::Task next = arbiter_.next_in_order(engine);
    run_.entries.push_back({.kind = Entry::Kind::idle,
                            .engine = engine,
                            .hands_over = executor.hands_over(engine),
                            .holds = holds,
                            .what = next.lane,
                            .microbatch = next.microbatch,
                            .at = now});
  }
}

void Recorder::sent(Time now, std::span<const Command> commands) {
  for (const Command& command : commands) count(command, now);
}

}  // namespace ripeline::emulate
