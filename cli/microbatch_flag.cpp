#include "cli/microbatch_flag.h"

#include <CLI/CLI.hpp>

namespace ripeline::cli {

void add_microbatches(CLI::App& command, std::optional<load::Counts>& counts,
                      const std::string& help) {
  command
      .add_option_function<std::string>(
          "-m,--microbatches",
          [&counts](const std::string& text) {
            const auto read = load::counts_in(text);
            if (!read.ok()) throw CLI::ValidationError("-m", read.errors().front().message);
            counts = read.value();
          },
          help)
      ->type_name("N or N..N");
}

}  // namespace ripeline::cli
