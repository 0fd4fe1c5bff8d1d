// SimulatedProcess: one process of a simulated run. It has a Process and ranks, and drives them as
// runtime/run.cpp, a TaskEngine and a training program do.
//
// It follows a script that all processes share: steps of one program or of two in turn, and
// gathers. It reads arrivals when it polls, is busy while a task runs in its loop, waits until
// something arrives or is due, and ends when its run has ended or failed; then it closes its
// connections. It has its own clock.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/protocol/process.h"
#include "tests/joint/network.h"
#include "tests/joint/witness.h"

namespace ripeline::joint {

// The state that all processes of a run share.
struct World {
  const Scenario& scenario;
  Timeline& timeline;
  Network& network;
  std::vector<std::unique_ptr<Witness>>& witnesses;  // by program
  PlantedBug& bug;
  Log& log;
  std::string problem = {};  // a problem that no witness sees
};

// The behaviour of a process's next task.
enum class NextTask : std::uint8_t { as_usual, fails, never_ends, takes_long };

class SimulatedProcess {
 public:
  SimulatedProcess(World& world, int self);
  SimulatedProcess(const SimulatedProcess&) = delete;
  SimulatedProcess& operator=(const SimulatedProcess&) = delete;

  void begin();
  void arrive(runtime::Delivery delivery);
  void arrive_goodbye(int from);

  // Faults.
  void kill();
  void stop();
  void resume();
  void next_task(NextTask what, core::Time lasts);
  // Delays the next step or gather of its script.
  void pause_next(core::Time lasts) { pause_ = lasts; }
  void refuse_next_step() { refuses_ = true; }
  void gather_apart() { apart_ = true; }

  enum class Is : std::uint8_t { alive, killed, failed, finished };
  [[nodiscard]] Is is() const { return is_; }
  [[nodiscard]] bool is_stopped() const { return stopped_; }
  // Whether a task that does not end runs in its loop.
  [[nodiscard]] bool hangs() const { return hangs_; }
  // Whether its fault has taken place: it has begun what next_task() or a similar call requested.
  [[nodiscard]] bool suffers() const { return suffers_; }
  // The reason why its run has failed.
  [[nodiscard]] const core::Status& outcome() const { return outcome_; }
  [[nodiscard]] core::Time ended_at() const { return ended_at_; }
  [[nodiscard]] core::Time longest_busy() const { return longest_busy_; }

 private:
  struct Item {
    enum class What : std::uint8_t { gather, step, finish };
    What what = What::gather;
    std::string tag = {};
    std::size_t program = 0;
    std::int64_t step = 0;
  };
  using Start = runtime::protocol::Actions::Start;

  void write_script();
  // The time on its own clock.
  [[nodiscard]] core::Time now() const { return clock(world_.timeline.now()); }
  [[nodiscard]] core::Time clock(core::Time time) const;
  // Calls the action after a delay: later if the process is stopped then, never if it has ended.
  void after(core::Time delay, std::function<void()> action);
  void note(const std::string& what) {
    world_.log.note(self_, [&] { return what; });
  }

  // The loop of a run.
  void turn();
  void poll();
  void wait();
  void wake(std::int64_t wait);
  void receive();
  void read_signs();
  [[nodiscard]] bool item_done();
  void begin_item();
  void begin_step(const Item& item);
  void end_item();
  void end(Is how);
  [[nodiscard]] bool check_finish() const;

  // The engine.
  void start(Start start);
  void run_next();
  [[nodiscard]] core::Time draw_task();
  [[nodiscard]] core::Time draw_pause();
  void tell_end(runtime::Ended ended);
  bool take_ends();

  World& world_;
  int self_;
  const ProcessTraits& traits_;
  Random random_;
  runtime::protocol::Process process_;
  runtime::protocol::Actions actions_;
  std::vector<std::unique_ptr<core::Arbiter>> arbiters_;         // by program
  std::vector<std::unique_ptr<runtime::protocol::Rank>> ranks_;  // by program
  std::vector<Item> script_;
  std::size_t item_ = 0;
  Is is_ = Is::alive;
  core::Status outcome_;
  core::Time ended_at_{0};

  std::vector<runtime::Delivery> inbox_;  // arrived, but not read yet
  std::vector<core::Time> signs_;         // by peer: the last sign that was read
  std::vector<core::Time> heard_;         // by peer: the time of that sign, on its own clock
  core::Time next_look_{0};
  bool waits_ = false;
  std::int64_t wait_ = 0;  // the number of the current or last wait
  core::Time wait_since_{0};
  bool stopped_ = false;
  std::vector<std::function<void()>> when_resumed_;

  std::deque<Start> queue_;  // the starts that wait for the engine
  bool engine_runs_ = false;
  std::deque<runtime::Ended> ended_;  // ends of tasks that the loop has not read
  core::Time longest_busy_{0};

  bool finishing_ = false;
  std::vector<char> goodbyes_;  // by peer

  NextTask next_task_ = NextTask::as_usual;
  core::Time lasts_{0};
  core::Time pause_{0};
  bool hangs_ = false;
  bool refuses_ = false;
  bool apart_ = false;
  bool suffers_ = false;
};

}  // namespace ripeline::joint
