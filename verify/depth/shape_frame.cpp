#include "verify/depth/shape_frame.h"

#include <fmt/format.h>

#include "spec/indexing.h"

namespace ripeline::verify::depth {

using spec::Expr;
namespace ast = spec::ast;

namespace {

// With more runs of stages, the questions are too large for the solver.
constexpr std::int64_t kMostChunks = 16;

}  // namespace

Expr times(std::int64_t factor, Expr expr) {
  return Expr::binary("*", Expr::number(factor), std::move(expr));
}

ShapeFrame::ShapeFrame(const ast::Pipeline& pipeline, const spec::ElaborateOptions& options,
                       const spec::Program& sample, const SolverUse& use, Shape& shape)
    : pipeline_(pipeline),
      options_(options),
      sample_(sample),
      shape_(shape),
      algebra_(sample.ranks, use) {
  read_params();
  read_stages();
  read_microbatches();
}

void ShapeFrame::fail(std::string reason, spec::Span span) {
  if (!problem_) problem_ = Problem{std::move(reason), span};
}
void ShapeFrame::not_handled(const std::string& construct, spec::Span span) {
  fail("`" + construct + "` is not handled for every number of ranks.", span);
}

void ShapeFrame::read_params() {
  for (const ast::Item& item : pipeline_.items) {
    const auto* param = std::get_if<ast::Param>(&item.value);
    if (param == nullptr) continue;
    const std::string& name = param->name.text;
    const auto define = options_.defines.find(name);
    if (name == "ranks") {
      params_[name] = Expr::name("ranks");
    } else if (define != options_.defines.end()) {
      params_[name] = Expr::number(define->second);
    } else {
      params_[name] = algebra_.normal(param->value, params_);
    }
  }
}

Meaning ShapeFrame::at_chunk(int chunk) const {
  Meaning names = at_rank();
  const Expr ranks = Expr::name("ranks");
  const Expr r = Expr::name("r");
  names["s"] =
      at(shape_.runs, chunk) == Direction::up
          ? Expr::binary("+", times(chunk, ranks), r)
          : Expr::binary("-", times(chunk + 1, ranks), Expr::binary("+", Expr::number(1), r));
  names["chunk"] = Expr::number(chunk);
  return names;
}
Meaning ShapeFrame::at_rank() const {
  Meaning names = params_;
  names["stages"] = times(shape_.chunks, Expr::name("ranks"));
  names["chunks"] = Expr::number(shape_.chunks);
  return names;
}

Expr ShapeFrame::linear(const Expr& expr, const Meaning& names) {
  Expr normal = algebra_.normal(expr, names);
  if (!algebra_.term(normal)) fail(algebra_.problem(normal) + ".", expr.span);
  return normal;
}

void ShapeFrame::read_stages() {
  const ast::Place* place = nullptr;
  for (const ast::Item& item : pipeline_.items) {
    if (const auto* stages = std::get_if<ast::Stages>(&item.value)) {
      count_stages(*stages, item.span);
    } else if (const auto* node = std::get_if<ast::Place>(&item.value)) {
      place = node;
    }
  }
  if (problem_ || place == nullptr) return;
  for (int chunk = 0; chunk < shape_.chunks; ++chunk) {
    shape_.runs.push_back(Direction::up);
    if (is_placed_on(*place, chunk, Expr::name("r"))) continue;
    shape_.runs.back() = Direction::down;
    if (is_placed_on(*place, chunk, Expr::name("r"))) continue;
    fail(fmt::format("The placement `{}` does not run up or down all ranks with the stages "
                     "{} * ranks and on, as a chain, a loop or a V does.",
                     print(place->rank), chunk),
         place->rank.span);
    return;
  }
}

bool ShapeFrame::is_placed_on(const ast::Place& place, int chunk, const Expr& rank) {
  return algebra_.always_equal(algebra_.normal(place.rank, at_chunk(chunk)), rank);
}

void ShapeFrame::count_stages(const ast::Stages& stages, spec::Span span) {
  if (stages.groups.size() != 1) return not_handled("stages in groups", span);
  const Expr count = algebra_.normal(stages.groups.front().count, params_);
  const std::int64_t chunks = size_of(sample_.stages) / sample_.ranks;
  if (!algebra_.always_equal(count, times(chunks, Expr::name("ranks")))) {
    return fail(fmt::format("The number of stages `{}` is not a fixed multiple of the number of "
                            "ranks.",
                            print(stages.groups.front().count)),
                stages.groups.front().count.span);
  }
  if (chunks > kMostChunks) {
    return fail(fmt::format("More than {} stages per rank are not handled for every number of "
                            "ranks.",
                            kMostChunks),
                stages.groups.front().count.span);
  }
  shape_.chunks = static_cast<int>(chunks);
}

void ShapeFrame::read_microbatches() {
  const auto define = options_.defines.find("microbatches");
  std::optional<std::int64_t> narrowed;
  if (define != options_.defines.end()) narrowed = define->second;
  for (const ast::Item& item : pipeline_.items) {
    const auto* range = std::get_if<ast::Microbatches>(&item.value);
    if (range == nullptr) continue;
    if (!range->any) {
      shape_.least_microbatches = linear(range->range.first, params_);
      shape_.most_microbatches = linear(range->range.last, params_);
      if (range->range.exclusive) {
        shape_.most_microbatches = Expr::binary("-", *shape_.most_microbatches, Expr::number(1));
      }
      check_range(narrowed, item.span);
    }
  }
  if (!narrowed) return;
  shape_.least_microbatches = Expr::number(*narrowed);
  shape_.most_microbatches = shape_.least_microbatches;
}

void ShapeFrame::check_range(const std::optional<std::int64_t>& narrowed, spec::Span span) {
  if (problem_) return;
  const Expr& least = shape_.least_microbatches;
  const Expr& most = *shape_.most_microbatches;
  bool good = algebra_.always_at_least(least, 1) &&
              algebra_.always_at_least(Expr::binary("-", most, least), 0);
  if (narrowed) {  // the narrowed count must be in the range at every depth
    const Expr count = Expr::number(*narrowed);
    good = good && algebra_.always_at_least(Expr::binary("-", count, least), 0) &&
           algebra_.always_at_least(Expr::binary("-", most, count), 0);
  }
  if (!good) fail("The range of microbatches is not one for every number of ranks.", span);
}

}  // namespace ripeline::verify::depth
