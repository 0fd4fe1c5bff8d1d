// Reading a trace back: the facts of its program and every event.
//
// Reads what trace/write.h writes, and what another program made of it: fields in any order, more
// fields, other events (which are left out). Events are in the order of the file; of a folder of
// parts (trace/parts.h), rank by rank. A part may end within an event, as a killed process leaves
// it: that one is left out, and `notes` say so.
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

// A file, or a folder of parts. Fails by status with the file and what is wrong with it.
core::Status read(const std::string& path, File& file);
core::Status read_text(const std::string& text, File& file);

// A trace of Ripeline, or of PyTorch's profiler. Its content tells which: the keys of the root. On
// failure `trace` holds the kind that it was taken for.
using AnyTrace = std::variant<File, TorchTrace>;
core::Status read_any(const std::string& path, AnyTrace& trace);

}  // namespace ripeline::trace
