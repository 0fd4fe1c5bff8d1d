// The whole judge, top to bottom.
#include "verify/verify.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "verify/group/judge.h"
#include "verify/internal.h"
#include "verify/judges.h"

namespace ripeline::verify {

using spec::Program;

namespace {

constexpr const char* kNames[] = {"deadlock", "collectives", "messages", "memory", "once"};

Obligation unknown(const std::string& name, const std::string& reason) {
  Obligation obligation;
  obligation.name = name;
  obligation.reason = reason;
  return obligation;
}

class Judge {
 public:
  Judge(const Program& program, const VerifyOptions& options, Fault fault)
      : program_(program), options_(options), fault_(fault) {}

  Verdict run() {
    for (const char* name : kNames) verdict_.obligations.push_back(unknown(name, ""));
    verdict_.solver = Solver::version();
    verdict_.assumptions = assumptions_of(program_);
    const bool keeps = program_.dispatch.keeps >= 0;
    if (!program_.unsupported.empty()) {
      name_unsupported(program_.unsupported);
    } else if (keeps && program_.tensor_parallel.members > 1) {
      name_unsupported({{"keeping", program_.dispatch.span}});
    } else if (keeps) {
      settle(verdict_, "once", [&] { return by_structure(); });  // as below
      KeptJudge judge(program_, options_, fault_);
      settle_starts([&]() -> KeptJudge& { return judge; });
    } else if (program_.dispatch.in_order) {
      OrderJudge judge(program_, options_, fault_);
      settle(verdict_, "once", [&] { return judge.once(); });
      settle_starts([&]() -> OrderJudge& { return judge; });
    } else {
      settle(verdict_, "once",
             [&] { return by_structure(); });  // each lane runs each microbatch, or sticks
      std::optional<ReadinessJudge> judge;
      settle_starts([&]() -> ReadinessJudge& {
        return judge ? *judge : judge.emplace(program_, options_, fault_);
      });
    }
    verdict_.outcome = worst();
    return std::move(verdict_);
  }

 private:
  template <class Find>
  void settle_memory(const Find& find) {
    MemoryFinding memory;
    settle(verdict_, "memory", [&] {
      memory = find();
      return memory.finding;
    });
    if (memory.finding.outcome != Outcome::proved) return;
    Obligation& o = obligation(verdict_, "memory");
    for (std::size_t p = 0; p < program_.pools.size(); ++p) {
      const auto& resource = at(program_.resources, program_.pools[p].resource);
      o.peak[resource.name].push_back(memory.peaks[p]);
    }
  }

  // The judge is of one member; a group is asked about on top of it.
  template <class JudgeOfOne>
  void settle_starts(const JudgeOfOne& judge) {
    std::optional<GroupJudge> group;
    if (program_.tensor_parallel.members > 1) group.emplace(program_, options_, fault_);
    settle(verdict_, "collectives", [&] { return group ? group->collectives() : by_structure(); });
    settle(verdict_, "deadlock", [&] {
      const Finding of_one = judge().deadlock();
      return group ? group->deadlock(of_one) : of_one;
    });
    settle_memory([&] {
      MemoryFinding memory = judge().memory();
      if (group) memory.finding = group->of_each(std::move(memory.finding));
      return memory;
    });
    settle_messages(verdict_);
  }

  void name_unsupported(const std::vector<spec::Unsupported>& missing) {
    std::string constructs;
    for (const spec::Unsupported& u : missing) {
      const std::string quoted = "`" + u.construct + "`";
      if (constructs.find(quoted) != std::string::npos) continue;
      constructs += (constructs.empty() ? "" : ", ") + quoted;
    }
    for (Obligation& o : verdict_.obligations) {
      o.reason = constructs + " is not supported by verify yet.";
      if (constructs.find(',') != std::string::npos) {
        o.reason = constructs + " are not supported by verify yet.";
      }
      o.span = missing.front().span;
    }
  }

  Outcome worst() const {
    Outcome outcome = Outcome::proved;
    for (const Obligation& o : verdict_.obligations) {
      if (o.outcome == Outcome::refuted) return Outcome::refuted;
      if (o.outcome == Outcome::unknown) outcome = Outcome::unknown;
    }
    return outcome;
  }

  const Program& program_;
  const VerifyOptions& options_;
  Fault fault_;
  Verdict verdict_;
};

}  // namespace

Finding by_structure() { return {.outcome = Outcome::proved, .method = "structure"}; }

Obligation& obligation(Verdict& verdict, const std::string& name) {
  return *std::find_if(verdict.obligations.begin(), verdict.obligations.end(),
                       [&](const Obligation& o) { return o.name == name; });
}

void settle(Verdict& verdict, const std::string& name, const std::function<Finding()>& find) {
  const auto start = std::chrono::steady_clock::now();
  const Finding found = find();
  Obligation& o = obligation(verdict, name);
  o.outcome = found.outcome;
  o.method = found.method;
  o.reason = found.reason;
  o.span = found.span;
  o.counterexample = found.counterexample;
  o.other_choices = found.other_choices;
  o.counts = found.counts;
  o.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void settle_messages(Verdict& verdict) {
  settle(verdict, "messages", [&]() -> Finding {
    if (obligation(verdict, "once").outcome == Outcome::proved) return by_structure();
    return {.reason = "Not known, since it is not known that each task runs once."};
  });
}

namespace {

// What becomes of a message whose receiver is not ready for it.
std::string assumption_of_sends(const Program& program) {
  const auto some = [&](const auto& holds) {
    return std::any_of(program.edges.begin(), program.edges.end(), holds);
  };
  const bool bounded = some([](const spec::Edge& e) { return e.inbox >= 0; });
  const bool rendezvous = some([](const spec::Edge& e) { return e.rendezvous; });
  if (!bounded && !rendezvous) {
    return "Each message has a slot of its own at its receiver, so no send waits.";
  }
  std::string said;
  if (bounded) {
    said =
        "A message takes a slot of its link when it is sent off, and its sender goes on without "
        "one; ";
  }
  if (rendezvous) {
    said += std::string(bounded ? "a" : "A") +
            " rendezvous is accepted when the task that needs it is next on its engine, and its "
            "sender's engine waits until then; ";
  }
  return said + "links without a bound have a slot for each.";
}

}  // namespace

std::vector<std::string> assumptions_of(const Program& program) {
  std::vector<std::string> said = {
      "Every task that starts ends.",
      "Links are reliable: a message that is sent arrives, whole and once.",
      assumption_of_sends(program),
      std::string(has_other_engines(program) ? "An engine" : "A rank") +
          " runs one task at a time" + (program.pairs.empty() ? "" : ", or a pair") +
          ", and none waits inside for a message.",
      "Collectives of other groups (data-parallel, expert) are outside, or in a fixed order.",
  };
  if (program.tensor_parallel.members > 1) {
    said.insert(said.begin() + 1, "A task's collectives end once every member has started it.");
    said.push_back("Each engine has a communicator of its own for its rank's collectives.");
    said.push_back("What a member publishes in a round reaches every member.");
  }
  return said;
}

bool has_other_engines(const Program& program) {
  return std::any_of(program.lanes.begin(), program.lanes.end(),
                     [](const spec::Lane& lane) { return lane.engine != spec::Engine::compute; });
}

bool runs_side_by_side(const Program& program) {
  return has_other_engines(program) || !program.pairs.empty();
}

std::string name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::proved:
      return "proved";
    case Outcome::refuted:
      return "refuted";
    case Outcome::unknown:
      break;
  }
  return "unknown";
}

Verdict judge(const Program& program, const VerifyOptions& options, Fault fault) {
  try {
    return Judge(program, options, fault).run();
  } catch (const std::exception& error) {
    // Nothing is known then: memory ran out, or there is a mistake in here.
    Verdict verdict;
    for (const char* name : kNames) {
      verdict.obligations.push_back(
          unknown(name, std::string("The verifier failed: ") + error.what() + "."));
    }
    verdict.solver = Solver::version();
    return verdict;
  }
}

Verdict verify(const Program& program, const VerifyOptions& options) {
  Verdict verdict = judge(program, options, Fault::none);
  if (verdict.outcome != Outcome::proved) return verdict;
  ProvedProgram proved;
  proved.program_ = program;
  for (const Obligation& o : verdict.obligations) {
    proved.obligations_.push_back({o.name, o.method});
  }
  proved.assumptions_ = verdict.assumptions;
  const Obligation& memory = verdict.obligations[3];
  std::map<int, std::size_t> next;  // per resource: its instances come in the order of the pools
  for (const spec::Pool& pool : program.pools) {
    const auto& peaks = memory.peak.at(at(program.resources, pool.resource).name);
    proved.peaks_.push_back(peaks[next[pool.resource]++]);
  }
  verdict.proved = std::move(proved);
  return verdict;
}

}  // namespace ripeline::verify
