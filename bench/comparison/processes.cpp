#include "bench/comparison/processes.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "emulate/emulate.h"
#include "runtime/network/socket.h"
#include "runtime/protocol/neighbours.h"
#include "simulate/table_arbiter.h"

namespace ripeline::bench::comparison {
namespace {

using core::Status;
using core::Time;

// A process's report on a step, in one write to a pipe that all processes share.
struct StepReport {
  int process = 0;
  std::int64_t held = 0;
  std::int64_t notices = 0;
  std::uint64_t order = kNoStarts;
  Time end{0};  // the end of its last task
  Time behind{0};
};
static_assert(sizeof(StepReport) <= 512);  // POSIX writes up to 512 bytes to a pipe at once

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

StepReport report_of(const emulate::RankRun& run, int process) {
  require(run.status);
  StepReport report{.process = process, .notices = run.notices, .behind = run.behind};
  for (const std::int64_t peak : run.peaks) report.held = std::max(report.held, peak);
  for (const emulate::Entry& entry : run.entries) {
    if (entry.kind == emulate::Entry::Kind::started) {
      report.order = with_start(report.order, {entry.what, entry.microbatch});
    }
    if (entry.kind == emulate::Entry::Kind::finished) report.end = entry.at - run.start;
  }
  return report;
}

core::Layout layout_of(const Plan& plan) { return core::layout_of(plan.subjects.front().facts()); }

// Runs one process's part of the plan.
void run_process(const Plan& plan, int process, const std::string& folder, int out) {
  const core::Layout layout = layout_of(plan);
  runtime::network::SocketOptions options;
  options.rank = process;
  options.ranks = layout.processes();
  options.connect_limit = std::chrono::seconds(120);  // there may be few cores for many processes
  for (const Subject& subject : plan.subjects) {
    options.neighbours = runtime::protocol::united(
        options.neighbours, runtime::protocol::neighbours_of(process, layout, subject.facts()));
  }
  std::unique_ptr<runtime::Transport> transport;
  require(runtime::network::connect_in_folder(options, folder, transport));
  emulate::EmulatedRank rank(*transport, layout, 4 * plan.longest_step + std::chrono::seconds(20));
  for (const Condition& condition : plan.conditions) {
    simulate::TimingOptions times = condition.times;
    times.clock = plan.unit.count();
    std::vector<std::unique_ptr<core::Arbiter>> arbiters;
    for (const Subject& subject : plan.subjects) {
      arbiters.push_back(std::make_unique<simulate::TableArbiter>(
          subject.program(), subject.facts(), layout.at(process).rank));
    }
    for (int seed = plan.first_seed; seed < plan.first_seed + plan.seeds; ++seed) {
      for (std::size_t i = 0; i < arbiters.size(); ++i) {
        const simulate::Timing timing =
            plan.subjects[i].timing(times, static_cast<std::uint64_t>(seed), plan.microbatches);
        const StepReport report =
            report_of(rank.run(*arbiters[i], timing, plan.microbatches), process);
        if (write(out, &report, sizeof report) != sizeof report) return;  // the reader has ended
      }
    }
  }
  require(rank.finish());
}

// The forked processes, the folder in which they meet, and the end of the pipe from which their
// reports are read.
class Processes {
 public:
  explicit Processes(const Plan& plan) : layout_(layout_of(plan)) {
    std::array<int, 2> ends{};
    if (mkdtemp(folder_.data()) == nullptr || pipe(ends.data()) != 0) {
      throw std::runtime_error("no folder or pipe for the processes");
    }
    in_ = ends[0];
    const pid_t parent = getpid();
    std::fflush(nullptr);
    for (int process = 0; process < layout_.processes(); ++process) {
      const pid_t pid = fork();
      if (pid < 0) throw std::runtime_error("cannot fork");
      if (pid > 0) {
        pids_.push_back(pid);
        continue;
      }
      close(in_);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) std::_Exit(1);
      try {
        run_process(plan, process, folder_, ends[1]);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", layout_.name(process).c_str(), error.what());
        std::_Exit(1);
      }
      std::_Exit(0);
    }
    close(ends[1]);
  }
  ~Processes() {
    for (const pid_t pid : pids_) kill(pid, SIGKILL);
    wait_for_all();
    close(in_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // Reads the report of each process on its next step, and merges these reports.
  [[nodiscard]] StepResult next(Time unit) {
    StepResult run;
    run.held.assign(static_cast<std::size_t>(layout_.ranks), 0);
    run.orders.assign(static_cast<std::size_t>(layout_.ranks), kNoStarts);
    for (int i = 0; i < layout_.processes(); ++i) {
      const StepReport report = next_report();
      const core::Coordinates who = layout_.at(report.process);
      const auto rank = static_cast<std::size_t>(who.rank);
      const auto units = [unit](Time time) {
        return static_cast<double>(time.count()) / static_cast<double>(unit.count());
      };
      run.makespan = std::max(run.makespan, units(report.end));
      run.behind = std::max(run.behind, units(report.behind));
      run.held[rank] = std::max(run.held[rank], report.held);
      run.notices += report.notices;
      if (who.member == 0) run.orders[rank] = report.order;
    }
    return run;
  }

  void expect_end() {
    if (!wait_for_all()) throw std::runtime_error("a process failed at its end");
  }

 private:
  StepReport next_report() {
    StepReport report;
    ssize_t n = 0;
    do {
      n = read(in_, &report, sizeof report);
    } while (n < 0 && errno == EINTR);
    if (n != sizeof report) throw std::runtime_error("a process failed");
    return report;
  }

  bool wait_for_all() {
    bool good = true;
    for (const pid_t pid : pids_) {
      int status = 0;
      good = waitpid(pid, &status, 0) == pid && status == 0 && good;
    }
    pids_.clear();
    return good;
  }

  core::Layout layout_;
  std::string folder_ = "/tmp/ripeline-compare-XXXXXX";
  int in_ = -1;
  std::vector<pid_t> pids_;
};

}  // namespace

StepResults emulate_runs(const Plan& plan, const std::function<void(std::size_t)>& ended) {
  Processes processes(plan);
  StepResults runs(plan.conditions.size(),
                   std::vector<std::vector<StepResult>>(plan.subjects.size()));
  for (std::size_t condition = 0; condition < runs.size(); ++condition) {
    for (int seed = 0; seed < plan.seeds; ++seed) {
      for (std::vector<StepResult>& of_subject : runs[condition]) {
        of_subject.push_back(processes.next(plan.unit));
      }
    }
    ended(condition);
  }
  processes.expect_end();
  return runs;
}

}  // namespace ripeline::bench::comparison
