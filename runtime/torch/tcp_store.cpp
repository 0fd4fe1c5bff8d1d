#include "runtime/torch/tcp_store.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <random>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/torch/tcp_store_client.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kLook = 20ms;      // while this process waits
constexpr auto kLongestGap = 1s;  // the most silence that one pause between two reads may add
constexpr auto kLastWords = 2s;   // the longest wait of the server for the others
constexpr std::size_t kHolder = 16;
const std::string kGuests = "guest/";
const std::string kHere = "here";
const std::string kNobody(kHolder, '-');  // the holder of a value that was set, not claimed

// The stored form of a value: the holder's name, which is new for each claim, and then the value.
std::string stored(const std::string& holder, const Blob& value) {
  return holder + std::string(reinterpret_cast<const char*>(value.data()), value.size());
}

std::string holder_of(const std::string& stored) {
  return stored.size() < kHolder ? kNobody : stored.substr(0, kHolder);
}

Blob value_of(const std::string& stored) {
  const std::string_view value = std::string_view(stored).substr(std::min(stored.size(), kHolder));
  const auto* bytes = reinterpret_cast<const std::byte*>(value.data());
  return {bytes, bytes + value.size()};
}

std::string new_holder() {
  std::random_device random;
  std::string name(kHolder, '0');
  std::array<char, kHolder> digits{};
  const std::uint64_t number = (std::uint64_t{random()} << 32) | random();
  const auto end = std::to_chars(digits.data(), digits.data() + kHolder, number, 16).ptr;
  std::copy_backward(digits.data(), end, name.end());
  return name;
}

}  // namespace

TcpStore::TcpStore(TcpStoreOptions options, std::unique_ptr<TcpStoreClient> client)
    : options_(std::move(options)),
      client_(std::move(client)),
      guest_(path_of(kGuests + new_holder())) {}

Status TcpStore::open(const TcpStoreOptions& options, std::unique_ptr<TcpStore>& store) {
  std::unique_ptr<TcpStoreClient> client;
  if (Status s = TcpStoreClient::open(options, client); !s.ok()) return s;
  std::unique_ptr<TcpStore> opened(new TcpStore(options, std::move(client)));
  if (!options.serves) {
    if (Status s = opened->client_->set(opened->guest_, kHere); !s.ok()) return s;
  }
  store = std::move(opened);
  return {};
}

TcpStore::~TcpStore() {
  for (const auto& [key, holder] : claims_) client_->remove(pulse_of(holder));
  if (options_.serves) {
    wait_for_guests();
  } else {
    client_->remove(guest_);  // the last call of this process
  }
}

void TcpStore::wait_for_guests() {
  const Clock::time_point end = Clock::now() + kLastWords;
  const auto is_guest = [this](const std::string& path) {
    return path.starts_with(path_of(kGuests));
  };
  std::vector<std::string> all;
  while (client_->keys(all).ok() && std::any_of(all.begin(), all.end(), is_guest) &&
         Clock::now() < end) {
    std::this_thread::sleep_for(kLook);
  }
}

std::string TcpStore::name() const { return "the store at " + TcpStoreClient::text_of(options_); }

// The key of the count beside a claim; the count is set as long as the claim is held.
std::string TcpStore::pulse_of(const std::string& holder) const {
  return options_.prefix + "pulse/" + holder;
}

Status TcpStore::set(const std::string& key, const Blob& value) {
  return client_->set(path_of(key), stored(kNobody, value));
}

Status TcpStore::set_if_absent(const std::string& key, const Blob& value, Blob& there) {
  std::string now;
  const Status status = client_->exchange(path_of(key), "", stored(kNobody, value), now);
  there = value_of(now);
  return status;
}

Status TcpStore::get(const std::string& key, std::optional<Blob>& value) {
  value.reset();
  std::string there;
  Status status = client_->get(path_of(key), there);
  if (!there.empty()) value = value_of(there);
  return status;
}

void TcpStore::remove(const std::string& key) {
  std::string there;
  if (!client_->get(path_of(key), there).ok() || there.empty()) return;
  client_->remove(path_of(key));
  if (holder_of(there) != kNobody) client_->remove(pulse_of(holder_of(there)));
  claims_.erase(key);
}

Status TcpStore::claim(const std::string& key, const Blob& value, Blob& there) {
  const std::string holder = new_holder();
  // The count begins before the claim, so that a live process's claim never seems abandoned.
  Status status = client_->count_up(pulse_of(holder));
  std::string now;
  if (status.ok()) status = take(key, stored(holder, value), now);
  if (!status.ok()) {
    client_->remove(pulse_of(holder));
  } else {
    claims_[key] = holder;
  }
  there = value_of(now);
  return status;
}

Status TcpStore::take(const std::string& key, const std::string& mine, std::string& there) {
  for (;;) {
    if (Status s = client_->exchange(path_of(key), "", mine, there); !s.ok()) return s;
    if (there == mine) return there.clear(), Status();
    const std::string old = there;
    const network::Claim claim = see(key, holder_of(old));
    if (claim == network::Claim::held) {
      return {StatusCode::refused, key + " in " + name() + ": another process holds it"};
    }
    if (claim == network::Claim::unseen) {
      if (is_told_to_end(options_)) return told_to_end();
      std::this_thread::sleep_for(kLook);
      continue;
    }
    // If several processes find the claim abandoned, the first one takes over the claim.
    if (Status s = client_->exchange(path_of(key), old, mine, there); !s.ok()) return s;
    if (there == mine) {
      client_->remove(pulse_of(holder_of(old)));
      there = old;
      return {};
    }
  }
}

void TcpStore::release(const std::string& key) {
  const auto it = claims_.find(key);
  if (it == claims_.end()) return;
  client_->remove(pulse_of(it->second));
  claims_.erase(it);
}

network::Claim TcpStore::claim_of(const std::string& key) {
  if (claims_.contains(key)) return network::Claim::held;
  std::string there;
  if (!client_->get(path_of(key), there).ok()) return network::Claim::unseen;
  return there.empty() ? network::Claim::none : see(key, holder_of(there));
}

void TcpStore::started() { client_->expect_answers_within(kLastWords); }

network::Claim TcpStore::see(const std::string& key, const std::string& holder) {
  if (holder == kNobody) return network::Claim::abandoned;
  const Clock::time_point asked = Clock::now();
  std::string count;
  if (!client_->get(pulse_of(holder), count).ok()) return network::Claim::unseen;
  if (count.empty()) return network::Claim::abandoned;
  Sighting& seen = sightings_[key];
  if (seen.holder != holder) {
    seen = {.holder = holder, .count = count};
  } else if (seen.count != count) {
    seen = {.holder = holder, .count = count, .has_moved = true};
  } else {
    // A longer gap adds no more, since the store or this process may have paused in the gap.
    seen.still_for += std::min<Clock::duration>(asked - seen.at, kLongestGap);
  }
  seen.at = Clock::now();
  if (seen.still_for >= kSilence) return network::Claim::silent;
  return seen.has_moved ? network::Claim::held : network::Claim::unseen;
}

}  // namespace ripeline::runtime
