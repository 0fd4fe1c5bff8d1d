// launcher/guard: the process between launcher and ranks. It starts the ranks and ends with all
// that they started.
//
// The guard is the ranks' parent and a subreaper: whatever a rank starts, in whatever group or
// session, becomes the guard's child when its own parents have ended. When all ranks have ended, or
// the launcher is gone for whatever reason, the guard kills what is left, removes the run's folder
// and ends. Should the guard itself be killed, the ranks die with it and the launcher, a subreaper
// too, does the same. Only if both are killed at once is something left: processes that the ranks
// started, and the folder, which the next run removes (launcher/run_folder.h). `pkill -KILL -f` by
// the program's name does that, since the guard has the launcher's command line; other signals than
// SIGKILL and SIGSTOP the guard ignores.
//
// Guard is the launcher's side. It belongs to the thread that starts it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/status.h"
#include "runtime/launcher/inherited.h"
#include "runtime/launcher/output.h"
#include "runtime/launcher/rank_process.h"

namespace ripeline::runtime::launcher {

// A report of the guard to the launcher.
struct Notice {
  enum class Kind : int {
    ended,        // rank `who`, with exit code `value`
    signalled,    // rank `who`, by signal `value`
    no_folder,    // nothing was started; `value` is an errno
    not_started,  // rank `who`; those before it are ended; `value` is an errno
  };
  Kind kind = Kind::ended;
  int who = 0;
  int value = 0;
};

class Guard {
 public:
  Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();  // as end()

  // Forks the guard, which starts the ranks. `outputs` is closed here.
  core::Status start(const RunPlan& plan, const std::vector<RankOutputs>& outputs,
                     const Inherited& inherited);

  // To be polled; -1: the guard is gone.
  [[nodiscard]] int descriptor() const { return socket_; }
  // All notices that are there. When the guard is gone descriptor() says so after the last.
  std::vector<Notice> hear();

  // Sends a signal to the group of each rank that runs, and wakes those that are stopped.
  void signal_ranks(int number) const;

  // Ends ranks and guard, at once, if they are not. Returns the processes that could not be ended.
  std::vector<pid_t> end();

 private:
  std::vector<pid_t> others_;  // the launcher's children from before
  int was_subreaper_ = 0;
  std::string folder_;
  int socket_ = -1;
  pid_t pid_ = 0;
};

}  // namespace ripeline::runtime::launcher
