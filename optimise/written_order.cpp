// The external interface is with_orders(), with_order() and name_of_order(). A rank's row is
// written as repeats, which are groups of tasks with a count. From the row's beginning on, each
// next group is the one whose repetition shortens the text by the most tasks.
#include "optimise/written_order.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "spec/parse.h"
#include "spec/print.h"

namespace ripeline::optimise {
namespace {

namespace ast = spec::ast;

constexpr std::size_t kLongestGroup = 16;  // tasks
constexpr int kMostCount = 1'000'000;      // the most microbatches of a program for every count

std::string lane_text(const spec::Program& program, int l) {
  const spec::Lane& lane = at(program.lanes, l);
  const std::string& name = at(program.ops, lane.op).name;
  return program.chunks(lane.rank) == 1 ? name : fmt::format("{}@{}", name, lane.chunk);
}

// A group of lanes, repeated `count` times.
struct Repeat {
  std::vector<int> lanes;
  std::size_t count = 1;
};

// The repeats of a row, as in `F * 3;  (I W F) * 12;`.
std::vector<Repeat> repeats_of(const std::vector<int>& row) {
  std::vector<Repeat> repeats;
  const auto place = [&](std::size_t i) { return row.begin() + static_cast<std::ptrdiff_t>(i); };
  for (std::size_t at = 0; at < row.size();) {
    std::size_t length = 1;
    std::size_t count = 1;
    for (std::size_t group = 1; group <= kLongestGroup && at + group <= row.size(); ++group) {
      const auto same = [&](std::size_t turn) {
        return at + (turn + 1) * group <= row.size() &&
               std::equal(place(at), place(at + group), place(at + turn * group));
      };
      std::size_t turns = 1;
      while (same(turns)) ++turns;
      const std::size_t saved = (turns - 1) * group;
      if (saved > (count - 1) * length) {
        length = group;
        count = turns;
      }
    }
    repeats.push_back({{place(at), place(at + length)}, count});
    at += length * count;
  }
  return repeats;
}

// Among the repeats that run one task of each lane of the machine per turn, the one with the most
// turns. With more microbatches, only its number of turns grows. nullptr if there is none.
const Repeat* steady_part(const std::vector<Repeat>& repeats, const Model::Machine& machine) {
  const Repeat* longest = nullptr;
  std::vector<int> all = machine.lanes;
  std::sort(all.begin(), all.end());
  for (const Repeat& repeat : repeats) {
    std::vector<int> lanes = repeat.lanes;
    std::sort(lanes.begin(), lanes.end());
    if (lanes != all || (longest != nullptr && longest->count >= repeat.count)) continue;
    longest = &repeat;
  }
  return longest;
}

struct OrderText {
  std::string text;
  int least = 1;             // the fewest microbatches, if it is for every count
  std::string missing = {};  // why it cannot be for every count; else empty
};

// Writes the order. A rank's engines are written one after the other, each with its own tasks.
OrderText order_text(const spec::Program& program, const Model& model, const NamedOrder& order,
                     const StepCount& count) {
  OrderText made{fmt::format("order {} on r {{", order.name)};
  for (int rank = 0; rank < program.ranks; ++rank) {
    std::string part;
    for (int m = 0; m < size_of(model.machines); ++m) {
      const Model::Machine& machine = at(model.machines, m);
      if (machine.rank != rank) continue;
      const std::vector<Repeat> repeats = repeats_of(at(order.rows, m));
      const Repeat* const steady = count.every ? steady_part(repeats, machine) : nullptr;
      if (count.every && steady == nullptr) {
        made.missing = fmt::format("no part of rank {} repeats with one microbatch a turn", rank);
      }
      for (const Repeat& repeat : repeats) {
        std::string steps;
        for (const int l : repeat.lanes) {
          steps += (steps.empty() ? "" : " ") + lane_text(program, l);
        }
        if (repeat.lanes.size() > 1) steps = "(" + steps + ")";
        const int others = count.microbatches - static_cast<int>(repeat.count);
        if (&repeat == steady) {
          made.least = std::max(made.least, others);
          part += fmt::format(
              "{} * {}; ", steps,
              others == 0 ? "microbatches" : fmt::format("(microbatches - {})", others));
        } else {
          part += steps + (repeat.count > 1 ? fmt::format(" * {}; ", repeat.count) : "; ");
        }
      }
    }
    if (!part.empty()) made.text += fmt::format(" rank {} {{ {} }}", rank, part);
  }
  made.text += " }";
  return made;
}

// Sets a param to its value, and the microbatches to the range from `first` to `last`.
void settle(ast::Item& item, const spec::Program& program, int first, int last) {
  if (auto* const param = std::get_if<ast::Param>(&item.value)) {
    for (const auto& [name, value] : program.params) {
      if (name == param->name.text) param->value = spec::Expr::number(value);
    }
  }
  if (auto* const count = std::get_if<ast::Microbatches>(&item.value)) {
    *count = {.any = false,
              .range = {.first = spec::Expr::number(first), .last = spec::Expr::number(last)}};
  }
}

// Whether the item is an order from a file that no hint follows, so that only the dispatch uses it.
bool is_unused_file(const ast::Item& item, const spec::Program& program) {
  const auto* const order = std::get_if<ast::Order>(&item.value);
  if (order == nullptr || !order->csv) return false;
  return std::none_of(program.hints.begin(), program.hints.end(), [&](const spec::Hint& hint) {
    return hint.order >= 0 && at(program.orders, hint.order).name == order->name.text;
  });
}

}  // namespace

std::string name_of_order(const spec::Program& program, const std::string& wish) {
  const auto is_free = [&](const std::string& name) {
    const auto same = [&](const auto& other) { return other.name == name; };
    return std::none_of(program.orders.begin(), program.orders.end(), same) &&
           std::none_of(program.hints.begin(), program.hints.end(), same);
  };
  std::string name = wish;
  for (int i = 2; !is_free(name); ++i) name = fmt::format("{}_{}", wish, i);
  return name;
}

spec::Result<std::string> with_orders(const spec::Source& source, const spec::Program& program,
                                      const StepCount& count, const Model& model,
                                      const std::vector<NamedOrder>& orders,
                                      const std::string& more,
                                      const std::vector<std::string>& comments) {
  auto tree = spec::parse(source);
  if (!tree.ok()) return tree.errors();
  ast::Pipeline pipeline = std::move(tree).value();
  std::string items;
  int least = 1;
  for (const NamedOrder& order : orders) {
    const OrderText made = order_text(program, model, order, count);
    if (!made.missing.empty()) return spec::failure(made.missing);
    least = std::max(least, made.least);
    items += made.text + "\n\n";
  }
  for (ast::Item& item : pipeline.items) {
    settle(item, program, count.every ? least : count.microbatches,
           count.every ? kMostCount : count.microbatches);
  }
  // The added items' spans are beyond the end of the source, so the source's comments do not move.
  const auto added =
      spec::parse({source.name, std::string(source.text.size(), '\n') +
                                    fmt::format("pipeline x {{\n\n{}{} }}", items, more)});
  if (!added.ok()) return added.errors();
  const std::vector<ast::Item>& found = added.value().items;
  // A program has at most one `inputs` item, so a new item replaces the old one.
  const bool inputs = std::any_of(found.begin(), found.end(), [](const ast::Item& item) {
    return std::holds_alternative<ast::Inputs>(item.value);
  });
  std::erase_if(pipeline.items, [&](const ast::Item& item) {
    return std::holds_alternative<ast::Dispatch>(item.value) || is_unused_file(item, program) ||
           (inputs && std::holds_alternative<ast::Inputs>(item.value));
  });
  pipeline.items.insert(pipeline.items.end(), found.begin(), found.end());
  std::string text;
  for (const std::string& comment : comments) text += "# " + comment + "\n";
  return text + spec::print(pipeline);
}

spec::Result<std::string> with_order(const spec::Source& source, const spec::Program& program,
                                     const StepCount& count, const Model& model, const Rows& rows,
                                     const std::vector<std::string>& comments) {
  const std::string name = name_of_order(program);
  return with_orders(source, program, count, model, {{name, rows}},
                     fmt::format("dispatch in order {};", name), comments);
}

}  // namespace ripeline::optimise
