// recheck: whether a certificate establishes what it claims.
//
// Steps, each of which may reject it:
//   manifest     it is a certificate, and says no more than it can
//   files        the folder has exactly the files that the manifest lists, with their hashes
//   program      program.ripe elaborates to the program whose hash the certificate gives; of every
//                number of ranks, those with few do
//   obligations  the questions are derived again from program and claims: the certificate has
//                exactly these, byte for byte
//   runs         spec::Machine makes the run of each refutation
//   graphs       recheck_graph.h confirms each order and cycle, and Machine runs in that order
//   states       of method `states`: Machine visits every state again
//   solver       another solver gives each question the answer that it must have
// The solver that the verifier used is not asked; docs/proofs.md says what is trusted. Reads no
// files and starts no processes itself. Throws only for want of memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "certificates/certificate.h"
#include "verify/solver/solver.h"
#include "verify/verify.h"

namespace ripeline::verify {

enum class RecheckResult : std::uint8_t {
  accepted,
  rejected,   // a step failed
  undecided,  // nothing is wrong, but it is not all established; among them verdict unknown
  no_input,   // this is no certificate
};
[[nodiscard]] std::string name_of(RecheckResult result);

struct RecheckStep {
  std::string name;
  RecheckResult result = RecheckResult::accepted;
  std::string where;   // the file, if it is about one
  std::string detail;  // a sentence: what was checked, or what is wrong
};

struct RecheckReport {
  RecheckResult result = RecheckResult::rejected;
  std::string program;
  std::string hash;
  Outcome verdict = Outcome::unknown;  // the claimed one
  std::optional<int> every_rank_from;  // claimed for every number of ranks from this up
  std::vector<RecheckStep> steps;      // up to the first that failed
};

// A solver's answer to a whole SMT-LIB file.
struct Reply {
  Answer answer = Answer::unknown;
  std::string detail;  // if unknown: why
};
// The replies to the texts, in their order.
using AskAll = std::function<std::vector<Reply>(const std::vector<std::string>& texts)>;

struct RecheckLimits {
  std::uint64_t states = 1'000'000;  // per count, for method `states`
};

[[nodiscard]] RecheckReport recheck(const Files& files, const AskAll& ask,
                                    const RecheckLimits& limits = {});

}  // namespace ripeline::verify
