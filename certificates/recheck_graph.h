// check_graph: a certificate's graph, judged from its text alone.
//
// It shares no code with the verifier: it reads words and compares them. The lines are
//   ripeline.graph/1
//   microbatches N
//   tasks T …      every task, each once
//   rank T …       one line per rank, or per engine of one: its order, each task before the next
//   need T U       T strictly before U
//   slots N S T …  a bounded link: each message's sender and the task that frees its slot
//   fifo S T …     a link whose messages are taken one by one in the order in which they are sent
//   queue N S T …  a fifo link with N slots, whose messages are taken in another order
//   order T …      the witness: a topological order, or as much of it as can run
//   cycle T …      the witness of a deadlock: each task before the next, the last before the first
// Pure; throws only for want of memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ripeline::certificates {

struct GraphCheck {
  std::optional<std::string> problem;  // nothing if it is as claimed
  std::vector<std::string> order;      // the tasks of the `order` line
};

// `once`: the ranks' lines have each task once. `order`: the order line has each task once, and
// every edge goes forward in it; and no message ever waits for a slot. For a `slots` line, all
// takers are on one rank line, and wherever that rank waits, once every other task that can has
// run, at most N messages are sent and not taken. For a `fifo` line, its messages are taken as it
// claims. For a `queue` line, wherever a message is taken, at most N of those sent up to it are not
// taken yet. `cycle`: the cycle line is a cycle of edges.
[[nodiscard]] GraphCheck check_graph(std::string_view text, bool once, bool order, bool cycle);

}  // namespace ripeline::certificates
