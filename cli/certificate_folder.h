// A certificate as a folder on disk.
#pragma once

#include <string>

#include "certificates/certificate.h"
#include "spec/diagnostics.h"

namespace ripeline::cli {

// Writes into a folder that does not exist, is empty, or holds an older certificate, which is
// replaced when the new one is written whole, and else stays.
[[nodiscard]] spec::Result<void> write_certificate(const std::string& folder,
                                                   const certificates::Files& files);

// Every file in it. Links and other things that are no plain files make it fail.
[[nodiscard]] spec::Result<certificates::Files> read_certificate(const std::string& folder);

}  // namespace ripeline::cli
