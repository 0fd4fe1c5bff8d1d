// Checks exactness of counts for each op, in every neighbourhood of stages that can occur.
#include "verify/depth/exact.h"

#include <algorithm>

#include <fmt/format.h>

#include "spec/indexing.h"
#include "verify/depth/shape.h"

namespace ripeline::verify::depth {
namespace {

// A lane near the stage in question: its op, and the signed distance of its stage.
struct Near {
  int op = 0;
  int offset = 0;
  bool bounded = false;  // for a producer: its messages take slots of their link
  bool fifo = false;
  [[nodiscard]] bool is(const Near& other) const {
    return op == other.op && offset == other.offset;
  }
};

int offset_of(spec::ast::At where) {
  return where == spec::ast::At::prev ? -1 : where == spec::ast::At::next ? 1 : 0;
}

// The stage in question (offset 0) and the neighbours that exist (offsets first to last).
struct Neighbourhood {
  int first = 0;
  int last = 0;
  [[nodiscard]] bool has(int offset) const { return first <= offset && offset <= last; }
};

std::vector<Near> producers(const Shape& shape, const Near& lane, const Neighbourhood& stages) {
  std::vector<Near> found;
  for (const Need& need : at(shape.ops, lane.op).needs) {
    const Near producer{need.op, lane.offset + offset_of(need.at), need.bounded, need.fifo};
    if (stages.has(producer.offset)) found.push_back(producer);
  }
  return found;
}

// True if `of` needs `lane`, directly or through other lanes; only lanes within `stages` exist.
bool is_ancestor(const Shape& shape, const Near& lane, const Near& of,
                 const Neighbourhood& stages) {
  std::vector<Near> met{of};
  for (std::size_t i = 0; i < met.size(); ++i) {
    for (const Near& producer : producers(shape, Near(met[i]), stages)) {
      if (producer.is(lane)) return true;
      const auto known = [&](const Near& other) { return other.is(producer); };
      if (std::none_of(met.begin(), met.end(), known)) met.push_back(producer);
    }
  }
  return false;
}

// With bounded links, the messages that timing lets arrive first must suffice. They do if all
// arrive in order, or if the bounded need is met last and any message of it starts the lane.
std::optional<std::string> slots_reason(const Shape& shape, int op, const std::vector<Near>& needed,
                                        const std::vector<Near>& kept) {
  std::vector<Near> bounded;
  for (const Near& p : needed) {
    if (p.bounded) bounded.push_back(p);
  }
  if (bounded.empty()) return std::nullopt;
  const auto prefix = [&](const Near& p) { return at(shape.ops, p.op).sequential; };
  const bool in_order = std::all_of(kept.begin(), kept.end(), prefix) &&
                        std::all_of(bounded.begin(), bounded.end(),
                                    [&](const Near& p) { return p.fifo && prefix(p); });
  const bool comes_last = bounded.size() == 1 && kept.size() == 1 && kept[0].is(bounded[0]) &&
                          !at(shape.ops, op).sequential;
  if (in_order || comes_last) return std::nullopt;
  return fmt::format(
      "{} may wait for one message while others have the slots of its link; counts do not say "
      "which have arrived. Slots without a bound, or `fifo` behind `sequential` ops, would help.",
      at(shape.ops, op).name);
}

std::optional<std::string> reason_at(const Shape& shape, int op, const Neighbourhood& stages) {
  const std::vector<Near> needed = producers(shape, {op, 0}, stages);
  std::vector<Near> kept;  // needed lanes that are not ancestors of other needed lanes
  for (const Near& p : needed) {
    const bool implied = std::any_of(needed.begin(), needed.end(), [&](const Near& other) {
      return !other.is(p) && is_ancestor(shape, p, other, stages);
    });
    if (!implied) kept.push_back(p);
  }
  if (auto reason = slots_reason(shape, op, needed, kept)) return reason;
  const auto overtakes = [&](const Near& p) { return !at(shape.ops, p.op).sequential; };
  const auto overtaking = std::find_if(kept.begin(), kept.end(), overtakes);
  if (overtaking == kept.end()) return std::nullopt;
  const std::string& name = at(shape.ops, op).name;
  if (at(shape.ops, op).sequential) {
    return fmt::format(
        "{} is sequential and {} is not, so microbatches may arrive in any order, which counts "
        "cannot follow; `sequential` there would help.",
        name, at(shape.ops, overtaking->op).name);
  }
  if (kept.size() < 2) return std::nullopt;
  return fmt::format(
      "{} joins {} and {}, which may run ahead of one another with different microbatches; counts "
      "cannot follow that. `sequential` on them would help.",
      name, at(shape.ops, kept[0].op).name, at(shape.ops, kept[1].op).name);
}

}  // namespace

std::optional<std::string> inexact_reason(const Shape& shape) {
  if (shape.in_order) return std::nullopt;  // each lane's microbatches run in order
  for (int op = 0; op < size_of(shape.ops); ++op) {
    for (const Neighbourhood stages : {Neighbourhood{0, 0}, {-1, 0}, {0, 1}, {-1, 1}}) {
      if (auto reason = reason_at(shape, op, stages)) return reason;
    }
  }
  return std::nullopt;
}

}  // namespace ripeline::verify::depth
