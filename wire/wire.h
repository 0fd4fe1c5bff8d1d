// Fixed orders of explicit sends and receives, judged on the wire.
//
// A WireProgram has the actions that each rank's host issues, in a fixed order: compute tasks,
// sends, receives and collectives. judge_wire() decides whether all of them end for every timing,
// under one communicator layout, one way in which kernels share a device and one buffering.
//
// The order is a graph of events. Adjacent communications of a rank with the same `batch` >= 0 are
// one group call. Its communications on one communicator form one *kernel*; every other action is a
// kernel of its own. A kernel has a start (when it is resident and its receives are posted) and is
// done when all its actions have ended; each action has an end. An edge a -> b means that event b
// happens only after event a:
//   always
//     start of a kernel        -> end of each of its actions
//     kernel in `after` done   -> start: an action waits for the kernels of the actions in `after`
//     previous kernel done     -> start: actions of a rank with the same stream >= 0 (a host thread
//                                 that blocks, or a kernel queue) run one after another, as issued;
//                                 only the actions of one group call run together
//     end of the n-th send     -> end of the n-th receive of the same two ranks and direction
//     start of receive n - k   -> end of send n, if the channel has k credits: k messages may be
//                                 sent before their receives are posted; k = 0 is a rendezvous
//     start at every member    -> end at every member, for the n-th collective of one group
//   by layout, because a communicator runs its kernels in the order in which its rank issued them
//   (done -> start of the next kernel on the same rank and communicator)
//     group     all sends and receives of a rank, whoever the peer is
//     pair      all sends and receives with one peer, both directions in one queue
//     edge      all sends, or all receives, with one peer
//     In every layout each WireGroup has a communicator of its own for its collectives.
//   by kernel level
//     per_stream    no edges: all kernels that have been issued can be resident at once
//     launch_order  start -> start of the kernel that the rank issued next, whatever its stream:
//                   a hardware queue in which a kernel that waits holds up those behind it
//     serial        the edges of launch_order, and done -> start from each kernel that communicates
//                   to the rank's next such kernel: no two are resident together
// No layout divides a channel, so the n-th send and receive are the same in each layout. All
// actions can end if and only if the graph has no cycle: an event happens as soon as all events
// before it have happened, and edges never depend on timing. With more credits or a weaker level
// (from serial to launch_order to per_stream), edges are removed or follow from the others, so a
// safe program stays safe. The same holds for a finer layout (from group to pair to edge), except
// for batches under `serial`, where one kernel becomes several that cannot overlap.
//
// It is assumed that links are reliable, compute tasks end, and each communicator's order is the
// order of the list even if several streams use it. Takes time in proportion to the actions and the
// entries of `after` (and to the ranks of groups). Values; never throws; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ripeline::wire {

struct WireAction {
  enum class Kind : std::uint8_t { compute, send, receive, collective };
  Kind kind = Kind::compute;
  std::string name{};         // for people, such as 0F0, 0SEND_F0
  int peer = -1;              // send, receive: the other rank
  int group = -1;             // collective: index in WireProgram::groups
  std::int64_t payload = -1;  // an id of its data, equal on all sides of a message or collective
  int stream = 0;             // 0 to 1023; -1 if ordered only by its communicator and `after`
  int batch = -1;             // communications only; -1 if it is not in a group call
  std::vector<int> after{};   // earlier actions in its rank's list, outside its group call
};

// Ranks that take part in the same collectives; no rank occurs twice.
struct WireGroup {
  std::string name;
  std::vector<int> members;
};

struct WireProgram {
  std::vector<std::vector<WireAction>> ranks;  // each rank's actions, as issued
  std::vector<WireGroup> groups;
};

enum class WireLayout : std::uint8_t { group, pair, edge };
enum class WireKernels : std::uint8_t { per_stream, launch_order, serial };
[[nodiscard]] std::string name_of(WireLayout layout);    // group, pair, edge
[[nodiscard]] std::string name_of(WireKernels kernels);  // per-stream, launch-order, serial

using WireChannel = std::pair<int, int>;  // sender's rank, receiver's rank

struct WireOptions {
  WireLayout layout = WireLayout::edge;
  WireKernels kernels = WireKernels::per_stream;
  std::int64_t credits = 0;                               // for each channel not listed below; >= 0
  std::map<WireChannel, std::int64_t> channel_credits{};  // >= 0
};

struct WirePosition {
  int rank = -1;
  int index = -1;  // in the rank's list
  bool operator==(const WirePosition&) const = default;
};
struct WireEvent {
  WirePosition action;
  bool end = false;  // true for the action's end, false for its start
  bool operator==(const WireEvent&) const = default;
};

// `waiting` cannot happen before `on`, because of one or more edges of the graph, and `why` is the
// reason. In a kernel of several actions, it may be the reason of another action of the kernel.
struct WireWait {
  enum class Why : std::uint8_t {
    after,         // `on` is in its `after`
    stream,        // `on` precedes it on the stream
    communicator,  // `on` precedes it on the communicator
    launch,        // `on` was issued before it and is not resident (launch_order, serial)
    resident,      // `on` was issued before it and still occupies the device (serial)
    message,       // a receive waits for its send
    posted,        // a send waits until its receive, or its credit's receive, is posted
    collective,    // `on` is the same collective at another member
  };
  WirePosition waiting;
  WirePosition on;
  Why why = Why::after;
};

struct WireVerdict {
  enum class Kind : std::uint8_t {
    safe,      // all actions end
    deadlock,  // not all actions can end, because of a cycle of waits
    mismatch,  // two sides of a message or collective have different payloads, which NCCL does not
               // notice, so one microbatch is used for another
    unpaired,  // a send without its receive, the reverse, or a collective that a member lacks
    invalid,   // a field has no meaning
  };
  Kind kind = Kind::invalid;
  std::vector<WireEvent> order{};  // if safe: all starts and ends, in an order that all edges allow
  std::vector<WireWait> cycle{};   // if deadlock: each `on` is the next wait's `waiting`
  std::vector<WirePosition> where{};  // if another kind: the actions concerned
  std::string sentence{};             // unless safe: the mistake, with ranks and names
};
[[nodiscard]] std::string name_of(WireVerdict::Kind kind);

// First looks for invalid, mismatch, unpaired, in this order, as there is no graph without pairs.
[[nodiscard]] WireVerdict judge_wire(const WireProgram& program, const WireOptions& options = {});

}  // namespace ripeline::wire
