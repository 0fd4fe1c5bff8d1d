# Defines the imported target Ripeline::libtorch: LibTorch for the CPU (torch_cpu, c10), its headers as system headers.
#
# Looked for in CMAKE_PREFIX_PATH (a LibTorch folder, or what torch.utils.cmake_prefix_path prints), then in RIPELINE_DEPS/torch.
# LibTorch's own TorchConfig.cmake is not used: in a wheel it demands a whole CUDA toolkit, also of a program for the CPU.
# This file is installed too; RipelineConfig.cmake includes it for the component `torch`.
if(NOT TARGET Ripeline::libtorch)
  find_path(RIPELINE_TORCH_INCLUDE ATen/ATen.h
            HINTS ${CMAKE_PREFIX_PATH} "${RIPELINE_DEPS}/torch" PATH_SUFFIXES include ../../include)
  find_library(RIPELINE_TORCH_LIBRARY torch_cpu
               HINTS ${CMAKE_PREFIX_PATH} "${RIPELINE_DEPS}/torch" PATH_SUFFIXES lib ../../lib)
  mark_as_advanced(RIPELINE_TORCH_INCLUDE RIPELINE_TORCH_LIBRARY)
  if(NOT RIPELINE_TORCH_INCLUDE OR NOT RIPELINE_TORCH_LIBRARY)
    message(FATAL_ERROR "LibTorch was not found.\n"
      "Run setup/setup.sh (it fetches the pinned wheel into ${RIPELINE_DEPS}), or name your own with CMAKE_PREFIX_PATH, "
      "or build without it: -DRIPELINE_TORCH=OFF.")
  endif()
  cmake_path(GET RIPELINE_TORCH_LIBRARY PARENT_PATH ripeline_torch_lib)
  # A wheel's libtorch_cpu.so needs two CUDA libraries which lie in a folder beside it; the program's linker must see them as well.
  file(GLOB ripeline_cuda_lib LIST_DIRECTORIES true "${ripeline_torch_lib}/../../nvidia/cu[0-9]*/lib")
  list(TRANSFORM ripeline_cuda_lib PREPEND "LINKER:-rpath-link,")
  add_library(Ripeline::libtorch SHARED IMPORTED)
  set_target_properties(Ripeline::libtorch PROPERTIES
    IMPORTED_LOCATION "${RIPELINE_TORCH_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES
      "${RIPELINE_TORCH_INCLUDE};${RIPELINE_TORCH_INCLUDE}/torch/csrc/api/include"
    INTERFACE_LINK_LIBRARIES "${ripeline_torch_lib}/libc10.so"
    INTERFACE_LINK_OPTIONS "${ripeline_cuda_lib}")
  message(STATUS "LibTorch: ${RIPELINE_TORCH_LIBRARY}")
endif()
