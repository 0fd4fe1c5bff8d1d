#include "load/document.h"

#include <nlohmann/json.hpp>

namespace ripeline::load {

std::string document_text(const nlohmann::json& document) {
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace ripeline::load
