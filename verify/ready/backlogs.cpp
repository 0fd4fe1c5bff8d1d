// Which needs may have a backlog, from what blocks to what is blocked; backlogs.h says why.
#include "verify/ready/backlogs.h"

#include "spec/indexing.h"
#include "verify/ready/start_facts.h"

namespace ripeline::verify {

using spec::Program;

namespace {

bool counts_as_backlog(const Program& program, const spec::Edge& edge) {
  return edge.of == spec::Of::same && !program.crosses_shares(edge);
}

// Each after the lanes whose microbatches it needs. These needs form no cycle.
std::vector<int> in_order_of_needs(const Program& program) {
  std::vector<int> missing(program.lanes.size(), 0);  // producers that are not placed yet
  for (const spec::Edge& e : program.edges) {
    if (counts_as_backlog(program, e)) ++at(missing, e.consumer);
  }
  std::vector<int> placed;
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    if (at(missing, lane) == 0) placed.push_back(lane);
  }
  for (std::size_t i = 0; i < placed.size(); ++i) {
    for (const int edge : at(program.lanes, placed[i]).feeds) {
      const spec::Edge& e = at(program.edges, edge);
      if (counts_as_backlog(program, e) && --at(missing, e.consumer) == 0) {
        placed.push_back(e.consumer);
      }
    }
  }
  return placed;
}

}  // namespace

std::vector<Linear> backlogs(const Program& program) {
  std::vector<Linear> at_one_stage;
  std::vector<Linear> across;
  for (const int lane : in_order_of_needs(program)) {
    for (const int edge : at(program.lanes, lane).edges) {
      const spec::Edge& e = at(program.edges, edge);
      if (!counts_as_backlog(program, e)) continue;
      const bool here = at(program.lanes, e.producer).stage == at(program.lanes, lane).stage;
      (here ? at_one_stage : across).push_back(is_ahead(e.producer, lane));
    }
  }
  at_one_stage.insert(at_one_stage.end(), across.begin(), across.end());
  return at_one_stage;
}

}  // namespace ripeline::verify
