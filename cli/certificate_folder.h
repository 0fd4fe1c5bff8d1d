// A certificate as a folder on disk.
#pragma once

#include <optional>
#include <string>

#include "certificates/certificate.h"

namespace ripeline::cli {

// Writes into a folder that does not exist, is empty, or holds an older certificate, which is
// replaced. Fails with a sentence for people.
[[nodiscard]] bool write_certificate(const std::string& folder, const verify::Files& files,
                                     std::string& error);

// Every file in it. Links and other things that are no plain files make it fail.
[[nodiscard]] std::optional<verify::Files> read_certificate(const std::string& folder,
                                                            std::string& error);

}  // namespace ripeline::cli
