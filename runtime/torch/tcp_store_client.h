// TcpStoreClient: a process's connection to a c10d TCPStore, with bytes by key, and with counts
// that a thread keeps increasing. Private to torch/tcp_store.
//
// A thread of its own makes all calls of c10d, which wait for the server without a limit; a caller
// waits no longer than the options say. Every later call returns the first failure, which names the
// store: its contents are lost with its server. A second connection, over which nothing is sent,
// shows the server's end before c10d notices it and logs a stack trace. All methods of the client
// are called by one thread.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/status.h"
#include "runtime/torch/tcp_store.h"

namespace ripeline::runtime {

// Whether this process was told to end, and the status of a wait that fails for that reason.
[[nodiscard]] bool is_told_to_end(const TcpStoreOptions& options);
[[nodiscard]] core::Status told_to_end();

class TcpStoreClient {
 public:
  static constexpr std::chrono::milliseconds kBeat{500};  // between increases; shorter at first

  // Serves the store first if the options ask for that; else waits until another process serves it.
  static core::Status open(const TcpStoreOptions& options, std::unique_ptr<TcpStoreClient>& client);
  // If the server does not answer, the thread is left to end with the process.
  ~TcpStoreClient();
  TcpStoreClient(const TcpStoreClient&) = delete;
  TcpStoreClient& operator=(const TcpStoreClient&) = delete;

  core::Status set(const std::string& key, const std::string& value);
  core::Status get(const std::string& key, std::string& there);  // empty if the key is not set
  // Sets the key to `desired` if its value is `expected`, or if `expected` is empty and the key is
  // not set. `there` becomes the value afterwards, empty if none is set. No value may be empty.
  core::Status exchange(const std::string& key, const std::string& expected,
                        const std::string& desired, std::string& there);
  void remove(const std::string& key);  // if this fails, every later call fails
  core::Status keys(std::vector<std::string>& all);

  // Counts up from "1" under this key, until the key is removed or the client ends.
  core::Status count_up(const std::string& key);

  void expect_answers_within(std::chrono::nanoseconds limit) { limit_ = limit; }

  // The store's address, such as `10.0.0.1:29500`.
  [[nodiscard]] static std::string text_of(const TcpStoreOptions& options);

 private:
  class Calls;  // the side of the thread
  using Answer = std::vector<std::string>;

  explicit TcpStoreClient(const TcpStoreOptions& options);
  template <class Op>
  core::Status ask(Op op, Answer& answer);
  core::Status fail(const std::string& how);

  const TcpStoreOptions options_;
  std::chrono::nanoseconds limit_ = options_.answer_limit;
  const std::shared_ptr<Calls> calls_;
  std::thread thread_;
  core::Status failure_;
};

}  // namespace ripeline::runtime
