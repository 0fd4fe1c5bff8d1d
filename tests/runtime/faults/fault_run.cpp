#include "tests/runtime/faults/fault_run.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <random>
#include <sstream>
#include <thread>

#include "tests/runtime/launched.h"

namespace ripeline::faults {
namespace {

using testing_support::becomes_true;
using testing_support::Launched;
using testing_support::text_of;
using Clock = std::chrono::steady_clock;

constexpr int kMostRanks = 4;
constexpr int kMostTasks = 60;  // a rank runs 16 in a step
constexpr int kShortSteps = 4;

// What is drawn.
struct Draw {
  int ranks = 0;
  int rank = 0;
  int other = 0;
  int task = 0;
};

std::string replaced(std::string text, char sign, int number) {
  for (std::size_t at = text.find(sign); at != text.npos; at = text.find(sign, at + 1)) {
    // A sign stands alone: the R of `R:kill`, not that of SIGTERM.
    const bool alone =
        (at == 0 || std::isalpha(static_cast<unsigned char>(text[at - 1])) == 0) &&
        (at + 1 == text.size() || std::isalpha(static_cast<unsigned char>(text[at + 1])) == 0);
    if (alone) text.replace(at, 1, std::to_string(number));
  }
  return text;
}

std::string filled(const std::string& text, const Draw& draw) {
  return replaced(replaced(replaced(text, 'R', draw.rank), 'O', draw.other), 'N', draw.task);
}

class FaultRun {
 public:
  FaultRun(const FaultKind& kind, std::uint64_t seed) : kind_(kind), random_(seed) {
    draw_.ranks = 2 + below(kMostRanks - 1);
    draw_.rank = below(draw_.ranks);
    draw_.other = (draw_.rank + 1 + below(draw_.ranks - 1)) % draw_.ranks;
    draw_.task = below(kMostTasks);
  }
  FaultRun(const FaultRun&) = delete;
  FaultRun& operator=(const FaultRun&) = delete;
  ~FaultRun() {
    for (const int end : unread_) {
      if (end >= 0) close(end);
    }
  }

  FaultReport run() {
    const Clock::time_point begin = Clock::now();
    start();
    for (const Blow& blow : kind_.blows) {
      if (!strike(blow)) break;
    }
    const int code = launched_.wait();
    report_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    check(code);
    if (kind_.has_culprit) count_survivors();
    return report_;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  void start() {
    if (kind_.world == World::unread && pipe2(unread_.data(), O_CLOEXEC) != 0) unread_ = {-1, -1};
    launched_.before = [this] {
      const rlimit few{.rlim_cur = 14, .rlim_max = 14};
      if (kind_.world == World::nohup) std::signal(SIGHUP, SIG_IGN);
      if (kind_.world == World::unread) dup2(unread_[1], STDOUT_FILENO);
      if (kind_.world == World::few_descriptors) setrlimit(RLIMIT_NOFILE, &few);
    };
    std::vector<std::string> words = {
        "-n",      std::to_string(draw_.ranks),
        "--grace", "1",
        "--",      RIPELINE_TOY_RANK,
        "bf",      kind_.is_short ? std::to_string(kShortSteps) : "1000000",
        "1"};
    for (const std::string& fault : kind_.in_ranks) words.push_back(filled(fault, draw_));
    launched_.start(words);
  }

  // False if its moment does not come.
  bool strike(const Blow& blow) {
    const int rank = blow.target == Target::rank    ? draw_.rank
                     : blow.target == Target::other ? draw_.other
                                                    : -1;
    const auto came = [&] {
      if (blow.moment == Moment::running && !all_run()) return false;
      return rank < 0 || pid_of(rank) > 0;
    };
    if (!becomes_true(came)) {
      report_.problem += "the moment of the fault did not come\n";
      return false;
    }
    std::this_thread::sleep_for(
        std::chrono::microseconds(below(blow.moment == Moment::starting ? 50'000 : 100'000)));
    if (rank >= 0) {
      Launched::kill_safely(pid_of(rank), blow.signal);
    } else if (blow.target == Target::launcher) {
      launched_.signal(blow.signal);
    } else {
      strike_named(blow);
    }
    return true;
  }

  void strike_named(const Blow& blow) const {
    for (const pid_t pid : launched_.processes()) {
      const std::string folder = "/proc/" + std::to_string(pid);
      const bool is_it =
          blow.target == Target::guard
              ? text_of(folder + "/comm") == "launch-guard\n"
              : text_of(folder + "/cmdline").find(RIPELINE_TOY_RANK) != std::string::npos;
      if (is_it) Launched::kill_safely(pid, blow.signal);
    }
  }

  // Where nobody reads the output: until much of it is there.
  bool all_run() const {
    if (kind_.world != World::unread) return launched_.count("] running") == draw_.ranks;
    constexpr int kMuch = 32'768;  // bytes; a pipe may hold 64 KiB
    int bytes = 0;
    return ioctl(unread_[0], FIONREAD, &bytes) == 0 && bytes >= kMuch;
  }

  pid_t pid_of(int rank) const {
    if (kind_.world != World::unread) return launched_.pid_of(rank);
    const std::vector<pid_t> all = toy_ranks();
    return static_cast<std::size_t>(rank) < all.size() ? all[static_cast<std::size_t>(rank)] : -1;
  }

  // In the order in which they were started.
  std::vector<pid_t> toy_ranks() const {
    std::vector<pid_t> found;
    for (const pid_t pid : launched_.processes()) {
      if (text_of("/proc/" + std::to_string(pid) + "/cmdline").starts_with(RIPELINE_TOY_RANK))
        found.push_back(pid);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  void check(int code) {
    if (code == Launched::kHangs)
      report_.problem += "the launcher still runs\n";
    else if (std::find(kind_.codes.begin(), kind_.codes.end(), code) == kind_.codes.end())
      report_.problem += "its exit code is " + std::to_string(code) + "\n";
    const std::string said = filled(kind_.said, draw_);
    if (!said.empty() && launched_.count(said) == 0)
      report_.problem += "nobody said: " + said + "\n";
    if (const std::string left = launched_.left_behind(); !left.empty())
      report_.problem += "left behind:\n" + left;
    if (!report_.problem.empty()) {
      report_.problem += "of " + std::to_string(draw_.ranks) + " ranks, rank " +
                         std::to_string(draw_.rank) + ", task " + std::to_string(draw_.task) +
                         "; what was said:\n" + launched_.output();
    }
  }

  void count_survivors() {
    for (int rank = 0; rank < draw_.ranks; ++rank) {
      if (rank == draw_.rank) continue;
      ++report_.survivors;
      std::istringstream lines(launched_.output_of(rank));
      for (std::string line; std::getline(lines, line);) {
        line.erase(0, line.find(' ', line.find(' ') + 1) + 1);  // `[rank 2] `
        if (line.starts_with("pid ") || line == "running" || line == "done") continue;
        ++report_.spoke;
        report_.named += line.find("rank " + std::to_string(draw_.rank)) != line.npos;
        break;
      }
    }
  }

  const FaultKind& kind_;
  std::mt19937_64 random_;
  Draw draw_;
  std::array<int, 2> unread_ = {-1, -1};
  Launched launched_;
  FaultReport report_;
};

}  // namespace

FaultReport inject(const FaultKind& kind, std::uint64_t seed) { return FaultRun(kind, seed).run(); }

}  // namespace ripeline::faults
