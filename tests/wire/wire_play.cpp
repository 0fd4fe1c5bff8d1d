#include "tests/wire/wire_play.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <sstream>

namespace ripeline::wire {
namespace {

using Kind = WireAction::Kind;

WireAction word(std::string text, const std::vector<WireAction>& before) {
  WireAction a;
  while (text.find('<') != std::string::npos) {
    const std::string name = text.substr(text.rfind('<') + 1);
    text.resize(text.rfind('<'));
    for (std::size_t i = before.size(); i-- > 0;) {
      if (before[i].name != name) continue;
      a.after.push_back(static_cast<int>(i));
      break;
    }
  }
  const auto at = text.find('@');
  if (at != std::string::npos) {
    a.stream = text[at + 1] == '-' ? -1 : std::atoi(text.c_str() + at + 1);
    text.resize(at);
  }
  a.name = text;
  const auto colon = text.find(':');
  if (colon == std::string::npos) return a;
  const int whom = std::atoi(text.c_str() + 1);
  a.payload = std::atoi(text.c_str() + colon + 1);
  a.kind = text[0] == 's' ? Kind::send : text[0] == 'r' ? Kind::receive : Kind::collective;
  (a.kind == Kind::collective ? a.group : a.peer) = whom;
  return a;
}

}  // namespace

WireProgram wire_program(const std::vector<std::string>& ranks, int groups) {
  WireProgram program;
  int batches = 0;
  for (const std::string& line : ranks) {
    std::vector<WireAction>& actions = program.ranks.emplace_back();
    std::istringstream words(line);
    bool in_batch = false;
    for (std::string text; words >> text;) {
      if (text == "[") ++batches;
      if (text == "[" || text == "]") {
        in_batch = text == "[";
        continue;
      }
      actions.push_back(word(text, actions));
      if (in_batch) actions.back().batch = batches;
    }
  }
  for (int g = 0; g < groups; ++g) {
    program.groups.push_back({"g" + std::to_string(g), std::vector<int>(ranks.size())});
    std::iota(program.groups.back().members.begin(), program.groups.back().members.end(), 0);
  }
  return program;
}

std::string text_of(const WireProgram& program) {
  std::ostringstream out;
  for (const auto& actions : program.ranks) {
    int batch = -1;
    for (const WireAction& a : actions) {
      if (batch >= 0 && a.batch != batch) out << "] ";
      if (a.batch >= 0 && a.batch != batch) out << "[ ";
      batch = a.batch;
      out << a.name << '@' << (a.stream < 0 ? "-" : std::to_string(a.stream));
      for (const int e : a.after) out << '<' << actions[static_cast<std::size_t>(e)].name;
      out << ' ';
    }
    out << (batch >= 0 ? "]\n" : "\n");
  }
  return out.str();
}

const WireAction& WirePlay::action(WirePosition p) const {
  return program_.ranks[static_cast<std::size_t>(p.rank)][static_cast<std::size_t>(p.index)];
}

bool WirePlay::same_call(int rank, int a, int b) const {
  const int batch = action({rank, a}).batch;
  for (int i = std::min(a, b); i <= std::max(a, b); ++i) {
    if (action({rank, i}).batch != batch) return false;
  }
  return a == b || batch >= 0;
}

bool WirePlay::same_communicator(const WireAction& a, const WireAction& b) const {
  if (a.kind == Kind::compute || b.kind == Kind::compute) return false;
  if (a.kind == Kind::collective || b.kind == Kind::collective) {
    return a.kind == b.kind && a.group == b.group;
  }
  if (options_.layout == WireLayout::group) return true;
  if (a.peer != b.peer) return false;
  return options_.layout == WireLayout::pair || a.kind == b.kind;
}

bool WirePlay::same_kernel(int rank, int a, int b) const {
  if (a == b) return true;
  return same_call(rank, a, b) && same_communicator(action({rank, a}), action({rank, b}));
}

// Whether the action and all others of its kernel have ended.
bool WirePlay::done(int rank, int index) const {
  const auto& ended = ended_[static_cast<std::size_t>(rank)];
  for (int i = 0; i < static_cast<int>(ended.size()); ++i) {
    if (same_kernel(rank, index, i) && !ended[static_cast<std::size_t>(i)]) return false;
  }
  return true;
}

bool WirePlay::may_start(int rank, int index) const {
  const auto& started = started_[static_cast<std::size_t>(rank)];
  if (started[static_cast<std::size_t>(index)]) return false;
  const auto first_of = [&](int action) {
    int i = 0;
    while (!same_kernel(rank, i, action)) ++i;
    return i;
  };
  for (int m = 0; m < static_cast<int>(started.size()); ++m) {
    if (!same_kernel(rank, index, m)) continue;  // m is each action of the kernel in turn
    const WireAction& mine = action({rank, m});
    for (const int e : mine.after) {
      if (!done(rank, e)) return false;
    }
    for (int e = 0; e < m; ++e) {
      const WireAction& other = action({rank, e});
      if (same_kernel(rank, e, m)) continue;
      if (same_communicator(mine, other) && !done(rank, e)) return false;
      const bool queued = mine.stream >= 0 && mine.stream == other.stream;
      if (queued && !same_call(rank, e, m) && !done(rank, e)) return false;
    }
  }
  if (options_.kernels == WireKernels::per_stream) return true;
  const int mine = first_of(index);
  const bool serial =
      options_.kernels == WireKernels::serial && action({rank, index}).kind != Kind::compute;
  for (int e = 0; e < static_cast<int>(started.size()); ++e) {
    if (first_of(e) >= mine) continue;
    if (!started[static_cast<std::size_t>(e)]) return false;
    if (serial && action({rank, e}).kind != Kind::compute && !done(rank, e)) return false;
  }
  return true;
}

// The rank's n-th action of this kind with this peer or group.
WirePosition WirePlay::nth(int rank, Kind kind, int whom, int n) const {
  const auto& actions = program_.ranks[static_cast<std::size_t>(rank)];
  for (int i = 0; i < static_cast<int>(actions.size()); ++i) {
    const WireAction& a = actions[static_cast<std::size_t>(i)];
    if (a.kind != kind || (kind == Kind::collective ? a.group : a.peer) != whom) continue;
    if (n-- == 0) return {rank, i};
  }
  return {};
}

int WirePlay::number_of(int rank, int index) const {
  const WireAction& mine = action({rank, index});
  int n = 0;
  for (int i = 0; i < index; ++i) {
    const WireAction& a = action({rank, i});
    n += a.kind == mine.kind && a.peer == mine.peer && a.group == mine.group;
  }
  return n;
}

bool WirePlay::may_end(int rank, int index) const {
  const auto has = [](const std::vector<std::vector<bool>>& what, WirePosition p) {
    return what[static_cast<std::size_t>(p.rank)][static_cast<std::size_t>(p.index)];
  };
  if (has(ended_, {rank, index}) || !has(started_, {rank, index})) return false;
  const WireAction& a = action({rank, index});
  const int n = number_of(rank, index);
  switch (a.kind) {
    case Kind::compute:
      return true;
    case Kind::receive:
      return has(ended_, nth(a.peer, Kind::send, rank, n));
    case Kind::send: {
      const auto own = options_.channel_credits.find({rank, a.peer});
      std::int64_t room = own == options_.channel_credits.end() ? options_.credits : own->second;
      for (int i = 0; i < static_cast<int>(program_.ranks[static_cast<std::size_t>(a.peer)].size());
           ++i) {
        const WireAction& b = action({a.peer, i});
        room += b.kind == Kind::receive && b.peer == rank && has(started_, {a.peer, i});
      }
      return n < room;
    }
    case Kind::collective:
      break;
  }
  const auto& members = program_.groups[static_cast<std::size_t>(a.group)].members;
  return std::all_of(members.begin(), members.end(),
                     [&](int m) { return has(started_, nth(m, Kind::collective, a.group, n)); });
}

bool WirePlay::may(const WireEvent& event) const {
  return event.end ? may_end(event.action.rank, event.action.index)
                   : may_start(event.action.rank, event.action.index);
}

void WirePlay::happen(const WireEvent& event) {
  auto& which = event.end ? ended_ : started_;
  which[static_cast<std::size_t>(event.action.rank)][static_cast<std::size_t>(event.action.index)] =
      true;
}

bool WirePlay::done() const {
  return std::all_of(ended_.begin(), ended_.end(), [](const std::vector<bool>& rank) {
    return std::all_of(rank.begin(), rank.end(), [](bool e) { return e; });
  });
}

void WirePlay::run(std::mt19937_64& random) {
  std::vector<WireEvent> events;
  for (int r = 0; r < static_cast<int>(program_.ranks.size()); ++r) {
    const auto count = static_cast<int>(program_.ranks[static_cast<std::size_t>(r)].size());
    for (int i = 0; i < count; ++i) {
      events.push_back({{r, i}, false});
      events.push_back({{r, i}, true});
    }
  }
  for (bool moved = true; moved;) {
    moved = false;
    std::shuffle(events.begin(), events.end(), random);
    for (const WireEvent& event : events) {
      if (!may(event)) continue;
      happen(event);
      moved = true;
    }
  }
}

}  // namespace ripeline::wire
