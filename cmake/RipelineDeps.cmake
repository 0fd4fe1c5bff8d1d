# The folders of unpacked wheels, and Z3.
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
    CACHE PATH "Folder with nanobind, pytest and mypy, if Python's own folders lack them")

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
