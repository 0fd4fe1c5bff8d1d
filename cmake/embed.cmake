# cmake -P embed.cmake with OUTPUT and FILES: see RipelineEmbed.cmake.
set(text "")
foreach(file IN LISTS FILES)
  cmake_path(GET file STEM LAST_ONLY name)
  file(READ "${file}" content)
  string(APPEND text "{\"${name}\", R\"embedded(${content})embedded\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}")
