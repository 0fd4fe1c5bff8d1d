// A disk for one run only: a small tmpfs that only the run's processes see mounted.
//
// mount() is called in the child that becomes the run, open() in the test. While the object lives,
// the test sees the files, even if all processes of the run have ended. For one thread and one run.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace ripeline::faults {

// Gives this process, which has no other threads, its own mounts; false if the system forbids it.
[[nodiscard]] bool take_own_mounts();
// Whether a child process could take its own mounts.
[[nodiscard]] bool may_have_own_mounts();

class SmallDisk {
 public:
  SmallDisk();
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // Mounts the disk at `path`, with mount options of a tmpfs such as `size=16k,nr_inodes=4`; the
  // process must have its own mounts. First writes the old files, each with the text `old`. Returns
  // false if a call failed.
  bool mount(const std::string& path, const std::string& options,
             const std::vector<std::string>& old_files) const;
  // Waits until the child has called mount(); then returns a path to the disk, or an empty text on
  // failure.
  std::string open();

 private:
  std::array<int, 2> ends_ = {-1, -1};  // the two ends, the test's and the run's
  int folder_ = -1;
};

}  // namespace ripeline::faults
