// check_graph: a certificate's graph, judged from its text alone.
//
// Shares no code with the verifier: it reads words and compares them. The lines are
//   ripeline.graph/1
//   microbatches N
//   tasks T …      every task, each once
//   rank T …       one line per rank, or engine of one: its order, each strictly before the next
//   need T U       T strictly before U
//   slots N S T …  a bounded link: each message's sender and the task that frees its slot
//   fifo S T …     a link whose messages are taken one by one in the order in which they are sent
//   queue N S T …  one with N slots, whose messages arrive in that order and are taken in another
//   order T …      the witness: a topological order, or as much of it as can run
//   cycle T …      the witness of a deadlock: each before the next, and the last before the first
// Pure; never throws but for want of memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ripeline::verify {

struct GraphCheck {
  std::optional<std::string> problem;  // nothing: it is as claimed
  std::vector<std::string> order;      // the tasks of the `order` line
};

// `once`: the ranks' lines have each task once. `order`: the order line has each task once, and
// every edge goes forward in it; and no message ever waits for a slot: of a `slots` line, whoever
// takes stands on one rank line, and wherever it waits there, at most N are sent and not taken
// when all has run that can; of a `fifo` line, it is so; of a `queue` line, wherever a message is
// taken, at most N of those sent up to it have not been. `cycle`: the cycle line is a cycle of the
// edges.
[[nodiscard]] GraphCheck check_graph(std::string_view text, bool once, bool order, bool cycle);

}  // namespace ripeline::verify
