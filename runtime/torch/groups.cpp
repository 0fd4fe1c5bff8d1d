#include "runtime/torch/groups.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/torch/collectives_choice.h"
#include "runtime/torch/communicator.h"
#include "runtime/torch/gloo_communicator.h"
#include "runtime/torch/nccl_communicator.h"
#include "runtime/torch/torch_device.h"

namespace ripeline::runtime {
namespace {

using core::Status;

// Chooses the library, the same in all processes; sets `library` if that is NCCL.
Status choose(Run& run, const TorchDevice& device, const cuda::NcclLibrary*& library,
              CollectivesChoice& choice) {
  CollectivesOffer own;
  if (Status s = read_collectives(own.setting); !s.ok()) return run.fail(s);
  if (own.setting != "gloo") {
    Status found = device.find_nccl(library, own.nccl_version);
    if (found.ok()) found = device.identify(own.device);
    if (!found.ok()) own.nccl_version = 0;
    own.why_not = found.message();
  }
  std::vector<Blob> all;
  if (Status s = run.gather("the collectives", encode(own), all); !s.ok()) return s;
  std::vector<CollectivesOffer> offers(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (Status s = decode(all[i], offers[i]); !s.ok()) {
      return run.fail({s.code(), "process " + std::to_string(i) + ": " + s.message()});
    }
  }
  const Status status = choose_collectives(offers, choice);
  return status.ok() ? status : run.fail(status);
}

}  // namespace

Status Groups::connect(Run& run, const core::ProgramFacts& facts, const std::string& address,
                       std::unique_ptr<Groups>& groups, const GroupOptions& options) {
  groups.reset(new Groups());
  groups->layout_ = run.layout();
  if (facts.replicas == 1 && facts.collectives.empty()) return {};
  const std::vector<CommunicatorPlan> plans = plan_communicators(run.layout(), run.self(), facts);
  const bool is_on_device = !device_of(options.device).is_cpu();
  const cuda::NcclLibrary* library = nullptr;
  CollectivesChoice choice;
  if (is_on_device) {
    if (Status s = choose(run, *options.device, library, choice); !s.ok()) return s;
    groups->collectives_ = choice.text;
  }
  Communicators communicators;
  const Status status =
      choice.library == Collectives::nccl
          ? connect_nccl(run, *options.device, *library, plans, options, communicators)
          : connect_gloo(run, address.empty() ? "127.0.0.1" : address, plans, options,
                         communicators);
  if (!status.ok()) return status;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const bool of_members = plans[i].among == CommunicatorPlan::Among::members;
    PerEngine& of = of_members ? groups->members_ : groups->replicas_;
    of[static_cast<std::size_t>(plans[i].engine)] = std::move(communicators[i]);
  }
  return {};
}

Groups::~Groups() = default;

namespace {

Group group_of(const std::shared_ptr<Group::Communicator>& communicator, int size, const char* who,
               core::Engine engine) {
  if (communicator || size == 1) return Group(communicator);
  throw std::invalid_argument("the program has " + std::to_string(size) + " " + who +
                              ", and nothing on " + core::name_of(engine) +
                              " of this rank that they do together");
}

}  // namespace

Group Groups::members(core::Engine engine) const {
  return group_of(members_[static_cast<std::size_t>(engine)], layout_.members, "members to a rank",
                  engine);
}

Group Groups::replicas(core::Engine engine) const {
  return group_of(replicas_[static_cast<std::size_t>(engine)], layout_.replicas, "replicas",
                  engine);
}

void Groups::close() {
  for (const PerEngine* communicators : {&members_, &replicas_}) {
    for (const std::shared_ptr<Group::Communicator>& communicator : *communicators) {
      if (communicator) communicator->close();
    }
  }
}

}  // namespace ripeline::runtime
