#include "verify/every_depth.h"

#include "verify/depth/depth.h"

namespace ripeline::verify {

spec::Result<DepthVerdict> verify_every_depth(const spec::ast::Pipeline& pipeline,
                                              const spec::Source& source,
                                              const spec::ElaborateOptions& options,
                                              const VerifyOptions& limits) {
  return judge_every_depth(pipeline, source, options, limits.solver_steps);
}

}  // namespace ripeline::verify
