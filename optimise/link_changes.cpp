#include "optimise/link_changes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "optimise/tree_edits.h"

namespace ripeline::optimise {

using spec::Expr;

namespace {

constexpr int kSlotDoublings = 4;

class Links {
 public:
  Links(const ast::Pipeline& tree, const std::vector<spec::Span>& needs)
      : tree_(tree), needs_(needs) {}

  std::vector<CandidateChange> all() const {
    std::vector<CandidateChange> found;
    std::set<std::string> channels;
    std::vector<const ast::NeededOp*> handed_over;
    each_need(tree_, [&](const ast::Op& op, const ast::NeededOp& need) {
      if (!need.via || std::find(needs_.begin(), needs_.end(), need.span) == needs_.end()) return;
      const std::string& via = need.via->text;
      if (via == "rendezvous") {
        handed_over.push_back(&need);
        found.push_back(without_rendezvous({&need}));
        found.push_back(link(op, need, "slots", Expr::number(0), true));
      } else if (via == "slots" || via == "fifo") {
        if (!need.via_capacity) return;
        if (via == "slots") {
          found.push_back(link(op, need, "fifo", need.via_capacity, false));
        }
        found.push_back(link(op, need, via, need.via_capacity, true));
        found.push_back(link(op, need, "slots", std::nullopt, false));
      } else if (channels.insert(via).second) {
        found.push_back(larger_channel(via));
        found.push_back(private_slots(via));
      }
    });
    if (handed_over.size() > 1) found.push_back(without_rendezvous(handed_over));
    return found;
  }

 private:
  // Gives the messages of these needs slots of their own, so that their senders do not block.
  CandidateChange without_rendezvous(const std::vector<const ast::NeededOp*>& needs) const {
    Change change{"slots", "", needs.front()->span, {}};
    std::vector<spec::Span> spans;
    each_need(tree_, [&](const ast::Op& op, const ast::NeededOp& need) {
      if (std::find(needs.begin(), needs.end(), &need) == needs.end()) return;
      ast::NeededOp written = need;
      written.via.reset();
      change.text += fmt::format("{}`{}` in op {}", spans.empty() ? "" : " and ", text_of(written),
                                 op.name.text);
      spans.push_back(need.span);
    });
    change.text += ", without `via rendezvous`";
    change.apply = [spans](ast::Pipeline& tree) {
      each_need(tree, [&](const ast::Op&, ast::NeededOp& need) {
        if (std::find(spans.begin(), spans.end(), need.span) != spans.end()) need.via.reset();
      });
    };
    return {.change = [change](std::int64_t) { return change; }, .only_alone = needs.size() > 1};
  }

  // Changes the need's link to `via`, with `slots` or, if `grows`, with k more than `slots`.
  static CandidateChange link(const ast::Op& op, const ast::NeededOp& need, const std::string& via,
                              const std::optional<Expr>& slots, bool grows) {
    const auto change = [op = op.name.text, need, via, slots, grows](std::int64_t k) {
      ast::NeededOp written = need;
      written.via->text = via;
      written.via_capacity = slots;
      if (grows) written.via_capacity = plus(*slots, k);
      return Change{via, fmt::format("`{}` in op {}", text_of(written), op), need.span,
                    [written](ast::Pipeline& tree) {
                      each_need(tree, [&](const ast::Op&, ast::NeededOp& at) {
                        if (at.span == written.span) at = written;
                      });
                    }};
    };
    const std::string instead =
        grows || via == "slots" ? fmt::format("slots at {}", need.span.begin) : std::string();
    return {change, grows ? kSlotDoublings : 0, instead};
  }

  CandidateChange larger_channel(const std::string& name) const {
    const ast::Channel* channel = nullptr;
    each<ast::Channel>(tree_, [&](const ast::Channel& c) {
      if (c.name.text == name) channel = &c;
    });
    const auto change = [channel, name](std::int64_t k) {
      const Expr slots = plus(channel->slots, k);
      return Change{"slots", fmt::format("`slots {}` of channel {}", print(slots), name),
                    channel->name.span, [name, slots](ast::Pipeline& tree) {
                      each<ast::Channel>(tree, [&](ast::Channel& c) {
                        if (c.name.text == name) c.slots = slots;
                      });
                    }};
    };
    return {change, kSlotDoublings, {}};
  }

  CandidateChange private_slots(const std::string& channel) const {
    Change change{"slots", "", {}, {}};
    std::vector<std::string> ops;
    each_need(tree_, [&](const ast::Op& op, const ast::NeededOp& need) {
      if (!need.via || need.via->text != channel) return;
      if (ops.empty()) change.span = need.span;
      if (ops.empty() || ops.back() != op.name.text) ops.push_back(op.name.text);
    });
    change.text =
        fmt::format("`via slots` instead of `via {}` in op {}", channel, fmt::join(ops, " and "));
    change.apply = [channel](ast::Pipeline& tree) {
      each_need(tree, [&](const ast::Op&, ast::NeededOp& need) {
        if (need.via && need.via->text == channel) need.via->text = "slots";
      });
    };
    return {[change](std::int64_t) { return change; }, 0, {}};
  }

  const ast::Pipeline& tree_;
  const std::vector<spec::Span>& needs_;
};

}  // namespace

std::vector<CandidateChange> link_changes(const ast::Pipeline& tree,
                                          const std::vector<spec::Span>& needs) {
  return Links(tree, needs).all();
}

}  // namespace ripeline::optimise
