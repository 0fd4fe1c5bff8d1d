#include "verify/ready/classes.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "spec/guards.h"
#include "verify/ready/prefixes.h"

namespace ripeline::verify {

using spec::Program;
using spec::Share;

namespace {

// With more lanes, the questions would take too long.
constexpr std::size_t kMostLanes = 1'000;

// The classes of microbatches, as shares with one period, a multiple of all periods of shares.
std::vector<Share> classes_of(const Program& program) {
  std::vector<Share> shares;
  int period = 1;
  for (const spec::Lane& lane : program.lanes) {
    if (std::find(shares.begin(), shares.end(), lane.share) != shares.end()) continue;
    shares.push_back(lane.share);
    period = std::lcm(period, lane.share.period);
  }
  std::map<std::vector<bool>, Share> classes;
  for (int m = 0; m < period; ++m) {
    std::vector<bool> had_by;
    for (const Share& share : shares) had_by.push_back(share.has(m));
    const auto [it, fresh] = classes.try_emplace(std::move(had_by), Share{period, 0});
    it->second.remainders |= std::uint64_t{1} << m;
  }
  std::vector<Share> found;
  for (const auto& [had_by, share] : classes) found.push_back(share);
  return found;
}

bool can_be_divided(const Program& program) {
  const bool plain = !program.dispatch.in_order && program.dispatch.keeps < 0 &&
                     program.inboxes.empty() && program.tensor_parallel.members == 1;
  const auto crosses = [&](const spec::Edge& e) { return program.crosses_shares(e); };
  const auto is_link = [](const spec::Edge& e) {
    return e.fifo || e.rendezvous || e.of == spec::Of::before;
  };
  if (!plain || std::none_of(program.edges.begin(), program.edges.end(), crosses) ||
      std::any_of(program.edges.begin(), program.edges.end(), is_link)) {
    return false;
  }
  const Prefixes prefixes(program, spec::guards_of(program));
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    if (!at(program.lanes, lane).once && prefixes.is_prefix(lane)) return false;
  }
  return true;
}

class Divided {
 public:
  Divided(const Program& program, std::vector<Share> classes)
      : from_(program), classes_(std::move(classes)), copies_(program.lanes.size()) {
    to_.program = program;
    Program& made = to_.program;
    made.lanes.clear();
    made.edges.clear();
    made.orders.clear();
    made.hints.clear();
    made.dispatch = {};
  }

  ByClasses made() && {
    add_ops();
    for (int lane = 0; lane < size_of(from_.lanes); ++lane) add_lanes(lane);
    for (const spec::Edge& edge : from_.edges) add_edges(edge);
    return std::move(to_);
  }

 private:
  // Makes an op for each class, so that each lane has its own name.
  void add_ops() {
    Program& made = to_.program;
    made.ops.clear();
    for (const spec::Op& op : from_.ops) {
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        made.ops.push_back(op);
        if (!op.once) made.ops.back().name = fmt::format("{} of class {}", op.name, c);
      }
    }
    made.pairs.clear();
    for (const spec::Pair& pair : from_.pairs) {
      for (int a = 0; a < size_of(classes_); ++a) {
        for (int b = 0; b < size_of(classes_); ++b) {
          made.pairs.push_back(pair);
          made.pairs.back().first = op_of(pair.first, a);
          made.pairs.back().second = op_of(pair.second, b);
        }
      }
    }
  }

  [[nodiscard]] int op_of(int op, int class_of_it) const {
    return op * size_of(classes_) + class_of_it;
  }

  void add_lanes(int lane) {
    const spec::Lane& l = at(from_.lanes, lane);
    for (int c = 0; c < size_of(classes_); ++c) {
      const bool has = l.once ? c == 0 : l.share.has(std::countr_zero(at(classes_, c).remainders));
      if (!has) continue;
      at(copies_, lane).push_back(size_of(to_.program.lanes));
      to_.lane_of.push_back(lane);
      spec::Lane& copy = to_.program.lanes.emplace_back(l);
      copy.op = op_of(l.op, c);
      if (!l.once) copy.share = at(classes_, c);
      copy.edges.clear();
      copy.feeds.clear();
    }
  }

  // Copies of one class keep the need of their originals; a need of all is kept among all classes.
  void add_edges(const spec::Edge& edge) {
    Program& made = to_.program;
    for (const int producer : at(copies_, edge.producer)) {
      for (const int consumer : at(copies_, edge.consumer)) {
        const bool same = at(made.lanes, producer).share == at(made.lanes, consumer).share;
        if (edge.of == spec::Of::same && !same) continue;
        at(made.lanes, producer).feeds.push_back(size_of(made.edges));
        at(made.lanes, consumer).edges.push_back(size_of(made.edges));
        made.edges.push_back(edge);
        made.edges.back().producer = producer;
        made.edges.back().consumer = consumer;
      }
    }
  }

  const Program& from_;
  std::vector<Share> classes_;
  std::vector<std::vector<int>> copies_;  // per lane
  ByClasses to_;
};

}  // namespace

std::unique_ptr<ByClasses> by_classes(const Program& program) {
  if (!can_be_divided(program)) return nullptr;
  std::vector<Share> classes = classes_of(program);
  if (program.lanes.size() * classes.size() > kMostLanes) return nullptr;
  return std::make_unique<ByClasses>(Divided(program, std::move(classes)).made());
}

}  // namespace ripeline::verify
