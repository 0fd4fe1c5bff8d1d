#include "tests/runtime/faults/shared_memory.h"

#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>

namespace ripeline::faults {

bool use_for_shared_memory(const std::string& folder) {
  return mount(folder.c_str(), "/dev/shm", nullptr, MS_BIND, nullptr) == 0;
}

std::string abandoned_segments(long since) {
  std::ifstream file("/proc/sysvipc/shm");
  std::string line;
  std::getline(file, line);  // the names of the columns
  std::string found;
  while (std::getline(file, line)) {
    std::istringstream columns(line);
    long key = 0;
    long id = 0;
    std::string mode;
    long size = 0;
    pid_t creator = 0;
    pid_t last = 0;
    long attached = 0;
    uid_t user = 0;
    std::string ignored;
    long changed = 0;
    columns >> key >> id >> mode >> size >> creator >> last >> attached >> user;
    for (int i = 0; i < 3; ++i) columns >> ignored;  // group; user and group of the creator
    columns >> ignored >> ignored >> changed;        // times of attaching, detaching and change
    if (!columns || user != geteuid() || attached > 0 || changed < since) continue;
    if (kill(creator, 0) == 0 || errno != ESRCH) continue;
    found += "System V segment " + std::to_string(id) + ", " + std::to_string(size) +
             " bytes, of " + std::to_string(creator) + "\n";
  }
  return found;
}

}  // namespace ripeline::faults
