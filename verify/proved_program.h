// ProvedProgram: a program and what was proved about it. Only verify() makes such objects, so each
// one is evidence of a proof made in this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"
#include "verify/obligation.h"

namespace ripeline::verify {

struct Verdict;
struct VerifyOptions;

// One line of a generated file's banner.
struct ProvedObligation {
  ObligationKind kind = ObligationKind::deadlock;
  Method method = Method::none;
};

class ProvedProgram {
 public:
  [[nodiscard]] const spec::Program& program() const { return program_; }
  [[nodiscard]] const std::vector<ProvedObligation>& obligations() const { return obligations_; }
  [[nodiscard]] const std::vector<std::string>& assumptions() const { return assumptions_; }
  // The proved peak of each pool, for every microbatch count in range; nullopt if the peak grows
  // with the count.
  [[nodiscard]] const std::vector<std::optional<std::int64_t>>& peaks() const { return peaks_; }

 private:
  ProvedProgram() = default;
  friend Verdict verify(const spec::Program& program, const VerifyOptions& options);

  spec::Program program_;
  std::vector<ProvedObligation> obligations_;
  std::vector<std::string> assumptions_;
  std::vector<std::optional<std::int64_t>> peaks_;
};

}  // namespace ripeline::verify
