// The external interface is with_orders(), with_order() and name_of_order(). A rank's row is
// written as repeats: from its beginning on, whatever group of tasks saves the most by standing
// there once with a count.
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

std::string lane_text(const spec::Program& program, int l) {
  const spec::Lane& lane = at(program.lanes, l);
  const std::string& name = at(program.ops, lane.op).name;
  return program.chunks(lane.rank) == 1 ? name : fmt::format("{}@{}", name, lane.chunk);
}

// `F * 3;  (I W F) * 12;` of the lanes.
std::string repeats_text(const std::vector<std::string>& lanes) {
  std::string text;
  for (std::size_t at = 0; at < lanes.size();) {
    std::size_t length = 1;
    std::size_t count = 1;
    for (std::size_t group = 1; group <= kLongestGroup && at + group <= lanes.size(); ++group) {
      const auto same = [&](std::size_t turn) {
        return at + (turn + 1) * group <= lanes.size() &&
               std::equal(lanes.begin() + static_cast<std::ptrdiff_t>(at),
                          lanes.begin() + static_cast<std::ptrdiff_t>(at + group),
                          lanes.begin() + static_cast<std::ptrdiff_t>(at + turn * group));
      };
      std::size_t turns = 1;
      while (same(turns)) ++turns;
      const std::size_t saved = (turns - 1) * group;
      if (saved > (count - 1) * length) {
        length = group;
        count = turns;
      }
    }
    std::string steps;
    for (std::size_t i = at; i < at + length; ++i) steps += (i > at ? " " : "") + lanes[i];
    if (length > 1) steps = "(" + steps + ")";
    text += steps + (count > 1 ? fmt::format(" * {}; ", count) : "; ");
    at += length * count;
  }
  return text;
}

// The engines of a rank one after the other: each takes what is its own.
std::string order_text(const spec::Program& program, const Model& model, const Rows& rows,
                       const std::string& name) {
  std::string text = fmt::format("order {} on r {{", name);
  for (int rank = 0; rank < program.ranks; ++rank) {
    std::string repeats;
    for (int m = 0; m < size_of(model.machines); ++m) {
      if (at(model.machines, m).rank != rank) continue;
      std::vector<std::string> lanes;
      for (const int lane : at(rows, m)) lanes.push_back(lane_text(program, lane));
      repeats += repeats_text(lanes);
    }
    if (!repeats.empty()) text += fmt::format(" rank {} {{ {} }}", rank, repeats);
  }
  return text + " }";
}

// Params get their values, and one count of microbatches is left.
void settle(ast::Item& item, const spec::Program& program, int microbatches) {
  if (auto* const param = std::get_if<ast::Param>(&item.value)) {
    for (const auto& [name, value] : program.params) {
      if (name == param->name.text) param->value = spec::Expr::number(value);
    }
  }
  if (auto* const count = std::get_if<ast::Microbatches>(&item.value)) {
    const spec::Expr number = spec::Expr::number(microbatches);
    *count = {.any = false, .range = {.first = number, .last = number}};
  }
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
                                      int microbatches, const Model& model,
                                      const std::vector<NamedOrder>& orders,
                                      const std::string& more,
                                      const std::vector<std::string>& comments) {
  auto tree = spec::parse(source);
  if (!tree.ok()) return tree.errors();
  ast::Pipeline pipeline = std::move(tree).value();
  for (ast::Item& item : pipeline.items) settle(item, program, microbatches);
  // Behind all of the source, so that its comments stay where they are.
  std::string items;
  for (const NamedOrder& order : orders) {
    items += order_text(program, model, order.rows, order.name) + "\n\n";
  }
  const auto added =
      spec::parse({source.name, std::string(source.text.size(), '\n') +
                                    fmt::format("pipeline x {{\n\n{}{} }}", items, more)});
  if (!added.ok()) return added.errors();
  const std::vector<ast::Item>& found = added.value().items;
  // What there may be one of.
  const bool inputs = std::any_of(found.begin(), found.end(), [](const ast::Item& item) {
    return std::holds_alternative<ast::Inputs>(item.value);
  });
  std::erase_if(pipeline.items, [&](const ast::Item& item) {
    return std::holds_alternative<ast::Dispatch>(item.value) ||
           (inputs && std::holds_alternative<ast::Inputs>(item.value));
  });
  pipeline.items.insert(pipeline.items.end(), found.begin(), found.end());
  std::string text;
  for (const std::string& comment : comments) text += "# " + comment + "\n";
  return text + spec::print(pipeline);
}

spec::Result<std::string> with_order(const spec::Source& source, const spec::Program& program,
                                     int microbatches, const Model& model, const Rows& rows,
                                     const std::vector<std::string>& comments) {
  const std::string name = name_of_order(program);
  return with_orders(source, program, microbatches, model, {{name, rows}},
                     fmt::format("dispatch in order {};", name), comments);
}

}  // namespace ripeline::optimise
