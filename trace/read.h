// Reads a trace back: the facts of its program and every event.
//
// Reads what trace/write.h writes, even if another program has changed the file: fields may be in
// any order, and other fields and events are ignored. Events keep the order of the file or, for a
// folder of parts (trace/parts.h), are rank by rank. A part may end within an event, if its process
// was killed; that event is left out, and `notes` say so.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/status.h"
#include "trace/about.h"
#include "trace/record.h"
#include "trace/torch_trace.h"

namespace ripeline::trace {

struct File {
  About about;
  Record record;
  std::vector<std::string> notes = {};  // for people: what is missing
};

// Reads a file, or a folder of parts. A failure names the file and tells what is wrong with it.
core::StatusOr<File> read(const std::string& path);
core::StatusOr<File> read_text(const std::string& text);

// Reads a trace of Ripeline, or of PyTorch's profiler; the keys of the root tell which it is. On
// failure `trace` has the kind that the file seemed to be.
using AnyTrace = std::variant<File, TorchTrace>;
core::Status read_any(const std::string& path, AnyTrace& trace);

}  // namespace ripeline::trace
