#include "trace/torch_events.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "trace/microseconds.h"

namespace ripeline::trace {
namespace {

using core::Status;
using core::StatusCode;

// The largest accepted time, in microseconds, so that ends and durations do not overflow.
constexpr std::int64_t kMostTime = kMostMicroseconds / 3;

// An event that is being read.
struct Event {
  std::string phase;
  std::string category;
  std::string name;
  std::int64_t thread = kNone;
  std::int64_t start = kNone;
  std::int64_t duration = kNone;
  std::int64_t correlation = kNone;
};

// Reads a file event by event without building a tree, since there may be millions of events.
class Scan final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Scan(TorchEvents& found) : found_(found) {}

  std::size_t error_at() const { return error_at_; }
  // The error in an event; empty if no event has one, or if the JSON itself is malformed.
  const std::string& wrong() const { return wrong_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t value) override {
    const bool is_time = value >= -kMostTime && value <= kMostTime;
    number(value, is_time ? value * 1000 : kNone);
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kMost = std::numeric_limits<number_integer_t>::max();
    return number_integer(static_cast<number_integer_t>(std::min<number_unsigned_t>(value, kMost)));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    const bool is_time = std::abs(value) <= static_cast<double>(kMostTime);
    number(kNone, is_time ? nanoseconds_of(text, value) : kNone);
    return true;
  }
  bool string(string_t& value) override {
    if (!in_event()) return true;
    if (key_ == "ph") event_.phase.swap(value);
    if (key_ == "cat") event_.category.swap(value);
    if (key_ == "name") event_.name.swap(value);
    return true;
  }
  bool binary(binary_t& /*value*/) override { return true; }
  bool key(string_t& name) override {
    key_.swap(name);
    if (depth_ == 1) root_key_ = key_;
    if (depth_ == 3) in_args_ = key_ == "args";
    return true;
  }
  bool start_object(std::size_t /*elements*/) override {
    if (++depth_ == 3) event_ = {};
    return true;
  }
  bool end_object() override {
    const bool whole = in_event();
    if (--depth_ == 3) in_args_ = false;
    return !whole || keep();
  }
  bool start_array(std::size_t /*elements*/) override { return ++depth_ > 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    error_at_ = position;
    return false;
  }

 private:
  // An event is an object in the array of the root: the third level.
  bool in_event() const { return depth_ == 3 && root_key_ == "traceEvents"; }
  bool in_args() const { return depth_ == 4 && in_args_ && root_key_ == "traceEvents"; }

  // Handles a number; `time` is its value in nanoseconds, if its unit is the microsecond.
  void number(std::int64_t value, std::int64_t time) {
    if (in_event()) {
      if (key_ == "tid") event_.thread = value;
      if (key_ == "ts") event_.start = time;
      if (key_ == "dur") event_.duration = time;
    } else if (in_args()) {
      if (key_ == "correlation") event_.correlation = value;
    } else if (depth_ == 2 && root_key_ == "distributedInfo" && value >= 0 &&
               value <= std::numeric_limits<int>::max()) {
      if (key_ == "rank") found_.rank = static_cast<int>(value);
      if (key_ == "world_size") found_.ranks = static_cast<int>(value);
    }
  }

  // Stores the event that has been read, if it may be needed; returns false if it is malformed.
  bool keep() {
    const Event& e = event_;
    if (e.phase != "X") return true;
    if (e.category == "cpu_op") {
      found_.operators.push_back({e.thread, e.start});
    } else if (e.category == "user_annotation") {
      return keep_mark();
    } else if (e.category == "kernel" || e.category == "gpu_memcpy" || e.category == "gpu_memset") {
      if (e.name.starts_with("nccl")) return true;
      if (!has_times()) return false;
      found_.work.push_back({e.correlation, e.start, e.start + e.duration});
    } else if (e.category.ends_with("_runtime") || e.category.ends_with("_driver")) {
      found_.launches.push_back({e.correlation, e.start});
    }
    return true;
  }

  bool keep_mark() {
    const std::string& name = event_.name;
    const bool is_action = name.starts_with("PP:");
    if (is_action || name.starts_with("ProfilerStep#")) {
      if (!has_times()) return false;
      (is_action ? found_.actions : found_.steps)
          .push_back({name, event_.thread, event_.start, event_.start + event_.duration});
    } else if (name.starts_with("Forward ") || name.starts_with("Backward ")) {
      found_.has_simple_marks = true;
    } else if (name.starts_with("nccl:")) {
      found_.has_nccl = true;
    }
    return true;
  }

  bool has_times() {
    const auto refuse = [this](const std::string& what) {
      wrong_ = "its event " + event_.name + " " + what;
      return false;
    };
    if (event_.start == kNone) return refuse("has no time 'ts'");
    if (event_.duration == kNone) return refuse("has no duration 'dur'");
    return event_.duration >= 0 || refuse("has a negative duration: 'dur' from 0 was expected");
  }

  TorchEvents& found_;
  Event event_;
  std::string key_;
  std::string root_key_;
  int depth_ = 0;
  bool in_args_ = false;
  std::size_t error_at_ = 0;
  std::string wrong_;
};

// Reads up to the first key of the root that tells whether the file is PyTorch's.
class WhoseFile final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool is_torch() const { return is_torch_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool key(string_t& name) override {
    if (depth_ > 1) return true;
    is_torch_ = name == "schemaVersion" || name == "distributedInfo" ||
                name == "deviceProperties" || name == "baseTimeNanoseconds";
    return !is_torch_ && name != "otherData";
  }
  bool start_object(std::size_t /*elements*/) override { return ++depth_ > 0; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t /*elements*/) override { return ++depth_ > 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

 private:
  int depth_ = 0;
  bool is_torch_ = false;
};

}  // namespace

bool is_torch_trace(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  WhoseFile whose;
  if (in) nlohmann::json::sax_parse(in, &whose);
  return whose.is_torch();
}

core::StatusOr<TorchEvents> read_events(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!in || error) {
    return Status(StatusCode::failed, std::string("cannot be read: ") + std::strerror(errno));
  }
  TorchEvents events;
  Scan scan(events);
  if (nlohmann::json::sax_parse(in, &scan)) return events;
  if (!scan.wrong().empty()) return Status(StatusCode::invalid, scan.wrong());
  const std::string at = " at byte " + std::to_string(scan.error_at());
  return Status(StatusCode::invalid, scan.error_at() >= bytes
                                         ? "its JSON breaks off" + at +
                                               ": export_chrome_trace() had not written all of it"
                                         : "it is no JSON" + at);
}

}  // namespace ripeline::trace
