// The contract of every store. The tests, in store_contract.cpp, are instantiated for each store:
//   INSTANTIATE_TEST_SUITE_P(folder, StoreContract, testing::Values(make_folder_world));
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "runtime/network/store.h"

namespace ripeline::testing_support {

// A store that several processes share.
class StoreWorld {
 public:
  virtual ~StoreWorld() = default;
  // Opens the store as one of the processes; a forked child may be the first to open it.
  virtual std::unique_ptr<runtime::network::Store> open() = 0;
};

using MakeStoreWorld = std::unique_ptr<StoreWorld> (*)();
class StoreContract : public testing::TestWithParam<MakeStoreWorld> {};

[[nodiscard]] runtime::Blob blob(const std::string& text);
// The text that is stored under the key; empty if the key is not set.
[[nodiscard]] std::string text_in(runtime::network::Store& store, const std::string& key);
// Asks the store again until the claim on the key is `one` or `other`.
[[nodiscard]] bool becomes(runtime::network::Store& store, const std::string& key,
                           runtime::network::Claim one, runtime::network::Claim other);

}  // namespace ripeline::testing_support
