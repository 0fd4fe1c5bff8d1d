#include "trace/read.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>

#include <nlohmann/json.hpp>

#include "files/read_file.h"
#include "trace/microseconds.h"
#include "trace/parts.h"
#include "trace/torch_events.h"
#include "trace/write.h"

namespace ripeline::trace {
namespace {

using core::Status;
using core::StatusCode;
using core::StatusOr;

constexpr std::array<Cause, 10> kCauses = {
    Cause::unknown, Cause::input, Cause::slot,      Cause::room, Cause::engine,
    Cause::order,   Cause::hold,  Cause::agreement, Cause::done, Cause::host};

// The fields of an event; -1 if the event does not have the field.
struct Fields {
  std::string phase;
  std::string cause;
  std::int64_t rank = -1;
  std::int64_t engine = -1;
  std::int64_t start = 0;
  std::int64_t duration = 0;
  std::int64_t step = 0;
  std::int64_t lane = -1;
  std::int64_t edge = -1;
  std::int64_t microbatch = -1;
  std::int64_t sent = 0;
  std::int64_t queued = 0;
  std::int64_t parameters = 0;
  std::int64_t deferred = 0;
  std::int64_t kept = 0;
};

// The longest wait of a task for its engine that is accepted, in nanoseconds: 104 days.
constexpr std::int64_t kMostQueued = 9'000'000'000'000'000;

// Adds the event to the record; events that Ripeline did not write are left out.
void keep(const Fields& f, Record& record) {
  const core::Task task{static_cast<core::LaneId>(f.lane), static_cast<std::int32_t>(f.microbatch)};
  const core::Time start{f.start};
  const core::Time end{f.start + f.duration};
  if (f.phase == "X" && !f.cause.empty() && f.engine >= 0 && f.engine < core::kEngines) {
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
    const core::Time queued{std::clamp<std::int64_t>(f.queued, 0, kMostQueued)};
    record.task(f.step, task, start, end, queued);
    record.tasks.back().deferral = {.parameters = static_cast<std::int32_t>(f.parameters),
                                    .deferred = static_cast<std::int32_t>(f.deferred),
                                    .bytes = f.kept};
  } else if (f.phase == "i" && f.edge >= 0 && f.microbatch >= 0) {
    record.message(f.step, {static_cast<core::EdgeId>(f.edge), task.microbatch}, core::Time{f.sent},
                   start);
  }
}

// Replaces a microbatch by its number in the lane; returns false if the lane has no such task.
bool number(const File& file, core::LaneId lane, std::int32_t& microbatch) {
  const core::ProgramFacts& facts = file.about.facts();
  if (microbatch >= file.about.run.microbatches) return false;
  const core::Share& share = facts.lanes[static_cast<std::size_t>(lane)].share;
  if (!share.has(microbatch)) return false;
  microbatch = share.below(microbatch);
  return true;
}

// Checks that all ids are within the program's, so that users may index with them.
Status check(File& file) {
  const core::ProgramFacts& facts = file.about.facts();
  const auto lanes = static_cast<core::LaneId>(facts.lanes.size());
  const auto edges = static_cast<core::EdgeId>(facts.edges.size());
  for (TaskEvent& e : file.record.tasks) {
    if (e.task.lane < lanes && number(file, e.task.lane, e.task.microbatch)) continue;
    return {StatusCode::invalid, "a task is not of its program"};
  }
  for (MessageEvent& e : file.record.messages) {
    const bool known = e.message.edge < edges;
    if (known && number(file, facts.edges[static_cast<std::size_t>(e.message.edge)].producer,
                        e.message.microbatch)) {
      continue;
    }
    return {StatusCode::invalid, "a message is not of its program"};
  }
  for (IdleEvent& e : file.record.idle) {
    const bool known = e.rank >= 0 && e.rank < facts.ranks && e.next.lane < lanes;
    const bool has_next = e.next.lane >= 0 && e.next.microbatch >= 0;
    if (known && (!has_next || number(file, e.next.lane, e.next.microbatch))) continue;
    return {StatusCode::invalid, "an idle interval is not of its program"};
  }
  return {};
}

// Reads events one by one without building a tree, since there may be millions of them.
class Events final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Events(Record& record) : record_(record) {}

  bool has_events() const { return has_events_; }
  std::size_t error_at() const { return error_at_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t value) override {
    return number(value, in_range(value) ? value * 1000 : value);
  }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kMost = std::numeric_limits<number_integer_t>::max();  // outside of in_range()
    return number_integer(static_cast<number_integer_t>(std::min<number_unsigned_t>(value, kMost)));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    if (!(std::abs(value) <= static_cast<double>(kMostMicroseconds))) return !matters();
    return number(static_cast<std::int64_t>(value), nanoseconds_of(text, value));
  }
  bool string(string_t& value) override {
    if (in_event() && key_ == "ph") fields_.phase = value;
    if (in_args() && key_ == "cause") fields_.cause = value;
    return true;
  }
  bool binary(binary_t& /*value*/) override { return true; }
  bool key(string_t& name) override {
    key_.swap(name);
    if (depth_ == 1) in_events_ = key_ == "traceEvents";
    if (depth_ == 3) in_args_ = key_ == "args";
    return true;
  }
  bool start_object(std::size_t /*elements*/) override {
    if (++depth_ == 3) fields_ = {};
    return true;
  }
  bool end_object() override {
    if (depth_-- == 3 && in_events_) keep(fields_, record_);
    if (depth_ == 3) in_args_ = false;
    return true;
  }
  bool start_array(std::size_t /*elements*/) override {
    if (++depth_ == 2 && in_events_) has_events_ = true;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    error_at_ = position;
    return false;
  }

 private:
  // An event is an object in the array of the root: the third level.
  bool in_event() const { return in_events_ && depth_ == 3; }
  bool in_args() const { return in_events_ && in_args_ && depth_ == 4; }

  bool matters() const { return in_event() || in_args(); }

  static bool in_range(std::int64_t value) {
    return -kMostMicroseconds <= value && value <= kMostMicroseconds;
  }

  bool number(std::int64_t value, std::int64_t time) {
    if (matters() && !in_range(value)) return false;
    if (in_event()) {
      if (key_ == "pid") fields_.rank = value;
      if (key_ == "tid") fields_.engine = value;
      if (key_ == "ts") fields_.start = time;
      if (key_ == "dur") fields_.duration = time;
    } else if (in_args()) {
      if (key_ == "step") fields_.step = value;
      if (key_ == "lane") fields_.lane = value;
      if (key_ == "edge") fields_.edge = value;
      if (key_ == "microbatch") fields_.microbatch = value;
      if (key_ == "sent") fields_.sent = time;
      if (key_ == "queued") fields_.queued = time;
      if (key_ == "parameters") fields_.parameters = value;
      if (key_ == "deferred") fields_.deferred = value;
      if (key_ == "kept") fields_.kept = value;
    }
    return true;
  }

  Record& record_;
  Fields fields_;
  std::string key_;
  int depth_ = 0;
  bool in_events_ = false;
  bool in_args_ = false;
  bool has_events_ = false;
  std::size_t error_at_ = 0;
};

// The root object without its events.
nlohmann::json head_of(const std::string& text) {
  bool in_events = false;
  const auto keep_it = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (event == nlohmann::json::parse_event_t::key && depth == 1) {
      in_events = value == "traceEvents";
    }
    return depth <= 1 || !in_events;
  };
  return nlohmann::json::parse(text, keep_it, false);
}

}  // namespace

namespace {

StatusOr<File> read_whole(const std::string& text) {
  File file;
  Events events(file.record);
  if (!nlohmann::json::sax_parse(text, &events)) {
    return Status(StatusCode::invalid,
                  "no JSON of a trace at byte " + std::to_string(events.error_at()));
  }
  const nlohmann::json head = head_of(text);
  const bool has_about = head.is_object() && head.contains("otherData");
  if (!has_about || !events.has_events()) {
    return Status(StatusCode::invalid, std::string("it has no ") +
                                           (has_about ? "traceEvents" : "otherData") +
                                           ": no trace of Ripeline");
  }
  auto about = About::from_json(head["otherData"].dump());
  if (!about.ok()) return about.status();
  file.about = std::move(about).value();
  if (Status s = check(file); !s.ok()) return s;
  return file;
}

// Whether the text, which may be cut off, begins like the text of a part.
bool is_part(std::string_view text) {
  constexpr std::string_view kEvents = ",\n\"traceEvents\":[\n";  // as opening_text() has it
  const std::size_t end = text.find(kEvents);
  if (end == text.npos) return false;
  const auto head = nlohmann::json::parse(std::string(text.substr(0, end)) + "}", nullptr, false);
  return head.is_object() && head.contains("otherData") && head["otherData"].contains("part");
}

// Reads the complete lines of the text, each an event. If that fails, reads again without the last
// line, since the comma after that line may have overwritten the file's closing brackets.
StatusOr<File> read_torn(std::string_view text) {
  StatusOr<File> file = Status(StatusCode::invalid, "it has no whole line");
  std::size_t end = text.size();
  for (int lines = 0; lines < 2 && end > 1; ++lines) {
    end = text.rfind('\n', lines == 0 ? text.npos : end - 1);
    if (end == text.npos || end == 0) break;
    const std::string_view whole = text.substr(0, end - (text[end - 1] == ',' ? 1 : 0));
    file = read_whole(std::string(whole) + kClosing);
    if (!file.ok()) continue;
    file.value().notes.push_back("its end is cut off, and " +
                                 std::to_string(text.size() - whole.size()) +
                                 " bytes of half an event are left out");
    break;
  }
  return file;
}

}  // namespace

StatusOr<File> read_text(const std::string& text) {
  StatusOr<File> file = read_whole(text);
  if (file.ok() || text.ends_with(kClosing) || !is_part(text)) return file;
  return read_torn(text);
}

StatusOr<File> read(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return read_parts(path);
  std::string text;
  if (const Status found = files::read_file(path, text); !found.ok()) {
    return Status(found.code(), path + ": cannot be read: " + found.message());
  }
  StatusOr<File> file = read_text(text);
  if (!file.ok()) return Status(file.status().code(), path + ": " + file.message());
  for (std::string& note : file.value().notes) note = path + ": " + note;
  return file;
}

namespace {

// Whether the file begins as gzip's files do.
bool is_compressed(const std::string& path) {
  std::array<char, 2> first{};
  std::ifstream(path, std::ios::binary).read(first.data(), first.size());
  return first == std::array{'\x1f', '\x8b'};
}

}  // namespace

Status read_any(const std::string& path, AnyTrace& trace) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  if (!folder && is_compressed(path)) {
    trace = TorchTrace{};
    return {StatusCode::invalid, path + ": it is compressed: unpack it with gunzip first"};
  }
  if (!folder && is_torch_trace(path)) {
    trace = TorchTrace{};
    auto read_trace = read_torch_trace(path);
    if (read_trace.ok()) trace = std::move(read_trace).value();
    return read_trace.status();
  }
  trace = File{};
  auto file = read(path);
  if (file.ok()) trace = std::move(file).value();
  return file.status();
}

}  // namespace ripeline::trace
