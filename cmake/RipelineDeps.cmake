# The folders of unpacked wheels, Z3, and the packages of the distribution.
#
# RIPELINE_DEPS is where Z3 and LibTorch lie, unpacked from Python wheels. Its default is the folder that setup/setup.sh makes: its name
# follows from the list of wheels, so that another list is another folder. What CMAKE_PREFIX_PATH offers is taken first.
if(DEFINED ENV{RIPELINE_CACHE})
  set(ripeline_cache "$ENV{RIPELINE_CACHE}")
else()
  set(ripeline_cache "$ENV{HOME}/.cache/ripeline")
endif()
file(SHA256 "${PROJECT_SOURCE_DIR}/setup/wheels.txt" ripeline_wheels_hash)
string(SUBSTRING "${ripeline_wheels_hash}" 0 12 ripeline_wheels_hash)
set(RIPELINE_DEPS "${ripeline_cache}/deps-${ripeline_wheels_hash}"
    CACHE PATH "Folder with z3/, torch/ and nvidia/ as unpacked from the wheels")
# Likewise OR-tools, which ripeline-solver opens at run time: it need not be there, neither now nor then.
file(SHA256 "${PROJECT_SOURCE_DIR}/setup/solver_wheel.txt" ripeline_wheels_hash)
string(SUBSTRING "${ripeline_wheels_hash}" 0 12 ripeline_wheels_hash)
set(RIPELINE_ORTOOLS "${ripeline_cache}/solver-${ripeline_wheels_hash}/ortools/.libs"
    CACHE PATH "Folder with libortools.so.9, which finds others from there; empty: the loader's own folders")
# Likewise the Python packages that build and test the package `ripeline` (python/).
file(SHA256 "${PROJECT_SOURCE_DIR}/setup/python_tools.txt" ripeline_wheels_hash)
string(SUBSTRING "${ripeline_wheels_hash}" 0 12 ripeline_wheels_hash)
set(RIPELINE_PYTHON_TOOLS "${ripeline_cache}/python-${ripeline_wheels_hash}"
    CACHE PATH "Folder with nanobind, pytest, mypy and auditwheel, if Python's own folders lack them")
# Likewise a later PyTorch than that in RIPELINE_DEPS, for the tests of `ripeline.torch`; it need not be there.
file(SHA256 "${PROJECT_SOURCE_DIR}/setup/torch_2_15.txt" ripeline_wheels_hash)
string(SUBSTRING "${ripeline_wheels_hash}" 0 12 ripeline_wheels_hash)
set(RIPELINE_TORCH_2_15 "${ripeline_cache}/torch-2.15-${ripeline_wheels_hash}"
    CACHE PATH "Folder with PyTorch 2.15, which setup/setup.sh --torch-2.15 makes")
set(RIPELINE_PYTHON_ABI3 "" CACHE FILEPATH "A Python from 3.12 on with its headers, for the wheel that serves all of those; empty: no such wheel")

# Defines the imported target ripeline_z3: from CMAKE_PREFIX_PATH (under pip, the packages of the build, such as z3-solver), else RIPELINE_DEPS,
# else the system (Debian's libz3-dev).
function(ripeline_find_z3)
  find_path(RIPELINE_Z3_INCLUDE z3.h
            HINTS ${CMAKE_PREFIX_PATH} "${RIPELINE_DEPS}/z3" PATH_SUFFIXES include z3/include)
  find_library(RIPELINE_Z3_LIBRARY z3
               HINTS ${CMAKE_PREFIX_PATH} "${RIPELINE_DEPS}/z3" PATH_SUFFIXES lib z3/lib)
  mark_as_advanced(RIPELINE_Z3_INCLUDE RIPELINE_Z3_LIBRARY)
  if(NOT RIPELINE_Z3_INCLUDE OR NOT RIPELINE_Z3_LIBRARY)
    message(FATAL_ERROR "Z3 was not found.\n"
      "Run setup/setup.sh (it fetches the pinned wheel into ${RIPELINE_DEPS}), or install Debian's libz3-dev, "
      "or name your own with CMAKE_PREFIX_PATH.")
  endif()
  add_library(ripeline_z3 SHARED IMPORTED)
  set_target_properties(ripeline_z3 PROPERTIES
    IMPORTED_LOCATION "${RIPELINE_Z3_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${RIPELINE_Z3_INCLUDE}")
  message(STATUS "Z3: ${RIPELINE_Z3_LIBRARY}")
endfunction()

# Finds the packages of the distribution that every build needs. What is missing is listed at once, with the one command that installs it. A macro,
# since later files ask for variables such as Boost_VERSION_MAJOR.
macro(ripeline_find_packages)
  find_package(Threads REQUIRED)
  find_package(Boost 1.74 QUIET)
  find_package(fmt QUIET)
  find_package(nlohmann_json QUIET)
  find_package(CLI11 QUIET)
  find_package(OpenSSL QUIET COMPONENTS Crypto)
  find_path(RIPELINE_ASIO_INCLUDE asio.hpp)
  find_path(RIPELINE_PROTOZERO_INCLUDE protozero/pbf_writer.hpp)
  mark_as_advanced(RIPELINE_ASIO_INCLUDE RIPELINE_PROTOZERO_INCLUDE)
  set(ripeline_missing "")
  foreach(package IN ITEMS
          Boost_FOUND=libboost-dev fmt_FOUND=libfmt-dev nlohmann_json_FOUND=nlohmann-json3-dev CLI11_FOUND=libcli11-dev
          OPENSSL_FOUND=libssl-dev RIPELINE_ASIO_INCLUDE=libasio-dev RIPELINE_PROTOZERO_INCLUDE=libprotozero-dev)
    string(REGEX MATCH "(.+)=(.+)" package "${package}")
    if(NOT ${CMAKE_MATCH_1})
      string(APPEND ripeline_missing " ${CMAKE_MATCH_2}")
    endif()
  endforeach()
  if(RIPELINE_PYTHON)
    find_package(Python 3.11 QUIET COMPONENTS Interpreter Development.Module)
    if(NOT Python_Interpreter_FOUND)
      message(FATAL_ERROR "The Python package needs Python 3.11 or later: name one by Python_EXECUTABLE, or configure with RIPELINE_PYTHON=OFF.")
    elseif(NOT Python_Development.Module_FOUND)
      string(APPEND ripeline_missing " python3-dev")
    endif()
  endif()
  if(ripeline_missing)
    message(FATAL_ERROR "Some packages were not found. On Debian and Ubuntu, this installs them:\n"
      "  apt-get install --no-install-recommends${ripeline_missing}\n"
      "If you have them elsewhere, name their folders in CMAKE_PREFIX_PATH.")
  endif()
endmacro()
