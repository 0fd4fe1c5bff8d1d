// The parts of a trace: a file for each rank, kept on disk while the run goes on.
//
// A run whose trace will be `run.json` has them in the folder `run.json.parts`, `rank-0.json` and
// so on. Each is a trace in itself: whatever reads a trace reads it, and trace/read.h reads the
// folder. PartWriter appends to one. After each append the file is closed JSON; when the process is
// killed meanwhile, the file ends within an event, which its reader leaves out. When the run has
// ended, merge_parts() makes the one trace of them.
//
// That parts are of one run is said by a number which its ranks have agreed on (About::part). One
// thread.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "core/status.h"
#include "trace/about.h"
#include "trace/read.h"
#include "trace/record.h"
#include "trace/write.h"

namespace ripeline::trace {

[[nodiscard]] std::string parts_folder(const std::string& trace);
[[nodiscard]] std::string part_path(const std::string& folder, int rank);

class PartWriter {
 public:
  // Begins the file anew. `about`, which says whose part it is, must outlive the writer.
  PartWriter(const std::string& folder, const About& about);
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;

  // After a failure nothing more is written, and the file stays as it was before it.
  core::Status append(const Record& record);
  [[nodiscard]] const core::Status& failure() const { return failure_; }

 private:
  core::Status put(const std::string& events);

  EventText text_;
  std::string path_;
  std::ofstream out_;
  std::uintmax_t end_ = 0;  // where the last event ends
  core::Status failure_;
};

// One trace at `path` of the parts in `folder`, rank by rank, whole or not at all. `notes`: what is
// missing, for people; without it nothing may be missing. At any time one part is in memory. Fails
// by status; of parts of several runs it names two.
core::Status merge_parts(const std::string& folder, const std::string& path,
                         std::vector<std::string>* notes);
// Makes the one trace of the parts of a run that has ended well, and then removes them.
core::Status finish_parts(const std::string& trace);
// As read() of trace/read.h, which calls it, of the folder: all that is there, as one trace.
core::Status read_parts(const std::string& folder, File& file);
// Removes the parts of all ranks, and the folder if nothing else is in it.
void remove_parts(const std::string& folder);

}  // namespace ripeline::trace
