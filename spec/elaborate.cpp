// The steps from a tree to a Program, in order.
#include "spec/elaborate.h"

#include <algorithm>
#include <utility>

#include "spec/elaborate/collect.h"
#include "spec/elaborate/csv.h"
#include "spec/elaborate/names.h"
#include "spec/elaborate/ops.h"
#include "spec/elaborate/orders.h"
#include "spec/elaborate/params.h"
#include "spec/elaborate/pools.h"
#include "spec/elaborate/stages.h"
#include "spec/elaborate/work.h"
#include "spec/parse.h"

namespace ripeline::spec {

Result<Program> elaborate(const ast::Pipeline& pipeline, const Source& source,
                          const ElaborateOptions& options) {
  using namespace elaboration;
  Work work{.pipeline = pipeline, .source = source, .options = options};
  Program& program = work.program;
  program.name = pipeline.name.text;
  program.source_name = source.name;
  // These three continue after errors, so that one run finds all errors about names.
  collect(work);
  evaluate_params(work);
  check_names(work);
  // Each of these steps requires that all earlier steps have succeeded.
  for (const auto step :
       {place_stages, make_lanes, make_pools, make_orders, make_hints, read_orders}) {
    if (work.failed()) return work.errors;
    step(work);
  }
  make_assertions(work);
  if (work.failed()) return work.errors;
  std::stable_sort(
      program.unsupported.begin(), program.unsupported.end(),
      [](const Unsupported& a, const Unsupported& b) { return a.span.begin < b.span.begin; });
  const MicrobatchRange narrowed = program.microbatches;
  const bool narrowed_by_define = options.defines.contains("microbatches");
  if (options.keeps_hash && !narrowed_by_define) program.microbatches = work.written_range;
  program.hash = hash_of(program);
  program.microbatches = narrowed;
  return std::move(program);
}

ast::Pipeline narrowed(ast::Pipeline pipeline, const ElaborateOptions& options) {
  if (!options.microbatches || options.keeps_hash) return pipeline;
  for (ast::Item& item : pipeline.items) {
    if (auto* written = std::get_if<ast::Microbatches>(&item.value)) {
      *written = {.any = false,
                  .range = {Expr::number(options.microbatches->first),
                            Expr::number(options.microbatches->last)}};
    }
  }
  return pipeline;
}

Result<Program> compile(const Source& source, const ElaborateOptions& options) {
  const Result<ast::Pipeline> pipeline = parse(source);
  if (!pipeline.ok()) return pipeline.errors();
  return elaborate(pipeline.value(), source, options);
}

}  // namespace ripeline::spec
