// A certificate as a folder on disk.
#pragma once

#include <string>

#include "certificates/certificate.h"
#include "spec/diagnostics.h"

namespace ripeline::certificates {

// Writes into a folder that does not exist, is empty, or holds an older certificate. The older one
// is replaced only after all new files are written, and stays if writing fails.
[[nodiscard]] spec::Result<void> write_certificate(const std::string& folder, const Files& files);

// Reads every file in the folder. Fails if an entry is neither a plain file nor a folder.
[[nodiscard]] spec::Result<Files> read_certificate(const std::string& folder);

}  // namespace ripeline::certificates
