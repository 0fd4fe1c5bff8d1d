// The commands of `ripeline`. Each function adds one command to the application. The command runs
// after parsing, and stores its exit code in `exit_code`.
#pragma once

#include <CLI/App.hpp>

namespace ripeline::cli {

void add_verify(CLI::App& app, int& exit_code);
void add_recheck(CLI::App& app, int& exit_code);
void add_generate(CLI::App& app, int& exit_code);
void add_validate(CLI::App& app, int& exit_code);
void add_check_run(CLI::App& app, int& exit_code);
void add_library(CLI::App& app, int& exit_code);
void add_format(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_export(CLI::App& app, int& exit_code);
void add_simulate(CLI::App& app, int& exit_code);
void add_emulate(CLI::App& app, int& exit_code);
void add_profile(CLI::App& app, int& exit_code);
void add_show(CLI::App& app, int& exit_code);
void add_why(CLI::App& app, int& exit_code);
void add_step(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_optimise(CLI::App& app, int& exit_code);
void add_launch(CLI::App& app, int& exit_code);

}  // namespace ripeline::cli
