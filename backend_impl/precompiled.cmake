# The standard library's headers, read once per build with sanitizers: a quarter of the time to compile everything. The ordinary build does without, and so shows that
# each file names the headers that it uses.

# What is read in advance is good only for targets of the options that this folder has when this is called.
function(apir_precompile name)
  if(NOT APIR_SANITIZE AND NOT APIR_SANITIZE_THREAD)
    return()
  endif()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(${name} OBJECT ${source})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <atomic> <chrono> <condition_variable> <deque> <exception> <fstream> <functional> <map> <memory> <mutex> <new> <optional> <string> <system_error>
    <thread> <unordered_map> <utility> <vector>)
endfunction()

# Every target of the folder is compiled with them.
function(apir_use_precompiled name folder)
  if(NOT TARGET ${name})
    return()
  endif()
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(NOT target STREQUAL name AND type MATCHES "^(EXECUTABLE|(STATIC|SHARED|MODULE|OBJECT)_LIBRARY)$")
      target_precompile_headers(${target} REUSE_FROM ${name})
    endif()
  endforeach()
endfunction()
