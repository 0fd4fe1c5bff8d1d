// TcpLine: a process's connection to a c10d TCPStore: bytes by key, and counts that go up by
// themselves. Private to torch/tcp_store.
//
// A thread of its own makes all calls of c10d, which wait for the server as long as it takes; a
// caller waits no longer than the options say. The first failure is that of every later call, and
// names the store: what it serves is gone with its server. A second connection, over which nothing
// is said, tells that end before c10d meets it, which would log it with a trace of its stack. One
// thread calls.
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

// The process that waits for the store; and how the wait ends then, for a caller that names it.
[[nodiscard]] bool is_told_to_end(const TcpStoreOptions& options);
[[nodiscard]] core::Status told_to_end();

class TcpLine {
 public:
  static constexpr std::chrono::milliseconds kBeat{500};  // between two counts; less at first

  // Serves the store first, if that is asked for; else waits until somebody does.
  static core::Status open(const TcpStoreOptions& options, std::unique_ptr<TcpLine>& line);
  // When nobody answers, the thread is left to end with the process.
  ~TcpLine();
  TcpLine(const TcpLine&) = delete;
  TcpLine& operator=(const TcpLine&) = delete;

  core::Status set(const std::string& key, const std::string& value);
  core::Status get(const std::string& key, std::string& there);  // empty: it is not set
  // Puts `desired` there if the key has the value `expected`; empty: if it is not set. `there` is
  // what it has then; empty: it is not set. No value may be empty.
  core::Status exchange(const std::string& key, const std::string& expected,
                        const std::string& desired, std::string& there);
  void remove(const std::string& key);  // if it cannot be, every later call fails
  core::Status keys(std::vector<std::string>& all);

  // From "1" on, until the key is gone or the line.
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
