// NewFile: a file that is written to its path completely or not at all.
//
//   files::NewFile file("run.json");
//   file.write(text);                       // any number of times
//   const core::Status status = file.put();
//
// write() writes to a new file beside the path, and put() renames that file. Before put(), and if
// anything fails, the old file stays as it was. If the process is killed, the new file may be left
// as `run.json.partial-4711`. A symbolic link stays a link, and the file to which it leads is
// replaced. The old file must be writable; the new file gets its permissions. If the path is not a
// regular file (for example /dev/null or a pipe), the text is written to the path directly.
//
// Failures are reported by put(): its status names the file and the reason, and says that the old
// file still exists. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace ripeline::files {

class NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text);
  // Must be called only once; write() must not be called afterwards.
  core::Status put();
  // The status that put() would return if it were called at this moment. Right after construction
  // it says whether the path can be written.
  [[nodiscard]] core::Status status() const;

 private:
  void open();
  void open_beside();
  void fail(int error);  // keeps the first error; removes the new file

  std::string path_;     // the path as given by the caller
  std::string place_;    // the path that path_ leads to
  std::string partial_;  // the new file; empty if place_ itself or no file is written
  int descriptor_ = -1;
  int error_ = 0;
  bool replaces_ = false;
};

core::Status write_file(const std::string& path, std::string_view text);

}  // namespace ripeline::files
