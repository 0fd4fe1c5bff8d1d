#include "schedules.h"

#include "bf.h"
#include "bf_sequential.h"
#include "bfw.h"
#include "fc.h"
#include "model.h"
#include "pyramid.h"

namespace vlm {
namespace {

const Schedule kSchedules[] = {
    {"bf", false, bf::facts, bf::make_arbiter},
    {"bf_sequential", true, bf_sequential::facts, bf_sequential::make_arbiter},
    {"bfw", true, bfw::facts, bfw::make_arbiter},
    {"fc", false, fc::facts, fc::make_arbiter},
    {"pyramid", false, pyramid::facts, pyramid::make_arbiter},
};
static_assert(bf::facts.stages == kStages && bf_sequential::facts.stages == kStages &&
              bfw::facts.stages == kStages && fc::facts.stages == kStages &&
              pyramid::facts.stages == kStages);

}  // namespace

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

}  // namespace vlm
