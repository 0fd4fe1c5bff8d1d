// Guards: the conditions for a task of a lane to start, as data.
//
// This header alone has the rules of spec/program.h as data. The machine executes them; the judge's
// encoders and the generator (for its admission text and for comparing it with the program) read
// them. Code that reads lowered facts takes these rules from need.h and room.h in core/vocabulary/.
//
// A task may start when its engine hands no message over, is idle or runs one task of a lane in
// `beside`, and all other guards hold. Plain values; the program must not change afterwards.
#pragma once

#include <optional>
#include <vector>

#include "core/vocabulary/room.h"
#include "spec/program.h"

namespace ripeline::spec {

// Room in a pool that has a capacity.
struct RoomGuard {
  int pool = 0;
  core::Room room;
};

struct Guards {
  // Edges over which the needed tasks must have ended and their messages must have arrived.
  std::vector<int> needs;
  bool in_sequence = false;      // the lane's previous task has ended
  std::vector<RoomGuard> rooms;  // in the order in which its lane acquires them
  bool in_turn = false;          // the task is the next of its engine in its rank's order
  bool keeps_room = false;       // once the task has run, the rest of Dispatch::keeps has room
  std::vector<int> beside;       // lanes that are a pair with its own, on its engine
};

[[nodiscard]] Guards guards_of(const Program& program, int lane);
// The guards of every lane.
[[nodiscard]] std::vector<Guards> guards_of(const Program& program);

// The room that the lane must find in this pool; nullopt if the pool has no capacity, or the lane
// acquires none of it.
[[nodiscard]] std::optional<core::Room> room_in(const Guards& guards, int pool);

}  // namespace ripeline::spec
