// The contract of every store. The tests are store_contract.cpp; tests of a store instantiate them:
//   INSTANTIATE_TEST_SUITE_P(folder, StoreContract, testing::Values(make_folder_world));
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "runtime/network/store.h"

namespace ripeline::testing_support {

// A store that several processes have.
class StoreWorld {
 public:
  virtual ~StoreWorld() = default;
  // As one of them; the first of a process after a fork may come before any other.
  virtual std::unique_ptr<runtime::network::Store> open() = 0;
};

using MakeStoreWorld = std::unique_ptr<StoreWorld> (*)();
class StoreContract : public testing::TestWithParam<MakeStoreWorld> {};

[[nodiscard]] runtime::Blob blob(const std::string& text);
// Nothing where the key is not set.
[[nodiscard]] std::string text_in(runtime::network::Store& store, const std::string& key);
// Asks until it is one of the two.
[[nodiscard]] bool becomes(runtime::network::Store& store, const std::string& key,
                           runtime::network::Claim one, runtime::network::Claim other);

}  // namespace ripeline::testing_support
