// Debugger: walks a recorded run, event by event, and shows what each rank could do.
//
// It stands between two events: a task that ended, a message that arrived, a task that started. Of
// one instant the ends come first, then the arrivals, then the starts, so that before a start it
// shows what there was to choose among. Commands are lines of text, for people and scripts:
//   forward [N]  backward [N]  to TASK  idle RANK  end TASK  start  show  rank N  why TASK  help
// (step N, to another step, is the business of whoever reads the trace.)
// Every answer ends with a newline and says what is wrong with a command that it does not know.
//
// A trace does not hold a hint. Who has the program gives an Adviser, which says what the hint
// takes on an engine that may take a task, and why. One thread.
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

// Advice: which task an engine of `rank` takes next and why, after what it has seen. One line
// without its end; nothing: that is not known.
using Adviser = std::function<std::optional<std::string>(int rank, core::Engine engine,
                                                         const std::vector<core::SeenEvent>& seen)>;

class Debugger {
 public:
  // The timeline must outlive it. One step is walked: the last.
  Debugger(const Timeline& timeline, Adviser adviser, Stuck stuck = {});

  // Does one command; the answer.
  std::string run(std::string_view command);
  // `quit` was said.
  [[nodiscard]] bool done() const { return done_; }

 private:
  struct Event {
    core::Time at{0};
    int order = 0;  // among events of one instant
    core::SeenEvent::What what = core::SeenEvent::What::ended;
    int id = -1;  // a box, or a message
    int rank = 0;
  };

  void list_events();
  [[nodiscard]] std::string show() const;
  [[nodiscard]] std::string show_rank(int rank) const;
  [[nodiscard]] std::string show_row(const Row& row) const;  // both rows of its engine
  [[nodiscard]] std::vector<int> running_on(const Row& row) const;
  // Whether an engine that runs these could take another.
  [[nodiscard]] bool may_take(const std::vector<int>& running) const;
  [[nodiscard]] std::string held(int rank) const;
  [[nodiscard]] std::string flights() const;
  [[nodiscard]] std::string describe(const Event& event) const;
  [[nodiscard]] std::vector<core::SeenEvent> seen_by(int rank) const;
  class Moment;  // between two events

  // The lack that keeps a task from starting: something that it needs, or else room.
  struct Lack {
    bool others = false;  // a need, or its turn in its lane
    std::string room;     // empty: there is enough
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
  std::vector<std::size_t> start_of_;    // per box: its event
  std::vector<std::size_t> end_of_;      // per box
  std::vector<std::size_t> arrival_of_;  // per message
  std::size_t now_ = 0;                  // events that have happened
  bool done_ = false;
};

}  // namespace ripeline::view
