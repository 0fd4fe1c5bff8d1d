#include "runtime/torch/groups.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "runtime/blob_io.h"
#include "runtime/torch/group_line.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using StorePtr = c10::intrusive_ptr<c10d::Store>;

Status failed(const std::string& what, const std::exception& error) {
  return {StatusCode::failed, what + ": " + error.what()};
}

// Process 0 serves a store, until its groups end; its place is gathered.
Status open_store(Run& run, const std::string& host, const GroupOptions& options, StorePtr& store) {
  c10d::TCPStoreOptions of_store;
  of_store.timeout = options.connect_limit;
  of_store.waitWorkers = false;
  std::uint16_t port = 0;
  try {
    if (run.self() == 0) {
      of_store.isServer = true;
      of_store.port = 0;
      const auto served = c10::make_intrusive<c10d::TCPStore>("localhost", of_store);
      port = served->getPort();
      store = served;
    }
  } catch (const std::exception& error) {
    return run.fail(failed("it cannot serve the store of the groups", error));
  }
  BlobWriter mine;
  mine.text(host);
  mine.number(port);
  std::vector<Blob> all;
  if (Status s = run.gather("the store of the groups", mine.take(), all); !s.ok()) return s;
  if (run.self() == 0) return {};
  BlobReader first(all.front());
  const std::string there = first.text(256);
  of_store.port = first.number<std::uint16_t>();
  if (!first.is_done()) return run.fail({StatusCode::invalid, "process 0 serves no store"});
  try {
    store = c10::make_intrusive<c10d::TCPStore>(there, of_store);
  } catch (const std::exception& error) {
    return run.fail(failed("it cannot reach the store of the groups on " + there, error));
  }
  return {};
}

}  // namespace

Status Groups::connect(Run& run, const core::ProgramFacts& facts, const std::string& address,
                       std::unique_ptr<Groups>& groups, const GroupOptions& options) {
  groups.reset(new Groups());
  groups->layout_ = run.layout();
  const core::Layout& layout = run.layout();
  const core::Coordinates self = layout.at(run.self());
  const std::string host = address.empty() ? "127.0.0.1" : address;
  if (facts.replicas == 1 && facts.collectives.empty()) return {};
  StorePtr store;
  if (Status s = open_store(run, host, options, store); !s.ok()) return s;
  const auto make = [&](const std::string& name, int index, int size) {
    auto of = c10d::ProcessGroupGloo::Options::create(options.connect_limit);
    of->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(host));
    of->threads = 1;
    const auto backend = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>(name, store), index, size, of);
    backend->setTimeout(options.limit);
    return std::make_shared<Group::Line>(name, backend);
  };
  try {
    const core::LaneSpan own = facts.lanes_of(self.rank);
    for (core::LaneId lane = own.first; lane < own.end; ++lane) {
      const core::LaneFacts& of = facts.lanes[static_cast<std::size_t>(lane)];
      const auto engine = static_cast<std::size_t>(of.engine);
      const std::string on =
          " of rank " + std::to_string(self.rank) + " on " + core::name_of(of.engine);
      const bool is_collective =
          std::count(facts.collectives.begin(), facts.collectives.end(), lane) > 0;
      if (is_collective && !groups->members_[engine]) {
        const std::string who = "the members of replica " + std::to_string(self.replica);
        groups->members_[engine] = make(who + on, self.member, layout.members);
      }
      const bool reduces = facts.replicas > 1 &&
                           facts.ops[static_cast<std::size_t>(of.op)].kind == core::OpKind::reduce;
      if (reduces && !groups->replicas_[engine]) {
        const std::string who = "the replicas of member " + std::to_string(self.member);
        groups->replicas_[engine] = make(who + on, self.replica, layout.replicas);
      }
    }
  } catch (const std::exception& error) {
    return run.fail(failed("it cannot connect its groups", error));
  }
  // The store is there until all are connected.
  std::vector<Blob> all;
  return run.gather("the groups", {}, all);
}

Groups::~Groups() = default;

namespace {

Group group_of(const std::shared_ptr<Group::Line>& line, int size, const char* who,
               core::Engine engine) {
  if (line || size == 1) return Group(line);
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
  for (const Lines* lines : {&members_, &replicas_}) {
    for (const std::shared_ptr<Group::Line>& line : *lines) {
      if (line) line->close();
    }
  }
}

}  // namespace ripeline::runtime
