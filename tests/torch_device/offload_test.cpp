// Tests that values which a stage stores for its backward are copied to pinned memory and back, on
// a device whose copies happen at any moment: gradients are bitwise the same, and no more memory is
// used than is proved. A device that reports too early that a copy or its reader ended is noticed.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/fake_gpu/fake_gpu.h"
#include "tests/torch/pipeline.h"
#include "tests/torch/side_by_side.h"
#include "tests/torch_device/careless_device.h"

namespace ripeline::testing_support {
namespace {

Training on_device(const std::string& way, Mistake mistake) {
  Training training{.program = offloading_chain(3, way), .steps = 3};
  training.open_device = [mistake](std::unique_ptr<runtime::TorchDevice>& device) {
    return open_careless(mistake, device);
  };
  if (way == "recompute") {
    training.change_model = [](runtime::TorchModel& model) {
      for (auto& [number, stage] : model.stages) stage.recompute = true;
    };
  }
  return training;
}

class OffloadOnDevice : public ::testing::TestWithParam<const char*> {};

TEST_P(OffloadOnDevice, trains_bitwise_as_the_unpipelined_model_and_within_what_is_proved) {
  const std::string way = GetParam();
  const std::size_t misuses = fake_gpu::misuses().size();
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    Training training = on_device(way, Mistake::none);
    if (seed > 0) training.trainer.before_task = late_at_random(seed);
    std::vector<runtime::OffloadReport> offloads;
    EXPECT_EQ(train_side_by_side(training, offloads), Outcome());
    ASSERT_EQ(offloads.size(), 3U);
    for (const runtime::OffloadReport& report : offloads) {
      EXPECT_GE(report.microbatch, 4 * kWidth * 4);
      EXPECT_GE(report.here, report.microbatch);
      EXPECT_LE(report.here, (way == "half" ? 8 : 3) * report.microbatch);
      EXPECT_GE(report.away, report.microbatch);
      EXPECT_LE(report.away, 8 * report.microbatch);
    }
  }
  EXPECT_EQ(fake_gpu::misuses().size(), misuses);
}

INSTANTIATE_TEST_SUITE_P(Ways, OffloadOnDevice, ::testing::ValuesIn(kOffloadWays),
                         [](const auto& test) { return std::string(test.param); });

// An operator may itself store a value on the host, as attention does with the generator's state.
TEST(OffloadOfStages, leaves_what_an_operator_keeps_on_the_host) {
  Training training = on_device("whole", Mistake::none);
  training.change_stage = [](runtime::TorchStage& stage) {
    stage.forward = [forward = stage.forward](const torch::Tensor& x) {
      const torch::Tensor half = torch::full({}, 0.5F);  // a number, which is not offloaded
      return forward({x}).toTensor() * half;
    };
  };
  std::vector<runtime::OffloadReport> offloads;
  EXPECT_EQ(train_side_by_side(training, offloads), Outcome());
}

// A run's outcome, and the misuses that the device reported during the run.
struct Noticed {
  Outcome outcome;
  std::vector<std::string> misuses;
};
using Notice = std::function<bool(const Noticed&)>;

// Whether `notice` is true for some run with the mistake: only some runs show it, depending on
// timing. The way `early` offloads several microbatches at the same time.
bool is_noticed(Mistake mistake, const Notice& notice) {
  for (int run = 0; run < 400; ++run) {
    const auto before = static_cast<std::ptrdiff_t>(fake_gpu::misuses().size());
    std::vector<runtime::OffloadReport> offloads;
    Noticed noticed{train_side_by_side(on_device("early", mistake), offloads), {}};
    const std::vector<std::string> all = fake_gpu::misuses();
    noticed.misuses.assign(all.begin() + before, all.end());
    if (notice(noticed)) return true;
  }
  return false;
}

bool says(const std::vector<std::string>& texts, const std::string& what) {
  return std::any_of(texts.begin(), texts.end(), [&what](const std::string& text) {
    return text.find(what) != std::string::npos;
  });
}

class CarelessCopies : public ::testing::TestWithParam<Mistake> {};

TEST_P(CarelessCopies, give_other_gradients) {
  EXPECT_TRUE(is_noticed(GetParam(), [](const Noticed& run) { return run.outcome.gradient > 0; }));
}

INSTANTIATE_TEST_SUITE_P(Mistakes, CarelessCopies,
                         ::testing::Values(Mistake::source_let_go, Mistake::arena_let_go,
                                           Mistake::reload_seems_over),
                         [](const auto& test) {
                           std::ostringstream name;
                           name << test.param;
                           return name.str();
                         });

// Operators read before they return; the device reports the reads that a GPU would make later.
TEST(CarelessDevice, that_lets_go_of_what_a_backward_still_reads_is_told_so) {
  EXPECT_TRUE(is_noticed(Mistake::reloaded_let_go, [](const Noticed& run) {
    return says(run.misuses, "that an operator of another stream still has to read");
  }));
}

TEST(CopyEngines, are_for_copies_alone) {
  const Pipeline pipeline(
      "pipeline p { param ranks = 2; microbatches any; stages ranks; place s on s;\n"
      "op F forward { needs F at prev; }\n"
      "op B backward on copy_in { needs F at here, B at next; } dispatch ready; }");
  std::unique_ptr<runtime::TorchDevice> device;
  ASSERT_TRUE(open_careless(Mistake::none, device).ok());
  runtime::TorchModel model = make_mlp(pipeline.facts(), 1);
  model.device = device.get();
  runtime::TorchWork work(std::move(model));
  EXPECT_EQ(work.check(pipeline.facts(), 1).message(),
            "rank 1: 1B runs on `copy_in`, which on a GPU is for the ops `offload` and `reload` "
            "alone");
}

TEST(CarelessRank, a_backward_before_the_end_of_its_reload_is_refused) {
  EXPECT_TRUE(is_noticed(Mistake::only_rank_is_wrong, [](const Noticed& run) {
    return says(run.outcome.failures, "what its forward kept is away: it is offloaded");
  }));
}

}  // namespace
}  // namespace ripeline::testing_support
