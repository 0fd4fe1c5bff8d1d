#include "runtime/launcher/rank_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

namespace ripeline::runtime::launcher {
namespace {

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

void set_variables(const RunPlan& plan, int rank) {
  const std::string ranks = std::to_string(plan.ranks);
  const std::string self = std::to_string(rank);
  set("RANK", self);
  set("LOCAL_RANK", self);
  set("GROUP_RANK", "0");
  set("WORLD_SIZE", ranks);
  set("LOCAL_WORLD_SIZE", ranks);
  set("MASTER_ADDR", "127.0.0.1");
  set("MASTER_PORT", plan.port);
  set("TORCHELASTIC_RUN_ID", std::filesystem::path(plan.folder).filename().string());
  set("RIPELINE_FOLDER", plan.folder);
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const unsigned threads = std::max(1U, cores / static_cast<unsigned>(plan.ranks));
  setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 0);
}

}  // namespace

void become_rank(const RunPlan& plan, int rank, RankOutputs outputs, const Inherited& inherited,
                 pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(outputs.out, STDOUT_FILENO);
  dup2(outputs.err, STDERR_FILENO);
  set_variables(plan, rank);
  std::vector<char*> argv;
  for (const std::string& word : plan.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  inherited.restore();
  execvp(argv[0], argv.data());
  const int exit_code = errno == ENOENT ? 127 : 126;
  const std::string message =
      plan.command[0] + ": cannot be started: " + std::strerror(errno) + "\n";
  // An empty pipe takes a message this short at once.
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, message.data(), message.size());
  _exit(exit_code);
}

}  // namespace ripeline::runtime::launcher
