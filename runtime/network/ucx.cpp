// Compiled with or without UCX; the code that needs UCX is in ucx_transport.cpp and ucx_worker.cpp.
#include "runtime/network/ucx.h"

#include <cstdlib>
#include <string>
#include <utility>

#ifdef RIPELINE_UCX
#include "runtime/network/ucx_transport.h"
#endif

namespace ripeline::runtime::network {

using core::Status;
using core::StatusCode;

bool has_ucx() {
#ifdef RIPELINE_UCX
  return true;
#else
  return false;
#endif
}

Status connect_ucx([[maybe_unused]] const UcxOptions& options,
                   std::unique_ptr<Transport>& transport, [[maybe_unused]] BufferPool* pool) {
  std::unique_ptr<Transport> inner = std::move(transport);
#ifdef RIPELINE_UCX
  auto result = std::make_unique<UcxTransport>(options, std::move(inner), pool);
  Status status = result->connect();
  if (status.ok()) transport = std::move(result);
  return status;
#else
  return {StatusCode::refused, "this Ripeline was built without UCX"};
#endif
}

Status use_chosen_transport(const UcxOptions& options, std::unique_ptr<Transport>& transport,
                            BufferPool* pool) {
  const char* chosen = std::getenv("RIPELINE_TRANSPORT");
  const std::string name = chosen == nullptr || *chosen == '\0' ? "sockets" : chosen;
  if (name == "sockets") return {};
  if (name == "ucx") return connect_ucx(options, transport, pool);
  transport = nullptr;
  return {StatusCode::refused, "RIPELINE_TRANSPORT is '" + name + "'; it may be sockets or ucx"};
}

}  // namespace ripeline::runtime::network
