#include "certificates/recheck.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "certificates/depth_evidence.h"
#include "certificates/recheck_graph.h"
#include "certificates/recheck_replay.h"
#include "certificates/sha256.h"
#include "core/vocabulary/plural.h"
#include "spec/indexing.h"
#include "spec/parse.h"
#include "spec/print.h"
#include "verify/report.h"
#include "verify/solver/solver.h"
#include "verify/verdict.h"

namespace ripeline::certificates {

using Json = nlohmann::json;
using spec::Program;
using verify::Answer;
using verify::Outcome;

namespace {

std::optional<Outcome> outcome_of(const std::string& name) {
  for (const Outcome o : {Outcome::proved, Outcome::refuted, Outcome::unknown}) {
    if (name == name_of(o)) return o;
  }
  return std::nullopt;
}

const char* word(Answer answer) {
  return answer == Answer::sat ? "sat" : answer == Answer::unsat ? "unsat" : "unknown";
}

// The path of the first difference for people: "queries 3 expected" for "/queries/3/expected".
std::string first_difference(const Json& given, const Json& derived) {
  const Json patch = Json::diff(given, derived);
  if (patch.empty()) return {};
  std::string path = patch.front().at("path").get<std::string>();
  std::replace(path.begin(), path.end(), '/', ' ');
  return path.substr(1);
}

// The index of memory among the obligations.
constexpr auto kMemory = static_cast<std::size_t>(verify::ObligationKind::memory);

class Recheck {
 public:
  Recheck(const Files& files, const AskAll& ask, const RecheckLimits& limits)
      : files_(files), ask_(ask), limits_(limits) {}

  RecheckReport run() {
    using Step = void (Recheck::*)();
    constexpr std::pair<const char*, Step> kSteps[] = {
        {"manifest", &Recheck::manifest}, {"files", &Recheck::hashes},
        {"program", &Recheck::program},   {"obligations", &Recheck::obligations},
        {"runs", &Recheck::runs},         {"graphs", &Recheck::graphs},
        {"states", &Recheck::states},     {"solver", &Recheck::solver},
    };
    report_.result = RecheckResult::accepted;
    for (const auto& [name, step] : kSteps) {
      report_.steps.push_back({name, RecheckResult::accepted, {}, {}});
      (this->*step)();
      const RecheckResult result = report_.steps.back().result;
      if (result == RecheckResult::undecided) report_.result = result;
      if (result == RecheckResult::rejected || result == RecheckResult::no_input) {
        report_.result = result;
        break;
      }
    }
    if (report_.result == RecheckResult::accepted && report_.verdict == Outcome::unknown) {
      report_.result = RecheckResult::undecided;
    }
    return std::move(report_);
  }

 private:
  void conclude(RecheckResult result, const std::string& where, const std::string& detail) {
    RecheckStep& step = report_.steps.back();
    step.result = result;
    step.where = where;
    step.detail = detail;
  }
  void reject(const std::string& where, const std::string& detail) {
    conclude(RecheckResult::rejected, where, detail);
  }
  void checked(const std::string& detail) { report_.steps.back().detail = detail; }

  void manifest() {
    const auto file = files_.find(kManifest);
    if (file == files_.end()) {
      return conclude(RecheckResult::no_input, kManifest,
                      "there is no such file: this is no certificate");
    }
    try {
      given_ = Json::parse(file->second);
      if (given_.at("schema") != "ripeline.certificate/1") {
        return conclude(RecheckResult::no_input, kManifest, "its schema is another one");
      }
      read_manifest();
    } catch (const Json::exception&) {
      return reject(kManifest, "it is not such an object");
    }
  }

  void read_manifest() {
    const Json& program = given_.at("program");
    report_.program = program.at("name").get<std::string>();
    report_.hash = program.at("hash").get<std::string>();
    statement_.options.dispatch = program.at("dispatch").get<std::string>();
    for (const auto& [name, value] : program.at("defines").items()) {
      if (!value.is_number_integer()) return reject(kManifest, "a param is no integer");
      statement_.options.defines[name] = value.get<std::int64_t>();
    }
    const Json& obligations = given_.at("obligations");
    if (obligations.size() != verify::kObligationKinds.size()) {
      return reject(kManifest, "it does not list the five obligations");
    }
    for (std::size_t i = 0; i < obligations.size(); ++i) {
      const Json& o = obligations.at(i);
      const auto outcome = outcome_of(o.at("verdict").get<std::string>());
      if (o.at("name") != name_of(verify::kObligationKinds[i]) || !outcome) {
        return reject(kManifest, "it does not list the five obligations");
      }
      Claim claim{.obligation = verify::kObligationKinds[i], .outcome = *outcome};
      const auto name = o.at("method").get<std::string>();
      const auto method = verify::method_named(name);
      if (!method) {
        unknown_method_ = fmt::format("`{}` by `{}`, and no method has this name",
                                      name_of(claim.obligation), name);
      }
      claim.method = method.value_or(verify::Method::none);
      if (o.contains("counts")) claim.counts = o.at("counts").get<std::vector<int>>();
      if (*outcome == Outcome::refuted) claim.microbatches = o.at("microbatches").get<int>();
      statement_.claims.push_back(std::move(claim));
    }
    if (const Json& depth = given_.at("every_depth"); !depth.is_null()) {
      statement_.depth = {
          depth.at("least_ranks").get<int>(), depth.at("answers").get<std::string>(), {}};
      report_.every_rank_from = statement_.depth->least_ranks;
      if (statement_.options.defines.count("ranks") > 0) {
        return reject(kManifest, "it is of every number of ranks and sets `ranks`");
      }
    }
    report_.verdict = worst_of(statement_.claims);
    checked(fmt::format("claims {}", name_of(report_.verdict)));
  }

  void hashes() {
    const Json& listed = given_.contains("files") ? given_.at("files") : Json();
    if (!listed.is_object()) return reject(kManifest, "it lists no files");
    for (const auto& [path, hash] : listed.items()) {
      const auto file = files_.find(path);
      if (file == files_.end()) return reject(path, "the file is missing");
      if (hash != sha256(file->second)) return reject(path, "its hash is another one");
    }
    for (const auto& [path, content] : files_) {
      if (path != kManifest && !listed.contains(path)) {
        return reject(path, "the certificate does not list this file");
      }
    }
    checked(plural(listed.size(), "file") + ", each with its hash");
  }

  void program() {
    const auto file = files_.find(kProgramFile);
    if (file == files_.end()) return reject(kProgramFile, "the file is missing");
    const spec::Source source{kProgramFile, file->second};
    const auto tree = spec::parse(source);
    if (!tree.ok()) return reject(kProgramFile, "it does not parse");
    if (spec::print(tree.value()) != source.text) {
      return reject(kProgramFile, "it is not in the canonical layout");
    }
    // A program reads the file of at most one of its orders, so the file's name does not matter.
    statement_.options.read_file = [this](const std::string&) -> spec::Result<std::string> {
      const auto order = files_.find(kOrderFile);
      if (order != files_.end()) return order->second;
      return spec::failure(fmt::format("{} is missing", kOrderFile));
    };
    const auto compiled = statement_.depth
                              ? derive_depth(tree.value(), source)
                              : spec::elaborate(tree.value(), source, statement_.options);
    if (!compiled.ok()) {
      return reject(kProgramFile, "it is in error: " + compiled.errors().front().message);
    }
    program_ = compiled.value();
    const std::string hash = spec::hash_text(program_->hash);
    if (report_.hash != hash) {
      return reject(kProgramFile,
                    fmt::format("its hash is {}, the certificate's {}", hash, report_.hash));
    }
    checked("hash " + hash);
  }

  // Derives the claims for every number of ranks. The answers in the certificate are assumed to be
  // right; the last step asks a solver the questions whose answers matter.
  spec::Result<Program> derive_depth(const spec::ast::Pipeline& tree, const spec::Source& source) {
    EveryDepth& given = *statement_.depth;
    auto depth = depth_evidence(
        tree, source, statement_.options, [&](std::size_t number, const std::string&) {
          return number < given.answers.size() && given.answers[number] == 'u';
        });
    if (!depth.ok()) return depth.errors();
    depth_ = std::move(depth).value();
    const verify::Verdict& derived = depth_->derived.verdict;
    given = {derived.every_rank_from.value_or(1), depth_->answers, derived.assumptions};
    return depth_->derived.sample;
  }

  // Reads the peaks of the memory claim, which requires the program's pools.
  bool read_peaks() {
    Claim& memory = statement_.claims[kMemory];
    if (memory.outcome != Outcome::proved || statement_.depth) return true;
    std::map<int, std::size_t> next;
    const Json& obligation = given_.at("obligations").at(kMemory);
    const Json& peak = obligation.contains("peak") ? obligation.at("peak") : Json::object();
    try {
      for (const spec::Pool& pool : program_->pools) {
        const Json& value =
            peak.at(at(program_->resources, pool.resource).name).at(next[pool.resource]++);
        if (value.is_null()) {
          memory.peaks.emplace_back();
        } else {
          memory.peaks.emplace_back(value.get<std::int64_t>());
        }
      }
      memory.by_states.resize(memory.peaks.size(), false);
      for (const Json& pool : obligation.value("peak_by_states", Json::array())) {
        memory.by_states.at(pool.get<std::size_t>()) = true;
      }
    } catch (const Json::exception&) {
      return false;
    } catch (const std::out_of_range&) {
      return false;
    }
    return true;
  }

  // True if the file is as derived. Other steps judge runs, and the witness lines of graphs.
  static bool is_derived(const std::string& path, const std::string& file,
                         const std::string& content) {
    if (path.starts_with("runs/")) return true;
    if (!path.starts_with("graphs/")) return file == content;
    if (!file.starts_with(content)) return false;
    std::istringstream witness(file.substr(content.size()));
    for (std::string line; std::getline(witness, line);) {
      const std::string word = line.substr(0, line.find(' '));
      if (word != "order" && word != "cycle") return false;
    }
    return true;
  }

  void obligations() {
    if (unknown_method_) return conclude(RecheckResult::undecided, kManifest, *unknown_method_);
    if (!read_peaks())
      return reject(kManifest, "the peaks are not those of the program's resources");
    evidence_ = depth_ ? evidence_for(*depth_, statement_.claims)
                       : evidence_for(*program_, statement_.claims);
    Files derived = derived_files(statement_.claims, evidence_);
    for (const std::string& path : source_paths(*program_)) derived[path] = files_.at(path);
    for (const auto& [path, content] : derived) {
      const auto file = files_.find(path);
      if (file == files_.end()) return reject(path, "the claims need this file, and it is missing");
      if (!is_derived(path, file->second, content)) {
        return reject(path, "it is not what follows from the program and the claims");
      }
    }
    for (const auto& [path, content] : files_) {
      if (path != kManifest && derived.count(path) == 0) {
        return reject(path, "nothing that is claimed needs this file");
      }
    }
    Json without = given_;
    without.erase("unchecked");
    const Json expected = manifest_of(statement_, *program_, evidence_, files_);
    const std::string difference = first_difference(without, expected);
    if (!difference.empty()) {
      return reject(kManifest, fmt::format("`{}` does not follow from the program and the claims",
                                           difference));
    }
    if (!evidence_.gaps.empty()) {
      return conclude(RecheckResult::undecided, kManifest, evidence_.gaps.front());
    }
    checked(fmt::format("{} and {}, as derived again",
                        plural(evidence_.questions.size(), "question"),
                        plural(evidence_.graphs.size(), "graph")));
  }

  void runs() {
    std::size_t confirmed = 0;
    for (const Claim& claim : statement_.claims) {
      if (claim.outcome != Outcome::refuted) continue;
      const std::string path = run_path(claim.obligation);
      const auto file = files_.find(path);
      std::optional<std::string> problem;
      if (claim.obligation == verify::ObligationKind::once) {
        problem = confirm_not_once(*program_, claim.microbatches);
      } else if (file == files_.end()) {
        continue;  // a gap, which the previous step has named
      } else {
        const auto run = read_run_file(file->second, claim.obligation);
        if (!run.ok()) return reject(path, run.errors().front().message);
        if (run.value().microbatches != claim.microbatches) {
          return reject(path, "it has another count of microbatches than is claimed");
        }
        if (run.value().members != program_->tensor_parallel.members) {
          return reject(path, "it has another number of members than the program");
        }
        problem = replay_run(*program_, claim, run.value().events);
      }
      if (problem) return reject(path, *problem);
      ++confirmed;
    }
    checked(plural(confirmed, "run") + " replayed");
  }

  spec::Result<verify::RecordedRun> read_run_file(const std::string& text,
                                                  verify::ObligationKind obligation) const {
    const Json file = Json::parse(text, nullptr, false);
    const spec::Diagnostic wrong{"replay-form", "it is not a run of this claim", {}, {}};
    try {
      const Json& only = file.at("obligations").at(0);
      const bool fits = file.at("obligations").size() == 1 &&
                        only.at("name") == name_of(obligation) && file.at("hash") == report_.hash;
      return fits ? verify::read_counterexample(*program_, only.at("counterexample")) : wrong;
    } catch (const Json::exception&) {
      return wrong;
    }
  }

  void graphs() {
    const Claim& memory = statement_.claims[kMemory];
    const bool by_graph =
        memory.outcome == Outcome::proved &&
        (memory.method == verify::Method::graph || memory.method == verify::Method::cuts);
    const auto peaks = peaks_by_method(*program_, memory);
    for (const GraphEvidence& graph : evidence_.graphs) {
      const std::string path = graph_path(graph.microbatches);
      const GraphCheck check = check_graph(files_.at(path), graph.once, graph.order, graph.cycle);
      if (check.problem) return reject(path, *check.problem);
      if (!graph.run) continue;
      const auto problem = replay_order(*program_, graph.microbatches, check.order, graph.order,
                                        by_graph ? &peaks : nullptr);
      if (problem) return reject(path, *problem);
    }
    checked(plural(evidence_.graphs.size(), "graph") + " confirmed");
  }

  void states() {
    for (const Exploration& e : evidence_.explorations) {
      const VisitResult visited = visit_states(*program_, e, limits_.states);
      const std::string what =
          fmt::format("`{}` with {} microbatches", name_of(e.obligation), e.microbatches);
      if (visited.problem) return reject(kManifest, what + ": " + *visited.problem);
      if (!visited.complete) {
        return conclude(RecheckResult::undecided, kManifest,
                        what + " has too many states to visit");
      }
    }
    checked(plural(evidence_.explorations.size(), "count") + " visited");
  }

  void solver() {
    std::vector<std::string> texts;
    for (std::size_t q = 0; q < evidence_.questions.size(); ++q) {
      texts.push_back(files_.at(query_path(evidence_, q)));
    }
    const std::vector<Reply> replies = texts.empty() ? std::vector<Reply>() : ask_(texts);
    for (std::size_t q = 0; q < texts.size(); ++q) {
      const Answer expected = evidence_.questions[q].satisfiable ? Answer::sat : Answer::unsat;
      const Reply& reply = replies.at(q);
      if (reply.answer == expected) continue;
      if (reply.answer != Answer::unknown) {
        return reject(query_path(evidence_, q), fmt::format("the solver's answer is {}, not {}",
                                                            word(reply.answer), word(expected)));
      }
      if (report_.steps.back().result == RecheckResult::undecided) continue;
      conclude(RecheckResult::undecided, query_path(evidence_, q),
               "the solver gave no answer" + (reply.detail.empty() ? "" : ": " + reply.detail));
    }
    if (report_.steps.back().result != RecheckResult::undecided) {
      checked(plural(texts.size(), "answer") + ", each as it must be");
    }
  }

  const Files& files_;
  const AskAll& ask_;
  RecheckLimits limits_;
  std::optional<std::string> unknown_method_;
  RecheckReport report_;
  Json given_;
  Statement statement_;
  std::optional<Program> program_;
  std::optional<DepthEvidence> depth_;  // for a claim about every number of ranks
  Evidence evidence_;
};

}  // namespace

std::string name_of(RecheckResult result) {
  switch (result) {
    case RecheckResult::accepted:
      return "accepted";
    case RecheckResult::rejected:
      return "rejected";
    case RecheckResult::undecided:
      return "undecided";
    case RecheckResult::no_input:
      return "no certificate";
  }
  return {};
}

RecheckReport recheck(const Files& files, const AskAll& ask, const RecheckLimits& limits) {
  return Recheck(files, ask, limits).run();
}

}  // namespace ripeline::certificates
