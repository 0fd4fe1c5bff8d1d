// Makes SIGINT and SIGTERM end a search and not the program.
#pragma once

namespace ripeline::cli {

// Catches both signals during its lifetime, except one that is ignored. Only one may exist.
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
