#include "schedules.h"

#include <algorithm>

#include "b_first.h"
#include "bf.h"
#include "bf_dp.h"
#include "bf_sequential.h"
#include "bf_tied.h"
#include "bf_tp.h"
#include "bf_tp_dp.h"
#include "bfw.h"
#include "eager_one_f_one_b.h"
#include "eager_one_f_one_b_rn.h"
#include "offload.h"
#include "one_f_one_b.h"
#include "one_f_one_b_fc.h"
#include "one_f_one_b_hint.h"
#include "v.h"
#include "v_half.h"
#include "v_min.h"
#include "zb_h1.h"
#include "zb_h1_rn.h"
#include "zb_h2.h"
#include "zb_h2_rn.h"
#include "zb_v.h"

namespace gpt {
namespace {

const Schedule kSchedules[] = {
    {"1f1b", "1F1B in its fixed order", true, one_f_one_b::facts, one_f_one_b::make_arbiter},
    {"1f1b_hint", "1F1B's order as a preference among what is ready", false,
     one_f_one_b_hint::facts, one_f_one_b_hint::make_arbiter},
    {"1f1b_fc", "1F1B's order where waiting for it pays, else what is ready", false,
     one_f_one_b_fc::facts, one_f_one_b_fc::make_arbiter},
    {"eager_1f1b", "1F1B with twice the warm-up, in its fixed order", true,
     eager_one_f_one_b::facts, eager_one_f_one_b::make_arbiter},
    {"eager_1f1b_rn", "eager_1f1b's order where waiting for it pays", false,
     eager_one_f_one_b_rn::facts, eager_one_f_one_b_rn::make_arbiter},
    {"bf", "one backward, then one forward, whichever are ready", false, bf::facts,
     bf::make_arbiter},
    {"bf_sequential", "as bf, microbatches of a stage in order", true, bf_sequential::facts,
     bf_sequential::make_arbiter},
    {"offload", "as bf_sequential, with what backwards need in the host's memory meanwhile", true,
     offload::facts, offload::make_arbiter},
    {"bf_tied", "as bf_sequential, with one matrix as embedding and as output layer", false,
     bf_tied::facts, bf_tied::make_arbiter},
    {"bf_tp", "as bf_sequential, with two members to a rank, half as many ranks", false,
     bf_tp::facts, bf_tp::make_arbiter},
    {"bf_dp", "as bf_sequential, with two replicas of half as many ranks", true, bf_dp::facts,
     bf_dp::make_arbiter},
    {"bf_tp_dp", "as bf_tp, with two replicas", false, bf_tp_dp::facts, bf_tp_dp::make_arbiter},
    {"b_first", "any ready backward before any forward", false, b_first::facts,
     b_first::make_arbiter},
    {"v", "as bf, two stages per rank, placed as a V", false, v::facts, v::make_arbiter},
    {"bfw", "as bf, weight gradients when nothing else is ready", false, bfw::facts,
     bfw::make_arbiter},
    {"zb_h1", "ZB-H1 in its fixed order: weight gradients later", true, zb_h1::facts,
     zb_h1::make_arbiter},
    {"zb_h1_rn", "zb_h1's order where waiting for it pays", false, zb_h1_rn::facts,
     zb_h1_rn::make_arbiter},
    {"zb_h2", "ZB-H2 in its fixed order: twice the warm-up", true, zb_h2::facts,
     zb_h2::make_arbiter},
    {"zb_h2_rn", "zb_h2's order where waiting for it pays", false, zb_h2_rn::facts,
     zb_h2_rn::make_arbiter},
    {"zb_v", "ZB-V in its fixed order, placed as a V", true, zb_v::facts, zb_v::make_arbiter},
    {"v_half", "V-Half in its fixed order: half the memory of ZB-V", true, v_half::facts,
     v_half::make_arbiter},
    {"v_min", "V-Min in its fixed order: a third of it", true, v_min::facts, v_min::make_arbiter},
};

}  // namespace

bool Schedule::ties_weights() const {
  return std::any_of(facts.ops.begin(), facts.ops.end(), [](const ripeline::core::OpFacts& op) {
    return op.kind == ripeline::core::OpKind::user;
  });
}

std::span<const Schedule> schedules() { return kSchedules; }

const Schedule* find_schedule(std::string_view name) {
  for (const Schedule& schedule : kSchedules) {
    if (schedule.name == name) return &schedule;
  }
  return nullptr;
}

std::string schedule_names() {
  std::string names;
  for (const Schedule& schedule : kSchedules) {
    if (!names.empty()) names += ", ";
    names += schedule.name;
  }
  return names;
}

}  // namespace gpt
