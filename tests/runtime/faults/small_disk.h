// A disk of its own for one run: a small tmpfs that only the run's processes see mounted.
//
// mount() is called in the child that will be the run, open() in the test. While the object lives
// the test sees the files, also when all of the run have ended. One thread, one run.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace ripeline::faults {

// This process, in which nothing else runs, gets mounts of its own. False: the system permits none.
[[nodiscard]] bool take_own_mounts();
// Whether a child could.
[[nodiscard]] bool may_have_own_mounts();

class SmallDisk {
 public:
  SmallDisk();
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // At `path`, with the mount options of a tmpfs, `size=16k,nr_inodes=4`; the process has its own
  // mounts. The files are there before anything else is, each with the text `old`. False: it
  // failed.
  bool mount(const std::string& path, const std::string& options,
             const std::vector<std::string>& old_files) const;
  // After the child's mount(), which is waited for: a path that leads to the disk; empty: it
  // failed.
  std::string open();

 private:
  std::array<int, 2> ends_ = {-1, -1};  // the test's and the run's
  int folder_ = -1;
};

}  // namespace ripeline::faults
