#include "cli/failure.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>

namespace ripeline::cli {

int exit_code_of(verify::Outcome outcome) {
  switch (outcome) {
    case verify::Outcome::proved:
      return ok;
    case verify::Outcome::refuted:
      return refuted;
    case verify::Outcome::unknown:
      return unknown;
  }
  return unknown;
}

int worse(int a, int b) {
  constexpr std::array<int, 4> kWorstFirst = {bad_input, refuted, unknown, ok};
  for (const int code : kWorstFirst) {
    if (a == code || b == code) return code;
  }
  return ok;
}

int say_failed(const std::string& sentence) {
  std::cerr << "ripeline: " << sentence << '\n';
  return bad_input;
}

spec::Diagnostics about(const std::string& option, spec::Diagnostics errors) {
  for (spec::Diagnostic& error : errors) error.option = option;
  return errors;
}

int say_no_memory() {
  std::fputs(
      "ripeline: not enough memory: the machine has no more, or the process may take no more "
      "(`ulimit -v`, a container's limit). Fewer microbatches (-m), ranks or threads take less.\n",
      stderr);
  return no_memory;
}

void watch_memory() {
  static const std::terminate_handler otherwise = std::get_terminate();
  std::set_terminate([] {
    if (const std::exception_ptr thrown = std::current_exception()) {
      try {
        std::rethrow_exception(thrown);
      } catch (const std::bad_alloc&) {
        std::_Exit(say_no_memory());
      } catch (...) {  // a defect, which `otherwise` reports
      }
    }
    otherwise();
  });
}

int say_failed(const spec::Diagnostics& errors) {
  for (const spec::Diagnostic& error : errors) {
    say_failed(error.option.empty() ? error.message : error.option + ": " + error.message);
  }
  return bad_input;
}

}  // namespace ripeline::cli
