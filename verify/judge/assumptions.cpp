#include "verify/judge/assumptions.h"

#include <algorithm>

#include <fmt/format.h>

namespace ripeline::verify {

using spec::Program;

namespace {

// The assumption about how a message waits until its receiver is ready.
std::string assumption_of_sends(const Program& program) {
  const auto some = [&](const auto& holds) {
    return std::any_of(program.edges.begin(), program.edges.end(), holds);
  };
  const bool bounded = some([](const spec::Edge& e) { return e.inbox >= 0; });
  const bool rendezvous = some([](const spec::Edge& e) { return e.rendezvous; });
  if (!bounded && !rendezvous) {
    return "Each message has a slot of its own at its receiver, so no send waits.";
  }
  std::string text;
  if (bounded) {
    text =
        "A message takes a slot of its link when it is sent off, and its sender goes on without "
        "one; ";
  }
  if (rendezvous) {
    text += std::string(bounded ? "a" : "A") +
            " rendezvous is accepted when the task that needs it is next on its engine, and its "
            "sender's engine waits until then; ";
  }
  return text + "links without a bound have a slot for each.";
}

}  // namespace

std::vector<std::string> assumptions_of(const Program& program) {
  std::vector<std::string> sentences = {
      "Every task that starts ends.",
      "Links are reliable: a message that is sent arrives, whole and once.",
      assumption_of_sends(program),
      std::string(has_other_engines(program) ? "An engine" : "A rank") +
          " runs one task at a time" + (program.pairs.empty() ? "" : ", or a pair") +
          ", and none waits inside for a message.",
      program.data_parallel.replicas > 1
          ? "Collectives of other groups (expert) are outside, or in a fixed order."
          : "Collectives of other groups (data-parallel, expert) are outside, or in a fixed order.",
  };
  if (program.tensor_parallel.members > 1) {
    sentences.insert(sentences.begin() + 1,
                     "A task's collectives end once every member has started it.");
    sentences.push_back("Each engine has a communicator of its own for its rank's collectives.");
    sentences.push_back("What a member publishes in a round reaches every member.");
  }
  if (program.data_parallel.replicas > 1) {
    sentences.insert(sentences.begin() + 1, "A reduction ends once every replica has started it.");
    sentences.push_back(
        fmt::format("{} replicas run this program, each all of it, with as many "
                    "microbatches.",
                    program.data_parallel.replicas));
    sentences.push_back("Each engine has a communicator of its own for reductions among replicas.");
    if (!program.dispatch.in_order) {
      sentences.push_back("What a replica publishes in a round reaches every replica.");
    }
  }
  return sentences;
}

}  // namespace ripeline::verify
