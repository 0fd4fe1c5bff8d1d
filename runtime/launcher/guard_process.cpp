#include "runtime/launcher/guard_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "runtime/launcher/guard.h"
#include "runtime/launcher/processes.h"
#include "runtime/launcher/run_folder.h"
#include "runtime/network/folder_store.h"

namespace ripeline::runtime::launcher {
namespace {

class GuardProcess {
 public:
  GuardProcess(const RunPlan& plan, const std::vector<RankOutputs>& outputs,
               const Inherited& inherited, int launcher)
      : plan_(plan), outputs_(outputs), inherited_(inherited), launcher_(launcher) {}

  void run() {
    setpgid(0, 0);  // away from signals to the launcher's group
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    prctl(PR_SET_NAME, "launch-guard");  // the name in `ps` and `top`
    folder_ = make_run_folder(plan_.folder);
    if (folder_ < 0) {
      send_report({GuardReport::Kind::no_folder, 0, errno});
      return;
    }
    remove_abandoned_folders(plan_.folder);
    if (start_ranks()) {
      let_go();
      static_cast<void>(network::FolderStore::open(plan_.folder, store_).ok());
      watch();
    }
    end_all();
  }

 private:
  bool start_ranks() {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    signals_ = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    const pid_t self = getpid();
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      const pid_t pid = signals_ < 0 ? -1 : fork();
      if (pid == 0) {
        become_rank(plan_, rank, outputs_[static_cast<std::size_t>(rank)], inherited_, self);
      }
      if (pid < 0) {
        send_report({GuardReport::Kind::not_started, rank, errno});
        return false;
      }
      setpgid(pid, pid);  // in parent and child, as either may be first
      ranks_.push_back(pid);
      ++running_;
    }
    return true;
  }

  // Closes the outputs: readers of the launcher's or a rank's output must not wait for the guard.
  void let_go() {
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
    std::array<int, 3> kept = {launcher_, signals_, folder_};
    std::sort(kept.begin(), kept.end());
    int below = STDERR_FILENO;
    for (const int descriptor : kept) {
      if (below + 1 < descriptor)
        close_range(static_cast<unsigned>(below + 1), static_cast<unsigned>(descriptor - 1), 0);
      below = descriptor;
    }
    close_range(static_cast<unsigned>(below + 1), ~0U, 0);
  }

  void watch() {
    while (running_ > 0) {
      std::array<pollfd, 2> fds = {pollfd{.fd = launcher_, .events = POLLIN, .revents = 0},
                                   pollfd{.fd = signals_, .events = POLLIN, .revents = 0}};
      poll(fds.data(), fds.size(), -1);
      if (fds[1].revents != 0) {
        signalfd_siginfo info{};
        while (read(signals_, &info, sizeof info) == sizeof info) continue;
        reap();
      }
      if (fds[0].revents == 0) continue;
      int number = 0;
      const ssize_t n = recv(launcher_, &number, sizeof number, MSG_DONTWAIT);
      if (n == sizeof number)
        signal_ranks(number);
      else if (n >= 0 || (errno != EINTR && errno != EAGAIN))
        return;  // the launcher is gone
    }
  }

  void reap() {
    for (;;) {
      siginfo_t info{};
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
      const auto rank = std::find(ranks_.begin(), ranks_.end(), info.si_pid);
      if (rank != ranks_.end()) {
        kill(-info.si_pid, SIGKILL);  // the rest of the group, before the id may be reused
        *rank = 0;
        --running_;
        publish(static_cast<int>(rank - ranks_.begin()), info);
        send_report(
            {info.si_code == CLD_EXITED ? GuardReport::Kind::ended : GuardReport::Kind::signalled,
             static_cast<int>(rank - ranks_.begin()), info.si_status});
      }
      waitpid(info.si_pid, nullptr, 0);
    }
  }

  // Writes into the store how the rank ended, for ranks that wait for this one to join the run.
  void publish(int rank, const siginfo_t& info) {
    if (!store_) return;
    const std::string how = info.si_code == CLD_EXITED
                                ? "ended with exit code " + std::to_string(info.si_status)
                                : "was ended by " + signal_name(info.si_status);
    const auto* bytes = reinterpret_cast<const std::byte*>(how.data());
    Blob there;
    static_cast<void>(
        store_->set_if_absent(network::ended_key(rank), {bytes, bytes + how.size()}, there).ok());
  }

  void signal_ranks(int number) const {
    for (const pid_t pid : ranks_) {
      if (pid == 0) continue;
      kill(-pid, number);
      kill(-pid, SIGCONT);  // a stopped rank would not see the signal
    }
  }

  void end_all() const {
    end_children(kEndLimit);  // the launcher inherits those that remain, and reports them
    std::error_code ignored;
    std::filesystem::remove_all(plan_.folder, ignored);
  }

  // Blocks while the launcher is stopped, but not if the launcher is gone.
  void send_report(const GuardReport& report) const {
    while (send(launcher_, &report, sizeof report, MSG_NOSIGNAL) < 0 && errno == EINTR) continue;
  }

  const RunPlan& plan_;
  const std::vector<RankOutputs>& outputs_;
  const Inherited& inherited_;
  const int launcher_;
  int signals_ = -1;
  int folder_ = -1;                              // keeps the run's folder locked
  std::unique_ptr<network::FolderStore> store_;  // the run's
  std::vector<pid_t> ranks_;                     // each leads a group; 0 if it has ended
  int running_ = 0;
};

}  // namespace

void run_guard(const RunPlan& plan, const std::vector<RankOutputs>& outputs,
               const Inherited& inherited, int launcher) {
  GuardProcess(plan, outputs, inherited, launcher).run();
  _exit(0);
}

}  // namespace ripeline::runtime::launcher
