#include "python/failure.h"

#include <nlohmann/json.hpp>

#include "load/document.h"
#include "verify/findings.h"

namespace ripeline::python {

Failure::Failure(const load::Reading& reading, const spec::Diagnostics& errors)
    : text_(load::errors_text(reading, errors)),
      errors_json_(load::document_text(verify::diagnostics_json(reading.source(), errors))) {
  while (text_.ends_with('\n')) text_.pop_back();
}

Failure::Failure(const spec::Diagnostics& errors) : Failure(load::Reading(), errors) {}

Failure::Failure(const core::Status& status) : Failure({spec::failure(status.message())}) {}

}  // namespace ripeline::python
