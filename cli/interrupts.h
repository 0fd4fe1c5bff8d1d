// SIGINT and SIGTERM that end a search, not the program.
#pragma once

namespace ripeline::cli {

// From its making to its end, where the signals are not ignored already. One at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  [[nodiscard]] bool told_to_end() const;

 private:
  void (*interrupt_)(int);
  void (*terminate_)(int);
};

}  // namespace ripeline::cli
