// Store: what the processes of a run know of each other before they are connected: values by key.
//
// A value is written whole or not at all, and may be read by every process of the run. A claim is a
// value that one process holds while it lives; however it ends, the others find the claim
// abandoned, or silent where no system tells them more. All calls return at once, but for claim(),
// which may have to find out first whether another process lives; they fail by status, which says
// what the system said. Keys are file names. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime::network {

enum class Claim : std::uint8_t {
  none,       // nobody has claimed the key
  unseen,     // somebody has, who has not been seen to live
  held,       // its process lives
  silent,     // its process has given no sign of life for a while: ended, stopped, out of reach
  abandoned,  // its process has ended the claim or itself; the value is still there
};

class Store {
 public:
  virtual ~Store() = default;

  // For messages: a rank that is missing did not come to it.
  [[nodiscard]] virtual std::string name() const = 0;

  virtual core::Status set(const std::string& key, const Blob& value) = 0;
  // The first one wins: `there` is its value, whoever set it.
  virtual core::Status set_if_absent(const std::string& key, const Blob& value, Blob& there) = 0;
  // Nothing: the key is not set.
  virtual core::Status get(const std::string& key, std::optional<Blob>& value) = 0;
  virtual void remove(const std::string& key) = 0;

  // Takes a key that nobody holds. `refused` when somebody does: `there` is what that one said;
  // else what somebody said who held it before, empty: nobody did.
  virtual core::Status claim(const std::string& key, const Blob& value, Blob& there) = 0;
  // Ends an own claim and leaves its value, as the end of the process does.
  virtual void release(const std::string& key) = 0;
  [[nodiscard]] virtual Claim claim_of(const std::string& key) = 0;

  // All are connected: what is asked from now on is said on leaving, and not worth a long wait.
  virtual void started() {}

  // A descriptor that becomes readable when something has changed, perhaps not at once, and is the
  // caller's. -1: there is none, so that whoever waits has to ask again from time to time.
  [[nodiscard]] virtual int watch() = 0;
};

// Set by who has started the ranks when the process of a rank has ended: how, as text.
[[nodiscard]] inline std::string ended_key(int rank) { return "ended-" + std::to_string(rank); }

}  // namespace ripeline::runtime::network
