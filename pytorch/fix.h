// The repair of a schedule of PyTorch: a table that is proved, with what was done to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pytorch/check.h"

namespace ripeline::verify {

// A table that check() proves under the same options, made from one that it does not.
struct Repair {
  std::optional<spec::ActionTable> table{};  // nothing: `why`
  std::vector<std::string> changes;          // what was done, sentences for people
  std::string why;
};
[[nodiscard]] Repair repair(const spec::ReadActions& read, const CheckReport& report,
                            const CheckOptions& options);

}  // namespace ripeline::verify
