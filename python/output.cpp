#include "python/output.h"

#include "files/new_file.h"
#include "python/failure.h"
#include "view/pdf.h"

namespace ripeline::python {

void write_text(const std::string& path, const std::string& text) {
  if (const core::Status s = files::write_file(path, text); !s.ok()) throw Failure(s);
}

void write_pdf(const std::string& path, const std::string& svg) {
  if (const auto why = view::why_no_pdf()) throw Failure({spec::failure(*why)});
  const core::StatusOr<std::string> pdf = view::pdf_of(svg);
  if (!pdf.ok()) throw Failure({spec::failure(pdf.message())});
  write_text(path, pdf.value());
}

}  // namespace ripeline::python
