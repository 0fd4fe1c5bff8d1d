// check_graph: a certificate's graph, judged from its text alone.
//
// The function shares no code with the verifier: it reads words and compares them. The lines are
//   ripeline.graph/1
//   microbatches N
//   tasks T …      every task, each once
//   rank T …       the order of a rank, or of one engine of a rank: each task before the next
//   need T U       T strictly before U
//   slots N S T …  a bounded link: each message's sender and the task that frees its slot
//   fifo S T …     a link whose messages are taken one by one in the order in which they are sent
//   queue N S T …  a fifo link with N slots, whose messages are taken in another order
//   order T …      the witness: a topological order, or as much of it as can run
//   cycle T …      the witness of a deadlock: each task before the next, last before first
// Pure; throws only std::bad_alloc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ripeline::certificates {

struct GraphCheck {
  std::optional<std::string> problem;  // nullopt if the graph is as claimed
  std::vector<std::string> order;      // the tasks of the `order` line
};

// With `once`, each task must be once in the rank lines. With `order`, each task must be once in
// the order line, every edge must lead forward in it, and no message may wait for a slot for ever.
// All takers of a `slots` line must be on one rank line, and at most N messages may be sent and not
// taken when this rank waits and every other task that can run has run. Messages of a `fifo` line
// must be taken as it claims. For a `queue` line, when a message is taken, at most N of those sent
// up to it, with itself, may be untaken. With `cycle`, the cycle line must be a cycle of edges.
[[nodiscard]] GraphCheck check_graph(std::string_view text, bool once, bool order, bool cycle);

}  // namespace ripeline::certificates
