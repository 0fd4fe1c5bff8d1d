// Writes a trace as Chrome's trace events, for chrome://tracing, Perfetto and trace/read.h.
//
// Events are written when they are added, so that millions of events need only a buffer:
//
//   const About about(facts, run);
//   Writer writer("run.json", about);
//   writer.add(record);                  // any number of times, of any ranks and whole steps
//   const core::Status status = writer.finish();
//
// If two tasks overlap on an engine, one of them is put on a thread of its own, since events of a
// thread must not overlap. Between ranks an arrow (a flow event) leads from the end of each task to
// the start of the task that takes its message; each end is written with its own task, so that
// parts of different ranks fit together. The file appears complete or not at all
// (files/new_file.h). Failures are reported by finish(). One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "files/new_file.h"
#include "trace/about.h"
#include "trace/record.h"

namespace ripeline::trace {

// Events as text. `about` must outlive this object.
class EventText {
 public:
  explicit EventText(const About& about);

  // The record's events as JSON objects, separated by a comma and a line end; may be empty.
  [[nodiscard]] std::string of(const Record& record) const;
  // Append an event, after a comma if `out` is not empty. `beside` is true if the task started
  // beside another (trace/beside.h).
  void append(std::string& out, const TaskEvent& event, bool beside) const;
  void append(std::string& out, const MessageEvent& event) const;
  void append(std::string& out, const IdleEvent& event) const;

 private:
  void append_arrows(std::string& out, const TaskEvent& event, std::int64_t thread) const;

  const About& about_;
  std::vector<core::EdgeId> edges_;  // edges across ranks, by their producers
};

// The text of a file before its events and after them. The opening has the names of ranks and
// threads, which are events too, so a comma must precede any further event.
[[nodiscard]] std::string opening_text(const About& about);
inline constexpr const char* kClosing = "\n]}\n";

class Writer {
 public:
  // `about` must outlive this object.
  Writer(std::string path, const About& about);
  Writer(std::string path, const About&& about) = delete;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void add(const Record& record);
  core::Status finish();

 private:
  const About& about_;
  EventText text_;
  files::NewFile file_;
  std::string buffer_;
};

}  // namespace ripeline::trace
