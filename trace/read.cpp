#include "trace/read.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "trace/scan.h"

namespace ripeline::trace {
namespace {

using core::Status;
using core::StatusCode;

constexpr std::array<Cause, 9> kCauses = {Cause::unknown, Cause::input,     Cause::slot,
                                          Cause::room,    Cause::engine,    Cause::order,
                                          Cause::hold,    Cause::agreement, Cause::done};

// The fields of an event that say what it is; -1: not there.
struct Fields {
  std::string_view phase;
  std::string_view cause;
  std::int64_t rank = -1;
  std::int64_t engine = -1;
  std::int64_t start = 0;
  std::int64_t duration = 0;
  std::int64_t step = 0;
  std::int64_t lane = -1;
  std::int64_t edge = -1;
  std::int64_t microbatch = -1;
  std::int64_t sent = 0;
};

std::int64_t id(Scan& scan) {
  if (!scan.at_string()) return scan.integer();
  scan.skip();  // a name: of no event of ours
  return -1;
}

void read_args(Scan& scan, Fields& f) {
  std::string_view name;
  if (!scan.enter('{')) return;
  while (scan.key(name)) {
    if (name == "step") {
      f.step = scan.integer();
    } else if (name == "lane") {
      f.lane = id(scan);
    } else if (name == "edge") {
      f.edge = id(scan);
    } else if (name == "microbatch") {
      f.microbatch = scan.integer();
    } else if (name == "sent") {
      f.sent = scan.nanoseconds();
    } else if (name == "cause" && scan.at_string()) {
      f.cause = scan.string();
    } else {
      scan.skip();
    }
  }
}

Fields read_fields(Scan& scan) {
  Fields f;
  std::string_view name;
  if (!scan.enter('{')) return f;
  while (scan.key(name)) {
    if (name == "ph") {
      f.phase = scan.string();
    } else if (name == "pid") {
      f.rank = id(scan);
    } else if (name == "tid") {
      f.engine = id(scan);
    } else if (name == "ts") {
      f.start = scan.nanoseconds();
    } else if (name == "dur") {
      f.duration = scan.nanoseconds();
    } else if (name == "args") {
      read_args(scan, f);
    } else {
      scan.skip();
    }
  }
  return f;
}

// What is none of ours is left out.
void keep(const Fields& f, Record& record) {
  const core::Task task{static_cast<core::LaneId>(f.lane), static_cast<std::int32_t>(f.microbatch)};
  const core::Time start{f.start};
  const core::Time end{f.start + f.duration};
  if (f.phase == "X" && !f.cause.empty() && f.engine >= 0 && f.engine < 3) {
    IdleEvent idle{.rank = static_cast<std::int32_t>(f.rank),
                   .engine = static_cast<core::Engine>(f.engine),
                   .next = task,
                   .start = start,
                   .end = end,
                   .step = f.step};
    for (const Cause cause : kCauses) {
      if (f.cause == word_of(cause)) idle.cause = cause;
    }
    record.idle.push_back(idle);
  } else if (f.phase == "X" && f.lane >= 0 && f.microbatch >= 0) {
    record.task(f.step, task, start, end);
  } else if (f.phase == "i" && f.edge >= 0 && f.microbatch >= 0) {
    record.message(f.step, {static_cast<core::EdgeId>(f.edge), task.microbatch}, core::Time{f.sent},
                   start);
  }
}

// Ids within the program's, so that users may index.
Status check(const File& file) {
  const core::ProgramFacts& facts = file.about.facts();
  const auto lanes = static_cast<core::LaneId>(facts.lanes.size());
  const auto edges = static_cast<core::EdgeId>(facts.edges.size());
  for (const TaskEvent& e : file.record.tasks) {
    if (e.task.lane < lanes && e.task.microbatch < file.about.run.microbatches) continue;
    return {StatusCode::invalid, "a task is not of its program"};
  }
  for (const MessageEvent& e : file.record.messages) {
    if (e.message.edge < edges && e.message.microbatch < file.about.run.microbatches) continue;
    return {StatusCode::invalid, "a message is not of its program"};
  }
  for (const IdleEvent& e : file.record.idle) {
    if (e.rank >= 0 && e.rank < facts.ranks && e.next.lane < lanes) continue;
    return {StatusCode::invalid, "an idle interval is not of its program"};
  }
  return {};
}

}  // namespace

Status read_text(const std::string& text, File& file) {
  File found;
  Scan scan(text);
  std::string_view name;
  bool has_about = false;
  bool has_events = false;
  scan.enter('{');
  while (scan.key(name)) {
    if (name == "otherData") {
      const std::string about(scan.skip());
      if (scan.failed()) break;
      if (Status s = About::from_json(about, found.about); !s.ok()) return s;
      has_about = true;
    } else if (name == "traceEvents") {
      has_events = scan.enter('[');
      while (scan.element()) keep(read_fields(scan), found.record);
    } else {
      scan.skip();
    }
  }
  if (scan.failed()) {
    return {StatusCode::invalid, "no JSON of a trace at byte " + std::to_string(scan.place())};
  }
  if (!has_about || !has_events) {
    return {StatusCode::invalid, std::string("it has no ") +
                                     (has_about ? "traceEvents" : "otherData") +
                                     ": no trace of Ripeline"};
  }
  if (Status s = check(found); !s.ok()) return s;
  file = std::move(found);
  return {};
}

Status read(const std::string& path, File& file) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) {
    in.seekg(0, std::ios::end);
    const std::streamoff size = in.tellg();
    if (size > 0) {
      text.resize(static_cast<std::size_t>(size));
      in.seekg(0);
      in.read(text.data(), size);
    }
  }
  if (!in) return {StatusCode::failed, path + ": cannot be read: " + std::strerror(errno)};
  const Status status = read_text(text, file);
  return status.ok() ? Status{} : Status{status.code(), path + ": " + status.message()};
}

}  // namespace ripeline::trace
