// NewFile: a file that comes to its place whole or not at all.
//
//   files::NewFile file("run.json");
//   file.write(text);                       // any number of times
//   const core::Status status = file.put();
//
// What is written goes to a new file beside the place, and put() renames that. Until then, and when
// anything fails, what was there stays as it was. Nothing is left beside it, but by a process that
// is killed: `run.json.partial-4711`. A symbolic link stays one, and what it leads to is replaced;
// the new file has the permissions of the old one, which must be writable. What is no plain file,
// as /dev/null or a pipe, is written to as it is.
//
// Failures are kept until put(): it says which file, why, and that the old one is still there. One
// thread.
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
  // Once; afterwards nothing may be written.
  core::Status put();
  // The result that put() would give at this time; after the constructor, whether the path can be
  // written to.
  [[nodiscard]] core::Status status() const;

 private:
  void open();
  void open_beside();
  void fail(int error);  // drops what was written

  std::string path_;     // as the caller named it
  std::string place_;    // where it leads
  std::string partial_;  // the new file; empty: the place itself is written to, or nothing is
  int descriptor_ = -1;
  int error_ = 0;
  bool replaces_ = false;
};

core::Status write_file(const std::string& path, std::string_view text);

}  // namespace ripeline::files
