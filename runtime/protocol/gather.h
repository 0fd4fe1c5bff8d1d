// Gathers: each process passes bytes and gets those of all. They are also barriers between steps.
//
// Sans I/O: messages in, messages out. Messages go along a tree (runtime/protocol/tree.h): each
// process sends its parent the bytes of its subtree as soon as they are complete, and process 0
// sends all bytes down again. Gathers are numbered, and each has a tag that names its purpose, such
// as `summary` or `checkpoint/120`. So if two processes are in different gathers, that is noticed
// at once, and they do not wait for each other. A process may be one gather ahead of another, never
// more.
//
//   gathers.begin("summary", mine);
//   for (;;) {
//     gathers.take_outgoing(sends);       // … send them; take() what arrives
//     if (gathers.is_done()) break;
//   }
//   all = gathers.take();                 // by process
//
// All that a peer sends is checked. A message is refused by status, and changes nothing, if it is
// from the wrong process, has another number or is malformed. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/layout.h"
#include "runtime/protocol/outgoing.h"

namespace ripeline::runtime::protocol {

class Gathers {
 public:
  Gathers(int self, const core::Layout& layout);

  // Fails if the previous gather has not been taken, or if a child gathers something else.
  core::Status begin(std::string tag, Blob mine);
  // Takes a part of the gather of that number from another process.
  core::Status take(int from, std::int64_t number, const Payload& payload);
  // Appends the messages to be sent now.
  void take_outgoing(std::vector<Outgoing>& sends);

  [[nodiscard]] bool is_active() const { return active_; }
  [[nodiscard]] bool is_done() const { return active_ && have_all(); }
  [[nodiscard]] std::vector<Blob> take();

  [[nodiscard]] const std::string& tag() const { return tag_; }
  // The awaited process: a child whose part has not arrived, or else the parent; -1 if none is.
  [[nodiscard]] int waits_for() const;

 private:
  // The bytes of all processes of one subtree, or of all processes.
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
  std::int64_t number_ = -1;  // the number of the last gather that began
  bool active_ = false;
  bool told_parent_ = false;
  bool told_children_ = false;
  std::string tag_;
  std::map<int, Blob> parts_;                              // by process
  std::set<int> came_;                                     // children whose part has arrived
  std::map<int, std::pair<std::int64_t, Part>> children_;  // parts of the next gather, by child
};

}  // namespace ripeline::runtime::protocol
