// Writing a trace: Chrome's trace events, for chrome://tracing, Perfetto and trace/read.h.
//
// The file is written as its events come, so that millions of them need a buffer only:
//
//   const About about(facts, run);
//   Writer writer("run.json", about);
//   writer.add(record);                  // any number of times, of any ranks and whole steps
//   const core::Status status = writer.finish();
//
// Of two tasks at once on an engine one is on a thread of its own, since events of a thread must
// not overlap. events_text() is a record's events as text, for ranks of other processes: their
// texts go to add_text() of one Writer. Failures are kept until finish(). One thread.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "files/new_file.h"
#include "trace/about.h"
#include "trace/record.h"

namespace ripeline::trace {

// Objects with a comma and a line's end between them; empty: there are none.
[[nodiscard]] std::string events_text(const core::ProgramFacts& facts, const Record& record);

class Writer {
 public:
  // `about` must outlive it.
  Writer(std::string path, const About& about);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void add(const Record& record);
  void add_text(const std::string& events);
  core::Status finish();

 private:
  void flush();

  const About& about_;
  files::NewFile file_;
  std::string buffer_;
};

// The file of ranks whose events come as text.
core::Status write_texts(const std::string& path, const About& about,
                         const std::vector<std::string>& events_by_rank);

}  // namespace ripeline::trace
