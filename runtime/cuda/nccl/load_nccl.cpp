#include "runtime/cuda/nccl/load_nccl.h"

#include <dlfcn.h>

#include <string>

namespace ripeline::runtime::cuda {

using core::Status;
using core::StatusCode;

namespace {

// Opens the plug-in from where the loader finds it, else from where it was built.
void* open_plugin(std::string& why) {
  for (const char* name : {"libripeline_nccl.so", RIPELINE_NCCL_PLUGIN}) {
    if (*name == '\0') continue;
    if (void* const plugin = dlopen(name, RTLD_NOW | RTLD_LOCAL); plugin != nullptr) return plugin;
    const char* const error = dlerror();
    why = error == nullptr ? "no reason was given" : error;
  }
  return nullptr;
}

const NcclLibrary* load(std::string& why) {
  void* const plugin = open_plugin(why);
  if (plugin == nullptr) return nullptr;
  using Entry = const NcclLibrary* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(plugin, "ripeline_nccl_library"));
  if (entry != nullptr) return entry();
  why = "libripeline_nccl.so has no entry";
  return nullptr;
}

}  // namespace

Status load_nccl(const NcclLibrary*& library) {
  static std::string why;
  static const NcclLibrary* const loaded = load(why);
  library = loaded;
  if (loaded != nullptr) return {};
  return {StatusCode::refused, "NCCL cannot be used here: " + why};
}

}  // namespace ripeline::runtime::cuda
