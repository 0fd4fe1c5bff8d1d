#include "runtime/torch/gloo_communicator.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "runtime/blob_io.h"
#include "runtime/torch/sync_debug.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using StorePtr = c10::intrusive_ptr<c10d::Store>;
using Backend = c10::intrusive_ptr<c10d::Backend>;

// Begins an allreduce, without waiting, under a lock of all communicators: they write to c10d's one
// flight recorder, in part without its lock, and members and replicas use different threads.
c10::intrusive_ptr<c10d::Work> begin(c10d::Backend& backend, std::vector<torch::Tensor>& tensors,
                                     const c10d::AllreduceOptions& options) {
  static std::mutex of_all;
  const std::lock_guard lock(of_all);
  return backend.allreduce(tensors, options);
}

class GlooCommunicator final : public Group::Communicator {
 public:
  // `name` is used in error messages.
  GlooCommunicator(std::string name, Backend backend)
      : Communicator(backend->getRank(), backend->getSize()),
        name_(std::move(name)),
        backend_(std::move(backend)) {}
  // Leaks a communicator with a call that was given up but has not ended: the communicator's
  // destructor would wait for that call.
  ~GlooCommunicator() override {
    if (given_up_) (void)backend_.release();
  }

  void reduce(torch::Tensor& tensor, Operation operation) override;
  void close() override {
    {
      const std::lock_guard lock(waiting_->mutex);
      waiting_->closed = true;
    }
    waiting_->changed.notify_all();
  }

 private:
  // The state of one call; a thread of the communicator reports its end.
  struct Waiting {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    bool closed = false;
  };

  const std::string name_;
  Backend backend_;
  const std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();
  bool given_up_ = false;  // a call was given up; no other follows
};

void GlooCommunicator::reduce(torch::Tensor& tensor, Operation operation) {
  const c10::InferenceMode no_graph;
  {
    const std::lock_guard lock(waiting_->mutex);
    if (waiting_->closed) throw GroupFailed(name_ + " was closed");
    waiting_->done = false;
  }
  // Gloo needs the host's memory: a device's tensor is copied there, and the host waits for that.
  std::vector<torch::Tensor> dense;
  {
    const AllowedSync allowed;
    dense.push_back(tensor.cpu().contiguous());
  }
  c10d::AllreduceOptions options;
  options.reduceOp = operation == Operation::sum ? c10d::ReduceOp::SUM : c10d::ReduceOp::MAX;
  // An exception here, before anything is sent, is due to a mistake of the caller.
  const auto work = begin(*backend_, dense, options);
  work->getFuture()->addCallback([waiting = waiting_](auto&) {
    const std::lock_guard lock(waiting->mutex);
    waiting->done = true;
    waiting->changed.notify_all();
  });
  {
    std::unique_lock lock(waiting_->mutex);
    waiting_->changed.wait(lock, [&] { return waiting_->done || waiting_->closed; });
    given_up_ = !waiting_->done;
  }
  if (given_up_) throw GroupFailed(name_ + " was closed");
  try {
    work->wait();
  } catch (const c10::Error& error) {
    throw GroupFailed(name_ + ": " + error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw GroupFailed(name_ + ": " + error.what());
  }
  if (dense[0].is_same(tensor)) return;
  const AllowedSync allowed;
  tensor.copy_(dense[0]);
}

// The address of a store that a process serves.
struct GlooStoreAddress {
  std::string host;
  std::uint16_t port = 0;
};

Status failed(const std::string& what, const std::exception& error) {
  return {StatusCode::failed, what + ": " + error.what()};
}

// Makes process 0 serve a store, and gathers the store's address in all processes.
Status serve_store(Run& run, const std::string& host, StorePtr& served, GlooStoreAddress& address) {
  try {
    if (run.self() == 0) {
      c10d::TCPStoreOptions options;
      options.isServer = true;
      options.waitWorkers = false;
      options.port = 0;
      const auto server = c10::make_intrusive<c10d::TCPStore>("localhost", options);
      address.port = server->getPort();
      served = server;
    }
  } catch (const std::exception& error) {
    return run.fail(failed("it cannot serve the store of the groups", error));
  }
  BlobWriter mine;
  mine.text(host);
  mine.number(address.port);
  std::vector<Blob> all;
  if (Status s = run.gather("the store of the groups", mine.take(), all); !s.ok()) return s;
  BlobReader first(all.front());
  address.host = first.text(256);
  address.port = first.number<std::uint16_t>();
  if (first.is_done()) return {};
  return run.fail({StatusCode::invalid, "process 0 serves no store"});
}

Status connect_communicators(const std::string& host, const GlooStoreAddress& address,
                             const std::vector<CommunicatorPlan>& plans,
                             const GroupOptions& options, Communicators& communicators) {
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
    of_store.port = address.port;
    const StorePtr store = c10::make_intrusive<c10d::TCPStore>(address.host, of_store);
    for (const CommunicatorPlan& plan : plans) {
      auto of = c10d::ProcessGroupGloo::Options::create(options.connect_limit);
      of->devices.push_back(device);
      of->threads = 1;
      const auto backend = c10::make_intrusive<c10d::ProcessGroupGloo>(
          c10::make_intrusive<c10d::PrefixStore>(plan.name, store), plan.self, plan.size, of);
      backend->setTimeout(options.limit);
      communicators.push_back(std::make_shared<GlooCommunicator>(plan.name, backend));
    }
  } catch (const std::exception& error) {
    // As far as this process can know, another process is gone.
    return {StatusCode::lost, failed("it cannot connect its groups", error).message()};
  }
  return {};
}

}  // namespace

Status connect_gloo(Run& run, const std::string& host, std::vector<CommunicatorPlan> plans,
                    const GroupOptions& options, Communicators& communicators) {
  StorePtr served;
  GlooStoreAddress address;
  if (Status s = serve_store(run, host, served, address); !s.ok()) return s;
  // This needs a thread of its own, since nothing ends Gloo's wait for a process that is gone.
  const auto made = std::make_shared<Communicators>();
  Status status = run.run_beside([host, address, plans = std::move(plans), options, made] {
    return connect_communicators(host, address, plans, options, *made);
  });
  // Process 0 keeps the store until all processes are connected.
  std::vector<Blob> all;
  if (status.ok()) status = run.gather("the groups", {}, all);
  if (status.ok()) communicators = *made;
  return status;
}

}  // namespace ripeline::runtime
