// ripeline-solver: one call of OR-tools' CP-SAT, in a process of its own, so that a crash or hang
// of that library affects no other process. optimise/solver/solver.cpp starts it.
//
// It reads SatParameters and a CpModelProto from standard input and writes a CpSolverResponse to
// standard output, as optimise/solver/frames.h says. On SIGTERM the search stops, and the best
// solution so far is the answer. The process ends if its parent ends. OR-tools isn't linked.
#include <dlfcn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

#include "optimise/solver/frames.h"

namespace {

using namespace ripeline::optimise;

constexpr const char* kLibrary = "libortools.so.9";

[[noreturn]] void stop(int code, const std::string& why) {
  std::cerr << "ripeline-solver: " << why << std::endl;
  std::_Exit(code);
}

struct Solver {
  using NewEnv = void* (*)();
  using Solve = void (*)(void* env, const void* model, int model_size, const void* parameters,
                         int parameters_size, void** response, int* response_size);
  using Stop = void (*)(void* env);
  NewEnv new_env = nullptr;
  Solve solve = nullptr;
  Stop stop_search = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) stop(kNoLibrary, std::string(kLibrary) + " has no " + name);
}

// Opens OR-tools. Its symbols stay local, since the library contains its own protobuf.
void* open_library(const std::string& file) { return dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL); }

// Opens OR-tools in the folder that is given, or where the linker looks, which is also the package
// `ortools` if this program is in the Python package `ripeline`.
Solver open_solver() {
  const char* const named = std::getenv("RIPELINE_ORTOOLS");
  const std::string folder = named != nullptr ? named : RIPELINE_ORTOOLS;
  const std::string file = folder.empty() ? kLibrary : folder + "/" + kLibrary;
  void* library = open_library(file);
  const char* const error = library == nullptr ? dlerror() : nullptr;
  const std::string why = error == nullptr ? file : error;
  if (library == nullptr && named == nullptr) library = open_library(kLibrary);
  if (library == nullptr) {
    stop(kNoLibrary, "OR-tools was not found: " + why +
                         "; setup/setup.sh installs it, and RIPELINE_ORTOOLS names the folder that "
                         "has it, as ortools/.libs of Python's package ortools 9.15");
  }
  Solver solver;
  find(library, "SolveCpNewEnv", solver.new_env);
  find(library, "SolveCpInterruptible", solver.solve);
  find(library, "SolveCpStopSearch", solver.stop_search);
  return solver;
}

std::string read_all() {
  std::string bytes;
  std::string part(1 << 16, '\0');
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) stop(kBadRequest, "standard input cannot be read");
    if (got == 0) return bytes;
    bytes.append(part, 0, static_cast<std::size_t>(got));
  }
}

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) stop(kBadRequest, "standard output cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2 || std::string_view(arguments[1]) == "--help") {
    std::cout << "ripeline-solver is started by ripeline, which has it solve what `ripeline "
                 "optimise` asks.\nIt is of no use by itself.\n";
    return count == 2 ? 0 : kBadRequest;
  }
  // SIGTERM stays blocked; a thread waits for it below.
  sigset_t terminate;
  sigemptyset(&terminate);
  sigaddset(&terminate, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &terminate, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::to_string(getppid()) != arguments[1]) return 0;  // the parent has ended already

  const Solver solver = open_solver();
  const std::string input = read_all();
  std::string_view rest = input;
  const auto parameters = next_message(rest);
  const auto model = next_message(rest);
  if (!parameters || !model || !rest.empty()) stop(kBadRequest, "this is not a request");

  void* const env = solver.new_env();
  std::thread([&] {
    int number = 0;
    while (sigwait(&terminate, &number) != 0) continue;
    solver.stop_search(env);
  }).detach();
  void* response = nullptr;
  int size = 0;
  solver.solve(env, model->data(), static_cast<int>(model->size()), parameters->data(),
               static_cast<int>(parameters->size()), &response, &size);
  write_all(framed({static_cast<const char*>(response), static_cast<std::size_t>(size)}));
  std::_Exit(0);  // skips the destructors of the library, which has done its work
}
