// SHA-256 (FIPS 180-4) of bytes, as `sha256sum` prints it: 64 hexadecimal digits. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ripeline::certificates {

[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace ripeline::certificates
