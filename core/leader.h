// Leader: an agreement in which member 0 chooses and the others follow.
//
// A ballot has one task, the log's entry for the ballot's round. Member 0 sends the ballot to all
// others as it starts the task; the others start the task as soon as it may start, without asking
// their hints. Ballots may overtake each other and arrive long before their round.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/agreement.h"

namespace ripeline::core {

class Leader final : public Agreement {
 public:
  // The facts must outlive this object.
  Leader(const ProgramFacts& facts, const Coordinates& self);

  void begin_step(int microbatches) override;
  Decision choose(const Arbiter& arbiter, Engine engine, Time now) override;
  void started(Task task) override;
  [[nodiscard]] int waits_for(Engine engine) const override;
  Status heard(int member, const Ballot& ballot) override;

 private:
  // The state of an engine on whose starts the members agree.
  struct Table {
    std::int32_t round = 0;
    TaskSet left;           // the engine's tasks that are not in the log
    std::vector<Task> log;  // by round; lane -1 if not known yet
    Ballot own;             // the ballot that member 0 sends
  };
  [[nodiscard]] std::unique_ptr<Table>& table(Engine engine) {
    return tables_[static_cast<std::size_t>(engine)];
  }

  // The choice by member 0, or by any process on an engine that is not governed.
  Decision lead(Table* of, const Arbiter& arbiter, Engine engine, Time now);
  Decision follow(Table& table, const Arbiter& arbiter);

  const ProgramFacts& facts_;
  Coordinates self_;
  std::array<std::unique_ptr<Table>, kEngines> tables_;  // null if not governed
  TaskSet ready_;                                        // scratch of choose()
};

}  // namespace ripeline::core
