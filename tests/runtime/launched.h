// A launcher under observation: `ripeline launch` as a child, and all that it leaves behind.
//
// The run has a folder for temporary files of its own: what it leaves behind lies there, and
// whoever belongs to it has that folder in the environment. Every wait has a limit. Belongs to one
// thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/runtime/ranks.h"

namespace ripeline::testing_support {

// Tries until it holds or, after a minute, gives up: for what comes at once where nothing else
// runs.
bool becomes_true(const std::function<bool()>& condition);

// The text of a file, as far as it can be read: those of a process in /proc may go meanwhile.
std::string text_of(const std::string& path);

class Launched {
 public:
  Launched() = default;
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;
  ~Launched();  // ends all that is left

  // Called in the child before it becomes the launcher; output and environment are set.
  std::function<void()> before;
  // The run's folder for temporary files, and others of the test, which go with this.
  [[nodiscard]] const std::string& temporary() const { return temporary_.path(); }
  [[nodiscard]] const std::string& files() const { return files_.path(); }

  // Starts the launcher; `words` come after `ripeline launch`.
  void start(const std::vector<std::string>& words);
  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const { kill_safely(pid_, number); }
  static void kill_safely(pid_t pid, int number);

  // Waits for its end: its exit code, or minus the signal that ended it; kHangs if it does not.
  int wait();
  static constexpr int kHangs = -1000;

  // The output of launcher and ranks so far.
  [[nodiscard]] std::string output() const;
  [[nodiscard]] long count(const std::string& part) const;  // lines with `part`
  // The lines of one rank, with prefix.
  [[nodiscard]] std::string output_of(int rank) const;
  // The pid of a rank of toy_rank, which prints it first; -1: not yet.
  [[nodiscard]] pid_t pid_of(int rank) const;

  // Processes of the run that are there now, the launcher too.
  [[nodiscard]] std::vector<pid_t> processes() const;
  // Waits until no process and no file of the run is there; what is, as text; empty is good.
  [[nodiscard]] std::string left_behind() const;

 private:
  [[nodiscard]] std::string output_path() const { return files_.path() + "/output"; }

  TemporaryFolder temporary_;
  TemporaryFolder files_;
  pid_t pid_ = -1;
};

}  // namespace ripeline::testing_support
