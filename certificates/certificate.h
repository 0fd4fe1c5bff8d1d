// Certificate: a verdict as a set of files, with everything that others need to check the verdict.
//
//   certificate.json       the manifest: program, claims, their basis, a hash of each file
//   program.ripe           the program in the canonical layout
//   order.csv              a copy of the file from which the program reads its order or its hint
//   invariant.txt, .smt2   for proofs by counters: the facts that every reachable state satisfies
//   queries/*.smt2         each question of a proof, for any solver
//   graphs/*.txt           for a committed order, one graph per microbatch count: every edge, and a
//                          topological order or a cycle
//   runs/*.json            the run of each refutation
// docs/certificates.md explains each field. The files contain no dates and no paths. So the same
// verdict gives the same bytes on every machine that has the same version of the solver. Pure;
// throws only std::bad_alloc.
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

namespace ripeline::certificates {

// Maps a path relative to the certificate's folder, with `/` as separator, to the file's content.
using Files = std::map<std::string, std::string>;

inline constexpr const char* kManifest = "certificate.json";
inline constexpr const char* kProgramFile = "program.ripe";
inline constexpr const char* kOrderFile = "order.csv";

// `program` was compiled from `source` and `options`; `tool` is the version of this tool.
[[nodiscard]] Files certificate_of(const spec::Source& source,
                                   const spec::ElaborateOptions& options,
                                   const spec::Program& program, const verify::Verdict& verdict,
                                   const std::string& tool);
// A certificate for every number of ranks. Z3 answers each question again within `solver_steps`.
[[nodiscard]] Files certificate_of(const spec::Source& source, const spec::ast::Pipeline& tree,
                                   const spec::ElaborateOptions& options,
                                   const verify::DepthVerdict& depth, const std::string& tool,
                                   std::uint64_t solver_steps);

// --- shared with recheck ---

// The claim for every number of ranks.
struct EveryDepth {
  int least_ranks = 1;
  std::string answers{};                   // as in DepthEvidence
  std::vector<std::string> assumptions{};  // about the program with a few more ranks
};

// The fields of a manifest that cannot be derived from other fields.
struct Statement {
  spec::ElaborateOptions options;
  std::vector<Claim> claims;
  std::optional<EveryDepth> depth = {};
};

// Derives the files from the program and the claims, all except the manifest and the sources. The
// graphs have no witness lines yet, and the files of runs are empty.
[[nodiscard]] Files derived_files(const std::vector<Claim>& claims, const Evidence& evidence);
// The paths of the program's sources: program.ripe, and order.csv if the program reads a file.
[[nodiscard]] std::vector<std::string> source_paths(const spec::Program& program);
// The manifest for these files, without its field `unchecked`.
[[nodiscard]] nlohmann::json manifest_of(const Statement& statement, const spec::Program& program,
                                         const Evidence& evidence, const Files& files);
[[nodiscard]] verify::Outcome worst_of(const std::vector<Claim>& claims);
[[nodiscard]] std::string query_path(const Evidence& evidence, std::size_t question);
[[nodiscard]] std::string graph_path(int microbatches);
[[nodiscard]] std::string run_path(verify::ObligationKind obligation);

}  // namespace ripeline::certificates
