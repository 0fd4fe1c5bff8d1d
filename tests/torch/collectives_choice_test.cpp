// Tests which library the processes of a run choose for their sums.
#include "runtime/torch/collectives_choice.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ripeline::runtime {
namespace {

constexpr std::int32_t kVersion = 22809;

CollectivesOffer offer(const std::string& setting, const std::string& device,
                       std::int32_t version = kVersion) {
  return {.setting = setting,
          .device = device,
          .nccl_version = version,
          .why_not = version == 0 ? "it is not here" : ""};
}

struct ChoiceCase {
  std::vector<CollectivesOffer> offers;
  std::string wanted;  // the choice as text, or the reason why it is refused
};

TEST(CollectivesChoice, is_nccl_where_all_can_and_no_two_share_a_device) {
  const std::string nccl =
      "nccl 2.28.9; assumed: kernels that all of a group have launched run side by side";
  const std::vector<ChoiceCase> cases = {
      {{offer("", "a 0"), offer("", "a 1"), offer("", "b 0")}, nccl},
      {{offer("", "a 0"), offer("", "a 1"), offer("", "a 0")},
       "gloo (processes 0 and 2 share a GPU)"},
      {{offer("", "a 0"), offer("", "a 1", 0)}, "gloo (process 1: it is not here)"},
      {{offer("", "a 0"), offer("", "a 1", 23007)},
       "gloo (NCCL is 2.28.9 at process 0 and 2.30.7 at process 1)"},
      {{offer("gloo", "a 0"), offer("gloo", "a 1")}, "gloo (as it was told)"},
      {{offer("nccl", "a 0"), offer("nccl", "a 0")}, nccl},
      {{offer("nccl", "a 0"), offer("nccl", "a 1", 0)},
       "process 1 was told to use nccl, and cannot: process 1: it is not here"},
      {{offer("", "a 0"), offer("", "a 1"), offer("gloo", "a 2")},
       "process 0 was told none, process 2 was told to use gloo: RIPELINE_COLLECTIVES must be the "
       "same for all"},
      {{offer("nccl", "a 0"), offer("gloo", "a 1")},
       "process 0 was told to use nccl, process 1 was told to use gloo: RIPELINE_COLLECTIVES must "
       "be the same for all"},
  };
  for (const ChoiceCase& one : cases) {
    CollectivesChoice choice;
    const core::Status status = choose_collectives(one.offers, choice);
    EXPECT_EQ(status.ok() ? choice.text : status.message(), one.wanted);
    const bool is_nccl = choice.library == Collectives::nccl;
    EXPECT_EQ(is_nccl, one.wanted == nccl) << one.wanted;
    EXPECT_TRUE(status.ok() || status.code() == core::StatusCode::refused);
  }
}

TEST(CollectivesChoice, is_made_of_what_all_have_said) {
  const CollectivesOffer said = offer("nccl", "host 0000:01:00.0", 0);
  CollectivesOffer heard;
  ASSERT_TRUE(decode(encode(said), heard).ok());
  EXPECT_EQ(heard.setting, said.setting);
  EXPECT_EQ(heard.device, said.device);
  EXPECT_EQ(heard.nccl_version, said.nccl_version);
  EXPECT_EQ(heard.why_not, said.why_not);
  Blob cut = encode(said);
  cut.pop_back();
  EXPECT_EQ(decode(cut, heard).code(), core::StatusCode::invalid);
  EXPECT_EQ(decode({}, heard).code(), core::StatusCode::invalid);
}

TEST(CollectivesChoice, is_told_by_the_environment) {
  std::string setting;
  for (const char* const told : {"", "gloo", "nccl"}) {
    setenv("RIPELINE_COLLECTIVES", told, 1);
    EXPECT_TRUE(read_collectives(setting).ok());
    EXPECT_EQ(setting, told);
  }
  setenv("RIPELINE_COLLECTIVES", "doves", 1);
  EXPECT_EQ(read_collectives(setting).message(),
            "RIPELINE_COLLECTIVES is 'doves'; it may be nccl or gloo");
  unsetenv("RIPELINE_COLLECTIVES");
  EXPECT_TRUE(read_collectives(setting).ok());
  EXPECT_EQ(setting, "");
}

}  // namespace
}  // namespace ripeline::runtime
