// Leader: an agreement in which member 0 chooses and the others follow.
//
// A ballot is one task, the log's entry of its round. Member 0 gives it to all others as it starts
// the task; these start it when they may, and know nothing of its hint. Entries may overtake each
// other and come long before their turn.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/agreement.h"

namespace ripeline::core {

class Leader final : public Agreement {
 public:
  // The facts must outlive it.
  Leader(const ProgramFacts& facts, const Coordinates& self);

  void begin_step(int microbatches) override;
  Decision choose(const Arbiter& arbiter, Engine engine, Time now) override;
  void started(Task task) override;
  [[nodiscard]] int waits_for(Engine engine) const override;
  Status heard(int member, const Ballot& ballot) override;

 private:
  // The state of an engine that members govern.
  struct Table {
    std::int32_t round = 0;
    TaskSet left;           // its tasks that are not in the log
    std::vector<Task> log;  // by round, one for each task; lane -1: not known yet
    Ballot own;             // member 0's
  };
  [[nodiscard]] std::unique_ptr<Table>& table(Engine engine) {
    return tables_[static_cast<std::size_t>(engine)];
  }

  // The decision of member 0, or where nothing is agreed on.
  Decision lead(Table* of, const Arbiter& arbiter, Engine engine, Time now);
  Decision follow(Table& table, const Arbiter& arbiter);

  const ProgramFacts& facts_;
  Coordinates self_;
  std::array<std::unique_ptr<Table>, kEngines> tables_;  // null: not governed
  TaskSet ready_;                                        // scratch of choose()
};

}  // namespace ripeline::core
