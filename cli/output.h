// Files and documents that commands write.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "spec/diagnostics.h"

namespace ripeline::cli {

// Writes the complete file or nothing, as files/new_file.h does. `-` is standard output.
[[nodiscard]] spec::Result<void> write_file(const std::string& path, const std::string& text);

// Prints on standard output.
void print_json(const nlohmann::json& document);

}  // namespace ripeline::cli
