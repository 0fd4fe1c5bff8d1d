// Certificate: a verdict with what others need to check it, as files.
//
//   certificate.json       the manifest: program, claims, what they rest on, a hash of each file
//   program.ripe           the program in the canonical layout
//   order.csv              the bytes of the file that its order or its hint is read from
//   invariant.txt, .smt2   of proofs by counters: what each state that is reached satisfies
//   queries/*.smt2         each question of a proof, for any solver
//   graphs/*.txt           of committed orders, count by count: every edge and a topological order,
//                          or a cycle
//   runs/*.json            the run of each refutation
// docs/certificates.md says what each field means. No dates and no paths: the same verdict gives
// the same bytes on every machine, but for the solver's version. Pure; throws only for want of
// memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "certificates/evidence.h"
#include "spec/ast.h"
#include "spec/diagnostics.h"
#include "spec/elaborate.h"
#include "spec/program.h"
#include "verify/every_depth.h"
#include "verify/verify.h"

namespace ripeline::verify {

// Path in the certificate's folder, with `/`, to content.
using Files = std::map<std::string, std::string>;

inline constexpr const char* kManifest = "certificate.json";
inline constexpr const char* kProgramFile = "program.ripe";
inline constexpr const char* kOrderFile = "order.csv";

// `source` and `options` are what `program` was compiled from, `tool` is this program's version.
[[nodiscard]] Files certificate_of(const spec::Source& source,
                                   const spec::ElaborateOptions& options,
                                   const spec::Program& program, const Verdict& verdict,
                                   const std::string& tool);
// For every number of ranks. Asks Z3 the questions once more, as they are written.
[[nodiscard]] Files certificate_of(const spec::Source& source, const spec::ast::Pipeline& tree,
                                   const spec::ElaborateOptions& options, const DepthVerdict& depth,
                                   const std::string& tool, std::uint64_t solver_steps);

// --- what recheck shares ---

// The claim about every number of ranks.
struct EveryDepth {
  int least_ranks = 1;
  std::string answers{};                   // see DepthEvidence
  std::vector<std::string> assumptions{};  // about the program with a few more ranks
};

// The part of a manifest that cannot be derived.
struct Statement {
  spec::ElaborateOptions options;
  std::vector<Claim> claims;
  std::optional<EveryDepth> depth = {};
};

// The files that follow from program and claims: all but the manifest and what the program is made
// from. Graphs lack their witness, and runs are empty.
[[nodiscard]] Files derived_files(const std::vector<Claim>& claims, const Evidence& evidence);
// program.ripe, and order.csv if it reads a file.
[[nodiscard]] std::vector<std::string> source_paths(const spec::Program& program);
// The manifest that goes with these files, but for its field `unchecked`.
[[nodiscard]] nlohmann::json manifest_of(const Statement& statement, const spec::Program& program,
                                         const Evidence& evidence, const Files& files);
[[nodiscard]] Outcome worst_of(const std::vector<Claim>& claims);
[[nodiscard]] std::string query_path(const Evidence& evidence, std::size_t question);
[[nodiscard]] std::string graph_path(int microbatches);
[[nodiscard]] std::string run_path(ObligationKind obligation);

}  // namespace ripeline::verify
