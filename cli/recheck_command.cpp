// ripeline recheck: a certificate, checked with another solver.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "certificates/recheck.h"
#include "cli/certificate_folder.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/numbers.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "files/new_file.h"

namespace ripeline::cli {
namespace {

namespace fs = std::filesystem;

struct RecheckCommand {
  std::string folder;
  std::string solver = "cvc5";
  std::string format = "text";
  int seconds = 60;
};

int exit_code_of_recheck(certificates::RecheckResult result) {
  switch (result) {
    case certificates::RecheckResult::accepted:
      return ok;
    case certificates::RecheckResult::rejected:
      return refuted;
    case certificates::RecheckResult::undecided:
      return unknown;
    case certificates::RecheckResult::no_input:
      break;
  }
  return bad_input;
}

// A folder for the questions, which is gone with it.
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

  // The solver gets the bytes that were compared, not what the certificate's folder has by then.
  [[nodiscard]] certificates::Reply ask(const RecheckCommand& command, std::size_t number,
                                        const std::string& text) const {
    const std::string path = (folder_ / fmt::format("{}.smt2", number)).string();
    if (folder_.empty()) return {verify::Answer::unknown, "there is no temporary folder"};
    if (const core::Status s = files::write_file(path, text); !s.ok()) {
      return {verify::Answer::unknown, s.message()};
    }
    const ProcessResult done = run_process(
        {.command = {command.solver, path}, .limit = std::chrono::seconds(command.seconds)});
    if (done.how == ProcessResult::How::timed_out) {
      return {verify::Answer::unknown, fmt::format("not within {} s", command.seconds)};
    }
    if (done.out == "unsat\n") return {verify::Answer::unsat, {}};
    if (done.out == "sat\n") return {verify::Answer::sat, {}};
    return {verify::Answer::unknown, "it says '" + done.out.substr(0, done.out.find('\n')) + "'"};
  }

 private:
  fs::path folder_;
};

std::vector<certificates::Reply> ask_all(const RecheckCommand& command,
                                         const std::vector<std::string>& texts) {
  const Questions questions;
  std::vector<certificates::Reply> replies(texts.size());
  std::atomic<std::size_t> next = 0;  // each reply is written by the thread that took its number
  const auto work = [&] {
    for (std::size_t i = next++; i < texts.size(); i = next++) {
      replies[i] = questions.ask(command, i, texts[i]);
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

// The first line of what `--version` prints; nothing if it cannot be run.
std::optional<std::string> version_of(const std::string& solver) {
  const ProcessResult done =
      run_process({.command = {solver, "--version"}, .limit = std::chrono::seconds(20)});
  if (done.how != ProcessResult::How::exited) return std::nullopt;
  std::string line = done.out.substr(0, done.out.find('\n'));
  if (line.starts_with("This is ")) line.erase(0, 8);
  return line;
}

std::string text_of(const RecheckCommand& command, const certificates::RecheckReport& report,
                    const std::string& solver) {
  std::string text;
  const bool claims =
      report.result != certificates::RecheckResult::no_input && !report.program.empty();
  text += fmt::format("{}: {}", command.folder, name_of(report.result));
  if (claims) {
    const std::string depths =
        report.every_rank_from
            ? fmt::format(" for every number of ranks from {} on", *report.every_rank_from)
            : "";
    text +=
        fmt::format(", {} is {}{} ({})", report.program, name_of(report.verdict), depths, solver);
  }
  text += "\n";
  for (const certificates::RecheckStep& step : report.steps) {
    const std::string result =
        step.result == certificates::RecheckResult::accepted ? "ok" : name_of(step.result);
    text += fmt::format("  {:<12} {:<10} {}{}{}\n", step.name, result, step.where,
                        step.where.empty() ? "" : ": ", step.detail);
  }
  return text;
}

nlohmann::json json_of(const certificates::RecheckReport& report, const std::string& solver) {
  nlohmann::json steps = nlohmann::json::array();
  for (const certificates::RecheckStep& step : report.steps) {
    const bool fine = step.result == certificates::RecheckResult::accepted;
    nlohmann::json entry = {{"name", step.name},
                            {"result", fine ? "ok" : name_of(step.result)},
                            {"detail", step.detail}};
    if (!step.where.empty()) entry["file"] = step.where;
    steps.push_back(std::move(entry));
  }
  nlohmann::json written = {{"schema", "ripeline.recheck/2"},
                            {"program", report.program},
                            {"hash", report.hash},
                            {"verdict", name_of(report.verdict)},
                            {"result", name_of(report.result)},
                            {"steps", std::move(steps)},
                            {"solver", solver}};
  if (report.every_rank_from) written["least_ranks"] = *report.every_rank_from;
  return written;
}

int run(const RecheckCommand& command) {
  const auto files = read_certificate(command.folder);
  if (!files.ok()) return say_failed(files.errors());
  std::string solver = "no solver asked";
  bool missing = false;
  const certificates::RecheckReport report = [&] {
    const Progress progress("rechecking " + command.folder);
    return certificates::recheck(files.value(), [&](const std::vector<std::string>& texts) {
      const auto version = version_of(command.solver);
      missing = !version;
      solver = version.value_or(command.solver);
      return missing ? std::vector<certificates::Reply>(texts.size()) : ask_all(command, texts);
    });
  }();
  if (missing) {
    std::cerr << fmt::format(
        "ripeline: the solver {} cannot be run. On Debian: apt-get install cvc5; or name another "
        "one that reads SMT-LIB 2 files with --solver\n",
        command.solver);
    return bad_input;
  }
  if (command.format == "json") {
    std::cout
        << json_of(report, solver).dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
        << '\n';
  } else {
    std::cout << text_of(command, report, solver);
  }
  return exit_code_of_recheck(report.result);
}

}  // namespace

void add_recheck(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "recheck", "check a certificate of `verify --certificate` with another solver");
  auto options = std::make_shared<RecheckCommand>();
  command->add_option("DIR", options->folder, "the certificate's folder")->required();
  command
      ->add_option("--solver", options->solver,
                   "a program that reads an SMT-LIB 2 file and prints sat or unsat")
      ->type_name("PROGRAM")
      ->capture_default_str();
  command->add_option("--time-limit", options->seconds, "seconds for each question")
      ->check(integer_from(1, 86'400))
      ->capture_default_str();
  command->add_option("--format", options->format, "text, or json on standard output")
      ->check(CLI::IsMember({"text", "json"}));
  command->footer(
      "Exit codes: 0 accepted: what the certificate claims, proved or refuted, is so; 1 rejected; "
      "2 no certificate, or no solver; 3 undecided: among them certificates of verdict unknown.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
