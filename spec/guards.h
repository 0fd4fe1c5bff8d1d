// Guards: what a task of a lane must find before it may start, as data.
//
// The one statement of what spec/program.h says in words. The machine executes it; the encoders of
// the judge, the generator's admission text and the comparison of that text with the program read
// it. Who executes lowered facts has the same rules from core/vocabulary: need.h and room.h.
//
// A task may start when its engine hands nothing over and runs nothing, or one task of a lane of
// `beside`, and all that stands here holds. Plain values; of a program that is not changed since.
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
  // Edges: what the task needs of each producer has ended, and its messages have arrived.
  std::vector<int> needs;
  bool in_sequence = false;      // the lane's task before has ended
  std::vector<RoomGuard> rooms;  // as its lane acquires them
  bool in_turn = false;          // it is the next of its engine in its rank's order
  bool keeps_room = false;       // once it has run, the rest of Dispatch::keeps has room
  std::vector<int> beside;       // lanes that are a pair with its own, on its engine
};

[[nodiscard]] Guards guards_of(const Program& program, int lane);
// One per lane.
[[nodiscard]] std::vector<Guards> guards_of(const Program& program);

// The room that is asked for in this pool; nothing: it has no capacity, or the lane takes none of
// it.
[[nodiscard]] std::optional<core::Room> room_in(const Guards& guards, int pool);

}  // namespace ripeline::spec
