#include "tests/joint/planted_bugs.h"

#include <algorithm>
#include <utility>

#include "runtime/protocol/report.h"

namespace ripeline::joint {
namespace {

using core::StatusCode;
using core::Time;
using runtime::Delivery;
using runtime::Ended;
using runtime::protocol::Actions;
using runtime::protocol::Outgoing;
namespace signals = runtime::signals;

// ---------------------------------------------------------------- links

class SlotTooMany final : public PlantedBug {
  void change_facts(std::vector<core::EdgeFacts>& /*edges*/,
                    std::vector<core::InboxFacts>& inboxes) override {
    for (core::InboxFacts& inbox : inboxes) ++inbox.slots;
  }
};

class FifoForgotten final : public PlantedBug {
  void change_facts(std::vector<core::EdgeFacts>& edges,
                    std::vector<core::InboxFacts>& /*inboxes*/) override {
    for (core::EdgeFacts& edge : edges) edge.fifo = false;
  }
};

// The third grant of process 1 is not sent.
class GrantDropped final : public PlantedBug {
  void change_actions(int process, Actions& actions) override {
    std::erase_if(actions.sends, [&](const Outgoing& out) {
      return process == 1 && out.envelope.is<signals::Grant>() && ++grants_ == 3;
    });
  }
  int grants_ = 0;
};

// ---------------------------------------------------------------- Rank

// Two messages that leave for one rank at the same time carry each other's payload.
class PayloadsSwapped final : public PlantedBug {
  void change_actions(int /*process*/, Actions& actions) override {
    Outgoing* first = nullptr;
    for (Outgoing& out : actions.sends) {
      if (!out.envelope.is<signals::Data>() || out.payload.empty()) continue;
      if (first != nullptr && first->to == out.to) std::swap(first->payload, out.payload);
      first = &out;
    }
  }
};

// A payload that all tasks of a lane need is given only to the first of these tasks.
class SharedInputTaken final : public PlantedBug {
  void change_facts(std::vector<core::EdgeFacts>& edges,
                    std::vector<core::InboxFacts>& /*inboxes*/) override {
    for (const core::EdgeFacts& edge : edges) of_all_ = of_all_ || edge.of == core::Of::all;
  }
  void change_actions(int /*process*/, Actions& actions) override {
    for (Actions::Start& start : actions.starts) {
      if (!of_all_ || start.call.task.task.microbatch == 0) continue;
      for (runtime::Input& input : start.call.inputs) {
        if (input.microbatch != start.call.task.microbatch) input.payload = {};
      }
    }
  }
  bool of_all_ = false;
};

// A payload still exists after its task has ended.
class PayloadKept final : public PlantedBug {
  void change_deliveries(int process, bool /*has_rank*/,
                         std::vector<Delivery>& deliveries) override {
    for (const Delivery& delivery : deliveries) {
      if (process == 0 && delivery.envelope.is<signals::Data>()) kept_ = delivery.payload;
    }
  }
  runtime::Payload kept_;
};

// The end of a task is lost if another task ends at the same time.
class EndForgotten final : public PlantedBug {
  bool passes_on(int process, const Ended& ended) override {
    const bool same = process == process_ && ended.end == end_;
    process_ = process;
    end_ = ended.end;
    return !same;
  }
  int process_ = -1;
  Time end_{0};
};

// ---------------------------------------------------------------- Process

// Payloads that arrive while no rank is attached are not kept.
class EarlyMessageDropped final : public PlantedBug {
  void change_deliveries(int /*process*/, bool has_rank,
                         std::vector<Delivery>& deliveries) override {
    std::erase_if(deliveries,
                  [&](const Delivery& d) { return !has_rank && d.envelope.is<signals::Data>(); });
  }
};

// A rank stays attached after its step, and gets messages of the next one.
class RankNotDetached final : public PlantedBug {
  bool keeps_attached() override { return true; }
};

// ---------------------------------------------------------------- Gathers

// A process sends its part of a gather to its parent twice.
class GatherTwice final : public PlantedBug {
  void change_actions(int process, Actions& actions) override {
    if (process == 0) return;
    const auto found =
        std::find_if(actions.sends.begin(), actions.sends.end(), [process](const Outgoing& out) {
          return out.envelope.is<signals::Gather>() && out.to < process;
        });
    if (found != actions.sends.end()) actions.sends.push_back(Outgoing(*found));
  }
};

// The gather that process 0 sends to its children reaches only one of them.
class GatherStops final : public PlantedBug {
  void change_actions(int process, Actions& actions) override {
    std::erase_if(actions.sends, [process](const Outgoing& out) {
      return out.envelope.is<signals::Gather>() && process == 0 && out.to == 2;
    });
  }
};

// ---------------------------------------------------------------- Faults

// A process notices a fault and does not report it.
class ReportForgotten final : public PlantedBug {
  void change_actions(int process, Actions& actions) override {
    std::erase_if(actions.sends, [process](const Outgoing& out) {
      return process == 0 && out.envelope.is<signals::Report>();
    });
  }
};

// A process's report reaches only its neighbours.
class ReportNotPassedOn final : public PlantedBug {
  void change_actions(int process, Actions& actions) override {
    std::erase_if(actions.sends, [process](const Outgoing& out) {
      runtime::protocol::ProcessReport report;
      return out.envelope.is<signals::Report>() &&
             runtime::protocol::decode_report(out.payload, Time{0}, report).ok() &&
             report.process != process;
    });
  }
};

// Signs of life from peers are not passed on.
class NotHeard final : public PlantedBug {
  bool passes_on_heard(int /*process*/, int /*peer*/) override { return false; }
};

// A silent peer is not noticed.
class SilenceUnnoticed final : public PlantedBug {
  void change_limits(int /*process*/, runtime::protocol::FaultLimits& limits) override {
    limits.silence = std::chrono::hours(24);
  }
};

// The wait for reports does not end.
class AnswersAwaited final : public PlantedBug {
  void change_limits(int /*process*/, runtime::protocol::FaultLimits& limits) override {
    limits.answers = std::chrono::hours(24);
  }
};

// ---------------------------------------------------------------- the transport

// The loss of a peer is delivered before the peer's last messages.
class LostOvertakes final : public PlantedBug {
  bool lost_overtakes() override { return true; }
};

template <class Bug>
NamedBug named(std::string_view name, std::string_view where) {
  return {name, where, [] { return std::make_unique<Bug>(); }};
}

}  // namespace

const std::vector<NamedBug>& planted_bugs() {
  static const std::vector<NamedBug> kBugs = {
      named<SlotTooMany>("slot-too-many", "core/links"),
      named<FifoForgotten>("fifo-forgotten", "core/links"),
      named<GrantDropped>("grant-dropped", "core/links"),
      named<PayloadsSwapped>("payloads-swapped", "runtime/rank"),
      named<SharedInputTaken>("shared-input-taken", "runtime/rank"),
      named<PayloadKept>("payload-kept", "runtime/rank"),
      named<EndForgotten>("end-forgotten", "runtime/rank"),
      named<EarlyMessageDropped>("early-message-dropped", "runtime/protocol"),
      named<RankNotDetached>("rank-not-detached", "runtime/protocol"),
      named<GatherTwice>("gather-twice", "runtime/gather"),
      named<GatherStops>("gather-stops", "runtime/gather"),
      named<ReportForgotten>("report-forgotten", "runtime/faults"),
      named<ReportNotPassedOn>("report-not-passed-on", "runtime/faults"),
      named<NotHeard>("not-heard", "runtime/faults"),
      named<SilenceUnnoticed>("silence-unnoticed", "runtime/faults"),
      named<AnswersAwaited>("answers-awaited", "runtime/faults"),
      named<LostOvertakes>("lost-overtakes", "runtime/transport"),
  };
  return kBugs;
}

MakeBug bug_of(std::string_view name) {
  for (const NamedBug& bug : planted_bugs()) {
    if (bug.name == name) return bug.make;
  }
  return nullptr;
}

std::optional<Finding> first_seed_that_finds(const NamedBug& bug, std::uint64_t from,
                                             std::uint64_t seeds) {
  for (std::uint64_t seed = from; seed < from + seeds; ++seed) {
    const Verdict verdict = run_seed(seed, {.bug = bug.make});
    if (!verdict.broken.empty()) return Finding{seed, verdict.broken};
    if (!verdict.blamed_healthy || verdict.kind == FaultKind::two) continue;
    if (run_seed(seed).blamed_healthy) continue;
    return Finding{seed, verdict.lines.front()};
  }
  return std::nullopt;
}

}  // namespace ripeline::joint
