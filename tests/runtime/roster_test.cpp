// Tests a rank's reaction to a store that returns unexpected values.
#include "runtime/network/roster.h"

#include <gtest/gtest.h>

#include "tests/runtime/ranks.h"

namespace ripeline::runtime::network {
namespace {

using core::Status;
using core::StatusCode;

// A store in which another process removes every value at once.
class ForgetfulStore final : public Store {
 public:
  [[nodiscard]] std::string name() const override { return "nowhere"; }
  Status set(const std::string&, const Blob&) override { return {}; }
  Status set_if_absent(const std::string&, const Blob&, Blob& there) override {
    there.clear();
    return {};
  }
  Status get(const std::string&, std::optional<Blob>& value) override {
    value.reset();
    return {};
  }
  void remove(const std::string&) override {}
  Status claim(const std::string&, const Blob&, Blob& there) override {
    there.clear();
    return {};
  }
  void release(const std::string&) override {}
  [[nodiscard]] Claim claim_of(const std::string&) override { return Claim::none; }
  [[nodiscard]] int watch() override { return -1; }
};

TEST(Roster, fails_with_its_own_reason_when_the_first_of_all_is_removed) {
  Roster roster(std::make_shared<ForgetfulStore>(), testing_support::socket_options(1, 2));
  const Status status = roster.fail({StatusCode::failed, "the disk is full"});
  EXPECT_EQ(status.code(), StatusCode::failed);
  EXPECT_EQ(status.message(), "the disk is full");
}

}  // namespace
}  // namespace ripeline::runtime::network
