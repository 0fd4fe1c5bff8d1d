// PlantedBug: what a test breaks between the parts of a run, to see that the run is found broken.
//
// It stands around production code and changes what goes in and out, or the tables that it works
// from; nothing in production code knows of it. Unchanged, it plants nothing. One for each run.
#pragma once

#include <vector>

#include "core/facts.h"
#include "runtime/process/process.h"

namespace ripeline::joint {

class PlantedBug {
 public:
  virtual ~PlantedBug() = default;

  // The tables that ranks are given. The witness has the true ones.
  virtual void change_facts(std::vector<core::EdgeFacts>& /*edges*/,
                            std::vector<core::InboxFacts>& /*inboxes*/) {}
  // Changes the actions that a process wants done.
  virtual void change_actions(int /*process*/, runtime::process::Actions& /*actions*/) {}
  // Changes the deliveries to a process: it gets those that are left, in this order.
  virtual void change_deliveries(int /*process*/, bool /*has_rank*/,
                                 std::vector<runtime::Delivery>& /*deliveries*/) {}
  // Whether the process is told that it has ended.
  virtual bool passes_on(int /*process*/, const runtime::Ended& /*ended*/) { return true; }
  // Whether the process is told that the peer was heard.
  virtual bool passes_on_heard(int /*process*/, int /*peer*/) { return true; }
  // Changes the limits of a process.
  virtual void change_limits(int /*process*/, runtime::process::FaultLimits& /*limits*/) {}
  // A rank stays attached after its step.
  virtual bool keeps_attached() { return false; }
  // A peer's loss is told before what it sent.
  virtual bool lost_overtakes() { return false; }
};

}  // namespace ripeline::joint
