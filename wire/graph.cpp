// The graph of events of a WireProgram, built according to the table in wire.h.
#include "wire/graph.h"

#include <algorithm>

#include "spec/indexing.h"
#include "spec/long_work.h"

namespace ripeline::wire {
namespace {

using Kind = WireAction::Kind;
using Why = WireWait::Why;
using Id = std::uint32_t;

class Builder {
 public:
  Builder(const WireProgram& program, const WirePairing& pairing, const WireOptions& options,
          bool explain)
      : program_(program), pairing_(pairing), options_(options), explain_(explain) {
    const std::size_t actions = pairing.all.size();
    g_.next_in_kernel.assign(actions, WireGraph::kNone);
    start_.resize(actions);
    end_.resize(actions);
    done_.resize(actions);
    g_.nodes.reserve(2 * actions);
    g_.edges.reserve(5 * actions);
    last_on_.assign(2 * program.ranks.size() + program.groups.size(), WireGraph::kNone);
  }

  WireGraph build() {
    for (std::size_t rank = 0; rank < program_.ranks.size(); ++rank) {
      const Id begin = pairing_.first[rank];
      const Id end = pairing_.first[rank + 1];
      last_issued_ = last_communication_ = WireGraph::kNone;
      streams_.clear();
      for (Id from = begin; from < end;) {
        Id to = from + 1;
        const int batch = action(from).batch;
        while (batch >= 0 && to < end && action(to).batch == batch) ++to;
        add_call(from, to, begin);
        from = to;
      }
      for (const std::size_t queue : used_) last_on_[queue] = WireGraph::kNone;
      used_.clear();
    }
    add_messages();
    add_collectives();
    return std::move(g_);
  }

 private:
  // The node at which all actions of a group call on one stream are done.
  struct Done {
    Id node = WireGraph::kNone;
    Id actor = WireGraph::kNone;  // WireGraph::kNone if several kernels
  };

  const WireAction& action(Id a) const { return *pairing_.all[a]; }

  Id add_node(Id of, bool end) {
    g_.nodes.push_back({of, end});
    return static_cast<Id>(g_.nodes.size() - 1);
  }

  void add_edge(Id from, Id to, Why why, Id actor, bool part = false) {
    g_.edges.push_back({from, to});
    if (explain_) g_.causes.push_back({why, part, actor});
  }

  // The index of the queue that the action's communicator has at this rank.
  std::size_t queue_of(const WireAction& a) const {
    const std::size_t ranks = program_.ranks.size();
    if (a.kind == Kind::collective) return 2 * ranks + static_cast<std::size_t>(a.group);
    const auto peer = static_cast<std::size_t>(a.peer);
    switch (options_.layout) {
      case WireLayout::group:
        return 0;
      case WireLayout::pair:
        return peer;
      case WireLayout::edge:
        break;
    }
    return a.kind == Kind::send ? peer : ranks + peer;
  }

  // Adds the actions of one group call, which is almost always a single action.
  void add_call(Id from, Id to, Id rank_begin) {
    spec::stop_point();
    kernels_.clear();
    for (Id a = from; a < to; ++a) add_to_kernel(a, from);
    for (const Id first : kernels_) finish_kernel(first);
    for (Id a = from; a < to; ++a) {
      for (const int earlier : action(a).after) {
        const Id e = rank_begin + static_cast<Id>(earlier);
        add_edge(done_[e], start_[a], Why::after, e);
      }
    }
    add_streams(from, to);
  }

  // Adds the action to the kernel of its communicator in this call, or begins a kernel.
  void add_to_kernel(Id a, Id call_begin) {
    const bool communicates = action(a).kind != Kind::compute;
    const std::size_t queue = communicates ? queue_of(action(a)) : 0;
    if (communicates && last_on_[queue] != WireGraph::kNone && last_on_[queue] >= call_begin) {
      const Id last = last_on_[queue];
      g_.next_in_kernel[last] = a;
      start_[a] = start_[last];
      last_on_[queue] = a;
    } else {
      start_[a] = add_node(a, false);
      kernels_.push_back(a);
      if (communicates) {
        if (last_on_[queue] != WireGraph::kNone) {
          add_edge(done_[last_on_[queue]], start_[a], Why::communicator, last_on_[queue]);
        } else {
          used_.push_back(queue);
        }
        last_on_[queue] = a;
      }
    }
    end_[a] = done_[a] = add_node(a, true);
    add_edge(start_[a], end_[a], Why::after, a, true);
  }

  void finish_kernel(Id first) {
    if (g_.next_in_kernel[first] != WireGraph::kNone) {
      const Id done = add_node(WireGraph::kNone, true);
      for (Id a = first; a != WireGraph::kNone; a = g_.next_in_kernel[a]) {
        add_edge(end_[a], done, Why::after, a, true);
        done_[a] = done;
      }
    }
    if (options_.kernels == WireKernels::per_stream) return;
    if (last_issued_ != WireGraph::kNone) {
      add_edge(start_[last_issued_], start_[first], Why::launch, last_issued_);
    }
    last_issued_ = first;
    if (options_.kernels != WireKernels::serial || action(first).kind == Kind::compute) return;
    if (last_communication_ != WireGraph::kNone) {
      add_edge(done_[last_communication_], start_[first], Why::resident, last_communication_);
    }
    last_communication_ = first;
  }

  void add_streams(Id from, Id to) {
    if (to - from == 1) {
      if (action(from).stream < 0) return;
      Done& last = stream(action(from).stream);
      if (last.node != WireGraph::kNone) add_edge(last.node, start_[from], Why::stream, last.actor);
      last = {done_[from], from};
      return;
    }
    for (Id a = from; a < to; ++a) {
      if (action(a).stream < 0) continue;
      const Done& last = stream(action(a).stream);
      if (last.node != WireGraph::kNone) add_edge(last.node, start_[a], Why::stream, last.actor);
    }
    // The next action on a stream waits for all actions of the call on that stream.
    used_streams_.clear();
    for (Id a = from; a < to; ++a) {
      const int s = action(a).stream;
      if (s < 0) continue;
      if (std::find(used_streams_.begin(), used_streams_.end(), s) == used_streams_.end()) {
        used_streams_.push_back(s);
        stream(s) = {add_node(WireGraph::kNone, true), WireGraph::kNone};
      }
      add_edge(done_[a], stream(s).node, Why::stream, a, true);
    }
  }

  Done& stream(int s) {
    if (s >= size_of(streams_)) streams_.resize(static_cast<std::size_t>(s) + 1);
    return at(streams_, s);
  }

  void add_messages() {
    for (const WirePairing::Channel& channel : pairing_.channels) {
      const auto named = options_.channel_credits.find(channel.ends);
      const std::int64_t credits =
          named == options_.channel_credits.end() ? options_.credits : named->second;
      for (std::size_t n = 0; n < channel.sends.size(); ++n) {
        const Id send = channel.sends[n];
        add_edge(end_[send], end_[channel.receives[n]], Why::message, send);
        if (credits > static_cast<std::int64_t>(n)) continue;
        const Id receive = channel.receives[n - static_cast<std::size_t>(credits)];
        add_edge(start_[receive], end_[send], Why::posted, receive);
      }
    }
  }

  void add_collectives() {
    for (const auto& members : pairing_.collectives) {
      const std::size_t count = members.empty() ? 0 : members.front().size();
      for (std::size_t n = 0; n < count; ++n) {
        const Id all = add_node(WireGraph::kNone, false);
        for (const auto& own : members) {
          add_edge(start_[own[n]], all, Why::collective, own[n]);
          add_edge(all, end_[own[n]], Why::collective, WireGraph::kNone, true);
        }
      }
    }
  }

  const WireProgram& program_;
  const WirePairing& pairing_;
  const WireOptions& options_;
  bool explain_;
  WireGraph g_;
  std::vector<Id> start_, end_, done_;  // per action: nodes
  std::vector<Id> kernels_;             // the first action of each kernel of the call
  // The state of the rank whose actions are being added:
  Id last_issued_ = WireGraph::kNone;         // the first action of the previous kernel
  Id last_communication_ = WireGraph::kNone;  // the last kernel that communicates
  std::vector<Id> last_on_;        // per communicator: its last action, or WireGraph::kNone
  std::vector<std::size_t> used_;  // communicators with a last action
  std::vector<Done> streams_;      // per stream
  std::vector<int> used_streams_;  // the streams of the call
};

}  // namespace

WireGraph wire_graph(const WireProgram& program, const WirePairing& pairing,
                     const WireOptions& options, bool explain) {
  return Builder(program, pairing, options, explain).build();
}

}  // namespace ripeline::wire
