#include "tests/joint/joint_run.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "tests/joint/garbage.h"
#include "tests/joint/simulated_process.h"

namespace ripeline::joint {
namespace {

using core::Time;
using std::chrono::seconds;

constexpr std::int64_t kMostEvents = 1'000'000;
constexpr Time kSlack = seconds(1);

// The ranks that a line names first: `rank 3 was lost (…)`, `ranks 0, 2 and 5 wait for each other`.
std::set<int> named_by(const std::string& line) {
  std::set<int> ranks;
  const std::size_t at = line.find_first_of("0123456789");
  if (!line.starts_with("rank") || at == std::string::npos) return ranks;
  std::istringstream text(line.substr(at));
  int rank = -1;
  text >> rank;
  ranks.insert(rank);
  if (!line.starts_with("ranks")) return ranks;
  for (std::string word; text >> word;) {
    if (word.find_first_not_of("0123456789,") == std::string::npos && word != ",") {
      ranks.insert(std::stoi(word));
    } else if (word != "and" && word != ",") {
      break;
    }
  }
  return ranks;
}

class JointRun {
 public:
  JointRun(const Scenario& scenario, PlantedBug& bug, bool log)
      : scenario_(scenario),
        timeline_(scenario.seed),
        log_(timeline_, log),
        network_(timeline_, scenario, bug.lost_overtakes(), log_),
        world_{scenario, timeline_, network_, witnesses_, bug, log_} {
    for (std::size_t i = 0; i < scenario.subjects.size(); ++i) {
      const Subject& subject = scenario.subjects[i];
      witnesses_.push_back(std::make_unique<Witness>(subject.program, subject.microbatches,
                                                     static_cast<int>(i), bug));
    }
    for (int process = 0; process < scenario.processes; ++process) {
      processes_.push_back(std::make_unique<SimulatedProcess>(world_, process));
    }
    network_.set_receiver(
        {.delivery = [this](int to, runtime::Delivery d) { of(to).arrive(std::move(d)); },
         .goodbye = [this](int to, int from) { of(to).arrive_goodbye(from); }});
  }

  // `expected` is the duration of the run without faults; 0 in that run itself.
  void run(Time expected) {
    for (const auto& process : processes_) process->begin();
    const Time limit = std::max(expected, Time(seconds(2000))) * 4 + Time(seconds(10'000));
    while (problem_.empty() && !is_over() && timeline_.step()) {
      inject();
      look();
      if (timeline_.now() > limit || timeline_.count() > kMostEvents) {
        problem_ = "the run does not end";
      }
    }
    if (problem_.empty() && !is_over()) problem_ = "nothing happens any more";
    look();
    if (problem_.empty()) check_end(expected);
  }

  void fill(Verdict& verdict) {
    verdict.broken = problem_;
    verdict.events = timeline_.count();
    verdict.happened = !scenario_.faults.empty() && injected_ == scenario_.faults.size() &&
                       std::all_of(scenario_.faults.begin(), scenario_.faults.end(),
                                   [this](const Fault& f) { return took_place(f); });
    verdict.ended_well = ended_well();
    std::set<std::set<int>> all;
    for (const auto& process : processes_) {
      if (process->is() != SimulatedProcess::Is::failed) continue;
      if (is_culprit(index_of(*process)) && !is_cut()) continue;
      const std::string& text = process->outcome().message();
      std::string line = text.substr(0, text.find('\n'));
      const std::set<int> ranks = named_by(line);
      all.insert(ranks);
      ++verdict.survivors;
      const bool named =
          std::any_of(ranks.begin(), ranks.end(), [this](int rank) { return is_culprit(rank); }) ||
          says_apart(line);
      verdict.named += named ? 1 : 0;
      verdict.blamed_healthy = verdict.blamed_healthy || !named;
      verdict.lines.push_back("rank " + std::to_string(index_of(*process)) + " says: " + line);
    }
    verdict.agreed = all.size() <= 1;
    verdict.log = log_.text();
  }
  [[nodiscard]] Time ended_at() const { return timeline_.now(); }
  [[nodiscard]] std::int64_t events() const { return timeline_.count(); }
  [[nodiscard]] bool is_stuck() const {
    return std::any_of(witnesses_.begin(), witnesses_.end(),
                       [](const auto& w) { return w->is_stuck(); });
  }
  [[nodiscard]] bool ended_well() const {
    return std::all_of(processes_.begin(), processes_.end(),
                       [](const auto& p) { return p->is() == SimulatedProcess::Is::finished; });
  }

 private:
  SimulatedProcess& of(int process) { return *processes_[static_cast<std::size_t>(process)]; }
  [[nodiscard]] const SimulatedProcess& of(int process) const {
    return *processes_[static_cast<std::size_t>(process)];
  }
  [[nodiscard]] int index_of(const SimulatedProcess& process) const {
    for (int i = 0; i < scenario_.processes; ++i) {
      if (&of(i) == &process) return i;
    }
    return -1;
  }
  [[nodiscard]] bool is_cut() const {
    return std::any_of(scenario_.faults.begin(), scenario_.faults.end(),
                       [](const Fault& f) { return f.kind == FaultKind::cut; });
  }
  [[nodiscard]] bool is_culprit(int process) const {
    return std::any_of(scenario_.faults.begin(), scenario_.faults.end(), [&](const Fault& f) {
      return f.process == process || (f.kind == FaultKind::cut && f.other == process);
    });
  }

  // If two processes gather different things, nobody knows which one is right: the line names both.
  [[nodiscard]] bool says_apart(const std::string& line) const {
    const Fault& fault = scenario_.faults.empty() ? Fault{} : scenario_.faults.front();
    return fault.kind == FaultKind::apart &&
           line.find("rank " + std::to_string(fault.process) + " gathers") != std::string::npos;
  }

  // ---------------------------------------------------------------- faults

  void inject() {
    for (const Fault& fault : scenario_.faults) {
      if (fault.at_event != timeline_.count()) continue;
      ++injected_;
      SimulatedProcess& process = of(fault.process);
      if (process.is() != SimulatedProcess::Is::alive || process.is_stopped()) continue;
      log_.note(fault.process, [&] { return "SUFFERS: " + describe(fault); });
      since_ = timeline_.now();
      inject(fault, process);
    }
  }

  void inject(const Fault& fault, SimulatedProcess& process) {
    switch (fault.kind) {
      case FaultKind::none:
      case FaultKind::two:
        return;
      case FaultKind::slow:
        return fault.seed % 3 == 0 ? process.pause_next(fault.lasts)
                                   : process.next_task(NextTask::takes_long, fault.lasts);
      case FaultKind::pause:
      case FaultKind::resume:
        process.stop();
        happened_.insert(fault.process);
        return timeline_.after(fault.lasts, [&process] { process.resume(); });
      case FaultKind::kill:
        happened_.insert(fault.process);
        return process.kill();
      case FaultKind::stop:
        happened_.insert(fault.process);
        return process.stop();
      case FaultKind::cut:
        happened_.insert(fault.process);
        return network_.cut(fault.process, fault.other);
      case FaultKind::fail:
        return process.next_task(NextTask::fails, {});
      case FaultKind::refuse:
        return process.refuse_next_step();
      case FaultKind::endless:
        return process.next_task(NextTask::never_ends, {});
      case FaultKind::garbage:
        return send_garbage(fault);
      case FaultKind::apart:
        return process.gather_apart();
    }
  }

  void send_garbage(const Fault& fault) {
    Random random(fault.seed);
    for (const auto& witness : witnesses_) witness->expect_repeats();
    const core::ProgramFacts* facts =
        witnesses_.size() == 1 ? &witnesses_.front()->facts() : nullptr;
    Garbage garbage = draw_garbage(facts, fault.process, fault.other,
                                   network_.sent(fault.process, fault.other), random);
    log_.note(fault.process, [&] {
      return "sends rank " + std::to_string(fault.other) + " " + garbage.what + ": " +
             describe(garbage.message.envelope);
    });
    happened_.insert(fault.process);
    network_.send(fault.process, std::move(garbage.message));
  }

  [[nodiscard]] bool took_place(const Fault& fault) const {
    return happened_.contains(fault.process) || of(fault.process).suffers();
  }

  // ---------------------------------------------------------------- invariants

  // Whether the process need not end: it has ended, is stopped, or its loop runs a task for ever.
  [[nodiscard]] bool is_out(int process) const {
    const SimulatedProcess& p = of(process);
    return p.is() != SimulatedProcess::Is::alive || p.is_stopped() || p.hangs();
  }
  [[nodiscard]] bool is_over() const {
    for (int i = 0; i < scenario_.processes; ++i) {
      const bool resumes = of(i).is_stopped() && !scenario_.faults.empty() &&
                           scenario_.faults.front().lasts > Time{0};
      if (!is_out(i) || resumes) return false;
    }
    return true;
  }

  void look() {
    if (!problem_.empty()) return;
    problem_ = world_.problem;
    for (const auto& witness : witnesses_) {
      if (problem_.empty()) problem_ = witness->problem();
    }
  }

  void check_end(Time expected) {
    if (ended_well()) {
      const bool done = std::all_of(witnesses_.begin(), witnesses_.end(),
                                    [this](const auto& w) { return w->is_done(scenario_.steps); });
      if (!done) problem_ = "all processes ended well, and not all tasks have run";
      return;
    }
    const bool is_faulty = std::any_of(scenario_.faults.begin(), scenario_.faults.end(),
                                       [this](const Fault& f) { return may_fail(f); });
    if (is_stuck()) return;  // the fault may have changed the order of events
    if (!is_faulty) {
      problem_ = "a run without a fault failed: " + first_failure();
      return;
    }
    const Time limit = limit_of(expected);
    for (int i = 0; i < scenario_.processes; ++i) {
      const SimulatedProcess& p = of(i);
      if (p.is() == SimulatedProcess::Is::failed && p.ended_at() > limit && !is_culprit(i)) {
        problem_ = "rank " + std::to_string(i) + " failed " +
                   std::to_string((p.ended_at() - limit).count() / 1'000'000) +
                   " ms after the last moment";
      }
    }
  }

  // Whether the fault has taken place and is of a kind that may make the run fail.
  [[nodiscard]] bool may_fail(const Fault& fault) const {
    return fault.kind != FaultKind::slow && fault.kind != FaultKind::pause && took_place(fault);
  }

  [[nodiscard]] std::string first_failure() const {
    for (const auto& process : processes_) {
      if (process->is() == SimulatedProcess::Is::failed) return process->outcome().message();
    }
    return "";
  }

  // The time by which all processes that are alive must have ended.
  [[nodiscard]] Time limit_of(Time expected) const {
    Time busy{0};
    for (const auto& process : processes_) busy = std::max(busy, process->longest_busy());
    const Time delays = 4 * network_.longest() + 8 * busy + kSlack;
    const runtime::protocol::FaultLimits& limits = scenario_.limits;
    Time latest{0};
    for (const Fault& fault : scenario_.faults) {
      Time limit = since_ + limits.answers + delays;
      switch (fault.kind) {
        case FaultKind::stop:
        case FaultKind::resume:
          limit += limits.silence + scenario_.heartbeat;
          break;
        case FaultKind::endless:
          limit = std::max(since_, expected) + limits.stall + limits.answers + delays;
          break;
        case FaultKind::garbage:
        case FaultKind::apart:
        case FaultKind::refuse:
        case FaultKind::fail:
          limit = std::max(since_, expected) + limits.answers + delays;
          break;
        default:
          break;
      }
      latest = std::max(latest, limit);
    }
    return latest;
  }

  const Scenario& scenario_;
  Timeline timeline_;
  Log log_;
  Network network_;
  std::vector<std::unique_ptr<Witness>> witnesses_;
  World world_;
  std::vector<std::unique_ptr<SimulatedProcess>> processes_;
  std::string problem_;
  std::size_t injected_ = 0;
  std::set<int> happened_;
  Time since_{0};  // the time of the last fault
};

}  // namespace

Verdict run_seed(std::uint64_t seed, const RunOptions& options) {
  Verdict verdict;
  verdict.kind = options.kind.value_or(kind_of(seed));
  Scenario scenario = draw_scenario(seed, verdict.kind, options.connects_all);
  if (scenario.faults.empty()) verdict.kind = FaultKind::none;
  const auto make_bug = [&] {
    return options.bug ? options.bug() : std::make_unique<PlantedBug>();
  };
  Scenario calm = scenario;
  calm.faults.clear();
  const std::unique_ptr<PlantedBug> bug = make_bug();
  JointRun first(calm, *bug, options.log);
  first.run({});
  verdict.stuck = !first.ended_well() && first.is_stuck();
  first.fill(verdict);
  if (options.log) verdict.log = describe(calm) + verdict.log;
  if (!verdict.broken.empty() || verdict.stuck || scenario.faults.empty()) return verdict;

  place_faults(scenario, first.events());
  const std::unique_ptr<PlantedBug> again = make_bug();
  JointRun second(scenario, *again, options.log);
  second.run(first.ended_at());
  verdict.lines.clear();
  verdict.survivors = verdict.named = 0;
  verdict.blamed_healthy = false;
  second.fill(verdict);
  verdict.stuck = !second.ended_well() && second.is_stuck();
  if (options.log) verdict.log = describe(scenario) + verdict.log;
  return verdict;
}

}  // namespace ripeline::joint
