// The judge of every depth, from the least number of ranks with which the tree is a program.
#include "verify/depth/depth.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <new>

#include <fmt/format.h>

#include "spec/indexing.h"
#include "verify/depth/agreement.h"
#include "verify/depth/order_depth.h"
#include "verify/depth/ready_depth.h"
#include "verify/depth/shape.h"
#include "verify/judge/judge.h"
#include "verify/verify.h"

namespace ripeline::verify {

using spec::Program;

namespace {

// The least number of ranks with which the tree is a program is searched for from 1 to this number.
constexpr int kMostLeast = 4;
// The number of depths at which the Shape is compared with what the elaborator makes of the tree.
constexpr int kCompared = 5;
// The number of depths that are also judged by verify(), each by itself.
constexpr std::size_t kJudged = 3;

constexpr const char* kOneDepth = " `-D ranks=N` asks of N ranks alone.";

// A hash of several depths' programs: it is the same as long as none of them changes.
std::uint64_t hash_of_all(const std::vector<Program>& samples) {
  std::uint64_t hash = spec::kHashOfNothing;
  for (const Program& sample : samples) hash = spec::hash_of(spec::hash_text(sample.hash), hash);
  return hash;
}

// A judge of every depth that is made and asked only if no obligation is refuted at small depths.
class AfterSamples final : public Judge {
 public:
  AfterSamples(std::function<std::unique_ptr<Judge>()> make,
               std::function<std::optional<std::string>(ObligationKind obligation)> refuted_depth)
      : make_(std::move(make)), refuted_depth_(std::move(refuted_depth)) {}

  Finding once() override {
    return asked(ObligationKind::once, [this] { return judge().once(); });
  }
  Finding deadlock() override {
    return asked(ObligationKind::deadlock, [this] { return judge().deadlock(); });
  }
  MemoryFinding memory() override {
    return {asked(ObligationKind::memory, [this] { return judge().memory().finding; })};
  }

 private:
  Judge& judge() {
    if (!judge_) judge_ = make_();
    return *judge_;
  }

  template <class Ask>
  Finding asked(ObligationKind obligation, const Ask& ask) {
    if (auto refuted = refuted_depth_(obligation)) return {.reason = *refuted};
    Finding found = ask();
    if (found.outcome != Outcome::proved) found.reason += kOneDepth;
    return found;
  }

  std::function<std::unique_ptr<Judge>()> make_;
  std::function<std::optional<std::string>(ObligationKind obligation)> refuted_depth_;
  std::unique_ptr<Judge> judge_;
};

class EveryDepth {
 public:
  EveryDepth(const spec::ast::Pipeline& pipeline, const spec::Source& source,
             const spec::ElaborateOptions& options, SolverUse use)
      : pipeline_(pipeline), source_(source), options_(options), use_(std::move(use)) {}

  spec::Result<DepthVerdict> run() {
    if (const auto errors = sample_depths()) return *errors;
    if (!problem_) check_constructs();
    if (!problem_) read();
    if (problem_) return left_open(*problem_);
    AfterSamples judge([this] { return judge_of_all(); },
                       [this](ObligationKind kind) { return refuted_depth(kind); });
    // The last of the depths that verify() judges has the most constructs.
    return finished(judged_by(judge, samples_[std::min(kJudged, samples_.size()) - 1]));
  }

  spec::Result<DepthVerdict> failed(const std::string& what) {
    if (samples_.empty()) samples_.emplace_back();
    return left_open({fmt::format("The verifier failed: {}.", what)});
  }

 private:
  // The verdict has no assumptions, since it claims nothing.
  DepthVerdict left_open(const depth::Problem& problem) {
    NoJudge none(problem.reason + kOneDepth, problem.span);
    Verdict verdict = judged_by(none, samples_.front());
    verdict.assumptions.clear();
    return finished(std::move(verdict));
  }

  DepthVerdict finished(Verdict verdict) {
    DepthVerdict found{std::move(verdict), samples_.front()};
    found.verdict.every_rank_from = samples_.front().ranks;
    found.sample.hash = hash_of_all(samples_);
    std::erase_if(found.sample.params, [&](const auto& param) {  // some vary with the depth
      return std::any_of(samples_.begin(), samples_.end(), [&](const Program& other) {
        return std::find(other.params.begin(), other.params.end(), param) == other.params.end();
      });
    });
    return found;
  }

  spec::Result<Program> at_depth(int ranks) const {
    spec::ElaborateOptions options = options_;
    options.defines["ranks"] = ranks;
    return spec::elaborate(pipeline_, source_, options);
  }

  bool declares_ranks() const {
    return std::any_of(pipeline_.items.begin(), pipeline_.items.end(), [](const auto& item) {
      const auto* param = std::get_if<spec::ast::Param>(&item.value);
      return param != nullptr && param->name.text == "ranks";
    });
  }

  // Elaborates the tree with the fewest ranks for which it is a program, and with a few more.
  std::optional<spec::Diagnostics> sample_depths() {
    if (!declares_ranks()) {
      return spec::Diagnostics{{"define-unknown-param",
                                "-D ranks=any: no param is called 'ranks'",
                                "declare `param ranks = 4;` and use it in the stages and their "
                                "placement",
                                {}}};
    }
    spec::Diagnostics errors;
    for (int ranks = 1; ranks <= kMostLeast && samples_.empty(); ++ranks) {
      spec::Result<Program> program = at_depth(ranks);
      if (program.ok()) {
        samples_.push_back(std::move(program).value());
      } else {
        errors = program.errors();
      }
    }
    if (samples_.empty()) return errors;
    for (int ranks = samples_.front().ranks + 1; size_of(samples_) < kCompared; ++ranks) {
      spec::Result<Program> program = at_depth(ranks);
      if (program.ok()) {
        samples_.push_back(std::move(program).value());
        continue;
      }
      const spec::Diagnostic& error = program.errors().front();
      problem_ = depth::Problem{
          fmt::format("With {} ranks it is no program: {}.", ranks, error.message), error.span};
      break;
    }
    return std::nullopt;
  }

  // Names the constructs that verify() does not support, as verify() does at one depth.
  void check_constructs() {
    std::vector<spec::Unsupported> constructs;
    for (const Program& sample : samples_) {
      constructs.insert(constructs.end(), sample.unsupported.begin(), sample.unsupported.end());
    }
    if (!constructs.empty()) {
      problem_ = depth::Problem{not_supported(constructs), constructs.front().span};
    }
  }

  void read() {
    auto shape = depth::read_shape(pipeline_, options_, samples_.front(), use_);
    if (const auto* problem = std::get_if<depth::Problem>(&shape)) {
      problem_ = *problem;
      return;
    }
    shape_ = std::get<depth::Shape>(std::move(shape));
    auto why = depth::not_well_formed(shape_, use_);
    for (const Program& sample : samples_) {
      if (why) break;
      why = depth::disagreement(shape_, sample, use_);
    }
    if (why) problem_ = depth::Problem{*why};
  }

  std::unique_ptr<Judge> judge_of_all() {
    if (shape_.in_order) return std::make_unique<depth::OrderDepth>(shape_, use_);
    return std::make_unique<depth::ReadyDepth>(shape_, use_);
  }

  // Judges a few depths by themselves. Returns a sentence about one that refutes the obligation.
  std::optional<std::string> refuted_depth(ObligationKind kind) {
    constexpr VerifyOptions kShort{.solver_steps = 2'000'000, .search_states = 50'000};
    if (use_.writes) return std::nullopt;
    for (std::size_t i = 0; i < std::min(kJudged, samples_.size()); ++i) {
      if (i == small_.size()) small_.push_back(verify(samples_[i], kShort));
      for (const Obligation& o : small_[i].obligations) {
        if (o.kind != kind || o.outcome != Outcome::refuted) continue;
        return fmt::format("It is refuted with {0} rank{1}: `-D ranks={0}` shows the run.",
                           samples_[i].ranks, samples_[i].ranks == 1 ? "" : "s");
      }
    }
    return std::nullopt;
  }

  const spec::ast::Pipeline& pipeline_;
  const spec::Source& source_;
  const spec::ElaborateOptions& options_;
  SolverUse use_;
  std::vector<Program> samples_;
  std::vector<Verdict> small_;  // per sample, as far as asked for
  std::optional<depth::Problem> problem_;
  depth::Shape shape_;
};

}  // namespace

spec::Result<DepthVerdict> judge_every_depth(const spec::ast::Pipeline& pipeline,
                                             const spec::Source& source,
                                             const spec::ElaborateOptions& options,
                                             const SolverUse& use) {
  EveryDepth judge(pipeline, source, options, use);
  try {
    return judge.run();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    // Nothing is known, since the exception shows a mistake in the verifier.
    return judge.failed(error.what());
  }
}

}  // namespace ripeline::verify
