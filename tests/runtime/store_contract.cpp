#include "tests/runtime/store_contract.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "tests/runtime/ranks.h"

namespace ripeline::testing_support {

using core::StatusCode;
using runtime::Blob;
using runtime::network::Claim;
using runtime::network::Store;
using namespace std::chrono_literals;

Blob blob(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

std::string text_in(Store& store, const std::string& key) {
  std::optional<Blob> value;
  const core::Status status = store.get(key, value);
  EXPECT_TRUE(status.ok()) << status.message();
  return value ? std::string(reinterpret_cast<const char*>(value->data()), value->size())
               : "nothing";
}

bool becomes(Store& store, const std::string& key, Claim one, Claim other) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  for (;;) {
    const Claim claim = store.claim_of(key);
    if (claim == one || claim == other) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(5ms);
  }
}

TEST_P(StoreContract, gives_what_was_set_last) {
  const auto world = GetParam()();
  const auto store = world->open();
  const auto other = world->open();
  EXPECT_EQ(text_in(*store, "a"), "nothing");
  for (const std::string& text : {std::string("one"), std::string(10'000, 'x'), std::string()}) {
    EXPECT_TRUE(store->set("a", blob(text)).ok());
    EXPECT_EQ(text_in(*store, "a"), text);
    EXPECT_EQ(text_in(*other, "a"), text);
  }
  other->remove("a");
  EXPECT_EQ(text_in(*store, "a"), "nothing");
}

TEST_P(StoreContract, keeps_the_first_of_several) {
  const auto world = GetParam()();
  const auto store = world->open();
  const auto other = world->open();
  Blob there;
  EXPECT_TRUE(store->set_if_absent("a", blob("first"), there).ok());
  EXPECT_EQ(there, blob("first"));
  EXPECT_TRUE(other->set_if_absent("a", blob("second"), there).ok());
  EXPECT_EQ(there, blob("first"));
  EXPECT_EQ(text_in(*store, "a"), "first");
}

TEST_P(StoreContract, gives_a_claim_to_one_at_a_time) {
  const auto world = GetParam()();
  const auto store = world->open();
  const auto other = world->open();
  Blob there;
  EXPECT_EQ(store->claim_of("a"), Claim::none);
  EXPECT_TRUE(store->claim("a", blob("mine"), there).ok());
  EXPECT_EQ(there, Blob()) << "nobody held it before";
  EXPECT_EQ(store->claim_of("a"), Claim::held);
  EXPECT_EQ(text_in(*other, "a"), "mine");
  EXPECT_TRUE(becomes(*other, "a", Claim::held, Claim::held));
  EXPECT_EQ(other->claim("a", blob("theirs"), there).code(), StatusCode::refused);
  EXPECT_EQ(there, blob("mine"));
  store->release("a");
  EXPECT_EQ(other->claim_of("a"), Claim::abandoned);
  EXPECT_EQ(text_in(*other, "a"), "mine");
  EXPECT_TRUE(other->claim("a", blob("theirs"), there).ok());
  EXPECT_EQ(there, blob("mine"));
  EXPECT_TRUE(becomes(*store, "a", Claim::held, Claim::held));
  EXPECT_EQ(text_in(*store, "a"), "theirs");
  other->remove("a");
  EXPECT_EQ(store->claim_of("a"), Claim::none);
}

TEST_P(StoreContract, ends_its_claims_with_itself) {
  const auto world = GetParam()();
  const auto store = world->open();
  Blob there;
  EXPECT_TRUE(world->open()->claim("a", blob("mine"), there).ok());
  EXPECT_EQ(store->claim_of("a"), Claim::abandoned);
}

TEST_P(StoreContract, gives_an_abandoned_claim_to_one_of_many) {
  const auto world = GetParam()();
  const auto store = world->open();
  Blob there;
  EXPECT_TRUE(store->claim("a", blob("dead"), there).ok());
  store->release("a");
  constexpr int kMany = 8;
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < kMany; ++i) stores.push_back(world->open());
  std::atomic<int> held = 0;
  in_threads(kMany, [&](int i) {
    Blob mine;
    held += stores[static_cast<std::size_t>(i)]->claim("a", blob(std::to_string(i)), mine).ok();
  });
  EXPECT_EQ(held, 1);
  EXPECT_TRUE(becomes(*store, "a", Claim::held, Claim::held));
}

TEST_P(StoreContract, tells_the_end_of_a_process_that_was_killed) {
  const auto world = GetParam()();
  const pid_t child = fork();
  if (child == 0) {
    const auto store = world->open();
    Blob there;
    if (store == nullptr || !store->claim("a", blob("killed"), there).ok()) _exit(1);
    pause();
  }
  const auto store = world->open();
  EXPECT_TRUE(becomes(*store, "a", Claim::held, Claim::held));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(becomes(*store, "a", Claim::abandoned, Claim::silent));
  Blob there;
  EXPECT_TRUE(store->claim("a", blob("next"), there).ok());
  EXPECT_EQ(there, blob("killed"));
  EXPECT_EQ(text_in(*store, "a"), "next");
}

}  // namespace ripeline::testing_support
