// recheck: checks that a certificate establishes its claims.
//
// Steps, each of which may reject the certificate:
//   manifest     the file is a manifest, and claims nothing that certificates cannot express
//   files        the folder has exactly the files that the manifest lists, with their hashes
//   program      program.ripe elaborates to the program whose hash the certificate gives; for every
//                number of ranks, this is checked for the programs with few ranks
//   obligations  the questions are derived again from program and claims: the certificate has
//                exactly these, byte for byte
//   runs         spec::Machine makes the run of each refutation
//   graphs       recheck_graph.h confirms each order and cycle, and Machine runs in that order
//   states       for method `states`: Machine visits every state again
//   solver       another solver gives each question the answer that it must have
// The verifier's solver is not used; docs/proofs.md lists the trusted parts. recheck() reads no
// files and starts no processes itself. Throws only std::bad_alloc.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "certificates/certificate.h"
#include "verify/solver/solver.h"
#include "verify/verify.h"

namespace ripeline::certificates {

enum class RecheckResult : std::uint8_t {
  accepted,
  rejected,   // a step failed
  undecided,  // nothing is wrong, but some claim is not established, as if it were unknown
  no_input,   // the input is no certificate
};
[[nodiscard]] std::string name_of(RecheckResult result);

struct RecheckStep {
  std::string name;
  RecheckResult result = RecheckResult::accepted;
  std::string where;   // the file to which the step applies, if any
  std::string detail;  // a sentence about what was checked, or what is wrong
};

struct RecheckReport {
  RecheckResult result = RecheckResult::rejected;
  std::string program;
  std::string hash;
  verify::Outcome verdict = verify::Outcome::unknown;  // the claimed verdict
  std::optional<int> every_rank_from;  // the claim is for all numbers of ranks from this up
  std::vector<RecheckStep> steps;      // up to the first step that failed
};

// A solver's answer to a whole SMT-LIB file.
struct Reply {
  verify::Answer answer = verify::Answer::unknown;
  std::string detail;  // the reason if unknown
};
// The replies to the texts, in their order.
using AskAll = std::function<std::vector<Reply>(const std::vector<std::string>& texts)>;

struct RecheckLimits {
  std::uint64_t states = 1'000'000;  // per count, for method `states`
};

[[nodiscard]] RecheckReport recheck(const Files& files, const AskAll& ask,
                                    const RecheckLimits& limits = {});

}  // namespace ripeline::certificates
