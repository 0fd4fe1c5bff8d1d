#include "tests/joint/garbage.h"

#include <utility>

namespace ripeline::joint {
namespace {

using core::EdgeId;
using runtime::protocol::Outgoing;
namespace signals = runtime::signals;

// An edge that is not from `from`, or one that does not exist.
EdgeId wrong_edge(const core::ProgramFacts& facts, int from, Random& random) {
  const auto edges = static_cast<EdgeId>(facts.edges.size());
  for (int i = 0; i < 8 && edges > 0; ++i) {
    const EdgeId edge = random.below(edges);
    const core::EdgeFacts& e = facts.edges[static_cast<std::size_t>(edge)];
    if (facts.lanes[static_cast<std::size_t>(e.producer)].rank != from &&
        facts.lanes[static_cast<std::size_t>(e.consumer)].rank != from) {
      return edge;
    }
  }
  return random.one_in(2) ? -1 - random.below(5) : edges + random.below(1000);
}

std::vector<std::byte> some_bytes(Random& random) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(random.below(200)));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  return bytes;
}

bool is_of_message(const Outgoing& out) {
  return runtime::message_of(out.envelope.signal) != nullptr;
}

// The last sent message for which `fits` returns true; null if there is none.
template <class Fits>
const Outgoing* last(const std::vector<Outgoing>& sent, const Fits& fits) {
  for (auto out = sent.rbegin(); out != sent.rend(); ++out) {
    if (fits(*out)) return &*out;
  }
  return nullptr;
}

}  // namespace

Garbage draw_garbage(const core::ProgramFacts* facts, int from, int to,
                     const std::vector<Outgoing>& sent, Random& random) {
  Garbage garbage;
  Outgoing& out = garbage.message;
  out.to = to;
  const auto copy = [&](const Outgoing* of, const char* what) {
    if (of == nullptr) return false;
    out = *of;
    garbage.what = what;
    return true;
  };
  switch (facts == nullptr ? random.between(2, 3) : random.below(8)) {
    case 0:
      if (copy(last(sent, [](const Outgoing& o) { return o.envelope.is<signals::Data>(); }),
               "a message again")) {
        return garbage;
      }
      break;
    case 1:
      if (copy(last(sent, [](const Outgoing&) { return true; }), "the last thing again")) {
        return garbage;
      }
      break;
    case 2:
      garbage.what = "a report that is none";
      out.envelope.signal = signals::Report{};
      out.payload.head = some_bytes(random);
      return garbage;
    case 3:
      garbage.what = "a gather that is none";
      out.envelope.signal = signals::Gather{random.below(4)};
      out.payload.head = some_bytes(random);
      return garbage;
    case 4:
      if (copy(last(sent, is_of_message), "what is of a step before")) {
        runtime::message_of(out.envelope.signal)->step -= random.between(1, 3);
        return garbage;
      }
      break;
    case 5:
      if (copy(last(sent, is_of_message), "what is of another microbatch")) {
        runtime::message_of(out.envelope.signal)->message.microbatch =
            random.one_in(2) ? -1 - random.below(9) : 1000 + random.below(1'000'000'000);
        return garbage;
      }
      break;
    default:
      break;
  }
  garbage.what = "a message of an edge that is not its";
  const runtime::Signal kOfMessage[] = {signals::Data{}, signals::Announce{}, signals::Grant{},
                                        signals::Notice{}};
  out.envelope.signal = kOfMessage[random.below(4)];
  runtime::message_of(out.envelope.signal)->message = {wrong_edge(*facts, from, random),
                                                       random.below(4)};
  out.payload.head = some_bytes(random);
  return garbage;
}

}  // namespace ripeline::joint
