// NewFile: a file that is put at its path complete or not at all.
//
//   files::NewFile file("run.json");
//   file.write(text);                       // any number of times
//   const core::Status status = file.put();
//
// write() writes to a new file beside the path, and put() renames that file. Before put(), and if
// anything fails, the old file stays as it was. Only a process that is killed leaves a file beside
// it, `run.json.partial-4711`. A symbolic link stays a link, and the file to which it leads is
// replaced; the new file has the permissions of the old one, which must be writable. If the path is
// no plain file, such as /dev/null or a pipe, it is written directly.
//
// Failures are reported by put(), whose status names the file and the reason, and says that the old
// file still exists. One thread.
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
  // Called once; afterwards nothing may be written.
  core::Status put();
  // The result that put() would return at this time; after the constructor, whether the path can be
  // written.
  [[nodiscard]] core::Status status() const;

 private:
  void open();
  void open_beside();
  void fail(int error);  // drops what was written

  std::string path_;     // the path as given by the caller
  std::string place_;    // the path that path_ leads to
  std::string partial_;  // the new file; empty if place_ itself or no file is written
  int descriptor_ = -1;
  int error_ = 0;
  bool replaces_ = false;
};

core::Status write_file(const std::string& path, std::string_view text);

}  // namespace ripeline::files
