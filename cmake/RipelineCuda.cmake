# Defines the imported targets Ripeline::cudart, the CUDA runtime's headers and library, of the wheel beside LibTorch or of a toolkit;
# and Ripeline::nccl, NCCL's, where a toolkit or CMAKE_PREFIX_PATH has them.
# This file is installed too; RipelineConfig.cmake includes it for the component `torch`.
#
# The wheel of LibTorch needs the library as it is, so that what uses it asks for nothing more, and starts where there is no device.
find_path(RIPELINE_CUDA_INCLUDE cuda_runtime_api.h
          HINTS ${CMAKE_PREFIX_PATH} "${RIPELINE_DEPS}/nvidia/cu13" /usr/local/cuda PATH_SUFFIXES include)
find_library(RIPELINE_CUDART_LIBRARY NAMES libcudart.so.13 cudart
             HINTS ${CMAKE_PREFIX_PATH} "${RIPELINE_DEPS}/nvidia/cu13" /usr/local/cuda PATH_SUFFIXES lib lib64)
mark_as_advanced(RIPELINE_CUDA_INCLUDE RIPELINE_CUDART_LIBRARY)
if(RIPELINE_CUDA_INCLUDE AND RIPELINE_CUDART_LIBRARY)
  set(ripeline_cuda_found ON)
else()
  set(ripeline_cuda_found OFF)
endif()
option(RIPELINE_CUDA "Build what runs on NVIDIA GPUs" ${ripeline_cuda_found})
if(RIPELINE_CUDA AND NOT TARGET Ripeline::cudart)
  if(NOT ripeline_cuda_found)
    message(FATAL_ERROR "The CUDA runtime was not found.\n"
      "Run setup/setup.sh (it fetches a wheel of it into ${RIPELINE_DEPS}), or name a toolkit with CMAKE_PREFIX_PATH, "
      "or build without it: -DRIPELINE_CUDA=OFF.")
  endif()
  # Without the library, for what is linked with a fake of it.
  add_library(Ripeline::cuda_headers INTERFACE IMPORTED)
  set_target_properties(Ripeline::cuda_headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${RIPELINE_CUDA_INCLUDE}")
  add_library(Ripeline::cudart SHARED IMPORTED)
  set_target_properties(Ripeline::cudart PROPERTIES IMPORTED_LOCATION "${RIPELINE_CUDART_LIBRARY}"
    INTERFACE_LINK_LIBRARIES Ripeline::cuda_headers)
  message(STATUS "CUDA runtime: ${RIPELINE_CUDART_LIBRARY}")
endif()

# NCCL's header includes those of a whole toolkit, which lie beside it.
file(GLOB cuda_toolkits LIST_DIRECTORIES ON /usr/local/cuda /usr/local/cuda-*)
find_path(RIPELINE_NCCL_INCLUDE nccl.h HINTS ${CMAKE_PREFIX_PATH} ${cuda_toolkits} /usr/local PATH_SUFFIXES include)
find_library(RIPELINE_NCCL_LIBRARY NAMES libnccl.so.2 nccl HINTS ${CMAKE_PREFIX_PATH} ${cuda_toolkits} /usr/local PATH_SUFFIXES lib lib64)
mark_as_advanced(RIPELINE_NCCL_INCLUDE RIPELINE_NCCL_LIBRARY)
if(RIPELINE_CUDA AND RIPELINE_NCCL_INCLUDE AND RIPELINE_NCCL_LIBRARY)
  set(ripeline_nccl_found ON)
else()
  set(ripeline_nccl_found OFF)
endif()
option(RIPELINE_NCCL "Build what uses NCCL" ${ripeline_nccl_found})
if(RIPELINE_NCCL)
  if(NOT ripeline_nccl_found)
    message(FATAL_ERROR "NCCL was not found, or is without the CUDA runtime.\n"
      "Name the folder that has include/nccl.h with CMAKE_PREFIX_PATH, or build without it: -DRIPELINE_NCCL=OFF.")
  endif()
  # Without the library, for what is linked with a fake of it.
  add_library(Ripeline::nccl_headers INTERFACE IMPORTED)
  set_target_properties(Ripeline::nccl_headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${RIPELINE_NCCL_INCLUDE}")
  add_library(Ripeline::nccl SHARED IMPORTED)
  set_target_properties(Ripeline::nccl PROPERTIES IMPORTED_LOCATION "${RIPELINE_NCCL_LIBRARY}"
    INTERFACE_LINK_LIBRARIES "Ripeline::nccl_headers;Ripeline::cudart")
  message(STATUS "NCCL: ${RIPELINE_NCCL_LIBRARY}")
endif()
