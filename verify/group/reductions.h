// Reductions: when what is proved of one replica of the pipeline holds of several.
//
// docs/proofs.md, Replicas, has the argument. Its conditions follow from how the program is
// written, so that a certificate needs no question for them. Plain values; the program must outlive
// it.
#pragma once

#include <optional>
#include <vector>

#include "spec/program.h"
#include "verify/group/conditions.h"

namespace ripeline::verify {

class Reductions {
 public:
  explicit Reductions(const spec::Program& program);

  // Without, replicas share nothing: they are as many programs.
  [[nodiscard]] bool any() const { return any_; }
  // Each replica keeps to its ranks' orders, which are the same.
  [[nodiscard]] bool in_order() const { return program_.dispatch.in_order; }
  // Why replicas could stick although one alone does not.
  [[nodiscard]] std::optional<Doubt> doubt() const;

 private:
  [[nodiscard]] std::optional<Doubt> doubt_of_order() const;
  [[nodiscard]] std::optional<Doubt> doubt_of_engine(int lane) const;
  [[nodiscard]] std::optional<Doubt> doubt_of_pools(int lane) const;
  [[nodiscard]] std::optional<Doubt> doubt_of_links(int lane) const;
  [[nodiscard]] std::optional<Doubt> doubt_of_members(int lane) const;

  const spec::Program& program_;
  bool any_ = false;
  std::vector<bool> waits_;  // per lane: it reduces, or needs what does
};

}  // namespace ripeline::verify
