// Program: a program that was read once, with its options, so that it never changes.
//
// Later questions, such as verify(), make the program again from the same bytes. Functions throw
// Failure for wrong input, and std::bad_alloc. Immutable, and thus usable in several threads at
// once; no function takes Python's lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "load/program.h"
#include "load/times.h"
#include "python/simulated.h"
#include "python/verdict.h"

namespace ripeline::python {

// The options as the command line writes them.
struct Options {
  std::vector<std::string> defines;      // K=V
  std::string dispatch;                  // empty: as the text says
  std::optional<std::string> placement;  // for a schedule of PyTorch
};

// The counts that -m writes: 8, 1..128; nullopt for nullopt.
[[nodiscard]] std::optional<load::Counts> counts_of(const std::optional<std::string>& text);

class Program {
 public:
  // FILE of the command line: a file or a library schedule. `-` is no standard input here.
  [[nodiscard]] static Program of_name(const std::string& name, const Options& options);
  [[nodiscard]] static Program of_file(const std::string& path, const Options& options);
  [[nodiscard]] static Program of_text(const std::string& text, const Options& options);
  // Fails for a program of the language.
  [[nodiscard]] static Program of_schedule(const std::string& path, const Options& options);
  // The program of `ripeline library megatron`, from options by their names without the hyphens.
  [[nodiscard]] static Program of_megatron(const std::map<std::string, std::int64_t>& options);

  // All that was read, from which another process makes the same program.
  struct State {
    spec::Source source;
    bool is_schedule = false;
    load::Files files;
    std::vector<std::string> defines;
    std::string dispatch;
    std::vector<std::string> notes;
  };
  [[nodiscard]] State state() const;
  [[nodiscard]] static Program of_state(const State& state);

  // For a schedule of PyTorch, the name is that of the file, and the text is that of the program
  // that stands for it.
  [[nodiscard]] const std::string& source_name() const { return loaded().source.name; }
  [[nodiscard]] const std::string& text() const { return loaded().source.text; }
  [[nodiscard]] const std::string& name() const { return loaded().program.name; }
  [[nodiscard]] const std::string& dispatch() const { return options_.dispatch; }
  // In the order of declaration.
  [[nodiscard]] const std::vector<std::pair<std::string, std::int64_t>>& params() const {
    return loaded().program.params;
  }
  [[nodiscard]] std::uint64_t hash() const { return loaded().program.hash; }
  [[nodiscard]] std::string hash_text() const;
  [[nodiscard]] int ranks() const { return loaded().program.ranks; }
  // The least and the most microbatches of a step; nullopt: any number.
  [[nodiscard]] std::pair<int, std::optional<int>> microbatches() const;
  // Notes on a schedule of PyTorch, and the warnings that the command line prints; empty if none.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] std::string warnings_text() const;

  // The program for a step of `counts` microbatches, as commands make it that run a step.
  [[nodiscard]] std::shared_ptr<const load::LoadedProgram> for_step(
      const std::optional<load::Counts>& counts) const;

  // The same options with another text, as that of a repair.
  [[nodiscard]] Program with_text(const std::string& text) const;
  // A text that was written from this program's: it may name the same files, and has its own values
  // for all params and its own dispatch.
  [[nodiscard]] Program rewritten(const std::string& text) const;

  // The same with `sequential` ops of the kinds (spec/sequential.h).
  [[nodiscard]] Program sequential(const std::set<std::string>& kinds) const;
  // The kinds of its ops, in the words of the language.
  [[nodiscard]] std::vector<std::string> kinds() const;
  // The rank of each stage.
  [[nodiscard]] std::vector<int> placement() const;
  // Whether each stage takes the outputs of the one before it, and of no other.
  [[nodiscard]] bool is_chain() const;
  // Whether each rank starts its tasks in an order that is fixed, whatever is ready.
  [[nodiscard]] bool is_committed() const;
  // The forward pass, with the same params.
  [[nodiscard]] Program forward_only() const;

  [[nodiscard]] const load::ProgramOptions& options() const { return options_; }

  struct Judging {
    std::optional<std::string> microbatches;  // as for -m: 8, 1..128
    std::optional<std::int64_t> steps;        // 0: no limit
    bool repairs = true;
    bool times = true;
    bool every_rank = false;  // for every number of ranks, as with -D ranks=any
  };
  [[nodiscard]] Verdict verify(const Judging& judging) const;
  // `microbatches` as for -m; nullopt: the program's only number.
  [[nodiscard]] Simulated simulate(const std::optional<std::string>& microbatches,
                                   const load::TimeOptions& times) const;
  // The text of a schedule of PyTorch. `form` is compute_only or compute_comms.
  [[nodiscard]] std::string export_csv(const std::optional<std::string>& microbatches,
                                       const std::string& form) const;

 private:
  using Loaded = std::shared_ptr<const load::LoadedProgram>;
  Program(Loaded loaded, load::ProgramOptions options, std::vector<std::string> notes)
      : loaded_(std::move(loaded)), options_(std::move(options)), notes_(std::move(notes)) {}

  [[nodiscard]] static Program made(spec::Result<load::LoadedProgram> loaded,
                                    load::ProgramOptions options, load::Reading reading);
  [[nodiscard]] const load::LoadedProgram& loaded() const { return *loaded_; }
  // The same text, read with other options.
  [[nodiscard]] Loaded again(const load::ProgramOptions& options) const;
  [[nodiscard]] Verdict verify_every_rank(const Judging& judging) const;

  Loaded loaded_;
  load::ProgramOptions options_;
  std::vector<std::string> notes_;
};

}  // namespace ripeline::python
