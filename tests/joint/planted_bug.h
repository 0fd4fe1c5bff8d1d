// PlantedBug: a bug that a test adds around the parts of a run. The run must reveal the bug.
//
// A bug surrounds production code and changes the code's inputs, outputs or tables; production code
// does not refer to it. This base class changes nothing. Each run has its own object.
#pragma once

#include <vector>

#include "core/facts.h"
#include "runtime/protocol/process.h"

namespace ripeline::joint {

class PlantedBug {
 public:
  virtual ~PlantedBug() = default;

  // Changes the tables that ranks get. The witness has the unchanged tables.
  virtual void change_facts(std::vector<core::EdgeFacts>& /*edges*/,
                            std::vector<core::InboxFacts>& /*inboxes*/) {}
  // Changes the actions that a process requests.
  virtual void change_actions(int /*process*/, runtime::protocol::Actions& /*actions*/) {}
  // Changes the deliveries to a process, which then gets them in this order.
  virtual void change_deliveries(int /*process*/, bool /*has_rank*/,
                                 std::vector<runtime::Delivery>& /*deliveries*/) {}
  // Whether the process learns that the task has ended.
  virtual bool passes_on(int /*process*/, const runtime::Ended& /*ended*/) { return true; }
  // Whether the process learns that a sign of life of the peer has arrived.
  virtual bool passes_on_heard(int /*process*/, int /*peer*/) { return true; }
  // Changes the limits of a process.
  virtual void change_limits(int /*process*/, runtime::protocol::FaultLimits& /*limits*/) {}
  // Whether a rank stays attached after its step.
  virtual bool keeps_attached() { return false; }
  // Whether a peer's loss is reported before the peer's last messages.
  virtual bool lost_overtakes() { return false; }
};

}  // namespace ripeline::joint
