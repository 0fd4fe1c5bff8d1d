#include "cli/interrupts.h"

#include <atomic>
#include <csignal>

namespace ripeline::cli {
namespace {

std::atomic<bool> told{false};

void tell(int /*signal*/) { told = true; }

// Installs tell() unless the signal is ignored. Returns the previous handler.
void (*taken_over(int signal))(int) {
  void (*const before)(int) = std::signal(signal, tell);
  if (before == SIG_IGN) std::signal(signal, SIG_IGN);
  return before;
}

}  // namespace

Interrupts::Interrupts() {
  told = false;
  interrupt_ = taken_over(SIGINT);
  terminate_ = taken_over(SIGTERM);
}
Interrupts::~Interrupts() {
  std::signal(SIGINT, interrupt_);
  std::signal(SIGTERM, terminate_);
}

bool Interrupts::told_to_end() const { return told; }

}  // namespace ripeline::cli
