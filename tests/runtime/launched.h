// A launcher under observation: runs `ripeline launch` as a child and finds what the run leaves.
//
// The run has its own folder for temporary files, which contains what the run leaves behind. Each
// process of the run has that folder in its environment. Every wait has a limit. Belongs to one
// thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/runtime/ranks.h"

namespace ripeline::testing_support {

// Tries until the condition holds, or gives up after a minute. For conditions that become true at
// once on an idle machine.
bool becomes_true(const std::function<bool()>& condition);

// The text of a file, as far as it can be read: a file of a process in /proc may disappear.
std::string text_of(const std::string& path);

class Launched {
 public:
  Launched() = default;
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;
  ~Launched();  // ends all processes of the run

  // Called in the child when output and environment are set, before the child becomes the launcher.
  std::function<void()> before;
  // Two folders, which the destructor removes: the run's temporary files, and files of the test.
  [[nodiscard]] const std::string& temporary() const { return temporary_.path(); }
  [[nodiscard]] const std::string& files() const { return files_.path(); }

  // Starts the launcher with these arguments after `ripeline launch`.
  void start(const std::vector<std::string>& words);
  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const { kill_safely(pid_, number); }
  static void kill_safely(pid_t pid, int number);

  // Waits until the launcher ends; returns its exit code or minus its signal, kHangs if it hangs.
  int wait();
  static constexpr int kHangs = -1000;

  // The output of launcher and ranks so far.
  [[nodiscard]] std::string output() const;
  [[nodiscard]] long count(const std::string& part) const;  // lines with `part`
  // The output lines of one rank, with their prefix.
  [[nodiscard]] std::string output_of(int rank) const;
  // The process id of a rank of toy_rank, which is the rank's first output; -1 before this output.
  [[nodiscard]] pid_t pid_of(int rank) const;

  // The processes of the run that exist now, including the launcher.
  [[nodiscard]] std::vector<pid_t> processes() const;
  // Waits until no process and no file of the run exists; returns what remains, as text.
  [[nodiscard]] std::string left_behind() const;

 private:
  [[nodiscard]] std::string output_path() const { return files_.path() + "/output"; }

  TemporaryFolder temporary_;
  TemporaryFolder files_;
  pid_t pid_ = -1;
};

}  // namespace ripeline::testing_support
