// Reductions: when a proof for one replica of the pipeline holds for several replicas.
//
// docs/proofs.md, Replicas, has the argument. Its conditions concern only how the program is
// written, so that a certificate needs no question for them. Plain values, which the program must
// outlive.
#pragma once

#include <optional>
#include <vector>

#include "spec/program.h"
#include "verify/group/conditions.h"

namespace ripeline::verify {

class Reductions {
 public:
  explicit Reductions(const spec::Program& program);

  // True if some task reduces. If none does, replicas are independent programs.
  [[nodiscard]] bool any() const { return any_; }
  // True if each replica keeps to its ranks' orders, which are the same for all replicas.
  [[nodiscard]] bool in_order() const { return program_.dispatch.in_order; }
  // Why replicas could stick although one replica alone does not; nullopt if they cannot.
  [[nodiscard]] std::optional<Doubt> doubt() const;

 private:
  [[nodiscard]] std::optional<Doubt> doubt_of_order() const;
  [[nodiscard]] std::optional<Doubt> doubt_of_engine(int lane) const;
  [[nodiscard]] std::optional<Doubt> doubt_of_pools(int lane) const;
  [[nodiscard]] std::optional<Doubt> doubt_of_links(int lane) const;
  [[nodiscard]] std::optional<Doubt> doubt_of_members(int lane) const;

  const spec::Program& program_;
  bool any_ = false;
  std::vector<bool> waits_;  // per lane: true if it reduces, or needs a task that waits
};

}  // namespace ripeline::verify
