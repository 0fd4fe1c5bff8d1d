// Store: values by key, by which the processes of a run find each other before they connect.
//
// A value is written completely or not at all, and every process of the run may read it. A claim is
// a value that one process holds while it lives; when the process ends in any way, the others find
// the claim abandoned, or silent if no system reports the end. All calls return at once, except
// claim(), which may first have to find out whether another process lives. The status of a failed
// call contains the system's error. Keys are file names. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime::network {

enum class Claim : std::uint8_t {
  none,       // nobody has claimed the key
  unseen,     // a process has claimed the key, but nobody has seen it alive
  held,       // the process that claimed the key lives
  silent,     // the process has given no sign of life for a while: ended, stopped or out of reach
  abandoned,  // the process has ended the claim or itself; the value is still set
};

class Store {
 public:
  virtual ~Store() = default;

  // The store's name in error messages, such as `rank 2 did not come to NAME`.
  [[nodiscard]] virtual std::string name() const = 0;

  virtual core::Status set(const std::string& key, const Blob& value) = 0;
  // Sets the key unless it is set: `there` becomes its value, whichever process has set it.
  virtual core::Status set_if_absent(const std::string& key, const Blob& value, Blob& there) = 0;
  // Sets `value` to nullopt if the key is not set.
  virtual core::Status get(const std::string& key, std::optional<Blob>& value) = 0;
  virtual void remove(const std::string& key) = 0;

  // Claims a key that no process holds. If one holds the key, fails as `refused`, and `there` is
  // its value; otherwise `there` is the value of a former holder, or empty if there was none.
  virtual core::Status claim(const std::string& key, const Blob& value, Blob& there) = 0;
  // Ends a claim of this process and leaves the value, as the end of the process does.
  virtual void release(const std::string& key) = 0;
  [[nodiscard]] virtual Claim claim_of(const std::string& key) = 0;

  // Called when all ranks are connected. Later calls serve a process that ends, and must be short.
  virtual void started() {}

  // A descriptor, owned by the caller, that becomes readable, perhaps with a delay, when something
  // has changed. -1 if there is none, so that the caller must read again from time to time.
  [[nodiscard]] virtual int watch() = 0;
};

// The key under which the process that started the ranks reports, as text, how a rank has ended.
[[nodiscard]] inline std::string ended_key(int rank) { return "ended-" + std::to_string(rank); }

}  // namespace ripeline::runtime::network
