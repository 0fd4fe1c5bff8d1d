#include "runtime/launcher/inherited.h"

#include <initializer_list>

namespace ripeline::runtime::launcher {

Inherited::Inherited() {
  sigemptyset(&end_signals_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    // A blocked signal stays pending even if it is ignored, so ignored ones must not be blocked.
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
      sigaddset(&end_signals_, number);
  }
  sigprocmask(SIG_SETMASK, nullptr, &mask_);
  sigaction(SIGPIPE, nullptr, &on_pipe_);
  sigaction(SIGCHLD, nullptr, &on_child_);
  getrlimit(RLIMIT_NOFILE, &descriptors_);
}

void Inherited::change() const {
  sigprocmask(SIG_BLOCK, &end_signals_, nullptr);
  struct sigaction action {};
  action.sa_handler = SIG_IGN;  // for writes to an output that nobody reads any longer
  sigaction(SIGPIPE, &action, nullptr);
  action.sa_handler = SIG_DFL;  // if SIGCHLD were ignored, nobody could wait for children
  sigaction(SIGCHLD, &action, nullptr);
  rlimit most = descriptors_;
  most.rlim_cur = most.rlim_max;
  setrlimit(RLIMIT_NOFILE, &most);
}

void Inherited::restore() const {
  setrlimit(RLIMIT_NOFILE, &descriptors_);
  sigaction(SIGCHLD, &on_child_, nullptr);
  sigaction(SIGPIPE, &on_pipe_, nullptr);
  sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

}  // namespace ripeline::runtime::launcher
