// check: a schedule of PyTorch, as a CSV file holds it, judged before a launch.
//
// PyTorch accepts on load much that hangs, mixes microbatches or skips gradients later. The rules,
// each with an id; a group is left out where an earlier finding leaves it without a meaning:
//   cell naming form overlap ranks    the file is what PyTorch's reader is meant to read: each cell
//                                     an action from its first to its last character
//   stage owner microbatch            each action is of a stage that there is, in the row of its
//                                     rank, of a microbatch that there is
//   repeated missing mixed            per stage and microbatch: F once, and either B once, or I and
//                                     W once
//   order                             at each rank: F before B and I, I before W, a stage's result
//                                     before its neighbour's use; a send after, a receive before
//                                     its computation
//   message unpaired reduce shard     compute_comms: each result that another rank needs is sent
//                                     once and received once, and nothing else is; REDUCE_GRAD once
//                                     per stage after its last backward; UNSHARD and RESHARD around
//                                     use
//   deadlock mismatch                 every action ends, whatever the timing, on the stated
//                                     communicators and kernels, each send a rendezvous
//   memory                            activations held, from F to B or W, within the limit
// Refuted: at least one finding. Proved: none, and each rule was asked. Unknown: more than can be
// judged. Values; thread-safe; any table will do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pytorch/csv/actions.h"
#include "pytorch/lower.h"
#include "spec/diagnostics.h"
#include "spec/expr.h"
#include "verify/verify.h"
#include "wire/wire.h"

namespace ripeline::verify {

enum class ActionForm : std::uint8_t {
  compute_only,   // computations and blanks; PyTorch derives the communication
  compute_comms,  // everything is written; no blanks
};
[[nodiscard]] std::string name_of(ActionForm form);

struct CheckOptions {
  // Each of these up to `form` is taken from the file where it is not given.
  std::optional<int> ranks{};
  std::optional<int> stages{};
  std::optional<int> microbatches{};
  std::optional<spec::Placement> placement{};
  std::optional<ActionForm> form{};
  std::optional<spec::Rational> rank_memory{};  // room for microbatches of all of a rank's stages
  std::optional<std::int64_t> stage_memory{};   // room for activations of one stage
  WireLayout layout = WireLayout::group;
  WireKernels kernels = WireKernels::per_stream;
  bool reduce = true;  // false: PyTorch from before REDUCE_GRAD, which neither adds nor wants it
  bool all_layouts = false;  // judge every layout and kernel level for CheckReport::layouts
};

struct CheckFinding {
  std::string rule;
  int row = 0;       // from 1
  int column = 0;    // from 1; 0: no cell, as of what is missing
  std::string task;  // the action, or the text of the cell
  std::string message;
  bool operator==(const CheckFinding&) const = default;
};

// The form and the sizes by which the table is judged.
struct CheckShape {
  ActionForm form = ActionForm::compute_only;
  spec::Placement placement = spec::Placement::chain;
  spec::StageMap map;
  int microbatches = 0;
  std::vector<std::string> from_file;  // names of those of its parts that no option gave
  // Stages of the rank.
  [[nodiscard]] int chunks(int rank) const {
    return static_cast<int>(std::count(map.rank_of.begin(), map.rank_of.end(), rank));
  }
  [[nodiscard]] bool has_several_stages() const { return map.stages() > map.ranks; }
};

struct LayoutVerdict {
  WireLayout layout = WireLayout::group;
  WireKernels kernels = WireKernels::per_stream;
  WireVerdict::Kind kind = WireVerdict::Kind::safe;
};

struct CheckReport {
  Outcome verdict = Outcome::unknown;
  CheckShape shape;
  std::vector<CheckFinding> findings;   // group by group, then by place; the first kMostFindings
  std::size_t finding_count = 0;        // all that were found
  std::vector<std::string> not_judged;  // rules that were not asked, since others found something
  std::string reason;                   // if unknown: why
  // The most activations held at once, of all stages of a rank and of a stage; empty if not judged.
  std::vector<std::int64_t> rank_peak;
  std::vector<std::int64_t> stage_peak;
  std::vector<LayoutVerdict> layouts;
  std::vector<std::string> assumptions;
};
inline constexpr std::size_t kMostFindings = 1000;
inline constexpr int kMostRanks = 4096;

// Errors: check-options, when the options fit no table.
[[nodiscard]] spec::Result<CheckReport> check(const spec::ReadActions& read,
                                              const CheckOptions& options = {});

}  // namespace ripeline::verify
