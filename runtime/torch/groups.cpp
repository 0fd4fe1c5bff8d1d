#include "runtime/torch/groups.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include "runtime/blob_io.h"
#include "runtime/torch/group_line.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using StorePtr = c10::intrusive_ptr<c10d::Store>;

// Of the store.
struct Place {
  std::string host;
  std::uint16_t port = 0;
};

Status failed(const std::string& what, const std::exception& error) {
  return {StatusCode::failed, what + ": " + error.what()};
}

// Process 0 serves a store; where it is, is gathered.
Status serve_store(Run& run, const std::string& host, StorePtr& served, Place& place) {
  try {
    if (run.self() == 0) {
      c10d::TCPStoreOptions options;
      options.isServer = true;
      options.waitWorkers = false;
      options.port = 0;
      const auto server = c10::make_intrusive<c10d::TCPStore>("localhost", options);
      place.port = server->getPort();
      served = server;
    }
  } catch (const std::exception& error) {
    return run.fail(failed("it cannot serve the store of the groups", error));
  }
  BlobWriter mine;
  mine.text(host);
  mine.number(place.port);
  std::vector<Blob> all;
  if (Status s = run.gather("the store of the groups", mine.take(), all); !s.ok()) return s;
  BlobReader first(all.front());
  place.host = first.text(256);
  place.port = first.number<std::uint16_t>();
  if (first.is_done()) return {};
  return run.fail({StatusCode::invalid, "process 0 serves no store"});
}

using Line = std::shared_ptr<Group::Line>;
// With the members of a rank, and with the replicas; null where there is none.
struct AllLines {
  std::array<Line, core::kEngines> members;
  std::array<Line, core::kEngines> replicas;
};
using MakeLine = std::function<Line(const std::string& name, int index, int size)>;

// One for each engine with collectives.
void make_lines(const core::Layout& layout, const core::Coordinates& self,
                const core::ProgramFacts& facts, const MakeLine& make, AllLines& lines) {
  const core::LaneSpan own = facts.lanes_of(self.rank);
  for (core::LaneId lane = own.first; lane < own.end; ++lane) {
    const core::LaneFacts& of = facts.lanes[static_cast<std::size_t>(lane)];
    const auto engine = static_cast<std::size_t>(of.engine);
    const std::string on =
        " of rank " + std::to_string(self.rank) + " on " + core::name_of(of.engine);
    const bool is_collective =
        std::count(facts.collectives.begin(), facts.collectives.end(), lane) > 0;
    if (is_collective && !lines.members[engine]) {
      const std::string who = "the members of replica " + std::to_string(self.replica);
      lines.members[engine] = make(who + on, self.member, layout.members);
    }
    const bool reduces = facts.replicas > 1 &&
                         facts.ops[static_cast<std::size_t>(of.op)].kind == core::OpKind::reduce;
    if (reduces && !lines.replicas[engine]) {
      const std::string who = "the replicas of member " + std::to_string(self.member);
      lines.replicas[engine] = make(who + on, self.replica, layout.replicas);
    }
  }
}

// Calls `make_all` with what connects one line.
Status connect_lines(const std::string& host, const Place& place, const GroupOptions& options,
                     const std::function<void(const MakeLine&)>& make_all) {
  std::shared_ptr<::gloo::transport::Device> device;
  try {
    device = c10d::ProcessGroupGloo::createDeviceForHostname(host);
  } catch (const std::exception& error) {
    return failed("it cannot connect its groups from " + host, error);
  }
  try {
    c10d::TCPStoreOptions of_store;
    of_store.timeout = options.connect_limit;
    of_store.waitWorkers = false;
    of_store.port = place.port;
    const StorePtr store = c10::make_intrusive<c10d::TCPStore>(place.host, of_store);
    make_all([&](const std::string& name, int index, int size) {
      auto of = c10d::ProcessGroupGloo::Options::create(options.connect_limit);
      of->devices.push_back(device);
      of->threads = 1;
      const auto backend = c10::make_intrusive<c10d::ProcessGroupGloo>(
          c10::make_intrusive<c10d::PrefixStore>(name, store), index, size, of);
      backend->setTimeout(options.limit);
      return std::make_shared<Group::Line>(name, backend);
    });
  } catch (const std::exception& error) {
    // For want of another process, as far as one can know.
    return {StatusCode::lost, failed("it cannot connect its groups", error).message()};
  }
  return {};
}

}  // namespace

Status Groups::connect(Run& run, const core::ProgramFacts& facts, const std::string& address,
                       std::unique_ptr<Groups>& groups, const GroupOptions& options) {
  const core::Layout layout = run.layout();
  groups.reset(new Groups());
  groups->layout_ = layout;
  if (facts.replicas == 1 && facts.collectives.empty()) return {};
  const std::string host = address.empty() ? "127.0.0.1" : address;
  StorePtr served;
  Place place;
  if (Status s = serve_store(run, host, served, place); !s.ok()) return s;
  // Nothing ends a thread that waits in Gloo for another process, which may be gone.
  const auto lines = std::make_shared<AllLines>();
  const core::Coordinates self = layout.at(run.self());
  Status status = run.run_beside([=] {
    return connect_lines(host, place, options, [&](const MakeLine& make) {
      make_lines(layout, self, facts, make, *lines);
    });
  });
  // The store is there until all are connected.
  std::vector<Blob> all;
  if (status.ok()) status = run.gather("the groups", {}, all);
  if (!status.ok()) return status;
  groups->members_ = lines->members;
  groups->replicas_ = lines->replicas;
  return {};
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
