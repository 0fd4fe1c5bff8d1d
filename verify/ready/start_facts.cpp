#include "verify/ready/start_facts.h"

namespace ripeline::verify {

void StartFacts::require(const Linear& fact) {
  may.push_back(fact);
  suffices({{fact}});
}

void StartFacts::suffices(const std::vector<Facts>& ways) {
  std::vector<Facts> all;
  for (const Facts& known : must) {
    for (const Facts& way : ways) {
      all.push_back(known);
      all.back().insert(all.back().end(), way.begin(), way.end());
    }
  }
  must = std::move(all);
}

Linear has_one_left(const spec::Program& program, int lane) {
  Linear left = tasks_of(program, lane);
  left.add(lane, -1).constant -= 1;
  return left;
}

Linear is_ahead(int producer, int lane) {
  Linear difference;
  difference.add(producer, 1).add(lane, -1).constant = -1;
  return difference;
}

}  // namespace ripeline::verify
