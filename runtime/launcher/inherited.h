// launcher/inherited: the state that the launcher found at its start, and restores for its ranks.
//
// The launcher blocks signals, ignores SIGPIPE, waits for children and raises its limit of
// descriptors; none of this may reach the ranks, nor the caller when launch() returns. A signal
// that was ignored stays ignored: under nohup a SIGHUP ends neither launcher nor ranks.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace ripeline::runtime::launcher {

class Inherited {
 public:
  Inherited();
  Inherited(const Inherited&) = delete;
  Inherited& operator=(const Inherited&) = delete;

  // The signals among SIGINT, SIGTERM and SIGHUP that were not ignored.
  [[nodiscard]] const sigset_t& end_signals() const { return end_signals_; }
  void change() const;
  void restore() const;  // calls only what a forked child may call

 private:
  sigset_t end_signals_{};
  sigset_t mask_{};
  struct sigaction on_pipe_ {};
  struct sigaction on_child_ {};
  rlimit descriptors_{};
};

}  // namespace ripeline::runtime::launcher
