// ripeline library: the built-in schedules.
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "spec/library.h"

namespace ripeline::cli {

void add_library(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("library", "list the built-in schedules, or print one");
  auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "the schedule to print");
  command->callback([name, &exit_code] {
    if (name->empty()) {
      for (const auto& entry : spec::library()) {
        std::cout << fmt::format("{:<16} {}\n", entry.name, entry.summary);
      }
      return;
    }
    std::vector<std::string> names;
    for (const auto& entry : spec::library()) names.emplace_back(entry.name);
    if (const auto text = spec::library_text(*name)) {
      std::cout << *text;
      return;
    }
    const std::string meant = spec::nearest(*name, names);
    std::cerr << fmt::format("ripeline: no library schedule is called '{}'{}\n", *name,
                             meant.empty()
                                 ? "; there are: " + fmt::format("{}", fmt::join(names, ", "))
                                 : ". Did you mean " + meant + "?");
    exit_code = bad_input;
  });
}

}  // namespace ripeline::cli
