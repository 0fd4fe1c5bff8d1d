// JSON documents as text, as commands print them.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace ripeline::load {

// Ends with a newline. Replaces bytes that are not UTF-8, which file names may have.
[[nodiscard]] std::string document_text(const nlohmann::json& document);

}  // namespace ripeline::load
