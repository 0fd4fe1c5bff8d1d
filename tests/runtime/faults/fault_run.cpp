#include "tests/runtime/faults/fault_run.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "core/layout.h"
#include "tests/runtime/faults/shared_memory.h"
#include "tests/runtime/faults/small_disk.h"
#include "tests/runtime/launched.h"

namespace ripeline::faults {
namespace {

using testing_support::becomes_true;
using testing_support::Launched;
using testing_support::text_of;
using Clock = std::chrono::steady_clock;

constexpr int kMostRanks = 4;
constexpr int kNever = 1'000'000;    // steps
constexpr int kMostTasks = 60;       // a rank runs 16 in a step
constexpr const char* kGrace = "5";  // seconds; enough to report the reason, even on a busy machine
constexpr const char* kFiles = "FILES";

// The values drawn for a run.
struct Draw {
  int ranks = 0;
  core::Layout layout;  // has `ranks` processes in all
  int rank = 0;
  int other = 0;
  int task = 0;
};

std::string replaced(std::string text, char sign, int number) {
  for (std::size_t at = text.find(sign); at != text.npos; at = text.find(sign, at + 1)) {
    // Only a letter that stands alone is replaced: the R of `R:kill`, not the R of SIGTERM.
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

bool is_full(World world) { return world == World::full_disk || world == World::full_folder; }

bool has(const std::vector<std::string>& arguments, const std::string& part) {
  return std::any_of(arguments.begin(), arguments.end(), [&part](const std::string& argument) {
    return argument.find(part) != std::string::npos;
  });
}

// The reason why the system does not permit the kind; empty if the system permits it.
std::string why_not(const FaultKind& kind) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  if (kind.world == World::little_memory) return "the sanitizer needs more memory";
#endif
#if defined(__SANITIZE_ADDRESS__)
  if (kind.world == World::few_descriptors || has(kind.in_ranks, "descriptors"))
    return "the sanitizer needs descriptors";
#endif
  return is_full(kind.world) && !may_have_own_mounts() ? "nothing can be mounted here" : "";
}

// Kinds with files, other programs or a special world are only for runs with one process per rank.
bool may_be_of_groups(const FaultKind& kind) {
  return kind.world == World::usual && kind.old_files.empty() && !has(kind.in_ranks, "schedule");
}

class FaultRun {
 public:
  FaultRun(const FaultKind& kind, std::uint64_t seed) : kind_(kind), random_(seed) {
    draw_.ranks = 2 + below(kMostRanks - 1);
    draw_.layout.ranks = draw_.ranks;
    const int groups = below(4);
    if (may_be_of_groups(kind) && groups > 1) {
      (groups == 2 ? draw_.layout.members : draw_.layout.replicas) = 2;
      draw_.layout.ranks = 2;
      draw_.ranks = 4;
    }
    draw_.rank = below(draw_.ranks);
    draw_.other = (draw_.rank + 1 + below(draw_.ranks - 1)) % draw_.ranks;
    draw_.task = below(kMostTasks);
    std::filesystem::create_directory(shared_memory_);
    std::filesystem::create_directory(files_);
  }
  FaultRun(const FaultRun&) = delete;
  FaultRun& operator=(const FaultRun&) = delete;
  ~FaultRun() {
    for (const int end : unread_) {
      if (end >= 0) close(end);
    }
  }

  FaultReport run() {
    report_.skipped = why_not(kind_);
    if (!report_.skipped.empty()) return report_;
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
    for (int rank = 0; rank < draw_.ranks && !kind_.old_files.empty(); ++rank)
      old_files_.insert(replaced(kind_.old_files, 'N', rank));
    if (!is_full(kind_.world)) {
      for (const std::string& name : old_files_) std::ofstream(files_ + "/" + name) << "old";
    }
    launched_.before = [this, options = disk_options()] {
      if (!become_world(options)) _exit(99);
    };
    std::vector<std::string> words = {
        "-n",       std::to_string(draw_.ranks),
        "--grace",  kGrace,
        "--",       RIPELINE_TOY_RANK,
        schedule(), std::to_string(kind_.steps == 0 ? kNever : kind_.steps),
        "1"};
    for (const std::string& fault : kind_.in_ranks)
      words.push_back(with_files(filled(fault, draw_)));
    launched_.start(words);
    if (is_full(kind_.world)) files_ = disk_.open();
  }

  std::string schedule() const {
    if (draw_.layout.is_flat()) return "bf";
    return draw_.layout.members > 1 ? "bf_members" : "bf_replicas";
  }

  // Whether the text names the process, by its number or by its position in the layout: in `process
  // 3 (rank 1, member 1)`, `rank 1` is not a process number.
  static bool is_said_of(const std::string& text, const std::string& of_rank, const Draw& draw) {
    static const std::regex place("\\((replica|rank) [^)]*\\)");
    if (std::regex_replace(text, place, "").find(of_rank) != text.npos) return true;
    for (const int process : {draw.rank, draw.other}) {
      const std::string rank = "rank " + std::to_string(process);
      if (!of_rank.starts_with(rank)) continue;
      const std::string by_place = draw.layout.name(process) + of_rank.substr(rank.size());
      if (text.find(by_place) != text.npos) return true;
    }
    return false;
  }

  // Called in the child that becomes the launcher.
  bool become_world(const std::string& options) const {
    if (may_have_own_mounts() && (!take_own_mounts() || !use_for_shared_memory(shared_memory_)))
      return false;
    const rlimit few{.rlim_cur = 14, .rlim_max = 14};
    if (kind_.world == World::nohup) std::signal(SIGHUP, SIG_IGN);
    if (kind_.world == World::unread) dup2(unread_[1], STDOUT_FILENO);
    if (kind_.world == World::few_descriptors) setrlimit(RLIMIT_NOFILE, &few);
    if (kind_.world == World::full_folder) return disk_.mount(launched_.temporary(), options, {});
    const std::vector<std::string> old(old_files_.begin(), old_files_.end());
    return kind_.world != World::full_disk || disk_.mount(files_, options, old);
  }

  // The disk has room for the old files, but not for all that the run writes.
  std::string disk_options() {
    const auto old = static_cast<int>(old_files_.size());
    constexpr int kPage = 4;  // KiB
    if (kind_.world == World::full_folder)
      return "nr_inodes=" + std::to_string(1 + below(1 + 2 * draw_.ranks));
    return below(2) == 0 ? "nr_inodes=" + std::to_string(1 + old + below(2 - (old > 1 ? 1 : 0)))
                         : "size=" + std::to_string(kPage * (old + below(2))) + "k";
  }

  std::string with_files(std::string text) const {
    if (const std::size_t at = text.find(kFiles); at != text.npos)
      text.replace(at, std::string(kFiles).size(), files_);
    return text;
  }

  // Returns false if the moment of the blow never comes.
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

  // Whether all ranks run or, if nobody reads the output, whether much of the output is written.
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

  // The processes of the ranks, in the order in which they were started.
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
    report_.hung = code == Launched::kHangs;
    if (report_.hung)
      report_.problem += "the launcher still runs\n";
    else if (std::find(kind_.codes.begin(), kind_.codes.end(), code) == kind_.codes.end())
      report_.problem += "its exit code is " + std::to_string(code) + "\n";
    const std::string said = filled(kind_.said, draw_);
    if (!said.empty() && !is_said_of(launched_.output(), said, draw_))
      report_.problem += "nobody said: " + said + "\n";
    const std::string left = left_behind();
    report_.left = !left.empty();
    if (report_.left) report_.problem += "left behind:\n" + left;
    check_files();
    if (!report_.problem.empty()) {
      report_.problem += "of " + draw_.layout.text() + ", process " + std::to_string(draw_.rank) +
                         ", task " + std::to_string(draw_.task) + "; what was said:\n" +
                         launched_.output();
    }
  }

  std::string left_behind() const {
    std::string left = launched_.left_behind();
    std::vector<std::string> folders = {shared_memory_};
    if (kind_.world == World::full_folder) folders.push_back(files_ + "/.");
    for (const std::string& folder : folders) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        left += entry.path().string() + "\n";
    }
    return left + abandoned_segments(begun_);
  }

  // Checks that the files that must stay are unchanged, and that no file is incomplete or new.
  void check_files() {
    if (old_files_.empty()) return;
    const bool all_stay = is_full(kind_.world);
    for (const auto& entry : std::filesystem::directory_iterator(files_ + "/.")) {
      const std::string name = entry.path().filename();
      if (entry.is_regular_file() && !old_files_.contains(name))
        report_.problem += name + " was left among the files\n";
    }
    for (const std::string& name : old_files_) {
      const bool stays = all_stay || name == replaced(kind_.old_files, 'N', draw_.rank);
      const std::string text = text_of(files_ + "/" + name);
      if (stays ? text != "old" : text.empty()) report_.problem += name + " is not the old file\n";
    }
  }

  void count_survivors() {
    const std::string culprit = "rank " + std::to_string(draw_.rank);
    for (int rank = 0; rank < draw_.ranks; ++rank) {
      const std::string all = launched_.output_of(rank);
      if (rank == draw_.rank || all.find("] pid ") == all.npos) continue;
      ++report_.survivors;
      const std::string first = first_line(all);
      if (is_said_of(first, culprit, draw_)) {
        ++report_.named;
      } else {
        report_.unnamed += "rank " + std::to_string(rank) + " does not name " + culprit + ": " +
                           (first.empty() ? "it says nothing" : first) + "\n";
      }
    }
  }
  // The first line, without prefix, in which a rank says why it ends; empty if there is none.
  static std::string first_line(const std::string& output) {
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      line.erase(0, line.find(' ', line.find(' ') + 1) + 1);  // `[rank 2] `
      if (!line.starts_with("pid ") && line != "running" && line != "done") return line;
    }
    return {};
  }

  const FaultKind& kind_;
  std::mt19937_64 random_;
  Draw draw_;
  std::array<int, 2> unread_ = {-1, -1};
  Launched launched_;
  SmallDisk disk_;
  const long begun_ = static_cast<long>(std::time(nullptr));
  const std::string shared_memory_ = launched_.files() + "/shm";
  std::string files_ = launched_.files() + "/files";  // the path for the test
  std::set<std::string> old_files_;
  FaultReport report_;
};

}  // namespace

FaultReport inject(const FaultKind& kind, std::uint64_t seed) { return FaultRun(kind, seed).run(); }

bool sees_shared_memory() { return may_have_own_mounts(); }

}  // namespace ripeline::faults
