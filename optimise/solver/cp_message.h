// Encodes a CpModel as CP-SAT's own message, and decodes CP-SAT's answer.
//
// The field numbers are those of OR-tools 9.15. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "optimise/solver/cp_model.h"

namespace ripeline::optimise {

// Encodes the model as a CpModelProto.
[[nodiscard]] std::string bytes_of(const CpModel& model);

struct CpParameters {
  double seconds = 10;
  int workers = 1;
  bool relaxes = true;  // whether CP-SAT uses linear relaxations
  std::uint64_t seed = 1;
};
// Encodes the parameters as SatParameters.
[[nodiscard]] std::string bytes_of(const CpParameters& parameters);

// The content of a CpSolverResponse.
struct CpResponse {
  // The values equal the numbers in CP-SAT's own enumeration.
  enum class Status { unknown, invalid, feasible, infeasible, optimal };
  Status status = Status::unknown;
  std::vector<std::int64_t> values = {};  // one per variable, or none
  double bound = 0;                       // on the objective
  std::string text = {};                  // CP-SAT's own remark
};
// Decodes a CpSolverResponse; nullopt if the bytes are not one.
[[nodiscard]] std::optional<CpResponse> response_of(std::string_view bytes);

}  // namespace ripeline::optimise
