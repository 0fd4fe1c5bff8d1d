#include "certificates/certificate.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "certificates/depth_evidence.h"
#include "certificates/order_graph.h"
#include "certificates/sha256.h"
#include "spec/indexing.h"
#include "spec/parse.h"
#include "spec/print.h"
#include "verify/judge/assumptions.h"
#include "verify/report.h"
#include "verify/solver/solver.h"
#include "verify/verdict.h"

namespace ripeline::certificates {

using Json = nlohmann::json;
using spec::Program;
using verify::Outcome;

namespace {

std::string range_text(const spec::MicrobatchRange& range) {
  if (!range.max) return fmt::format("{} ..", range.min);
  return fmt::format("{} .. {}", range.min, *range.max);
}

Json peak_json(const Program& program, const Claim& claim) {
  Json peak = Json::object();
  for (int p = 0; p < size_of(program.pools); ++p) {
    const auto& value = at(claim.peaks, p);
    peak[at(program.resources, at(program.pools, p).resource).name].push_back(
        value ? Json(*value) : Json(nullptr));
  }
  return peak;
}

Json claim_json(const Program& program, const Claim& claim) {
  Json json = {{"name", name_of(claim.obligation)},
               {"verdict", name_of(claim.outcome)},
               {"method", name_of(claim.method)}};
  if (!claim.counts.empty()) json["counts"] = claim.counts;
  if (!claim.peaks.empty()) json["peak"] = peak_json(program, claim);
  for (int p = 0; p < size_of(claim.by_states); ++p) {
    if (claim.by_states[static_cast<std::size_t>(p)]) json["peak_by_states"].push_back(p);
  }
  if (claim.outcome == Outcome::refuted) json["microbatches"] = claim.microbatches;
  return json;
}

// True if the claim has a run. A refuted `once` has none, since the order itself shows the fault.
bool has_run(const Claim& claim) {
  return claim.outcome == Outcome::refuted && claim.obligation != verify::ObligationKind::once;
}

std::string slug(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (word || c == '_') {
      text += c;
    } else if (!text.empty() && text.back() != '-') {
      text += '-';
    }
  }
  return text;
}

// Adds the sources: program.ripe from the tree and, if one of the program's orders is read from a
// file, a copy of that file as order.csv.
void add_sources(const spec::ast::Pipeline& tree, const spec::ElaborateOptions& options,
                 const Program& program, Files& files) {
  files[kProgramFile] = spec::print(spec::narrowed(tree, options));
  for (const spec::Order& order : program.orders) {
    if (order.rows.empty()) continue;
    const auto read = options.read_file(*order.file);
    files[kOrderFile] = read.ok() ? read.value() : "";
  }
}

void add_manifest(Json manifest, const verify::Verdict& verdict, const std::string& tool,
                  Files& files) {
  Json reasons = Json::object();
  for (const verify::Obligation& o : verdict.obligations) {
    if (!o.reason.empty()) reasons[name_of(o.kind)] = o.reason;
  }
  manifest["unchecked"] = {
      {"ripeline", tool}, {"solver", verdict.solver}, {"reasons", std::move(reasons)}};
  files[kManifest] = manifest.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A run in the JSON form of `verify --format json`, so that the same tools can replay the run.
std::string run_file(const Program& program, const Json& obligation) {
  const Json& run = obligation.at("counterexample");
  Json counterexample = {{"microbatches", run.at("microbatches")}, {"events", run.at("events")}};
  if (run.contains("members")) counterexample["members"] = run.at("members");
  const Json file = {
      {"schema", "ripeline.run/1"},
      {"hash", spec::hash_text(program.hash)},
      {"obligations",
       Json::array({{{"name", obligation.at("name")}, {"counterexample", counterexample}}})}};
  return file.dump(1) + "\n";
}

}  // namespace

Outcome worst_of(const std::vector<Claim>& claims) {
  Outcome worst = Outcome::proved;
  for (const Claim& c : claims) {
    if (c.outcome == Outcome::refuted) return Outcome::refuted;
    if (c.outcome == Outcome::unknown) worst = Outcome::unknown;
  }
  return worst;
}

std::string query_path(const Evidence& evidence, std::size_t question) {
  return fmt::format("queries/{:03}-{}.smt2", question + 1,
                     slug(evidence.questions[question].name));
}
std::string graph_path(int microbatches) {
  return fmt::format("graphs/microbatches-{}.txt", microbatches);
}
std::string run_path(verify::ObligationKind obligation) {
  return "runs/" + name_of(obligation) + ".json";
}

std::vector<std::string> source_paths(const Program& program) {
  std::vector<std::string> paths = {kProgramFile};
  const bool reads = std::any_of(program.orders.begin(), program.orders.end(),
                                 [](const spec::Order& order) { return !order.rows.empty(); });
  if (reads) paths.emplace_back(kOrderFile);
  return paths;
}

Files derived_files(const std::vector<Claim>& claims, const Evidence& evidence) {
  Files files;
  if (!evidence.invariant.empty()) {
    std::string& text = files["invariant.txt"];
    for (const std::string& fact : evidence.invariant) text += fact + "\n";
    files["invariant.smt2"] = evidence.invariant_smtlib;
  }
  for (std::size_t q = 0; q < evidence.questions.size(); ++q) {
    files[query_path(evidence, q)] = evidence.questions[q].smtlib;
  }
  for (const GraphEvidence& g : evidence.graphs) files[graph_path(g.microbatches)] = g.text;
  for (const Claim& c : claims) {
    if (has_run(c)) files[run_path(c.obligation)];
  }
  return files;
}

Json manifest_of(const Statement& statement, const Program& program, const Evidence& evidence,
                 const Files& files) {
  Json params = Json::object();
  for (const auto& [name, value] : program.params) params[name] = value;
  Json defines = Json::object();
  for (const auto& [name, value] : statement.options.defines) defines[name] = value;
  Json obligations = Json::array();
  for (const Claim& c : statement.claims) obligations.push_back(claim_json(program, c));
  Json queries = Json::array();
  for (std::size_t q = 0; q < evidence.questions.size(); ++q) {
    queries.push_back({{"file", query_path(evidence, q)},
                       {"name", evidence.questions[q].name},
                       {"expected", evidence.questions[q].satisfiable ? "sat" : "unsat"}});
  }
  Json graphs = Json::array();
  for (const GraphEvidence& g : evidence.graphs) {
    graphs.push_back({{"file", graph_path(g.microbatches)},
                      {"microbatches", g.microbatches},
                      {"once", g.once},
                      {"order", g.order},
                      {"cycle", g.cycle}});
  }
  Json states = Json::array();
  for (const Exploration& e : evidence.explorations) {
    states.push_back({{"obligation", name_of(e.obligation)},
                      {"microbatches", e.microbatches},
                      {"members", e.members}});
  }
  Json runs = Json::array();
  for (const Claim& c : statement.claims) {
    if (!has_run(c)) continue;
    runs.push_back({{"file", run_path(c.obligation)},
                    {"obligation", name_of(c.obligation)},
                    {"microbatches", c.microbatches}});
  }
  Json hashes = Json::object();
  for (const auto& [path, content] : files) {
    if (path != kManifest) hashes[path] = sha256(content);
  }
  Json depth;
  if (statement.depth) {
    depth = {{"least_ranks", statement.depth->least_ranks}, {"answers", statement.depth->answers}};
  }
  return {{"schema", "ripeline.certificate/1"},
          {"every_depth", std::move(depth)},
          {"program",
           {{"name", program.name},
            {"hash", spec::hash_text(program.hash)},
            {"files", source_paths(program)},
            {"defines", std::move(defines)},
            {"dispatch", statement.options.dispatch},
            {"params", std::move(params)},
            {"microbatches", range_text(program.microbatches)}}},
          {"verdict", name_of(worst_of(statement.claims))},
          {"obligations", std::move(obligations)},
          {"assumptions",
           statement.depth ? statement.depth->assumptions : verify::assumptions_of(program)},
          {"queries", std::move(queries)},
          {"graphs", std::move(graphs)},
          {"states", std::move(states)},
          {"runs", std::move(runs)},
          {"gaps", evidence.gaps},
          {"files", std::move(hashes)}};
}

Files certificate_of(const spec::Source& source, const spec::ElaborateOptions& options,
                     const Program& program, const verify::Verdict& verdict,
                     const std::string& tool) {
  const Statement statement{options, claims_of(program, verdict)};
  const Evidence evidence = evidence_for(program, statement.claims);
  Files files = derived_files(statement.claims, evidence);
  add_sources(spec::parse(source).value(), options, program, files);
  for (const GraphEvidence& g : evidence.graphs) {
    files[graph_path(g.microbatches)] += graph_witness(program, g.microbatches);
  }
  const Json report = report_json(program, source, verdict);
  for (std::size_t i = 0; i < verify::kObligationKinds.size(); ++i) {
    const std::string path = run_path(verify::kObligationKinds[i]);
    if (files.count(path) > 0) files[path] = run_file(program, report.at("obligations").at(i));
  }
  add_manifest(manifest_of(statement, program, evidence, files), verdict, tool, files);
  return files;
}

Files certificate_of(const spec::Source& source, const spec::ast::Pipeline& tree,
                     const spec::ElaborateOptions& options, const verify::DepthVerdict& depth,
                     const std::string& tool, std::uint64_t solver_steps) {
  Statement statement{options, claims_of(depth.sample, depth.verdict)};
  const auto evidence =
      depth_evidence(tree, source, options, [&](std::size_t, const std::string& smtlib) {
        return verify::solve(smtlib, solver_steps) == verify::Answer::unsat;
      });
  statement.depth = {depth.verdict.every_rank_from.value_or(1), evidence.value().answers,
                     depth.verdict.assumptions};
  const Evidence found = evidence_for(evidence.value(), statement.claims);
  Files files = derived_files(statement.claims, found);
  add_sources(tree, options, depth.sample, files);
  add_manifest(manifest_of(statement, depth.sample, found, files), depth.verdict, tool, files);
  return files;
}

}  // namespace ripeline::certificates
