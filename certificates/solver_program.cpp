#include "certificates/solver_program.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "files/new_file.h"
#include "process/child.h"

namespace ripeline::certificates {
namespace {

namespace fs = std::filesystem;
using verify::Answer;

// A temporary folder for the questions, which the destructor removes.
class Questions {
 public:
  Questions() {
    std::error_code code;
    std::string pattern = (fs::temp_directory_path(code) / "ripeline-recheck-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
  }
  ~Questions() {
    std::error_code code;
    if (!folder_.empty()) fs::remove_all(folder_, code);
  }
  Questions(const Questions&) = delete;
  Questions& operator=(const Questions&) = delete;

  // The solver reads `text`, which recheck compared; the certificate's file may have changed since.
  [[nodiscard]] Reply ask(const SolverProgram& solver, std::size_t number,
                          const std::string& text) const {
    const std::string path = (folder_ / fmt::format("{}.smt2", number)).string();
    if (folder_.empty()) return {Answer::unknown, "there is no temporary folder"};
    if (const core::Status s = files::write_file(path, text); !s.ok()) {
      return {Answer::unknown, s.message()};
    }
    const process::ChildRun run =
        process::run_child({.command = {solver.command, path}, .time = solver.each});
    if (run.was_stopped) {
      return {Answer::unknown, fmt::format("not within {} s", solver.each.count())};
    }
    if (run.output == "unsat\n") return {Answer::unsat, {}};
    if (run.output == "sat\n") return {Answer::sat, {}};
    return {Answer::unknown, "it says '" + run.output.substr(0, run.output.find('\n')) + "'"};
  }

 private:
  fs::path folder_;
};

}  // namespace

std::optional<std::string> SolverProgram::version() const {
  const process::ChildRun run =
      process::run_child({.command = {command, "--version"}, .time = std::chrono::seconds(20)});
  if (run.not_started != 0 || run.was_stopped || run.signal != 0) return std::nullopt;
  std::string line = run.output.substr(0, run.output.find('\n'));
  if (line.starts_with("This is ")) line.erase(0, 8);
  return line;
}

std::vector<Reply> SolverProgram::ask(const std::vector<std::string>& texts) const {
  const Questions questions;
  std::vector<Reply> replies(texts.size());
  std::atomic<std::size_t> next = 0;  // each reply is written by the thread that took its number
  const auto work = [&] {
    for (std::size_t i = next++; i < texts.size(); i = next++) {
      replies[i] = questions.ask(*this, i, texts[i]);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned n = 1; n < std::thread::hardware_concurrency() && n < texts.size(); ++n) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& t : threads) t.join();
  return replies;
}

}  // namespace ripeline::certificates
