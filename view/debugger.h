// Debugger: walks a recorded run, event by event, and shows what each rank could do.
//
// The debugger is always between two events. An event is the end of a task, the arrival of a
// message, or the start of a task. Events of one instant happen in this order, so the tasks to
// choose among are shown before a start. Commands are lines of text, for people and scripts:
//   forward [N]  backward [N]  to TASK  idle RANK  end TASK  start  show  rank N  why TASK  help
// (The program that reads the trace handles `step N`, which goes to another step.)
// Every answer ends with a newline. For an unknown command, the answer says what is wrong with it.
//
// A trace contains no hint. A caller that has the program passes an Adviser, which tells which task
// the hint takes next on an engine that may take one, and why. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/seen_event.h"
#include "view/reasons.h"
#include "view/stuck.h"
#include "view/timeline.h"

namespace ripeline::view {

// Advice: which task an engine of `rank` takes next and why, after the events that the rank has
// seen. It is one line without a newline; nullopt if it is not known.
using Adviser = std::function<std::optional<std::string>(int rank, core::Engine engine,
                                                         const std::vector<core::SeenEvent>& seen)>;

class Debugger {
 public:
  // The timeline must outlive the debugger, which walks through its last step.
  Debugger(const Timeline& timeline, Adviser adviser, Stuck stuck = {});

  // Executes one command and returns its answer.
  std::string run(std::string_view command);
  // Whether the command `quit` was given.
  [[nodiscard]] bool done() const { return done_; }

 private:
  struct Event {
    core::Time at{0};
    int order = 0;  // among events of one instant
    core::SeenEvent::What what = core::SeenEvent::What::ended;
    int id = -1;  // a box for the end or start of a task, else a message
    int rank = 0;
  };

  void list_events();
  [[nodiscard]] std::string show() const;
  [[nodiscard]] std::string show_rank(int rank) const;
  [[nodiscard]] std::string show_row(const Row& row) const;  // both rows of the engine
  [[nodiscard]] std::vector<int> running_on(const Row& row) const;
  // Whether an engine that runs these tasks could take one more.
  [[nodiscard]] bool may_take(const std::vector<int>& running) const;
  [[nodiscard]] std::string held(int rank) const;
  [[nodiscard]] std::string flights() const;
  [[nodiscard]] std::string describe(const Event& event) const;
  [[nodiscard]] std::vector<core::SeenEvent> seen_by(int rank) const;
  class Moment;  // the state between two events

  // The reasons why a task cannot start: missing needs or its turn, or else missing room.
  struct Lack {
    bool others = false;  // something that it needs, or its turn in its lane, is missing
    std::string room;     // the room that is missing; empty if there is enough
  };
  [[nodiscard]] Lack lack_of(const Moment& moment, core::Task task) const;
  [[nodiscard]] bool before_now(std::size_t event) const { return event < now_; }

  std::string move_to(std::size_t event);
  std::string go_to(std::string_view name, bool end);
  std::string go_idle(std::string_view rank);
  std::string explain_task(std::string_view name);

  const Timeline& timeline_;
  Adviser adviser_;
  Stuck stuck_;
  Reasons reasons_;
  std::vector<Event> events_;
  std::vector<std::size_t> start_of_;    // per box, the event of its start
  std::vector<std::size_t> end_of_;      // per box
  std::vector<std::size_t> arrival_of_;  // per message
  std::size_t now_ = 0;                  // the number of events that have happened
  bool done_ = false;
};

}  // namespace ripeline::view
