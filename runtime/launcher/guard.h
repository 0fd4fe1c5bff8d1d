// launcher/guard: the process between launcher and ranks. It starts the ranks, and when it ends,
// all processes that the ranks have started end, too.
//
// The guard is the ranks' parent and a subreaper: whatever a rank starts, in any group or session,
// becomes the guard's child when its own parents have ended. When all ranks have ended, or the
// launcher is gone for any reason, the guard kills what is left, removes the run's folder and ends.
// If the guard itself is killed, the ranks die with it; the launcher, which is a subreaper too,
// kills the rest and removes the folder. Anything remains only if both are killed at once:
// processes that the ranks started, and the folder, which the next run removes
// (launcher/run_folder.h). `pkill -KILL -f` by the program's name kills both, since the guard has
// the launcher's command line; the guard ignores all signals but SIGKILL and SIGSTOP.
//
// The class Guard is used by the launcher, in the thread that calls start().
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
struct GuardReport {
  enum class Kind : int {
    ended,        // rank `who` ended with exit code `value`
    signalled,    // signal `value` ended rank `who`
    no_folder,    // nothing was started; `value` is an errno
    not_started,  // rank `who` did not start; earlier ranks are ended; `value` is an errno
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

  // Forks the guard, which starts the ranks. Closes `outputs` in this process.
  core::Status start(const RunPlan& plan, const std::vector<RankOutputs>& outputs,
                     const Inherited& inherited);

  // The descriptor to be polled; -1 if the guard is gone.
  [[nodiscard]] int descriptor() const { return socket_; }
  // Returns all reports that have arrived. After the last one of a lost guard, descriptor() is -1.
  std::vector<GuardReport> reports();

  // Sends a signal to the group of each running rank, and continues the ranks that are stopped.
  void signal_ranks(int number) const;

  // Ends ranks and guard at once, unless they have ended. Returns the processes that do not end.
  std::vector<pid_t> end();

 private:
  std::vector<pid_t> others_;  // the launcher's earlier children
  int was_subreaper_ = 0;
  std::string folder_;
  int socket_ = -1;
  pid_t pid_ = 0;
};

}  // namespace ripeline::runtime::launcher
