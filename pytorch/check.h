// check: judges a schedule of PyTorch, read from a CSV file, before a launch.
//
// PyTorch loads many schedules that later hang, mix microbatches or skip gradients. The rules
// follow, each with an id; a group is skipped if an earlier finding makes it meaningless:
//   cell naming form overlap ranks    the file is what PyTorch's reader is meant to read: each cell
//                                     is an action from its first to its last character
//   stage owner microbatch            each action has a stage that exists, in the row of that
//                                     stage's rank, and a microbatch that exists
//   repeated missing mixed            per stage and microbatch: F once, and either B once, or I and
//                                     W once
//   order                             at each rank, F is before B and I, and I before W; a stage's
//                                     result is before its use by a neighbour; a send is after,
//                                     and a receive is before, its computation
//   message unpaired reduce shard     compute_comms: each result that another rank needs is sent
//                                     once and received once, and nothing else is; each stage has
//                                     one REDUCE_GRAD, after its last backward; UNSHARD is before
//                                     use, and RESHARD after it
//   deadlock mismatch                 every action ends, for every timing, with the given
//                                     communicators and kernels, if each send is a rendezvous
//   memory                            activations held, from F to B or W, are within the limit
// The verdict is refuted after any finding, proved if there is none and each rule was judged, and
// unknown if the table is beyond what can be judged. Values; thread-safe; accepts any table.
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

namespace ripeline::pytorch {

enum class ActionForm : std::uint8_t {
  compute_only,   // computations and blanks; PyTorch derives the communication
  compute_comms,  // all communication is written in the file; no blanks
};
[[nodiscard]] std::string name_of(ActionForm form);

struct CheckOptions {
  // The options up to `form` are derived from the file unless they are given.
  std::optional<int> ranks{};
  std::optional<int> stages{};
  std::optional<int> microbatches{};
  std::optional<Placement> placement{};
  std::optional<ActionForm> form{};
  std::optional<spec::Rational> rank_memory{};  // room of a rank, in microbatches of all its stages
  std::optional<std::int64_t> stage_memory{};   // room of a stage, in activations
  wire::WireLayout layout = wire::WireLayout::group;
  wire::WireKernels kernels = wire::WireKernels::per_stream;
  bool reduce = true;  // false for a PyTorch without REDUCE_GRAD, which neither adds nor needs it
  bool all_layouts = false;  // judge every layout and kernel level for CheckReport::layouts
};

struct CheckFinding {
  std::string rule;
  int row = 0;       // from 1
  int column = 0;    // from 1; 0 if no cell, as for a missing task
  std::string task;  // the action, or the text of the cell
  std::string message;
  bool operator==(const CheckFinding&) const = default;
};

// The form and the sizes with which the table is judged.
struct CheckShape {
  ActionForm form = ActionForm::compute_only;
  Placement placement = Placement::chain;
  StageMap map;
  int microbatches = 0;
  std::vector<std::string> from_file;  // names of the sizes that no option gave
  // The number of stages on the rank.
  [[nodiscard]] int chunks(int rank) const {
    return static_cast<int>(std::count(map.rank_of.begin(), map.rank_of.end(), rank));
  }
  [[nodiscard]] bool has_several_stages() const { return map.stages() > map.ranks; }
};

struct LayoutVerdict {
  wire::WireLayout layout = wire::WireLayout::group;
  wire::WireKernels kernels = wire::WireKernels::per_stream;
  wire::WireVerdict::Kind kind = wire::WireVerdict::Kind::safe;
};

struct CheckReport {
  verify::Outcome verdict = verify::Outcome::unknown;
  CheckShape shape;
  std::vector<CheckFinding> findings;   // group by group, then by place; the first kMostFindings
  std::size_t finding_count = 0;        // including those not stored
  std::vector<std::string> not_judged;  // rules that were not judged, because of other findings
  std::string reason;                   // if unknown, the reason
  // The most activations held at once, by rank (over its stages) and by stage; empty if not judged.
  std::vector<std::int64_t> rank_peak;
  std::vector<std::int64_t> stage_peak;
  std::vector<LayoutVerdict> layouts;
  std::vector<std::string> assumptions;
};
inline constexpr std::size_t kMostFindings = 1000;
inline constexpr int kMostRanks = 4096;

// Errors: check-options, if the options fit no table.
[[nodiscard]] spec::Result<CheckReport> check(const ReadActions& read,
                                              const CheckOptions& options = {});

}  // namespace ripeline::pytorch
