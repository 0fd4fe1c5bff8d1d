// TcpLine: a process's connection to a c10d TCPStore: bytes by key, and counts that a thread keeps
// increasing. Private to torch/tcp_store.
//
// A thread of its own makes all calls of c10d, which wait for the server as long as it takes; a
// caller waits no longer than the options say. Every later call returns the first failure, which
// names the store: its contents are gone with its server. A second connection, over which nothing
// is sent, shows the server's end before c10d meets it and logs it with a stack trace. The line's
// methods are called by one thread.
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

// Whether this process was told to end; and the failure of its wait, for a caller to name it.
[[nodiscard]] bool is_told_to_end(const TcpStoreOptions& options);
[[nodiscard]] core::Status told_to_end();

class TcpLine {
 public:
  static constexpr std::chrono::milliseconds kBeat{500};  // between increases; shorter at first

  // Serves the store first if the options say so; else waits until another process serves it.
  static core::Status open(const TcpStoreOptions& options, std::unique_ptr<TcpLine>& line);
  // If the server does not answer, the thread is left to end with the process.
  ~TcpLine();
  TcpLine(const TcpLine&) = delete;
  TcpLine& operator=(const TcpLine&) = delete;

  core::Status set(const std::string& key, const std::string& value);
  core::Status get(const std::string& key, std::string& there);  // empty: the key is not set
  // Sets the key to `desired` if its value is `expected`, or if `expected` is empty and the key is
  // not set. `there` is its value afterwards; empty: it is not set. No value may be empty.
  core::Status exchange(const std::string& key, const std::string& expected,
                        const std::string& desired, std::string& there);
  void remove(const std::string& key);  // if it cannot be, every later call fails
  core::Status keys(std::vector<std::string>& all);

  // Counts up from "1" under this key, until the key or the line is gone.
  core::Status count_up(const std::string& key);

  void expect_answers_within(std::chrono::nanoseconds limit) { limit_ = limit; }

  // `10.0.0.1:29500`
  [[nodiscard]] static std::string text_of(const TcpStoreOptions& options);

 private:
  class Client;  // the thread's side
  using Answer = std::vector<std::string>;

  explicit TcpLine(const TcpStoreOptions& options);
  template <class Op>
  core::Status ask(Op op, Answer& answer);
  core::Status fail(const std::string& how);

  const TcpStoreOptions options_;
  std::chrono::nanoseconds limit_ = options_.answer_limit;
  const std::shared_ptr<Client> client_;
  std::thread thread_;
  core::Status failure_;
};

}  // namespace ripeline::runtime
