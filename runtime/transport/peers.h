// What the transports have in common: whom they refuse to send to, and how they tell a loss.
#pragma once

#include <string>

#include "runtime/transport/transport.h"

namespace ripeline::runtime {

[[nodiscard]] core::Status check_receiver(const Transport& transport, int to);

// The last delivery of a process that is gone.
[[nodiscard]] Delivery loss_of(int process, const std::string& how, core::Time at);

}  // namespace ripeline::runtime
