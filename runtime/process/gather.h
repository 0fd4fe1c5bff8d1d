// Gathers: every process gives bytes and gets those of all; also the barrier between steps.
//
// Sans I/O: messages in, messages out. They go along a tree (runtime/process/tree.h): each process
// sends its parent what its subtree gave as soon as that is complete, and process 0 sends
// everything down again. Gathers are numbered, and each has a tag that says what it is for,
// `summary` or `checkpoint/120`: two processes that are in different gathers are told apart at
// once, rather than waiting for each other. A process may be one gather ahead of another, never
// more.
//
//   gathers.begin("summary", mine);
//   for (;;) {
//     gathers.take_outgoing(sends);       // … send them; take() what comes
//     if (gathers.is_done()) break;
//   }
//   all = gathers.take();                 // by process
//
// What a peer sends is checked: it is refused by status, and changes nothing, if it is from the
// wrong process, of another number or not of this form. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/layout.h"
#include "runtime/process/outgoing.h"

namespace ripeline::runtime::process {

class Gathers {
 public:
  Gathers(int self, const core::Layout& layout);

  // Fails if the one before has not been taken, or if a child gathers something else.
  core::Status begin(std::string tag, Blob mine);
  // A part of the gather of that number, from another process.
  core::Status take(int from, std::int64_t number, const Payload& payload);
  // Appends what is to be sent now.
  void take_outgoing(std::vector<Outgoing>& sends);

  [[nodiscard]] bool is_active() const { return active_; }
  [[nodiscard]] bool is_done() const { return active_ && have_all(); }
  [[nodiscard]] std::vector<Blob> take();

  [[nodiscard]] const std::string& tag() const { return tag_; }
  // The process that this one waits for: a child whose part is missing, else its parent; -1: none.
  [[nodiscard]] int waits_for() const;

 private:
  // The bytes of the processes of one subtree, or of all.
  struct Part {
    std::string tag;
    std::map<int, Blob> blobs;
  };

  [[nodiscard]] bool have_all() const {
    return parts_.size() == static_cast<std::size_t>(processes_);
  }
  [[nodiscard]] core::Status check_tag(int from, const Part& part) const;
  void add(const Part& part);
  [[nodiscard]] Outgoing outgoing(int to) const;

  int self_;
  int processes_;
  core::Layout layout_;
  std::int64_t number_ = -1;  // the last that began
  bool active_ = false;
  bool told_parent_ = false;
  bool told_children_ = false;
  std::string tag_;
  std::map<int, Blob> parts_;                              // by process
  std::set<int> came_;                                     // children whose part is here
  std::map<int, std::pair<std::int64_t, Part>> children_;  // for the next one, by child
};

}  // namespace ripeline::runtime::process
