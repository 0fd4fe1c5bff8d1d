// Tests sums of members and of replicas over NCCL, with LibTorch's fake device and the fake of
// NCCL. Ranks are threads, each with its own device.
#include <ATen/Parallel.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/layout.h"
#include "runtime/network/local.h"
#include "runtime/torch/collectives_choice.h"
#include "runtime/torch/groups.h"
#include "runtime/torch/tensor_parallel.h"
#include "runtime/torch/torch_device.h"
#include "runtime/torch/train.h"
#include "tests/fake_gpu/fake_gpu.h"
#include "tests/fake_gpu/fake_nccl.h"
#include "tests/torch/pipeline.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing_support::Pipeline;
using torch::Tensor;
using Clock = std::chrono::steady_clock;

// FAKE_DEVICES is set before LibTorch asks for the number of devices.
[[maybe_unused]] const bool kDevices = setenv("FAKE_DEVICES", "4", 1) == 0;

// Long enough for every case, but shorter than the fake's patience.
constexpr std::chrono::seconds kPromptly{15};

struct Here {
  core::Arbiter& arbiter;
  Run& run;
  TorchDevice& device;
};
using Body = std::function<Status(const Here&)>;

// Calls `body` for each process of the program, in a thread and with a device of its own. If a body
// returns a failure that its run does not know, the process vanishes.
std::vector<Status> run_on_devices(const Pipeline& pipeline, const Body& body) {
  const core::Layout layout = core::layout_of(pipeline.facts());
  const auto processes = static_cast<std::size_t>(layout.processes());
  auto transports = network::make_local_group(layout.processes());
  std::vector<Status> statuses(processes);
  std::vector<std::thread> threads;
  for (std::size_t process = 0; process < processes; ++process) {
    threads.emplace_back([&, process] {
      at::set_num_threads(1);
      const int self = static_cast<int>(process);
      std::unique_ptr<TorchDevice> device;
      std::unique_ptr<Transport> transport = std::move(transports[process]);
      Status& status = statuses[process];
      status = TorchDevice::open("fake", self, device);
      if (status.ok()) status = device->carry(transport, std::chrono::seconds(20), nullptr);
      if (!status.ok()) return;
      const auto arbiter = pipeline.make_arbiter(layout.at(self).rank);
      Run run(*transport, {.layout = layout, .limits = {.stall = std::chrono::seconds(60)}});
      status = body({.arbiter = *arbiter, .run = run, .device = *device});
      if (status.ok()) status = run.finish(std::chrono::seconds(20));
      transport.reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return statuses;
}

Status connect(const Here& here, std::unique_ptr<Groups>& groups) {
  return Groups::connect(here.run, here.arbiter.facts(), "", groups, {.device = &here.device});
}

// Two ranks of two members each; the leader of a rank, if there is one, is its first member.
std::string of_members(const std::string& agree) {
  return "pipeline tp {\n  param ranks = 2;\n  microbatches any;\n  stages ranks;\n"
         "  place s on s;\n  tensor_parallel 2 { agree by " +
         agree +
         "; }\n  op F forward { needs F at prev;  acquires activation;  collectives 1; }\n"
         "  op B backward { needs F at here, B at next;  releases activation; }\n"
         "  resource activation per stage { capacity ranks - s; }\n"
         "  hint bf { rounds B, F; }\n  dispatch ready by bf;\n}\n";
}

// Two replicas of a pipeline of two ranks.
const char* const kOfReplicas =
    "pipeline dp {\n  param ranks = 2;\n  microbatches any;\n  stages ranks;\n  place s on s;\n"
    "  data_parallel 2;\n"
    "  op F forward sequential { needs F at prev;  acquires activation; }\n"
    "  op B backward sequential { needs F at here, B at next;  releases activation; }\n"
    "  op G reduce once on comm { needs B at here of all; }\n"
    "  resource activation per stage { capacity ranks - s; }\n"
    "  hint bf { rounds B, F; }\n  dispatch ready by bf;\n}\n";

// A stage with one weight.
TorchStage stage_with(const TorchDevice& device, const std::function<Tensor(const Tensor&)>& of) {
  const Tensor weight =
      torch::ones({4}, torch::TensorOptions().device(device.device())).requires_grad_();
  TorchStage stage;
  stage.forward = [weight, of](const Tensor& x) { return of(x * weight); };
  stage.parameters = {{.name = "weight", .tensor = weight}};
  return stage;
}

TorchModel model_with(const Here& here, const std::function<Tensor(const Tensor&)>& of) {
  TorchModel model;
  model.device = &here.device;
  model.stages[here.arbiter.rank()] = stage_with(here.device, of);
  model.inputs[0] = [](std::int64_t, int m) { return torch::full({4}, 1.0 + m, torch::kFloat); };
  model.labels = model.inputs[0];
  model.loss = [](const Tensor& y, const Tensor&) { return y.sum(); };
  return model;
}

// Runs one pass of three microbatches.
Status accumulate(const Here& here, Groups& groups, TorchModel model,
                  const BeforeTask& before_task = nullptr) {
  TorchWork work(std::move(model));
  TrainerOptions options;
  options.groups = &groups;
  options.before_task = before_task;
  TorchTrainer trainer(here.arbiter, here.run, work, nullptr, options);
  TrainReport report;
  return trainer.accumulate(3, report);
}

class NcclCollectives : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const std::string& misuse : fake_gpu::misuses()) ADD_FAILURE() << misuse;
    EXPECT_EQ(fake_gpu::communicators(), 0);
  }
};

// A tensor of one value: a member's own, or the result that all members get.
template <class Value>
Tensor filled(c10::Device device, torch::ScalarType type, Value value) {
  return torch::full({2, 3}, value, torch::TensorOptions().dtype(type).device(device));
}

TEST_F(NcclCollectives, add_up_each_type_wherever_and_however_it_lies) {
  const Pipeline pipeline(of_members("intersection"));
  const auto statuses = run_on_devices(pipeline, [&](const Here& here) {
    std::unique_ptr<Groups> groups;
    if (Status s = connect(here, groups); !s.ok()) return s;
    EXPECT_EQ(groups->collectives(),
              "nccl 2.28.9; assumed: kernels that all of a group have launched run side by side");
    const Group group = groups->members();
    const c10::StreamGuard guard(*here.device.stream(core::Engine::compute));
    const c10::Device device = here.device.device();
    const int own = group.self() + 1;
    for (const auto type : {torch::kFloat16, torch::kBFloat16, torch::kFloat32, torch::kFloat64,
                            torch::kInt32, torch::kInt64}) {
      Tensor sum = filled(device, type, own);
      group.sum(sum);
      Tensor most = filled(device, type, own);
      group.maximum(most);
      EXPECT_TRUE(torch::equal(sum.cpu(), filled(c10::kCPU, type, 3))) << sum;
      EXPECT_TRUE(torch::equal(most.cpu(), filled(c10::kCPU, type, 2))) << most;
    }
    Tensor columns = filled(device, torch::kFloat32, own).t();
    group.sum(columns);
    EXPECT_TRUE(torch::equal(columns.cpu(), filled(c10::kCPU, torch::kFloat32, 3).t()));
    Tensor of_host = filled(c10::kCPU, torch::kFloat32, own);
    group.sum(of_host);
    EXPECT_TRUE(torch::equal(of_host, filled(c10::kCPU, torch::kFloat32, 3)));
    Tensor flags = filled(device, torch::kBool, true);
    try {
      group.sum(flags);
      ADD_FAILURE() << "flags were added up";
    } catch (const std::invalid_argument& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("tensors of the type Bool are not added"))
          << error.what();
    }
    return testing_support::wait_for_all(here.run);
  });
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
}

// Waits until another thread has set the flag; returns false if none does within kPromptly.
bool comes(const std::atomic<bool>& there) {
  for (const auto until = Clock::now() + kPromptly; Clock::now() < until;) {
    if (there) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void expect_all_say(const std::vector<Status>& statuses, int but, const std::string& text) {
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    if (static_cast<int>(i) == but) continue;
    EXPECT_NE(statuses[i].message().find(text), std::string::npos)
        << "process " << i << ": " << statuses[i].message();
  }
}

// The other member has launched its half of a sum, and the half occupies that member's device.
TEST_F(NcclCollectives, of_a_member_that_fails_are_ended_at_the_others_which_name_it) {
  const Pipeline pipeline(of_members("intersection"));
  std::atomic<bool> launched = false;
  const auto begin = Clock::now();
  const auto statuses = run_on_devices(pipeline, [&](const Here& here) {
    std::unique_ptr<Groups> groups;
    if (Status s = connect(here, groups); !s.ok()) return s;
    const auto forward = [&, self = here.run.self(), group = groups->members()](const Tensor& x) {
      if (self == 3) {
        EXPECT_TRUE(comes(launched));
        throw std::runtime_error("its disk is full");
      }
      Tensor y = sum_over_group(x, group);
      if (self == 2) launched = true;
      return y;
    };
    return accumulate(here, *groups, model_with(here, forward));
  });
  EXPECT_LT(Clock::now() - begin, kPromptly);
  expect_all_say(statuses, -1, "process 3 (rank 1, member 1) failed: 1F0 failed");
  expect_all_say(statuses, -1, "its disk is full");
}

// A follower needs no ballot of another follower to begin.
TEST_F(NcclCollectives, of_a_member_that_vanishes_are_ended_at_the_others_which_name_it) {
  const Pipeline pipeline(of_members("leader"));
  std::atomic<bool> launched = false;
  const auto begin = Clock::now();
  const auto statuses = run_on_devices(pipeline, [&](const Here& here) {
    std::unique_ptr<Groups> groups;
    if (Status s = connect(here, groups); !s.ok()) return s;
    const int self = here.run.self();
    if (self == 3) {
      EXPECT_TRUE(comes(launched));
      return Status(StatusCode::failed, "it vanishes");
    }
    const auto forward = [&, self, group = groups->members()](const Tensor& x) {
      Tensor y = sum_over_group(x, group);
      if (self == 2) launched = true;
      return y;
    };
    return accumulate(here, *groups, model_with(here, forward));
  });
  EXPECT_LT(Clock::now() - begin, kPromptly);
  expect_all_say(statuses, 3, "process 3 (rank 1, member 1) was lost");
}

// The other replica waits for this replica, in the thread that runs the reduction.
TEST_F(NcclCollectives, of_a_replica_that_fails_are_ended_at_the_others_which_name_it) {
  const Pipeline pipeline(kOfReplicas);
  std::atomic<bool> reduces = false;
  const auto begin = Clock::now();
  const auto statuses = run_on_devices(pipeline, [&](const Here& here) {
    std::unique_ptr<Groups> groups;
    if (Status s = connect(here, groups); !s.ok()) return s;
    TorchModel model = model_with(here, [](const Tensor& x) { return x; });
    model.replicas = groups->replicas();
    const auto before_task = [&, self = here.run.self()](const TaskInfo& task) {
      if (task.kind != core::OpKind::reduce) return;
      if (self == 1) reduces = true;
      if (self != 3) return;
      EXPECT_TRUE(comes(reduces));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      throw std::runtime_error("its disk is full");
    };
    return accumulate(here, *groups, std::move(model), before_task);
  });
  EXPECT_LT(Clock::now() - begin, kPromptly);
  expect_all_say(statuses, -1, "process 3 (replica 1, rank 1) failed: 1G0 failed");
}

TEST_F(NcclCollectives, give_all_replicas_the_same_sums) {
  const Pipeline pipeline(kOfReplicas);
  std::mutex mutex;
  std::vector<Tensor> gradients(4);
  const auto statuses = run_on_devices(pipeline, [&](const Here& here) {
    std::unique_ptr<Groups> groups;
    if (Status s = connect(here, groups); !s.ok()) return s;
    TorchModel model = model_with(here, [](const Tensor& x) { return x * x; });
    model.replicas = groups->replicas();
    TorchWork work(std::move(model));
    TorchTrainer trainer(here.arbiter, here.run, work, nullptr, {.groups = groups.get()});
    TrainReport report;
    if (Status s = trainer.step(3, report); !s.ok()) return s;
    const std::lock_guard lock(mutex);
    gradients[static_cast<std::size_t>(here.run.self())] =
        work.model().stages.at(here.arbiter.rank()).parameters[0].tensor.grad().cpu();
    return Status();
  });
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(torch::equal(gradients[rank], gradients[rank + 2]));
    EXPECT_GT(gradients[rank].abs().max().item<float>(), 0);
  }
}

// This test is the last, because a thread of the fake waits for the fourth process until the end.
TEST(NcclGroupsThatDoNotConnect, name_what_is_missing_within_the_limit) {
  const Pipeline pipeline(of_members("intersection"));
  const auto begin = Clock::now();
  const auto statuses = run_on_devices(pipeline, [&](const Here& here) {
    std::unique_ptr<Groups> groups;
    if (here.run.self() != 3) {
      return Groups::connect(
          here.run, here.arbiter.facts(), "", groups,
          {.connect_limit = std::chrono::milliseconds(300), .device = &here.device});
    }
    CollectivesOffer offer{.device = "another"};
    const cuda::NcclLibrary* library = nullptr;
    std::vector<Blob> all;
    Status status = here.device.find_nccl(library, offer.nccl_version);
    if (status.ok()) status = here.run.gather("the collectives", encode(offer), all);
    if (status.ok()) status = here.run.gather("the groups of NCCL", {}, all);
    if (status.ok()) status = here.run.gather("the groups", {}, all);
    return status;
  });
  EXPECT_LT(Clock::now() - begin, kPromptly);
  expect_all_say(statuses, -1,
                 "it cannot connect its groups: the members of replica 0 of rank 1 on compute did "
                 "not connect over NCCL within 0.3 s");
}

}  // namespace
}  // namespace ripeline::runtime
