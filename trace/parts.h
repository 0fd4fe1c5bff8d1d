// The parts of a trace: a file for each rank, kept on disk during the run.
//
// A run whose trace will be `run.json` has its parts in the folder `run.json.parts`: `rank-0.json`
// and so on. Each part is a trace in itself, for any reader of traces, and trace/read.h reads the
// folder. PartWriter appends to a part. After each append the file is complete JSON; if the process
// is killed during an append, the file ends within an event, which trace/read.h leaves out. When
// the run has ended, merge_parts() makes one trace of the parts.
//
// Parts of one run have the same number, on which its ranks have agreed (About::part). One
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
  // Truncates or creates the file. `about`, whose `part` names the rank, must outlive the writer.
  PartWriter(const std::string& folder, const About& about);
  PartWriter(const std::string& folder, const About&& about) = delete;
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;

  // After a failure nothing more is written, and the file is as before the failed append.
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

// Merges the parts in `folder`, rank by rank, into a trace at `path`, which appears complete or not
// at all. `notes` receives sentences about missing parts; if null, missing parts are a failure.
// Only one part is in memory at a time. A status about parts of several runs names two of the runs.
core::Status merge_parts(const std::string& folder, const std::string& path,
                         std::vector<std::string>* notes);
// Merges the parts of a run that has ended well into one trace, and then removes them.
core::Status finish_parts(const std::string& trace);
// Reads all parts in the folder as one trace; read() of trace/read.h calls this.
core::StatusOr<File> read_parts(const std::string& folder);
// Removes the parts of all ranks, and the folder if nothing else is in it.
void remove_parts(const std::string& folder);

}  // namespace ripeline::trace
